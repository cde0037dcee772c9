"""What the verbs share: the application, their common options, and how they print.

A new verb is one function with ``@app.command()`` in a module of this package that `goalward.cli` imports. It parses
its arguments, makes one call and ends in `show(table, ...)`. It imports what is heavy inside the function, so that
``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward import __version__
from goalward.errors import UnknownNameError
from goalward.formatting import visible
from goalward.table import FORMATS, Table, render

if TYPE_CHECKING:
    from goalward.studies.store import Store


def checked_format(name: str) -> str:
    """Return the name of a format; raise UnknownNameError if there is none of this name."""
    if name not in FORMATS:
        raise UnknownNameError("format", name, FORMATS)
    return name


WORLD_HELP = (
    "A world (goalward list worlds), a Gymnasium id (Taxi-v4), a function in a file (my_env.py:make_env), a model file"
    " (.npz .json .csv .umb ...), or a map in .txt."
)
World = Annotated[str, typer.Argument(metavar="WORLD", help=WORLD_HELP)]
OptionalWorld = Annotated[str | None, typer.Argument(metavar="[WORLD]", help=WORLD_HELP)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting, such as rows=5; for a model file an option of SSP.load: normalize=true. Can be repeated.",
    ),
]
AgentSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--agent-set",
        metavar="NAME=VALUE",
        help="A setting of the agent, as in a study: delta=0.1, prior={kind='slip'}. Can be repeated.",
    ),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent",
        help="An algorithm (goalward list agents) or a class, a.py:Mine.  [default: psrl, or continuous-psrl]",
    ),
]
Episodes = Annotated[
    int | None, typer.Option(help="How many episodes to run.  [default: 1000, or 20 with continuous states]")
]
MaxSteps = Annotated[int | None, typer.Option(help="End a run after this many steps.")]
Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it: .png, .pdf or .svg.")]
GiveUpCost = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help="Add an action that gives up: back to the start, at this cost."),
]
Goal = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="RULE",
        help="Environments: which steps reach the goal: terminated, or the least reward. Model files: the label or"
        " state that is the goal; can be repeated.",
    ),
]
Start = Annotated[str | None, typer.Option(metavar="STATE", help="Model files: the state to start in.")]
Cost = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Environments: what a step costs: penalty (minus a negative reward, otherwise 1), reward (minus the"
        " reward) or a number. Model files: the reward that is the cost, or the cost of every step.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Show the page in a browser.")]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")]
StudyName = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME[/DESIGN]",
        help="Which study, if the folder holds several; which design of it. The default is the one run last.",
    ),
]
Workers = Annotated[int | None, typer.Option(help="Number of processes; 1 means only this one.  [default: one a core]")]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster at this address: tcp://host:8786."),
]
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        callback=checked_format,
        help="How to print: csv is the main table; csv and json have all digits, infinite numbers are null in json.",
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write the tables: .md, .csv, .json, .html, .tex or .txt."),
]

app = typer.Typer(
    name="goalward",
    help="Learn the cheapest way to a goal in an unknown world: the stochastic shortest path model.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"goalward {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. Works before and after the verb.")
    ] = False,
) -> None:
    """Declare the options that all verbs share; `main` reads ``--debug``."""


def given_options(**options: Any) -> dict[str, Any]:
    """Return the options that are given."""
    return {name: value for name, value in options.items() if value not in (None, [])}


def say(*lines: str, format: str = "text") -> None:
    """Print some lines, to stderr if the answer is not text."""
    typer.echo(visible("\n".join(lines), keep=" \n"), err=format != "text")


def say_choice(store: Store, study: str | None) -> None:
    """Mention on standard error which of several designs of a study, or of each study, is shown."""
    for sentence in filter(None, map(store.choice, [study] if study else store.studies())):
        typer.echo(visible(sentence), err=True)


def show(*tables: Table, format: str, written: Iterable[Path | None] = ()) -> None:
    """Print tables in a format, then the files that were written."""
    terminal = sys.stdout.isatty()
    if format == "text" and terminal:
        from rich.console import Console

        console = Console(highlight=False)
        for index, table in enumerate(tables):
            console.print(*[""] * (index > 0), *table.terminal(console.width), sep="\n")
    elif format == "text" or terminal:
        say(render(tables, format))
    else:
        sys.stdout.write(f"{render(tables, format)}\n")  # as it is: echo would drop some characters of labels
    if files := [f"written: {path}" for path in written if path is not None]:
        say("", *files, format=format)


def show_if(wanted: bool, path: Path) -> None:
    """Show a page in a browser if that is wanted."""
    from goalward.pages.page import show_file

    if wanted and not show_file(path):
        say("no browser was found; open the file in one")
