"""The command line. Each module holds the verbs about one thing; `app` holds what they share.

Verbs do not handle the errors of goalward: `main` prints them in one line.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

# Importing a module registers its verbs; --help lists them in this order.
from goalward.cli import learn  # noqa: F401  isort: skip
from goalward.cli import pages  # noqa: F401  isort: skip
from goalward.cli import world  # noqa: F401  isort: skip
from goalward.cli import study  # noqa: F401  isort: skip
from goalward.cli import paper  # noqa: F401  isort: skip
from goalward.cli import installation  # noqa: F401  isort: skip
from goalward.cli.app import app
from goalward.errors import GoalwardError
from goalward.files import reason
from goalward.formatting import visible
from goalward.signals import check_interrupt
from goalward.studies.executors import use_one_thread

__all__ = ["app", "main"]

LONGEST_MESSAGE = 1_500
# What Python says when a thread or a library does not fit into the memory that the system grants.
TOO_LITTLE_MEMORY = ("can't start new thread", "failed to map segment")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a GoalwardError becomes one line on stderr and exit code 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of states may hold characters that the terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    use_one_thread()  # before a verb loads NumPy
    try:
        # --debug also works after the verb, where people add it once something has failed.
        app(args=[argument for argument in words if argument != "--debug"], prog_name="goalward")
    except GoalwardError as error:
        if debug:
            raise
        print(f"goalward: {one_line(str(error))}", file=sys.stderr)
        sys.exit(2)
    except MemoryError as error:
        if debug:
            raise
        print(f"goalward: out of memory ({one_line(str(error))}); try a smaller problem", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        check_interrupt()  # A signal that comes while the compiler calls back breaks what is compiled.
        if debug:
            raise
        if isinstance(error, OSError) or any(text in str(error) for text in TOO_LITTLE_MEMORY):
            place = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
            why = reason(error) if isinstance(error, OSError) else str(error)
            print(f"goalward: the system refused: {one_line(place + why)}; --debug shows where", file=sys.stderr)
            sys.exit(2)
        what = one_line(f"{type(error).__name__}: {error}")
        print(f"goalward: a bug in goalward ({what}); please report it with the output of --debug", file=sys.stderr)
        sys.exit(70)


def one_line(text: str) -> str:
    """Return a message as one line of bounded length, without characters that a terminal would obey."""
    line = visible(" ".join(text.split()))
    return (
        line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE // 2]} ... {line[-LONGEST_MESSAGE // 2 :]}"
    )
