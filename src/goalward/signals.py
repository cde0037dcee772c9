"""Handle the signals that stop goalward: SIGINT (Ctrl-C) and SIGTERM (sent by cluster schedulers).

The first signal raises `Interrupted` in the main thread. This exception can be lost, for example in a destructor, so
long loops also call `check_interrupt`, which raises the exception again. The second signal is ignored, so that goalward
can clean up. The third signal ends the process at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MOST_SIGNALS = 3
_received: list[int] = []
_interruptible: list[bool] = []  # one entry for each open block


class Interrupted(BaseException):
    """A signal stopped the process. This BaseException is not a failure of a run; only the command line handles it.

    `exit_code` is the code that shells expect (130 or 143). `kept` is a text on what was saved and how to continue.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number, self.exit_code, self.kept = number, 128 + number, ""

    def __str__(self) -> str:
        what = "interrupted" if self.number == signal.SIGINT else "terminated"
        return f"{what} ({signal.Signals(self.number).name}); {self.kept or 'nothing was changed'}"


def receive(number: int, frame: object) -> None:
    _received.append(number)
    if len(_received) >= MOST_SIGNALS:
        os._exit(128 + number)
    if len(_received) == 1:
        raise Interrupted(number)


def set_handlers(handler: Any, instead_of: tuple[Any, ...] = ()) -> dict[int, Any]:
    """Set `handler` for both signals (only in place of handlers in `instead_of`, if any); return the old handlers.

    A signal that is already ignored, as in background jobs of a shell, stays ignored. Python sets handlers only in the
    main thread; in other threads this function does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    before: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    wanted = {
        number: old for number, old in before.items() if (old in instead_of if instead_of else old != signal.SIG_IGN)
    }
    for number in wanted:
        signal.signal(number, handler)
    return wanted


def catch_signals() -> None:
    """From now on, raise `Interrupted` at the first signal; if Python cannot raise the exception, print nothing."""

    def report_lost(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, Interrupted):  # which `check_interrupt` raises again
            sys.__unraisablehook__(lost)

    set_handlers(receive)
    sys.unraisablehook = report_lost


def ignore_signals() -> None:
    """Ignore signals during shutdown."""
    set_handlers(signal.SIG_IGN)


def received() -> int:
    """Return the number of the first received signal, or 0 if no signal was received."""
    return _received[0] if _received else 0


def check_interrupt() -> None:
    """Raise `Interrupted` if a signal was received."""
    if _received:
        raise Interrupted(_received[0])


@contextmanager
def keeping(kept: str) -> Iterator[None]:
    """If an interrupt ends the block, add `kept` to its message, to say what is saved and how to continue."""
    try:
        yield
    except KeyboardInterrupt as stop:  # where nobody has called `catch_signals`, as in a notebook
        stop.add_note(kept)
        raise
    except Interrupted as stop:
        stop.kept = stop.kept or kept
        raise


@contextmanager
def interruptible() -> Iterator[None]:
    """Mark the block as a computation without side effects, which Ctrl-C may end at once inside `stop_requests`."""
    _interruptible.append(True)
    try:
        yield
    finally:
        _interruptible.pop()


@contextmanager
def stop_requests() -> Iterator[Callable[[], int]]:
    """Treat the first signal as a request to stop; yield a function that returns the number of received signals.

    The second signal raises an exception: `Interrupted` on the command line, KeyboardInterrupt in Python. Inside
    `interruptible`, the first signal raises this exception. In Python, only Ctrl-C counts. Nested blocks, blocks in
    other threads, and blocks in programs with their own handlers have no effect.
    """

    def ask(number: int, frame: object) -> None:
        _received.append(number)
        if len(_received) > 1 or _interruptible:
            raise KeyboardInterrupt if in_python else Interrupted(number)

    in_python = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = set_handlers(ask, instead_of=(receive, signal.default_int_handler))
    if before:
        _received.clear()
    try:
        yield lambda: len(_received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if before and in_python:
            _received.clear()
