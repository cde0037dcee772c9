"""How far a study or a run is while it goes on: bars on a terminal, lines elsewhere, always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from goalward.formatting import duration, number, visible
from goalward.long_work import current, hushed, phase
from goalward.studies.session import Progress

__all__ = ["open_display", "open_episode_display"]

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_UPDATES = 0.1
Show = Callable[[Progress], None]


def on_terminal() -> bool:
    """Whether stderr is a terminal; Rich also says so where colours are forced, as in notebooks."""
    return sys.stderr.isatty()


def open_display() -> AbstractContextManager[Show]:
    """Show the progress of a study: a bar for each agent if stderr is a terminal, a line now and then otherwise."""
    console = Console(stderr=True)
    return show_bars(console) if on_terminal() else show_lines(sys.stderr)


@contextmanager
def show_lines(stream: TextIO) -> Iterator[Show]:
    """Print a line at the start, every ten seconds and at the end; while no run ends, the speaker goes on."""
    last: float | None = None

    def show(progress: Progress) -> None:
        nonlocal last
        done, wanted = progress.done.total(), progress.wanted.total()
        now = time.monotonic()
        if done or progress.note:
            # Long runs come first, which this estimate knows.
            making.text = f"making runs: {summary_line(progress)}"
        if last is None:
            stored = f", {progress.stored:,} are stored already" if progress.stored else ""
            print(
                f"{wanted:,} runs to make{stored}",
                file=stream,
                flush=True,
            )
        elif now - last >= SECONDS_BETWEEN_LINES or done == wanted:
            print(summary_line(progress), file=stream, flush=True)
        else:
            return
        last = now

    with phase("making runs (kernels are compiled first, if none are kept)") as making:
        yield show


@contextmanager
def show_bars(console: Console) -> Iterator[Show]:
    """Draw a bar for each agent and one for all."""
    fields = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    tasks: dict[str, TaskID] = {}
    total: TaskID | None = None
    with hushed(), Bars(*fields, console=console, refresh_per_second=5) as bars:

        def show(progress: Progress) -> None:
            nonlocal total
            if total is None:
                for label, wanted in progress.wanted.items():
                    tasks[label] = bars.add_task(escape(visible(label)), total=wanted, note="")
                note = "loading the kernels; the first time they are compiled"
                total = bars.add_task("all", total=progress.wanted.total(), note=note)
                return
            for label, task in tasks.items():
                bars.update(task, completed=progress.done[label])
            note = summary_line(progress).partition(", ")[2]
            bars.update(total, completed=progress.done.total(), note=note)

        yield show


def summary_line(progress: Progress) -> str:
    done, wanted = progress.done.total(), progress.wanted.total()
    parts = [f"{done:,} of {wanted:,} runs", duration(progress.seconds)]
    if done and progress.seconds > 0:
        parts.append(f"{number(done / progress.seconds)} runs/s")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.seconds_left is not None and done < wanted:
        parts.append(f"about {duration(progress.seconds_left)} left")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)


class Preparation(ProgressColumn):
    """What is done before the first episode, such as compiling and the first plan, and long draws of models later."""

    def render(self, task: Task) -> Text:
        """Return a text while no step is done, or while a model is drawn."""
        doing = current()
        if "drawing" in doing:
            return Text(doing[doing.find("drawing") :])
        return Text("" if task.fields["steps"] else doing.rpartition("; ")[2])


@contextmanager
def open_episode_display(episodes: int) -> Iterator[Callable[[int, int], bool]]:
    """Show the progress of a run: a bar if stderr is a terminal; elsewhere `learn` declares a phase, which is enough.

    The function takes the episodes and the steps done so far and returns True: go on.
    """
    console = Console(stderr=True)
    if not on_terminal():
        yield lambda done, steps: True
        return
    fields = (BarColumn(40), MofNCompleteColumn(), TextColumn("episodes, {task.fields[steps]:,} steps"))
    shown = (*fields, TimeRemainingColumn(), Preparation())
    with hushed(), Bars(*shown, console=console, transient=True, refresh_per_second=5) as bar:
        task = bar.add_task("", total=episodes, steps=0)
        last = time.monotonic()

        def show(done: int, steps: int) -> bool:
            nonlocal last
            now = time.monotonic()
            if now - last > SECONDS_BETWEEN_UPDATES:
                bar.update(task, completed=done, steps=steps)
                last = now
            return True

        yield show
