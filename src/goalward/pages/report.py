"""The page of `goalward report`: the studies of a results folder as one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goalward import __version__
from goalward.acting.stop import Ended
from goalward.arrays import Int64s
from goalward.errors import FileError, SettingError
from goalward.figures.styles import agent_styles
from goalward.figures.symbols import CAUSES
from goalward.formatting import number, with_margin
from goalward.pages.page import Block, Page
from goalward.results.curves import band, regime_of, runs_text
from goalward.results.measures import CURVES
from goalward.results.results import CellResults, Results, load_results, world_name
from goalward.results.summary import summary_table, sweep_rows
from goalward.statistics import checked_level
from goalward.studies.store import NoRun, Store
from goalward.table import Cell, Table

__all__ = ["report", "report_of_folder"]

MOST_RUN_CURVES = 200
"""How many curves of single runs a page has at most; its cells share them equally."""
MOST_POINTS = 40_000
"""How many points the mean curves of a page have at most; its cells share them equally."""
MOST_RUN_ROWS = 2_000


def report(results: Results | Sequence[Results], *, level: float = 0.95) -> Page:
    """Return a page about a study: regret curves, summary, facts about the agents, settings of every run.

    In a notebook the page shows itself; ``report(results).save("report.html")`` writes it.

    Parameters
    ----------
    results
        What `goalward.run` or `goalward.open_results` returns, or several of them.
    level
        The confidence level of the intervals.
    """
    studies = [results] if isinstance(results, Results) else list(results)
    if not studies or not all(isinstance(study, Results) for study in studies):
        raise SettingError(f"report takes results, as gw.run and gw.open_results return them; this is {results!r}")
    return make_page(studies, level)


def report_of_folder(
    folder: Path, study: str | None = None, level: float = 0.95, claims: Sequence[Mapping[str, Any]] = ()
) -> tuple[Page, list[str]]:
    """Return the page of one study, or of all studies of a folder, and a sentence for each that cannot be read.

    `claims` are the verdicts on claims of the paper that the page shows.
    """
    store = Store.open(folder)
    # Asking for the only study of a folder that has none raises an error that says so.
    names: list[str | None] = [*store.studies()] or [None] if study is None else [study]
    studies, troubles = [], []
    for name in names:
        try:
            studies.append(load_results(store, store.design(name)))
        except FileError as error:
            if len(names) < 2:
                raise
            troubles.append(f"The study {name} cannot be read: {error}.")
    if not studies:
        raise FileError(f"{folder}: none of its studies can be read. {' '.join(troubles)}")
    return make_page(studies, level, troubles, claims), troubles


def make_page(
    studies: Sequence[Results],
    level: float,
    troubles: Sequence[str] = (),
    claims: Sequence[Mapping[str, Any]] = (),
) -> Page:
    checked_level(level)
    block = Block()
    title = studies[0].design.name if len(studies) == 1 else f"{len(studies)} studies"
    cells = max(1, sum(len(study.cells) for study in studies))
    points, curves = max(40, MOST_POINTS // cells), max(1, MOST_RUN_CURVES // cells)
    document = {
        "kind": "report",
        "version": __version__,
        "title": title,
        "studies": [study_document(block, study, level, points, curves) for study in studies],
        "claims": list(claims),
        "troubles": list(troubles),
    }
    return Page("report", f"{title}: report", document, block)


def study_document(block: Block, results: Results, level: float, points: int, curves: int) -> dict[str, Any]:
    """Return what the page shows of one study, with at most `points` and `curves` of single runs for each cell."""
    design = results.design
    summary = summary_table(results, level)
    styles = agent_styles(results.algorithms().items())
    stored, planned = results.count()
    rows, left_out = run_rows(results)
    return {
        "name": design.name,
        "description": design.description,
        "stored": stored,
        "planned": planned,
        "problems": problems(results),
        "level": level,
        "runs": runs_text(results),
        "regime": regime_of(results),
        "agents": [{"label": label, "style": style.document} for label, style in styles.items()],
        "worlds": [
            {
                "name": world,
                "episodes": max(cell.cell.episodes for cell in cells),
                "hasRegret": has_regret(cells),
                "cells": [cell_document(block, cell, level, points, curves) for cell in cells],
                "rows": [summary_cells(summary, row) for row in summary.rows if row["world"] == world],
            }
            for world, cells in results.worlds().items()
        ],
        "sweeps": [
            [row.world, row.agent, row.setting, with_margin(row.exponent)] for row in sweep_rows(results, level)
        ],
        "notes": list(summary.notes),
        "caveats": [f"{label}: {text}" for label, text in results.caveats().items()],
        "facts": facts(results),
        "runRows": rows,
        "runRowsLeftOut": left_out,
        "settings": {
            "seed": str(design.seed),
            "runs of each cell": f"{design.runs:,}",
            "step limit": "none" if design.max_steps is None else f"{design.max_steps:,}",
        },
        "text": study_text(results),
        "curvesOfEachCell": curves,
        "summaryTitle": f"means with {100 * level:g} % t-intervals",
        "summaryHeadings": summary.headings,
    }


def has_regret(cells: Sequence[CellResults]) -> bool:
    """Return whether the optimal cost of the world of these cells is known, so that there is regret."""
    finished = [cell for cell in cells if cell.episodes_done.any()]
    return not finished or any(not np.isnan(cell.curves["regret"]).all() for cell in finished)


def problems(results: Results) -> list[str]:
    """Return a sentence for each thing that is missing; empty if the study is complete."""
    stored, planned = results.count()
    failed = sum(len(cell.failed) for cell in results.cells)
    damaged = sum(len(cell.damaged) for cell in results.cells)
    truncated = sum(int(cell.truncated.sum()) for cell in results.cells)
    sentences = []
    if stored < planned:
        resume = " It is still running, or it was stopped; goalward run makes the others."
        sentences.append(
            f"This study is partial: {stored:,} of {planned:,} runs are stored.{resume * (stored + failed < planned)}"
            " The page shows the runs that are there."
        )
    if failed:
        runs, them = ("runs", "them") if failed != 1 else ("run", "it")
        sentences.append(f"{failed:,} {runs} failed; goalward status shows why, and goalward run tries {them} again.")
    if damaged:
        sentences.append(f"{damaged:,} file{'s of runs are' if damaged != 1 else ' of a run is'} damaged.")
    if truncated:
        sentences.append(
            f"{truncated:,} run{'s' * (truncated != 1)} did not finish all episodes. A curve ends, with a cross, where"
            " its first run ends; means of final regrets are of the complete runs."
        )
    return sentences


def cell_document(block: Block, cell: CellResults, level: float, most: int, curves: int) -> dict[str, Any]:
    """Return the curves of one agent in one world: means with bands, and some single runs."""
    indices = evenly_spread(len(cell.points), most)
    measures = {}
    for measure in CURVES:
        points, mean, reach = band(cell, measure, level)
        # The last point of a curve that ends early is drawn too.
        shown = np.unique(np.append(indices[indices < len(points)], np.arange(len(points))[-1:]))
        measures[measure] = {
            "x": block.put(points[shown], "f8"),
            "y": block.put(mean[shown], "f8"),
            "low": block.put(mean[shown] - reach[shown], "f8") if len(cell.runs) > 1 else None,
            "high": block.put(mean[shown] + reach[shown], "f8") if len(cell.runs) > 1 else None,
            "runX": block.put(cell.points[indices], "f8"),
            "runs": [block.put(curve[indices], "f4") for curve in cell.curves[measure][:curves]],
        }
    return {"agent": cell.cell.agent.label, "stored": len(cell.runs), "cut": bool(cell.truncated.any()), **measures}


def evenly_spread(count: int, most: int) -> Int64s:
    """Return at most `most` of the indices below `count`, evenly spread, with the first and the last."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.rint(np.linspace(0, count - 1, most)).astype(np.int64))


def summary_cells(summary: Table, row: Mapping[str, Any]) -> list[str]:
    """Return the cells of one agent in one world: its label, the number of complete runs, and every statistic."""
    planned = sum(row[name] for name in ("complete", "truncated", "failed", "missing"))
    label = row["agent"].value if isinstance(row["agent"], Cell) else row["agent"]
    runs = f"{row['complete']:,}" + (f" of {planned:,}" if row["complete"] < planned else "")
    return [label, runs, *summary.cells([row])[0][2:]]


def facts(results: Results) -> list[dict[str, Any]]:
    """Return what is known of each agent in each world: settings, what it was told, what ended its epochs."""
    store = None if results.folder is None else Store.open(results.folder)
    rows = []
    for cell in results.cells:
        stored = first_run(store, results, cell)
        settings, told = stored.get("agent_settings", {}), stored.get("given", [])
        identity = cell.cell.agent.identity
        rows.append(
            {
                "world": world_name(results.design, cell.cell),
                "agent": cell.cell.agent.label,
                "algorithm": str(identity.get("name", "")),
                "settings": {name: str(value) for name, value in identity.get("settings", {}).items()},
                "told": {name: str(settings[name])[:80] for name in told if name in settings},
                "notes": {name: str(value) for name, value in stored.get("notes", {}).items()},
                "endedBy": {
                    CAUSES[Ended[name]]: count
                    for name, count in cell.ended_by.most_common()
                    if name in Ended.__members__
                },
                "versions": stored.get("versions", {}),
            }
        )
    return rows


def first_run(store: Store | None, results: Results, cell: CellResults) -> Mapping[str, Any]:
    """Return the document of the first stored run of a cell; empty if there is none."""
    if store is None or not len(cell.runs):
        return {}
    run = store.find(results.design.spec(cell.cell, int(cell.runs[0])).key)
    return {} if isinstance(run, NoRun) else run.document


def run_rows(results: Results) -> tuple[list[list[Any]], int]:
    """Return one row for each planned run, and how many were left out."""
    rows: list[list[Any]] = []
    design = results.design
    for cell in results.cells:
        indices = {run: index for index, run in enumerate(cell.runs.tolist())}
        states = {run: name for name in ("failed", "damaged", "missing") for run in getattr(cell, name)}
        for run in range(design.runs):
            if len(rows) >= MOST_RUN_ROWS:
                continue
            spec = design.spec(cell.cell, run)
            index = indices.get(run)
            numbers = ["", "", "", "", ""]
            state = states.get(run, "stored")
            if index is not None:
                state = "cut off" if cell.truncated[index] else "stored"
                numbers = [
                    f"{cell.episodes_done[index]:,}",
                    f"{cell.values['steps'][index]:,}",
                    number(float(cell.values["seconds"][index]), 2),
                    number(float(cell.finals["regret"][index])),
                    number(float(cell.finals["gap_regret"][index])),
                ]
            drawn = cell.cell.world.draw
            world_setting = f"{drawn}={spec.world['settings'][drawn]}" if drawn else ""
            rows.append(
                [
                    world_name(design, cell.cell), cell.cell.agent.label, str(run), str(spec.seed), world_setting,
                    state, *numbers, spec.key[:12],
                ]
            )  # fmt: skip
    return rows, max(0, design.size - len(rows))


def study_text(results: Results) -> str:
    """Return the study file as it was run; empty if the folder does not have it."""
    if results.folder is None:
        return ""
    try:
        return Store.open(results.folder).study_text(results.design.reference)
    except FileError:
        return ""
