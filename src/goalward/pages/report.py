"""The page of `goalward report`: the studies of a results folder as one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from goalward import __version__
from goalward.acting.stop_conditions import Ended
from goalward.errors import FileError, SettingError
from goalward.figures.styles import CAUSES, agent_styles
from goalward.pages.page import Block, Page
from goalward.results.curves import band, band_text, regime_of
from goalward.results.measures import CURVES
from goalward.results.results import CellResults, Results, load_results
from goalward.results.summary import summary_tables
from goalward.statistics import checked_level
from goalward.studies.store import NoRun, Store
from goalward.table import Cell, Table

MOST_RUN_CURVES = 200
"""How many curves of single runs a page has at most; its cells share them equally."""
MOST_POINTS = 40_000
"""How many points the mean curves of a page have at most; its cells share them equally."""


def report(results: Results | Sequence[Results], *, level: float = 0.95) -> Page:
    """Return a page about a study: regret curves, summary, facts about the agents, the study file.

    A notebook displays the page. ``report(results).save("report.html")`` writes the page to a file.

    Parameters
    ----------
    results
        The results from `goalward.run` or `goalward.open_results`, or a sequence of such results.
    level
        The confidence level of the intervals.
    """
    studies = [results] if isinstance(results, Results) else list(results)
    if not studies or not all(isinstance(study, Results) for study in studies):
        raise SettingError(f"report needs results from gw.run or gw.open_results, but got {results!r}")
    checked_level(level)
    block = Block()
    title = studies[0].design.name if len(studies) == 1 else f"{len(studies)} studies"
    cells = max(1, sum(len(study.cells) for study in studies))
    points, curves = max(40, MOST_POINTS // cells), max(1, MOST_RUN_CURVES // cells)
    document = {"studies": [study_document(block, study, level, points, curves) for study in studies]}
    content = {"title": title, "version": __version__, "studies": [study_content(study, level) for study in studies]}
    return Page("report", f"{title}: report", document, block, content)


def report_of_folder(folder: Path, study: str | None = None, level: float = 0.95) -> Page:
    """Return a page about one study of a results folder, or about all studies if `study` is None."""
    store = Store.open(folder)
    # In a folder without studies, `design(None)` raises an error.
    names: list[str | None] = [*store.studies()] or [None] if study is None else [study]
    return report([load_results(store, store.design(name)) for name in names], level=level)


def study_content(results: Results, level: float) -> dict[str, Any]:
    """Return the tables and settings of one study. The page shows this content without JavaScript."""
    summary, *sweeps = summary_tables(results, level)
    return {
        "design": results.design,
        "stored": results.count()[0],
        "problems": problems(results),
        "curves": ", ".join(filter(None, [band_text(results, level), regime_of(results)])),
        "colours": {label: style.page_colour for label, style in agent_styles(results.algorithms().items()).items()},
        "summaries": [
            (world, max(cell.cell.episodes for cell in cells), summary_of(summary, world))
            for world, cells in results.worlds().items()
        ],
        "intervals": f"{100 * level:g} % t-intervals",
        "sweeps": sweeps,
        "notes": [summary, *sweeps][-1].notes,
        "caveats": results.caveats(),
        "facts": list(facts(results)),
        "text": study_text(results),
    }


def study_document(block: Block, results: Results, level: float, points: int, curves: int) -> dict[str, Any]:
    """Return the curves of one study. Curves have at most `points` points. `curves` limits the single runs."""
    styles = agent_styles(results.algorithms().items())
    return {
        "agents": [{"label": label, "style": style.document} for label, style in styles.items()],
        "worlds": [
            {
                "name": world,
                "episodes": max(cell.cell.episodes for cell in cells),
                "hasRegret": has_regret(cells),
                "cells": [cell_document(block, cell, level, points, curves) for cell in cells],
            }
            for world, cells in results.worlds().items()
        ],
    }


def summary_of(summary: Table, world: str) -> Table:
    """Return the summary of one `world`. If runs are incomplete, their number is written as '3 of 5'."""
    rows = []
    for row in summary.rows:
        planned = sum(row[name] for name in ("complete", "truncated", "failed", "missing"))
        runs = f"{row['complete']:,}" + (f" of {planned:,}" if row["complete"] < planned else "")
        label = row["agent"].value if isinstance(row["agent"], Cell) else row["agent"]
        if row["world"] == world:
            rows.append(dict(row) | {"agent": label, "complete": Cell(row["complete"], runs)})
    return replace(summary, rows=rows)


def has_regret(cells: Sequence[CellResults]) -> bool:
    """Return whether `cells` have a regret. For a regret, the optimal cost of the world must be known."""
    finished = [cell for cell in cells if cell.episodes_done.any()]
    return not finished or any(not np.isnan(cell.curves["regret"]).all() for cell in finished)


def problems(results: Results) -> list[str]:
    """Return one sentence for each kind of problem: missing, failed, damaged or truncated runs."""
    stored, planned = results.count()
    failed = sum(len(cell.failed) for cell in results.cells)
    damaged = sum(len(cell.damaged) for cell in results.cells)
    truncated = sum(int(cell.truncated.sum()) for cell in results.cells)
    resume = " It is still running, or it was stopped; goalward run makes the missing ones."
    sentences = {
        f"This study is partial: {stored:,} of {planned:,} runs are stored.{resume * (stored + failed < planned)}"
        " The page shows the stored runs.": stored < planned,
        f"Failed runs: {failed:,}. goalward status shows why, and goalward run --retry-failed retries them.": failed,
        f"Damaged files of runs: {damaged:,}.": damaged,
        f"Runs that did not finish all episodes: {truncated:,}. A curve ends with a cross where the first of its runs"
        " ends; means of final regrets cover complete runs only.": truncated,
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def cell_document(block: Block, cell: CellResults, level: float, most: int, curves: int) -> dict[str, Any]:
    """Return the curves of one agent in one world: the mean with its band, and some single runs."""
    count = len(cell.points)
    indices = np.unique(np.rint(np.linspace(0, count - 1, min(count, most))).astype(np.int64))
    measures = {}
    for measure in CURVES:
        points, mean, low, high = band(cell, measure, level)
        # Also draw the last point of a curve that ends early.
        shown = np.unique(np.append(indices[indices < len(points)], np.arange(len(points))[-1:]))
        measures[measure] = {
            "x": block.put(points[shown], "f8"),
            "y": block.put(mean[shown], "f8"),
            "low": block.put(low[shown], "f8") if len(cell.runs) > 1 else None,
            "high": block.put(high[shown], "f8") if len(cell.runs) > 1 else None,
            "runX": block.put(cell.points[indices], "f8"),
            "runs": [block.put(curve[indices], "f4") for curve in cell.curves[measure][:curves]],
        }
    return {"agent": cell.cell.agent.label, "stored": len(cell.runs), "cut": bool(cell.truncated.any()), **measures}


def facts(results: Results) -> Iterator[dict[str, Any]]:
    """Yield facts about each agent in each world: its settings, its prior knowledge, and why its epochs ended."""
    store = None if results.folder is None else Store.open(results.folder)
    for cell in results.cells:
        stored: Mapping[str, Any] = {}
        if store is not None and len(cell.runs):
            run = store.find(results.design.spec(cell.cell, int(cell.runs[0])).key)
            stored = {} if isinstance(run, NoRun) else run.document
        settings, identity = stored.get("agent_settings", {}), cell.cell.agent.identity
        causes = {
            CAUSES[Ended[name]]: count for name, count in cell.ended_by.most_common() if name in Ended.__members__
        }
        yield {
            "world": cell.cell.world.label,
            "agent": cell.cell.agent.label,
            "algorithm": str(identity.get("name", "")),
            "settings": identity.get("settings", {}),
            "known": {name: str(settings[name])[:80] for name in stored.get("given", []) if name in settings},
            "notes": stored.get("notes", {}),
            "causes": [(name, count, 100.0 * count / sum(causes.values())) for name, count in causes.items() if count],
            "versions": stored.get("versions", {}),
        }


def study_text(results: Results) -> str:
    """Return the text of the study file, or an empty text if the folder has no study file."""
    with suppress(FileError):
        return "" if results.folder is None else Store.open(results.folder).study_text(results.design.reference)
    return ""
