"""What `goalward plot` draws: stored results, or runs carried out again for what is not stored."""

from __future__ import annotations

from matplotlib.figure import Figure

from goalward.errors import SettingError, UnknownNameError
from goalward.execution.rerun import final_plan, regret_by_cause, rerun, visits
from goalward.long_work import phase
from goalward.report.causes_figure import causes_figure
from goalward.report.plan_figure import plan_figure
from goalward.report.regret_figures import growth_figure, regret_figure
from goalward.report.symbols import cause_name, marked
from goalward.results.study_results import Results, world_name
from goalward.results.summary import sweep_rows
from goalward.studies.design import Cell
from goalward.studies.factory import make_world

__all__ = ["checked_kind", "plot"]

KINDS = ("regret", "growth", "causes", "grid")


def plot(
    results: Results,
    kind: str = "regret",
    *,
    measure: str | None = None,
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
        For regret: which regret, ``linear`` or ``log`` axes, and the level of the intervals (also for growth). Without
        a measure it is the realised regret, on logarithmic axes the gap regret.
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
    stored = [each.cell for each in results.cells if number in each.runs]
    cells = stored or results.design.cells
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
    model, run = rerun(results.stored_spec(cell, number), results.attachments)
    if model.layout is None:
        raise SettingError(f"{cell.world.label} is not a grid and cannot be drawn; choose another with --world")
    title = f"{cell.agent.label} in {cell.world.label}, run {number}: {cell.episodes:,} episodes"
    title += "".join(f"\n{text}" for label, text in results.caveats().items() if label == cell.agent.label)
    return plan_figure(model, final_plan(run), visits(model, run), title)


def chosen_cell(results: Results, agent: str | None, world: str | None, number: int) -> Cell:
    """Return the cell of the agent and the world; by default the last agent in the first grid."""
    design = results.design
    by_world = {cell.world.label: cell for cell in design.cells}
    if world is None:
        models = ((label, make_world(design.spec(cell, number).world, results.attachments))
                  for label, cell in by_world.items())  # fmt: skip
        world = next((label for label, model in models if model.layout is not None), next(iter(by_world)))
    elif world not in by_world:
        raise UnknownNameError(f"world of {design.name}", world, by_world)
    by_agent = {cell.agent.label: cell for cell in design.cells if cell.world.label == world}
    if agent is not None and agent not in by_agent:
        raise UnknownNameError(f"agent of {design.name}", agent, by_agent)
    return by_agent[agent if agent is not None else list(by_agent)[-1]]
