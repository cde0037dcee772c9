"""The signals that stop goalward: SIGINT (Ctrl-C), and SIGTERM, by which schedulers of clusters end jobs.

The first signal raises `Interrupted` in the main thread, wherever that is. An exception can be lost, for example in a
destructor, so long loops also call `check_interrupt`, which raises it again. Later signals do not disturb the leaving;
the third one ends the process at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "Interrupted", "catch_signals", "check_interrupt", "ignore_signals", "keeping", "received", "stop_requests",
    "undivided",
]  # fmt: skip

MOST_SIGNALS = 3
_received: list[int] = []
_undivided: list[bool] = []
_put_off: list[int] = []


class Interrupted(BaseException):
    """A signal stopped the process. Not an Exception: no run has failed, and nothing handles it but the command line.

    `exit_code` is what shells expect of a process that a signal ended.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number
        self.kept = ""
        """What is kept and how to go on, if anything is."""

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.number

    def __str__(self) -> str:
        what = "interrupted" if self.number == signal.SIGINT else "terminated"
        return f"{what} ({signal.Signals(self.number).name}); {self.kept or 'nothing was changed'}"


def receive(number: int, frame: object) -> None:
    _received.append(number)
    if len(_received) >= MOST_SIGNALS:
        os._exit(128 + number)
    if len(_received) > 1:
        return
    if not _undivided:
        raise Interrupted(number)
    _put_off.append(number)


def set_handlers(handler: Any) -> dict[int, Any]:
    """Handle both signals; return what handled them before.

    One that the process was told to ignore, as in the background of a shell, stays ignored. Python can set handlers in
    the main thread only; in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    wanted = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in wanted}


def catch_signals() -> None:
    """From now on, raise `Interrupted` when the first signal comes; print nothing where Python cannot raise it."""
    set_handlers(receive)
    sys.unraisablehook = report_lost


def report_lost(lost: sys.UnraisableHookArgs) -> None:
    """Report an exception that could not be raised, as Python does; an interrupt is raised again elsewhere."""
    if not issubclass(lost.exc_type, Interrupted):
        sys.__unraisablehook__(lost)


def ignore_signals() -> None:
    """Let no signal disturb the leaving."""
    set_handlers(signal.SIG_IGN)


def received() -> int:
    """Return the number of the first signal that has come; 0 if none has."""
    return _received[0] if _received else 0


def check_interrupt() -> None:
    """Raise `Interrupted` if a signal has come."""
    if _received:
        raise Interrupted(_received[0])


@contextmanager
def undivided() -> Iterator[None]:
    """Put a signal off to the end of a block, which must not be left half done."""
    _undivided.append(True)
    try:
        yield
    finally:
        _undivided.pop()
    if _put_off:
        raise Interrupted(_put_off.pop())


@contextmanager
def keeping(kept: str) -> Iterator[None]:
    """Let an interrupt that leaves the block say what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt as stop:  # where nobody has called `catch_signals`, as in a notebook
        stop.add_note(kept)
        raise
    except Interrupted as stop:
        stop.kept = stop.kept or kept
        raise


@contextmanager
def stop_requests() -> Iterator[Callable[[], int]]:
    """Take the first signal as a request to stop; the function returns its number, 0 before. A second one raises."""

    def ask(number: int, frame: object) -> None:
        _received.append(number)
        if len(_received) > 1:
            raise Interrupted(number)

    _received.clear()
    before = set_handlers(ask)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
