"""The command line: verbs, no logic. Each module holds the verbs of one kind; `app` is what they share.

Errors of goalward's need no care in a verb: `main` turns them into one line.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

# Importing a module enters its verbs; --help shows them in this order.
from goalward.cli import reproduce  # noqa: F401  isort: skip
from goalward.cli import studies  # noqa: F401  isort: skip
from goalward.cli import results  # noqa: F401  isort: skip
from goalward.cli import worlds  # noqa: F401  isort: skip
from goalward.cli import learning  # noqa: F401  isort: skip
from goalward.cli import listing  # noqa: F401  isort: skip
from goalward.cli import doctor  # noqa: F401  isort: skip
from goalward.cli import claims  # noqa: F401  isort: skip
from goalward.cli.app import app
from goalward.errors import GoalwardError

__all__ = ["app", "main"]


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
    except Exception as error:
        if debug:
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"goalward: a mistake in goalward ({what}); --debug shows where: please report it", file=sys.stderr)
        sys.exit(70)
