"""Compare a study with the theory: the proved bounds of its agents, and how its runs relate to the bounds.

Stored runs have no sampled models, so some runs of each cell are repeated. A repeated run takes as long as the first
time. If the repeated run differs from the stored run, there is no report. Agents that do not plan with samples from a
posterior have no report either, and a note gives the reason.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from goalward.agents.base import Learner
from goalward.errors import GoalwardError, TheoryError
from goalward.figures.drawing import save_figure
from goalward.figures.theory import theory_figure
from goalward.learning.learn import run_agent
from goalward.paper.claims.theorems import exponent
from goalward.progress import counted
from goalward.results.results import Results
from goalward.results.summary import sweep_rows
from goalward.ssp.model import SSP
from goalward.studies.rerun import rerun, same_episodes
from goalward.studies.run_file import StoredRun
from goalward.studies.run_spec import RunSpec
from goalward.studies.store import Store
from goalward.table import Table
from goalward.theory.run_report import Report, report, statements_table
from goalward.theory.trace import check_posterior

NOTES = (
    "lower bound: no algorithm stays below the order of B* sqrt(S A K) in every world with B* >= 1 (Rosenberg et al.)",
    "exponents are measured, that in K is the largest over all worlds; an agent that never learns has exponent 1",
)


def publish_theory(store: Store, results: Results, runs: int, folder: Path) -> tuple[list[Table], list[Path]]:
    """Write a figure for each cell; return the tables of bounds and statements, and the paths of the figures."""
    reports, refusals = study_reports(store, results, runs)
    files = []
    for cell, cell_reports in reports.items():
        name = "-".join(["theory", *re.findall(r"[\w.]+", cell)])
        files.append(folder / f"{name}.png")
        save_figure(theory_figure(cell_reports, cell), files[-1:])
    statements = [replace(statements_table(reports), notes=refusals)] if reports else []
    bounds = bounds_table(store, results)
    return [bounds if reports else replace(bounds, notes=[*bounds.notes, *refusals]), *statements], files


def bounds_table(store: Store, results: Results) -> Table:
    """Return a table with the proved bound, the required knowledge and the measured exponents of each agent."""
    sweeps = {(row.agent, row.setting): row.exponent for row in sweep_rows(results, 0.95)}
    settings = list(dict.fromkeys(setting for _, setting in sweeps))
    rows = []
    for label in results.agents():
        cells = [cell for cell in results.cells if cell.cell.agent.label == label]
        _, agent = results.design.specs(cells[0].cell)[0].build(store.attachments)
        exponents = [exponent(cell) for cell in cells if cell.complete.any() and cell.has_model]
        bound, assumes = proved(agent)
        rows.append(
            {
                "agent": label,
                "proved": bound,
                "assumes": assumes,
                "must_be_told": ", ".join([*type(agent).needs, *["a prior"] * hasattr(agent, "prior")]) or "nothing",
                "exponent_in_K": max(exponents, key=lambda interval: interval.value, default=None),
                **{f"in_{setting}": sweeps.get((label, setting)) for setting in settings},
            }
        )
    return Table(rows, None, "bounds", "proved bounds, and exponents of the gap regret", NOTES)


def proved(agent: Learner) -> tuple[str, str]:
    """Return the proved bound for an agent with its settings, and the assumptions of the proof."""
    bound, assumes = (str(vars(type(agent)).get(name, "")) for name in ("bound", "assumes"))
    for setting in ("scale", "sharpness"):
        if bound and getattr(agent, setting, 1.0) != 1.0:
            return "nothing", f"{setting} is {getattr(agent, setting):g}, and no proof covers it"
    return bound or "nothing", assumes


def study_reports(store: Store, results: Results, runs: int) -> tuple[dict[str, list[Report]], list[str]]:
    """Return reports on the first complete runs of each cell, and the reasons why other cells have no report."""
    reports: dict[str, list[Report]] = {}
    refusals: dict[str, list[str]] = {}  # the names of cells by the reason for having no report
    for cell in counted("carrying out runs again", "cells", results.cells, len(results.cells)):
        specs = results.design.specs(cell.cell)
        complete = [specs[number] for number in cell.runs[cell.complete][:runs].tolist()]
        name = f"{cell.cell.agent.label} in {cell.cell.world.label}"
        try:
            world, agent = specs[0].build(store.attachments)
            if not isinstance(world, SSP):
                raise TheoryError("the true model of the world is not known, or there are too many states for a table")
            # One step shows whether the agent has a posterior.
            check_posterior(run_agent(agent, world, specs[0].episodes, specs[0].seed, max_steps=1))
            if complete:
                reports[name] = [stored_report(store, spec) for spec in complete]
            else:
                refusals.setdefault("no complete runs are stored", []).append(name)
        except GoalwardError as error:
            refusals.setdefault(str(error), []).append(name)
    return reports, [f"{', '.join(names)}: {reason}" for reason, names in refusals.items()]


def stored_report(store: Store, spec: RunSpec) -> Report:
    """Repeat a stored run and return a report; raises TheoryError if the repeated run has other results."""
    _, run = rerun(spec, store.attachments, keep_plans=True)
    stored = store.find(spec.key)
    if not isinstance(stored, StoredRun) or not same_episodes(stored, run):
        raise TheoryError(f"run {spec.key[:8]} differs from the stored run, because versions or machines differ")
    return report(run)
