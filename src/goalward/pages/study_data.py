"""A study as a page of `goalward report` carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goalward.acting.rollout import Ended
from goalward.arrays import Int64s
from goalward.errors import FileError
from goalward.figures.styles import agent_styles
from goalward.figures.symbols import CAUSES
from goalward.files import read_text
from goalward.formatting import number, with_margin
from goalward.pages.page_data import Block
from goalward.results.curves import band, regime_of, runs_text
from goalward.results.results import CURVES, CellResults, Results, world_name
from goalward.results.summary import Row, Summary, summarise
from goalward.results.summary_text import measured
from goalward.studies.run_file import StoredRun
from goalward.studies.store import NoRun, Store

__all__ = ["shares_of", "study_document"]

MOST_RUN_CURVES = 200
MOST_POINTS = 40_000
"""How many points all mean curves of a page may have together; each cell has fewer if cells are many."""
MOST_RUN_ROWS = 2_000


def study_document(block: Block, results: Results, level: float, share: float = 1.0) -> dict[str, Any]:
    """Return what the page shows of one study, which has a share of the page for its curves."""
    design = results.design
    summary = summarise(results, level)
    styles = agent_styles(results.algorithms().items())
    stored, planned = results.count()
    points = max(40, int(MOST_POINTS * share / max(1, len(results.cells))))
    curves = max(1, int(MOST_RUN_CURVES * share / max(1, len(results.cells))))
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
                "rows": [summary_cells(row) for row in summary.rows if row.world == world],
            }
            for world, cells in results.worlds().items()
        ],
        "sweeps": [[each.world, each.agent, each.setting, with_margin(each.exponent)] for each in summary.sweeps],
        "notes": summary.notes,
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
        "summaryTitle": title(summary),
    }


def has_regret(cells: Sequence[CellResults]) -> bool:
    """Return whether regret can be measured in the world of these cells: not if its optimal cost is not known."""
    finished = [cell for cell in cells if cell.episodes_done.any()]
    return not finished or any(not np.isnan(cell.curves["regret"]).all() for cell in finished)


def title(summary: Summary) -> str:
    return f"means with {100 * summary.level:g} % {'bootstrap' if summary.method == 'bootstrap' else 't-'}intervals"


def problems(results: Results) -> list[str]:
    """Say what is missing, in words; empty if the study is complete."""
    stored, planned = results.count()
    failed = sum(len(cell.failed) for cell in results.cells)
    said = []
    if stored < planned:
        going = " It is still running, or it was stopped; goalward run makes the others."
        said.append(
            f"This study is partial: {stored:,} of {planned:,} runs are stored.{going * (stored + failed < planned)}"
            " The page shows the runs that are there."
        )
    if failed:
        runs, them = ("runs", "them") if failed != 1 else ("run", "it")
        said.append(f"{failed:,} {runs} failed; goalward status shows why, and goalward run tries {them} again.")
    damaged = sum(len(cell.damaged) for cell in results.cells)
    if damaged:
        said.append(f"{damaged:,} file{'s of runs are' if damaged != 1 else ' of a run is'} damaged.")
    cut = sum(int(cell.truncated.sum()) for cell in results.cells)
    if cut:
        said.append(
            f"{cut:,} run{'s' * (cut != 1)} did not finish all episodes. A curve ends, with a cross, where its first"
            " run ends; means of final regrets are of the complete runs."
        )
    return said


def cell_document(block: Block, cell: CellResults, level: float, most: int, curves: int) -> dict[str, Any]:
    """Return the curves of one agent in one world: means with bands, and some single runs."""
    kept = spread(len(cell.points), most)
    drawn = {}
    for measure in CURVES:
        points, mean, reach = band(cell, measure, level)
        places = kept[kept < len(points)]
        if len(points) and (not len(places) or places[-1] != len(points) - 1):
            places = np.append(places, len(points) - 1)
        drawn[measure] = {
            "x": block.put(points[places], "f8"),
            "y": block.put(mean[places], "f8"),
            "low": block.put(mean[places] - reach[places], "f8") if len(cell.runs) > 1 else None,
            "high": block.put(mean[places] + reach[places], "f8") if len(cell.runs) > 1 else None,
            "runX": block.put(cell.points[kept], "f8"),
            "runs": [block.put(curve[kept], "f4") for curve in cell.curves[measure][:curves]],
        }
    return {
        "agent": cell.cell.agent.label,
        "stored": len(cell.runs),
        "cut": bool(cell.truncated.any()),
        **drawn,
    }


def spread(count: int, most: int) -> Int64s:
    """Return at most so many places out of `count`, evenly spread, with the last one."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.rint(np.linspace(0, count - 1, most)).astype(np.int64))


def summary_cells(row: Row) -> list[str]:
    incomplete = row.truncated or row.failed or row.missing
    return [row.agent, f"{row.complete:,}" + (f" of {row.planned:,}" if incomplete else ""), *measured(row)]


def facts(results: Results) -> list[dict[str, Any]]:
    """Return what is known of each agent in each world: settings, what it was told, what ended its epochs."""
    store = None if results.folder is None else Store.open(results.folder)
    found = []
    for cell in results.cells:
        record = first_record(store, results, cell)
        settings = dict(cell.cell.agent.identity.get("settings", {}))
        told: dict[str, Any] = {}
        notes: dict[str, Any] = {}
        if record is not None:
            document = record.document
            all_settings = document.get("agent_settings", {})
            told = {name: all_settings.get(name) for name in document.get("given", []) if name in all_settings}
            notes = document.get("notes", {})
        causes = {
            CAUSES[Ended[name]]: count for name, count in cell.ended_by.most_common() if name in Ended.__members__
        }
        found.append(
            {
                "world": world_name(results.design, cell.cell),
                "agent": cell.cell.agent.label,
                "algorithm": str(cell.cell.agent.identity.get("name", "")),
                "settings": {name: str(value) for name, value in settings.items()},
                "told": {name: str(value)[:80] for name, value in told.items()},
                "notes": {name: str(value) for name, value in notes.items()},
                "endedBy": causes,
                "versions": {} if record is None else record.document.get("versions", {}),
            }
        )
    return found


def first_record(store: Store | None, results: Results, cell: CellResults) -> StoredRun | None:
    if store is None or not len(cell.runs):
        return None
    found = store.find(results.design.spec(cell.cell, int(cell.runs[0])).key)
    return None if isinstance(found, NoRun) else found


def run_rows(results: Results) -> tuple[list[list[Any]], int]:
    """Return one row for each planned run, and how many were left out."""
    rows: list[list[Any]] = []
    design = results.design
    for cell in results.cells:
        places = {run: place for place, run in enumerate(cell.runs.tolist())}
        states = {run: name for name in ("failed", "damaged", "missing") for run in getattr(cell, name)}
        for run in range(design.runs):
            if len(rows) >= MOST_RUN_ROWS:
                continue
            spec = design.spec(cell.cell, run)
            place = places.get(run)
            numbers = ["", "", "", "", ""]
            state = states.get(run, "stored")
            if place is not None:
                state = "cut off" if cell.truncated[place] else "stored"
                numbers = [
                    f"{cell.episodes_done[place]:,}",
                    f"{cell.total_steps[place]:,}",
                    number(float(cell.seconds[place]), 2),
                    number(float(cell.finals["regret"][place])),
                    number(float(cell.finals["gap_regret"][place])),
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
    path = results.folder / "studies" / f"{results.design.reference}.toml"
    try:
        return read_text(path, "a study", inside=results.folder)
    except FileError:
        return ""


def shares_of(all_results: Sequence[Results]) -> list[float]:
    """Return how much of a page each study has, by the number of its cells."""
    total = sum(len(results.cells) for results in all_results)
    return [len(results.cells) / total if total else 1.0 for results in all_results]
