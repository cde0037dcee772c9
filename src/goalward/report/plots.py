"""What `goalward plot` draws: from stored runs, or from runs carried out again for what is not stored."""

from __future__ import annotations

from matplotlib.figure import Figure

from goalward.errors import SettingError, UnknownNameError
from goalward.execution.rerun import final_plan, regret_by_cause, rerun, visits
from goalward.planning.solve import solve_all
from goalward.report.plan_figure import causes_figure, visits_figure
from goalward.report.regret_figures import growth_figure, regret_figure
from goalward.results.results import Results, world_name
from goalward.results.summary import sweep_rows
from goalward.studies.design import Cell

__all__ = ["causes", "curves", "grid"]


def curves(results: Results, kind: str, measure: str, axes: str, level: float) -> Figure:
    """Draw regret along the episodes, or across a sweep."""
    if kind == "growth":
        return growth_figure(results, sweep_rows(results, level), level)
    return regret_figure(results, measure, axes, level)


def causes(results: Results, number: int) -> Figure:
    """Draw what ended the epochs in which regret was paid, for one run of each agent in each world."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cell in results.design.cells:
        world, run = rerun(results.design, cell, number)
        found.setdefault(world_name(results.design, cell), {})[cell.agent.label] = regret_by_cause(world, run)
    return causes_figure(found)


def grid(results: Results, agent: str | None, world: str | None, number: int) -> Figure:
    """Draw what an agent has come to believe on a grid, and where it went."""
    cell = chosen_cell(results, agent, world)
    model, run = rerun(results.design, cell, number)
    if model.layout is None:
        raise SettingError(f"{cell.world.label} is no grid and cannot be drawn; choose another with --world")
    plan = final_plan(run)
    optimal = solve_all(model)
    policy = optimal.policy if plan is None else plan.policy
    values = optimal.values if plan is None or plan.values is None else plan.values
    title = f"{cell.agent.label} in {cell.world.label}, run {number}: {cell.episodes:,} episodes"
    return visits_figure(model, values, policy, visits(model, run), title)


def chosen_cell(results: Results, agent: str | None, world: str | None) -> Cell:
    """Return the cell that was asked for."""
    cells = list(results.design.cells)
    if world is None:
        cells = [cell for cell in cells if str(cell.world.identity.get("id", "")).startswith("grid")] or cells
    else:
        cells = [cell for cell in cells if cell.world.label == world]
        if not cells:
            raise UnknownNameError(
                f"world of {results.design.name}", world, {c.world.label for c in results.design.cells}
            )
    if agent is not None:
        known = {cell.agent.label for cell in cells}
        cells = [cell for cell in cells if cell.agent.label == agent]
        if not cells:
            raise UnknownNameError(f"agent of {results.design.name}", agent, known)
    first = cells[0].world.label
    return next(cell for cell in reversed(cells) if cell.world.label == first)
