"""The verbs about one world: solve it, describe it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, glyphs, say, say_json, terminal_width
from goalward.cli.model_options import Read, takes_model
from goalward.cli.options import Json, World
from goalward.long_work import phase

__all__ = ["show", "solve"]


@app.command()
@takes_model
def solve(
    world: World,
    read: Read,
    goal_first: Annotated[
        bool,
        typer.Option("--goal-first", help="Largest probability of reaching the goal first, then the smallest cost."),
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="The largest relative distance between the proved bounds of a value.")
    ] = 1e-6,
    limit: Annotated[int, typer.Option(min=0, help="Print at most this many states.")] = 20,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write values and policy: .csv or .umb.")
    ] = None,
    json: Json = False,
) -> None:
    """Solve a world: optimal costs, proved bounds, best actions."""
    from goalward.cli import world_text
    from goalward.interchange.solutions import check_ending
    from goalward.planning.solve import solve as solve_model
    from goalward.text_tables import columns

    if out is not None:
        check_ending(out)
    ssp = read()
    solution = solve_model(ssp, tolerance, goal_first=goal_first)
    if out is not None:
        solution.save(out)
    if json:
        with phase("writing the solution"):
            say_json(world_text.solution_document(ssp, solution))
        return
    say(world, columns(world_text.solution_facts(ssp, solution, tolerance)))
    if limit:
        say("", world_text.solution_table(ssp, solution, tolerance, limit))
    if ssp.states > limit:
        say("", f"  {ssp.states - limit:,} more of {ssp.states:,} states: see --limit and --json")
    if out is not None:
        say("", f"written: {out}")


@app.command()
@takes_model
def show(
    world: World,
    read: Read,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw the grid: .png, .pdf, .svg or .jpg.")
    ] = None,
) -> None:
    """Describe a world: structure, hardness, picture."""
    from goalward.cli import world_text
    from goalward.figures import terminal_grid as grid_text
    from goalward.planning.hardness import hardness
    from goalward.planning.solve import solve_all
    from goalward.ssp.graph import structure
    from goalward.text_tables import columns

    ssp = read()
    if png is not None:
        from goalward.figures.drawing import picture_file

        picture_file(png)
        grid_text.layout_of(ssp)
    say(world, columns(world_text.model_facts(ssp)))
    say("", "structure", columns(world_text.structure_facts(ssp, structure(ssp))))
    say("", "hardness", columns(world_text.hardness_facts(hardness(ssp))))
    if ssp.layout is None:
        return
    if (ground := grid_text.ground_text(ssp, terminal_width())) is not None:
        say("", ground)
    solution = solve_all(ssp)
    picture = grid_text.grid_text(ssp, solution.values, solution.policy, width=terminal_width(), glyphs=glyphs())
    say("", picture or "The grid is too large to be drawn as text; --png FILE draws it as an image.")
    if png is not None:
        from goalward.figures.drawing import save_picture
        from goalward.figures.grid import grid_figure

        save_picture(grid_figure(ssp, solution.values, solution.policy, world), png)
        say("", f"written: {png}")
