"""Code that all commands share: the application, the common options, and printing.

A new command is one function with ``@app.command()`` in a module of this package that `goalward.cli` imports. The
function parses its arguments, makes one call and ends with `show(table, ...)`. Large packages are imported inside the
function, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward import __version__
from goalward.formatting import visible
from goalward.table import Table, render

if TYPE_CHECKING:
    from goalward.studies.store import Store


app = typer.Typer(
    name="goalward",
    help="Learn the cheapest way to a goal in an unknown world (a stochastic shortest path problem).",
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
        bool, typer.Option("--debug", help="Show the traceback of an error. Works before or after the command.")
    ] = False,
) -> None:
    """Declare the options that all commands share. `main` itself reads ``--debug``."""


def given_options(**options: Any) -> dict[str, Any]:
    """Return the `options` whose values are neither None nor empty."""
    return {name: value for name, value in options.items() if value not in (None, [])}


def one_line(text: str, longest: int = 1_500) -> str:
    """Return `text` as one line of about `longest` characters or fewer. Make control characters visible."""
    line = visible(" ".join(text.split()))
    half = longest // 2
    return line if len(line) <= longest else f"{line[:half]} ... {line[-half:]}"


def say(*lines: str, format: str = "text") -> None:
    """Print `lines` to stdout if `format` is text, otherwise to stderr."""
    typer.echo(visible("\n".join(lines), keep=" \n"), err=format != "text")


def say_choice(store: Store, study: str | None) -> None:
    """If a study has several designs, print to stderr which design is shown. Without `study`, check all studies."""
    for sentence in filter(None, map(store.choice, [study] if study else store.studies())):
        typer.echo(visible(sentence), err=True)


def show(*tables: Table, format: str, written: Iterable[Path | None] = ()) -> None:
    """Print `tables` in `format`, then the paths of the files that were `written`."""
    terminal = sys.stdout.isatty()
    if format == "text" and terminal:
        from rich.console import Console

        console = Console(highlight=False)
        for index, table in enumerate(tables):
            console.print(*[""] * (index > 0), *table.terminal(console.width), sep="\n")
    elif format == "text" or terminal:
        say(render(tables, format))
    else:
        sys.stdout.write(f"{render(tables, format)}\n")  # not echo, which would drop some characters of labels
    if files := [f"written: {path}" for path in written if path is not None]:
        say("", *files, format=format)


def show_if(wanted: bool, address: str) -> None:
    """If `wanted` is true, open the page at `address` in a browser."""
    import webbrowser

    if wanted and not webbrowser.open(address):
        say(f"no browser was found; open {address} yourself")
