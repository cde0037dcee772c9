"""What the verbs share: the application and how they print.

A new verb is one function with ``@app.command()`` in a module of this package that `goalward.cli` imports. It parses
its arguments, makes one call and prints the answer. It imports what is heavy inside the function, so that ``--help``
and ``--version`` answer at once.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from goalward import __version__
from goalward.formatting import visible

if TYPE_CHECKING:
    from goalward.figures.symbols import Glyphs
    from goalward.studies.store import Store

__all__ = ["app", "glyphs", "say", "say_choice", "say_json", "terminal_width"]

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


def say(*lines: str) -> None:
    """Print some lines; a ± becomes +- where the terminal cannot show it."""
    text = visible("\n".join(lines), kept=" \n")
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = text.replace("±", "+-")
    typer.echo(text)


def say_choice(store: Store, *studies: str | None) -> None:
    """Mention on standard error which of several designs of each study is shown."""
    for sentence in filter(None, map(store.choice, studies)):
        typer.echo(visible(sentence), err=True)


def say_json(document: object) -> None:
    """Print plain data as one line of JSON."""
    from goalward.json_documents import json_text

    say(json_text(document))


def terminal_width() -> int:
    """Return how many characters fit a line."""
    return shutil.get_terminal_size(fallback=(120, 50)).columns


def glyphs() -> Glyphs:
    """Return the characters that standard output can show."""
    from goalward.figures.symbols import ASCII, UNICODE

    try:
        "".join([*UNICODE.arrows.values(), *UNICODE.frame, UNICODE.start]).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return UNICODE
