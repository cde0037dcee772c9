"""Progress display: bars on a terminal or in a notebook, lines elsewhere.

Code that may take long declares a `phase`. Phases can be nested. `displayed` shows all open phases: on a terminal, it
draws a bar for each phase and removes all bars after the last phase. In other outputs, such as logs, it prints a line
every ten seconds. `goalward.learn` shows its progress in a terminal or a notebook.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from goalward.formatting import duration, visible

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table


Item = TypeVar("Item")
SECONDS_BETWEEN_LINES = 10.0
SECONDS_BEFORE_BARS = 0.5  # short tasks show none
_phases: list[Phase] = []
_displays: list[Display] = []


@dataclass(eq=False)
class Phase:
    """A task in progress; `done` of `total` units are finished, and `second` is another count.

    `parts` returns lines on the progress of other processes.
    """

    text: str
    total: int = 0
    unit: str = ""
    second_unit: str = ""
    done: int = 0
    second: int = 0
    began: float = field(default_factory=time.monotonic)
    parts: Callable[[], list[str]] | None = None
    seconds_left: float | None = None
    """An estimate of the remaining time; if None, the speed so far gives an estimate."""

    def advance(self, done: int, second: int = 0) -> None:
        """Set the counts `done` and `second`."""
        self.done, self.second = done, second

    def line(self, now: float) -> str:
        """Return the task and its progress as text, with an estimate of the remaining time if possible.

        >>> Phase("psrl learns", 10, "episodes", "steps", 4, 1200, began=0.0).line(8.0)
        'psrl learns: 4 of 10 episodes, 1,200 steps, about 12 s left'
        """
        of = "" if self.unit.startswith("%") else f" of {self.total:,}"
        counts = [f"{self.done:,}{of} {self.unit}"] if self.total else []
        counts += [f"{self.second:,} {self.second_unit}"] if self.second else []
        if 0 < self.done < self.total:
            proportional = (now - self.began) * (self.total - self.done) / self.done
            counts.append(f"about {duration(proportional if self.seconds_left is None else self.seconds_left)} left")
        own = f"{self.text}: {', '.join(counts)}" if counts else self.text
        return "; ".join([own, *(self.parts() if self.parts else [])])


@contextmanager
def phase(text: str, total: int = 0, unit: str = "", second_unit: str = "") -> Iterator[Phase]:
    """Yield a `Phase` that is open during the block; call its method `advance` to report progress."""
    entry = Phase(text, total, unit, second_unit)
    _phases.append(entry)
    try:
        yield entry
    finally:
        _phases.remove(entry)
        if not _phases:
            for display in _displays:
                display.clear()


def counted(text: str, unit: str, items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield the `items` inside a phase that counts the items."""
    with phase(text, total, unit) as entry:
        for done, item in enumerate(items, start=1):
            yield item
            entry.advance(done)


def current(now: float | None = None) -> str:
    """Return the open phases as text, outermost phase first; the text is empty if no phase is open."""
    moment = time.monotonic() if now is None else now
    return "; ".join(entry.line(moment) for entry in list(_phases))


class Display:
    """A display of the open phases: bars if `stream` is a terminal, otherwise a line every ten seconds."""

    def __init__(self, stream: TextIO, began: float):
        self.stream, self.began, self.next_line = stream, began, began + SECONDS_BETWEEN_LINES
        self.terminal = stream.isatty() or in_notebook()
        self.bars: Live | NotebookBars | None = None
        self.lock, self.process = threading.Lock(), os.getpid()

    def look(self, now: float) -> None:
        """Update the display if an update is due."""
        if self.terminal:
            self.draw(now)
        elif now >= self.next_line and _phases:
            print(f"{visible(current(now))} ({duration(now - self.began)})", file=self.stream, flush=True)
            self.next_line = now + SECONDS_BETWEEN_LINES

    def draw(self, now: float) -> None:
        """Draw a bar for each open phase."""
        with self.lock:
            phases = list(_phases)
            if not phases or (self.bars is None and now - phases[0].began < SECONDS_BEFORE_BARS):
                return
            if self.bars is None:
                self.bars = NotebookBars() if in_notebook() else terminal_bars(self.stream)
                self.bars.start()
            self.bars.update(bar_table(phases, now), refresh=True)

    def clear(self) -> None:
        """Remove the bars, except in a forked process: its copy of the lock may be held."""
        if os.getpid() != self.process:
            return
        with self.lock:
            if self.bars is not None:
                self.bars.stop()
                self.bars = None


def in_notebook() -> bool:
    """Return whether this process runs in a notebook."""
    ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(ipython, "kernel")


def terminal_bars(stream: TextIO) -> Live:
    """Return bars for a terminal; other output to the terminal appears above the bars."""
    from rich.console import Console
    from rich.live import Live

    redirect = sys.stdout.isatty()
    return Live(console=Console(file=stream), transient=True, auto_refresh=False, redirect_stdout=redirect)


class NotebookBars:
    """Text bars in the output of a notebook cell, used in place of Rich's `Live`, which needs widgets."""

    def start(self) -> None:
        ipython: Any = import_module("IPython.display")
        self.place = ipython.display({"text/plain": ""}, raw=True, display_id=True)

    def update(self, table: Table, *, refresh: bool) -> None:
        lines = []
        for entry in list(_phases):
            bar = f"{'█' * (20 * entry.done // entry.total):░<20} " if entry.total else ""
            lines.append(bar + visible(entry.line(time.monotonic())))
        self.place.update({"text/plain": "\n".join(lines)}, raw=True)

    def stop(self) -> None:
        self.place.update({"text/plain": ""}, raw=True)


def bar_table(phases: list[Phase], now: float) -> Table:
    """Return a table with a line for each phase, which shows the task, its progress and, if there is room, a bar."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    texts = [Text(visible(entry.line(now)), no_wrap=True, overflow="ellipsis") for entry in phases]
    room = shutil.get_terminal_size().columns - max(map(len, texts)) - 2
    table = Table.grid(padding=(0, 1))
    for entry, text in zip(phases, texts, strict=True):
        bar = ProgressBar(entry.total or None, entry.done, width=min(room, 30), pulse=not entry.total)
        table.add_row(text, *[bar] * (room >= 10))
    return table


@contextmanager
def displayed(stream: TextIO) -> Iterator[None]:
    """Show progress inside the block; a thread updates the display four times a second."""
    over = threading.Event()
    display = Display(stream, time.monotonic())
    _displays.append(display)

    def watch() -> None:
        while not over.wait(0.25):
            display.look(time.monotonic())

    threading.Thread(target=watch, name="goalward-progress", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        _displays.remove(display)
        display.clear()


def shown() -> AbstractContextManager[None]:
    """Show progress inside the block in a terminal or a notebook, unless a display is already active."""
    stream = sys.stderr
    wanted = stream is not None and not _displays and (stream.isatty() or in_notebook())
    return displayed(stream) if wanted else nullcontext()
