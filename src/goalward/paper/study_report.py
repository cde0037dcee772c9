"""The runs of a study under the paper's analysis: ``goalward theory``.

Stored runs have no sampled models, so some runs of each cell are carried out again, which takes as long as they took.
They must come out as they are stored, in the same world: otherwise the report is refused. Agents that do not plan with
draws from a posterior are left out, with the reason.
"""

from __future__ import annotations

import re
from pathlib import Path

from goalward.errors import GoalwardError, TheoryError
from goalward.figures.drawing import save_figure
from goalward.figures.theory import theory_figure
from goalward.learning.learn import run_agent
from goalward.progress import counted
from goalward.results.results import CellResults, Results, world_name
from goalward.ssp.model import SSP
from goalward.studies.rerun import rerun, same_episodes
from goalward.studies.run_file import StoredRun
from goalward.studies.run_spec import RunSpec
from goalward.studies.store import Store
from goalward.table import Table
from goalward.theory.run_report import Report, report, statements_table
from goalward.theory.trace import check_posterior

__all__ = ["publish_theory", "study_reports"]


def publish_theory(store: Store, results: Results, runs: int, folder: Path) -> tuple[Table, list[Path]]:
    """Write a figure for each agent in each world; return the table of all statements, and the files."""
    reports, refusals = study_reports(store, results, runs)
    files = []
    for cell, cell_reports in reports.items():
        name = "-".join(["theory", *re.findall(r"[\w.]+", cell)])
        files.append(folder / f"{name}.png")
        save_figure(theory_figure(cell_reports, cell), files[-1:])
    table = statements_table(reports)
    return Table(table.rows, table.columns, table.name, table.title, refusals, table.group), files


def study_reports(store: Store, results: Results, runs: int) -> tuple[dict[str, list[Report]], list[str]]:
    """Return the reports of the first complete runs of each cell, by name, and why other cells have none."""
    reports: dict[str, list[Report]] = {}
    refusals = []
    for cell in counted("carrying out runs again", "cells", results.cells, len(results.cells)):
        name = f"{cell.cell.agent.label} in {world_name(results.design, cell.cell)}"
        try:
            reports[name] = cell_reports(store, results, cell, runs)
        except GoalwardError as error:
            refusals.append(f"{name}: {error}")
    if not reports:
        raise TheoryError(f"no cell of the study can be examined; {refusals[0] if refusals else 'it has none'}")
    return reports, refusals


def cell_reports(store: Store, results: Results, cell: CellResults, runs: int) -> list[Report]:
    """Return the reports of the first complete runs of a cell."""
    specs = results.design.specs(cell.cell)
    complete = [specs[number] for number in cell.runs[cell.complete][:runs].tolist()]
    if not complete:
        raise TheoryError("no complete runs are stored")
    check_agent(store, complete[0])
    return [stored_report(store, spec) for spec in complete]


def check_agent(store: Store, spec: RunSpec) -> None:
    """Raise TheoryError if the agent of a run draws no models from a posterior: its first step shows that."""
    world, agent = spec.build(store.attachments)
    if not isinstance(world, SSP):
        raise TheoryError("the true model of the world is not known, or it has too many states for a table")
    check_posterior(run_agent(agent, world, spec.episodes, spec.seed, max_steps=1))


def stored_report(store: Store, spec: RunSpec) -> Report:
    """Carry out a stored run again and report on it; raises TheoryError if it comes out differently."""
    world, run = rerun(spec, store.attachments, keep_plans=True)
    stored = store.find(spec.key)
    if not isinstance(stored, StoredRun) or not same_episodes(stored, run):
        raise TheoryError(f"run {spec.key[:8]} came out differently than it is stored: versions or machines differ")
    return report(run, world)
