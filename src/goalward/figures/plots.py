"""What `goalward.plot` draws: one run, stored results, or runs carried out again for what is not stored."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from goalward.continuous.task import GoalTask
from goalward.errors import SettingError, UnknownNameError
from goalward.figures.causes import causes_figure
from goalward.figures.plan import plan_figure
from goalward.figures.regret import growth_figure, regret_figure
from goalward.figures.run import curve_figure
from goalward.figures.symbols import cause_name, marked
from goalward.learning.run import Run
from goalward.long_work import phase
from goalward.results.results import CURVES, CellResults, Results, checked_measure, world_name
from goalward.results.summary import sweep_rows
from goalward.ssp.model import SSP
from goalward.statistics import checked_level
from goalward.studies.design import Cell
from goalward.studies.factory import make_world
from goalward.studies.rerun import final_plan, regret_by_cause, rerun, visits

__all__ = ["checked_kind", "plot"]

BASELINES = ("optimal", "uniform")
"""Agents that do not learn."""
KINDS = ("regret", "growth", "causes", "grid")


def plot(
    results: Results | Run,
    kind: str = "regret",
    *,
    measure: str | None = None,
    axes: str = "linear",
    level: float = 0.95,
    agent: str | None = None,
    world: str | None = None,
    run: int = 0,
) -> Figure:
    """Draw one figure of a study, or the regret of one run; ``figure.savefig(path)`` writes it.

    Parameters
    ----------
    results
        The results of a study. Or a run: then its regrets along the episodes are drawn, or its costs if the true model
        is not known, and the other settings must be left out.
    kind
        ``regret`` along the episodes; ``growth`` across a swept setting; ``causes`` of the epochs in which regret was
        paid; ``grid``: what an agent has learnt, and its visits.
    measure, axes, level
        For regret: ``regret``, ``gap_regret`` or ``steps`` (of each episode), ``linear`` or ``log`` axes, and the level
        of the intervals (also for growth). Without a measure it is the realised regret, on logarithmic axes the gap
        regret.
    agent, world
        For a grid: which ones; by default the learner with the least mean regret in the first grid.
    run
        For causes and grids: which run, counted from 0.
    """
    checked_kind(kind)
    checked_level(level)
    if measure is not None:
        checked_measure(measure, CURVES)
    if isinstance(results, Run):
        if (kind, measure, axes, agent, world, run) != ("regret", None, "linear", None, None, 0):
            raise SettingError("a single run is drawn in one way: leave out kind, measure, axes, agent, world and run")
        return curve_figure(results, f"{results.agent.name}: {len(results.costs):,} episodes, seed {results.seed}")
    if not isinstance(results, Results):
        raise SettingError(
            f"plot takes results, as gw.run and gw.open_results return them, or a run of gw.learn; this is {results!r}"
        )
    if kind == "regret":
        return regret_figure(results, measure, axes, level)
    if kind == "growth":
        return growth_figure(results, sweep_rows(results, level), level)
    if kind == "causes":
        return draw_causes(results, run)
    return draw_grid(results, agent, world, run)


def checked_kind(kind: str) -> str:
    """Return the kind of a figure; raise UnknownNameError if there is none of this name."""
    if kind not in KINDS:
        raise UnknownNameError("kind of plot", kind, KINDS)
    return kind


def draw_causes(results: Results, number: int) -> Figure:
    found: dict[str, dict[str, dict[str, float]]] = {}
    stored = [each.cell for each in results.cells if number in each.runs]
    # In continuous worlds V* is not known, and without it there is no regret.
    cells = [cell for cell in stored or results.design.cells if isinstance(world_of(results, cell, number), SSP)]
    if not cells:
        worlds = ", ".join(dict.fromkeys(cell.world.label for cell in results.design.cells))
        raise SettingError(f"causes are shares of the regret, and V* is not known in {worlds}; choose another kind")
    with phase("carrying runs out again, for what ended their epochs", len(cells), "runs") as again:
        for done, cell in enumerate(cells):
            again.advance(done)
            world, run = rerun(results.stored_spec(cell, number), results.attachments)
            parts: dict[str, float] = {}
            for ended, part in regret_by_cause(world, run).items():
                parts[cause_name(ended)] = parts.get(cause_name(ended), 0.0) + part
            label = marked(cell.agent.label, results.caveats())
            found.setdefault(world_name(results.design, cell), {})[label] = parts
    return causes_figure(found, results.caveats())


def draw_grid(results: Results, agent: str | None, world: str | None, number: int) -> Figure:
    cell = chosen_cell(results, agent, world, number)
    if not is_grid(world_of(results, cell, number)):
        raise SettingError(f"{cell.world.label} is not a grid and cannot be drawn; choose another with --world")
    model, run = rerun(results.stored_spec(cell, number), results.attachments)
    title = f"{cell.agent.label} in {cell.world.label}, run {number}: {cell.episodes:,} episodes"
    title += "".join(f"\n{text}" for label, text in results.caveats().items() if label == cell.agent.label)
    return plan_figure(model, final_plan(run), visits(model, run), title)


def chosen_cell(results: Results, agent: str | None, world: str | None, number: int) -> Cell:
    """Return the cell of the agent and the world; by default the learner with the least regret in the first grid."""
    design = results.design
    by_world = {cell.world.label: cell for cell in design.cells}
    if world is None:
        grids = (label for label, cell in by_world.items() if is_grid(world_of(results, cell, number)))
        world = next(grids, next(iter(by_world)))
    elif world not in by_world:
        raise UnknownNameError(f"world of {design.name}", world, by_world)
    by_agent = {each.cell.agent.label: each for each in results.cells if each.cell.world.label == world}
    if agent is None:
        agent = min(by_agent, key=lambda label: rank(by_agent[label], number))
    elif agent not in by_agent:
        raise UnknownNameError(f"agent of {design.name}", agent, by_agent)
    return by_agent[agent].cell


def world_of(results: Results, cell: Cell, number: int) -> SSP | GoalTask:
    """Return the world of a run."""
    world: SSP | GoalTask = make_world(results.design.spec(cell, number).world, results.attachments)
    return world


def is_grid(world: SSP | GoalTask) -> bool:
    return isinstance(world, SSP) and world.layout is not None


def rank(cell: CellResults, number: int) -> tuple[bool, bool, float]:
    """Return the sort key of an agent: whether it has the run, whether it learns, its mean regret."""
    finals = cell.finals["gap_regret"][cell.complete]
    mean = float(finals.mean()) if len(finals) else math.inf
    return number not in cell.runs, cell.cell.agent.identity["name"] in BASELINES, mean
