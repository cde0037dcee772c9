"""How a study that is being run shows itself: bars on a terminal, a line now and then elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from goalward.execution.runner import Progress
from goalward.number_format import duration

__all__ = ["BarDisplay", "LineDisplay", "open_display"]

SECONDS_BETWEEN_LINES = 10.0


def summary_line(progress: Progress) -> str:
    """Say how far a study is."""
    done, wanted = progress.done.total(), progress.wanted.total()
    parts = [f"{done:,} of {wanted:,} runs", duration(progress.seconds)]
    if done and progress.seconds > 0:
        parts.append(f"{done / progress.seconds:.3g} runs/s")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.seconds_left is not None and done < wanted:
        parts.append(f"about {duration(progress.seconds_left)} left")
    return ", ".join(parts)


class LineDisplay:
    """Prints a line at the start, every ten seconds and at the end."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.last: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.flush()

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        done, wanted = progress.done.total(), progress.wanted.total()
        now = time.monotonic()
        if self.last is None:
            stored = f", {progress.stored:,} are stored already" if progress.stored else ""
            print(f"{wanted:,} runs to make{stored}", file=self.stream, flush=True)
        elif now - self.last >= SECONDS_BETWEEN_LINES or done == wanted:
            print(summary_line(progress), file=self.stream, flush=True)
        else:
            return
        self.last = now


class BarDisplay:
    """Draws a bar for every agent."""

    def __init__(self, console: Console):
        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            refresh_per_second=5,
        )
        self.tasks: dict[str, TaskID] = {}
        self.total: TaskID | None = None

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        if self.total is None:
            for label, number in progress.wanted.items():
                self.tasks[label] = self.bars.add_task(label, total=number, note="")
            note = "loading the kernels; the first time they are compiled"
            self.total = self.bars.add_task("all", total=progress.wanted.total(), note=note)
            return
        for label, task in self.tasks.items():
            self.bars.update(task, completed=progress.done[label])
        note = summary_line(progress).partition(", ")[2]
        self.bars.update(self.total, completed=progress.done.total(), note=note)


def open_display() -> BarDisplay | LineDisplay:
    """Return bars if stderr is a terminal, lines otherwise."""
    console = Console(stderr=True)
    return BarDisplay(console) if console.is_terminal else LineDisplay(sys.stderr)
