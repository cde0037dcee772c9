"""The command line: verbs, no logic.

Whatever is heavy is imported inside the verb that needs it, so that ``--help`` and ``--version`` answer at once.
A new verb is one function with ``@app.command()``; errors of goalward's need no care, `main` turns them into one line.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goalward import __version__
from goalward.errors import GoalwardError, UnknownNameError

if TYPE_CHECKING:
    from goalward.report.labels import Glyphs

__all__ = ["app", "main"]

app = typer.Typer(
    name="goalward",
    help="Learn the cheapest way to a goal in an unknown world: the stochastic shortest path model.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

World = Annotated[
    str,
    typer.Argument(
        metavar="WORLD", help="A world's id (see: goalward list worlds), a model in .npz or .json, or a map in .txt."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the world, such as rows=5; may be repeated."),
]
Tolerance = Annotated[float, typer.Option(help="How far apart the proved bounds of each value may be, relative to it.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error of goalward's is one line on stderr and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of states may hold characters that a narrow terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # --debug is welcome behind the verb as well, where people add it once something has failed.
        app(args=[argument for argument in given if argument != "--debug"], prog_name="goalward")
    except GoalwardError as error:
        if debug:
            raise
        print(f"goalward: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)


def print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"goalward {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")] = False,
) -> None:
    """Hold the options that all verbs share."""


@app.command()
def solve(
    world: World,
    settings: Settings = None,
    tolerance: Annotated[
        float, typer.Option(help="How far apart the proved bounds of a value may be, relative to it.")
    ] = 1e-6,
    limit: Annotated[int, typer.Option(min=0, help="The most states to print.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON; infinite values are null.")] = False,
) -> None:
    """Solve a world: optimal costs, proved bounds, best actions."""
    from goalward import worlds
    from goalward.planning.solve import solve as solve_model
    from goalward.report import tables

    ssp = worlds.load(world, settings or ())
    solution = solve_model(ssp, tolerance)
    if json:
        from json import dumps

        typer.echo(dumps(tables.solution_document(ssp, solution), allow_nan=False))
        return
    say(world, tables.columns(tables.solution_facts(ssp, solution, tolerance)))
    if limit:
        say("", tables.solution_table(ssp, solution, tolerance, limit))
    if ssp.states > limit:
        say("", f"  {ssp.states - limit:,} more of {ssp.states:,} states: see --limit and --json")


@app.command()
def show(
    world: World,
    settings: Settings = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw the grid into a PNG file.")] = None,
) -> None:
    """Describe a world: structure, hardness, a picture if it is a grid."""
    from goalward import worlds
    from goalward.model.structure import structure
    from goalward.planning.hardness import hardness
    from goalward.planning.solve import solve_all
    from goalward.report import grid_text, tables

    ssp = worlds.load(world, settings or ())
    if png is not None:
        grid_text.layout_of(ssp)
    say(world, tables.columns(tables.model_facts(ssp)))
    say("", "structure", tables.columns(tables.structure_facts(ssp, structure(ssp))))
    say("", "hardness", tables.columns(tables.hardness_facts(hardness(ssp))))
    if ssp.layout is None:
        return
    solution = solve_all(ssp)
    width = shutil.get_terminal_size(fallback=(120, 50)).columns
    picture = grid_text.grid_text(ssp, solution.values, solution.policy, width=width, glyphs=glyphs())
    say("", picture or "The grid is too large to be drawn as text; --png FILE draws it as an image.")
    if png is not None:
        from goalward.report.grid_figure import grid_figure, save_png

        save_png(grid_figure(ssp, solution.values, solution.policy, world), png)
        say("", f"written: {png}")


@app.command("list")
def list_things(kind: Annotated[str, typer.Argument(metavar="KIND", help="What to list: worlds.")]) -> None:
    """List what there is to choose from."""
    kinds = ("worlds",)
    if kind not in kinds:
        raise UnknownNameError("list", kind, kinds)
    from goalward import worlds
    from goalward.report.tables import worlds_table

    say(worlds_table(worlds.find(id) for id in worlds.known()))


def say(*lines: str) -> None:
    """Print some lines."""
    typer.echo("\n".join(lines))


def glyphs() -> Glyphs:
    """Return the characters that standard output can take."""
    from goalward.report.labels import ASCII, UNICODE

    try:
        "".join([*UNICODE.arrows.values(), *UNICODE.frame, UNICODE.start]).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return UNICODE
