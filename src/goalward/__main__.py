"""The entry point of the commands ``goalward`` and ``python -m goalward``."""

import gc
import os
import sys

from goalward.signals import Interrupted, catch_signals, ignore_signals, received


def entry() -> None:
    """Run the command line interface; after a signal, print one line and exit with the code that shells expect."""
    catch_signals()
    gc.set_threshold(50_000)  # collecting garbage while modules are imported takes 10 % of a start
    try:
        from goalward.progress import displayed

        with displayed(sys.stderr):
            from goalward.cli import main

            main()
    except Interrupted as stop:
        ignore_signals()
        print(f"\ngoalward: {stop}", file=sys.stderr)
        leave(stop.exit_code)
    except SystemExit as end:
        ignore_signals()
        if received():
            leave(end.code if isinstance(end.code, int) else 1)
        raise


def leave(code: int) -> None:
    """End the process with the exit code `code`, without waiting for threads whose worker processes were killed."""
    pools = sys.modules.get("multiprocessing.util")
    if pools is not None:
        # Remove the semaphores of the pool; otherwise Python reports them as leaked after goalward's last line.
        pools._run_finalizers(0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    entry()
