"""What the verbs share: the application they belong to, and how they speak.

A new verb is one function with ``@app.command()`` in a module of this package that `goalward.cli` imports. Whatever is
heavy is imported inside the verb, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from goalward import __version__

if TYPE_CHECKING:
    from goalward.report.labels import Glyphs

__all__ = ["app", "glyphs", "say", "say_json"]

app = typer.Typer(
    name="goalward",
    help="Learn the cheapest way to a goal in an unknown world: the stochastic shortest path model.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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


def say(*lines: str) -> None:
    """Print some lines, in plain characters where others cannot be printed."""
    text = "\n".join(lines)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = text.replace("±", "+-")
    typer.echo(text)


def say_json(document: object) -> None:
    """Print plain data as one line of JSON."""
    from goalward.report.documents import json_text

    say(json_text(document))


def glyphs() -> Glyphs:
    """Return the characters that standard output can take."""
    from goalward.report.labels import ASCII, UNICODE

    try:
        "".join([*UNICODE.arrows.values(), *UNICODE.frame, UNICODE.start]).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return UNICODE
