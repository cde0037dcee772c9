"""What this process is doing right now, and how far it is, for those who wait.

Work that may take long declares a `phase`; phases nest. The program starts a `Speaker`, which prints the open phases to
stderr after two seconds and then every ten, because silence would look like a hang. A display that shows progress
itself holds the speaker back with `hushed`. In Python nothing is printed unless a program asks for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO, TypeVar

from goalward.formatting import duration, visible

__all__ = ["Phase", "Speaker", "advance", "counted", "current", "hushed", "phase", "speaking"]

Item = TypeVar("Item")
FIRST_SECONDS = 2.0
SECONDS_BETWEEN = 10.0
_phases: list[Phase] = []
_hushed = 0


@dataclass(eq=False)
class Phase:
    """One thing that is being done: `done` of `total` units, if they can be counted, and a second count beside them.

    `parts` returns what is being done elsewhere, such as in other processes.
    """

    text: str
    total: int = 0
    unit: str = ""
    second_unit: str = ""
    done: int = 0
    second: int = 0
    began: float = field(default_factory=time.monotonic)
    parts: Callable[[], list[str]] | None = None

    def advance(self, done: int, second: int = 0) -> None:
        """Note how far it is."""
        self.done, self.second = done, second

    def line(self, now: float) -> str:
        """Return what is being done, how far it is and, once something is done, how long the rest may take.

        >>> Phase("psrl learns", 10, "episodes", "steps", 4, 1200, began=0.0).line(8.0)
        'psrl learns: 4 of 10 episodes, 1,200 steps, about 12 s left'
        """
        of = "" if self.unit.startswith("%") else f" of {self.total:,}"
        parts = [f"{self.done:,}{of} {self.unit}"] if self.total else []
        parts += [f"{self.second:,} {self.second_unit}"] if self.second else []
        if 0 < self.done < self.total:
            parts.append(f"about {duration((now - self.began) * (self.total - self.done) / self.done)} left")
        own = f"{self.text}: {', '.join(parts)}" if parts else self.text
        return "; ".join([own, *(self.parts() if self.parts else [])])


@contextmanager
def phase(text: str, total: int = 0, unit: str = "", second_unit: str = "") -> Iterator[Phase]:
    """Declare what is done inside; call `advance` on the result to say how far it is."""
    entry = Phase(text, total, unit, second_unit)
    _phases.append(entry)
    try:
        yield entry
    finally:
        _phases.remove(entry)


def counted(text: str, unit: str, items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield some items inside a phase that counts them."""
    with phase(text, total, unit) as entry:
        for done, item in enumerate(items, start=1):
            yield item
            entry.advance(done)


def advance(text: str, done: int, second: int = 0) -> None:
    """Note how far the innermost phase is, if it has this text."""
    if _phases and _phases[-1].text == text:
        _phases[-1].advance(done, second)


def current(now: float | None = None) -> str:
    """Return what is being done, from the whole to its parts; empty if no phase is open."""
    moment = time.monotonic() if now is None else now
    return "; ".join(entry.line(moment) for entry in list(_phases))


@contextmanager
def hushed() -> Iterator[None]:
    """Hold the speaker back: what happens inside is shown in another way."""
    global _hushed
    _hushed += 1
    try:
        yield
    finally:
        _hushed -= 1


class Speaker:
    """Says what is being done, now and then."""

    def __init__(self, stream: TextIO, began: float):
        self.stream, self.began, self.next = stream, began, began + FIRST_SECONDS

    def look(self, now: float) -> None:
        """Say what is being done if it is time to."""
        if _hushed:
            self.next = now + FIRST_SECONDS
        elif now >= self.next and _phases:
            print(f"{visible(current(now))} ({duration(now - self.began)})", file=self.stream, flush=True)
            self.next = now + SECONDS_BETWEEN


@contextmanager
def speaking(stream: TextIO) -> Iterator[None]:
    """Let a speaker look now and then, from a thread of its own."""
    over = threading.Event()
    speaker = Speaker(stream, time.monotonic())

    def go_on() -> None:
        while not over.wait(0.25):
            speaker.look(time.monotonic())

    threading.Thread(target=go_on, name="goalward-speaker", daemon=True).start()
    try:
        yield
    finally:
        over.set()
