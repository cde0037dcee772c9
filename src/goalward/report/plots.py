"""What `goalward plot` draws: stored results, or runs carried out again for what is not stored."""

from __future__ import annotations

from matplotlib.figure import Figure

from goalward.errors import SettingError, UnknownNameError
from goalward.execution.rerun import final_plan, regret_by_cause, rerun, visits
from goalward.report.causes_figure import causes_figure
from goalward.report.plan_figure import plan_figure
from goalward.report.regret_figures import growth_figure, regret_figure
from goalward.results.results import Results, world_name
from goalward.results.summary import sweep_rows
from goalward.studies.design import Cell

__all__ = ["checked_kind", "plot"]

KINDS = ("regret", "growth", "causes", "grid")


def plot(
    results: Results,
    kind: str = "regret",
    *,
    measure: str = "regret",
    axes: str = "linear",
    level: float = 0.95,
    agent: str | None = None,
    world: str | None = None,
    run: int = 0,
) -> Figure:
    """Draw one figure of a study; ``figure.savefig(path)`` writes it.

    Parameters
    ----------
    kind
        ``regret`` along the episodes; ``growth`` across a swept setting; ``causes`` of the epochs in which regret was
        paid; ``grid``: what an agent has learnt, and its visits.
    measure, axes, level
        For regret: which regret, ``linear`` or ``log`` axes, and the level of the intervals (also for growth).
    agent, world
        For a grid: which ones; by default the last agent in the first grid.
    run
        For causes and grids: which run, counted from 0.
    """
    checked_kind(kind)
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
    for cell in results.design.cells:
        world, run = rerun(results.design.spec(cell, number), results.attachments)
        found.setdefault(world_name(results.design, cell), {})[cell.agent.label] = regret_by_cause(world, run)
    return causes_figure(found)


def draw_grid(results: Results, agent: str | None, world: str | None, number: int) -> Figure:
    cell = chosen_cell(results, agent, world)
    model, run = rerun(results.design.spec(cell, number), results.attachments)
    if model.layout is None:
        raise SettingError(f"{cell.world.label} is no grid and cannot be drawn; choose another with --world")
    title = f"{cell.agent.label} in {cell.world.label}, run {number}: {cell.episodes:,} episodes"
    return plan_figure(model, final_plan(run), visits(model, run), title)


def chosen_cell(results: Results, agent: str | None, world: str | None) -> Cell:
    """Return the cell of the agent and the world; by default the last agent in the first grid."""
    cells = list(results.design.cells)
    if world is None:
        cells = [cell for cell in cells if str(cell.world.identity.get("id", "")).startswith("grid")] or cells
    else:
        known = {cell.world.label for cell in cells}
        cells = [cell for cell in cells if cell.world.label == world]
        if not cells:
            raise UnknownNameError(f"world of {results.design.name}", world, known)
    if agent is not None:
        known = {cell.agent.label for cell in cells}
        cells = [cell for cell in cells if cell.agent.label == agent]
        if not cells:
            raise UnknownNameError(f"agent of {results.design.name}", agent, known)
    first = cells[0].world.label
    return next(cell for cell in reversed(cells) if cell.world.label == first)
