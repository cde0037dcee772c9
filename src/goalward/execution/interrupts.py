"""The signals that stop a study or a run: SIGINT (Ctrl-C), and SIGTERM, by which schedulers of clusters end jobs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Interrupted", "interruptible", "stop_requests"]


class Interrupted(KeyboardInterrupt):
    """A signal stopped a study. Unlike the SystemExit of an agent, this is not a failed run.

    `exit_code` is what shells expect of a process that a signal ended.
    """

    def __init__(self, number: int, folder: Path):
        super().__init__(number, folder)
        self.number, self.folder = number, folder

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.number

    def __str__(self) -> str:
        what = "interrupted" if self.number == signal.SIGINT else "terminated"
        return f"{what}; what is done is stored in {self.folder}, and the same command goes on there"


@contextmanager
def interruptible(folder: Path) -> Iterator[None]:
    """Raise `Interrupted` where the block stands when SIGINT or SIGTERM comes; the first one counts.

    Python can set signal handlers in the main thread only; in others SIGTERM keeps its usual meaning.
    """

    def leave(number: int, frame: object) -> None:
        # A second signal must not disturb the workers' leaving.
        signal.signal(number, signal.SIG_IGN)
        raise Interrupted(number, folder)

    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, leave) if in_main else None
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(signal.SIGINT, folder) from None
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Take the first Ctrl-C as a request to stop; the function says whether it came. A second one raises at once."""
    asked = False

    def ask(number: int, frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
