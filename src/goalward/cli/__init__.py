"""The command line. Each module defines the commands on one subject. `app` has the code that all commands share.

Commands do not catch goalward's errors. `main` catches each error and prints it as one line.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import typer

# Importing a module registers its commands; --help lists them in this order.
from goalward.cli import world, learn, study, paper, installation  # noqa: F401  isort: skip
from goalward.cli.app import app, one_line
from goalward.errors import GoalwardError
from goalward.files import reason
from goalward.signals import check_interrupt
from goalward.studies.worker_process import use_one_thread
from goalward.user_code import place_of

BUG = 70
"""The exit code of a bug in goalward."""
# Parts of Python's messages when there is too little memory to start a thread or load a library.
TOO_LITTLE_MEMORY = ("can't start new thread", "failed to map segment")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command in `arguments`. If the command fails, print one line to stderr and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of states may hold characters that the terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    use_one_thread()  # before a command loads NumPy
    try:
        # --debug may stand anywhere, because people often append it to a command that has just failed.
        app(args=[argument for argument in words if argument != "--debug"], prog_name="goalward")
    except Exception as error:
        message, code = explained(error)
        if not isinstance(error, GoalwardError):
            check_interrupt()  # A signal during compilation can look like another error.
        if debug:
            raise
        typer.echo(f"{typer.style('goalward:', fg='red')} {message}", err=True)  # in colour on a terminal only
        sys.exit(code)


def explained(error: Exception) -> tuple[str, int]:
    """Return one line that explains `error`, and the exit code."""
    text = one_line(str(error))
    if isinstance(error, GoalwardError):
        return text, 2
    if isinstance(error, MemoryError):
        return f"out of memory ({text}); try a smaller problem", 2
    if isinstance(error, OSError):
        text = one_line(": ".join(filter(None, [str(error.filename or ""), reason(error)])))
    elif place := place_of(error):
        return f"{place}: {type(error).__name__}: {text}; --debug shows the traceback", 2
    elif not any(part in str(error) for part in TOO_LITTLE_MEMORY):
        return f"a bug in goalward ({type(error).__name__}: {text}); please report it with the output of --debug", BUG
    return f"the system refused: {text}; --debug shows the traceback", 2
