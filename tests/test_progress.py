"""How far a study is, shown while it runs."""

import io
from collections import Counter

from rich.console import Console

from goalward.progress import show_bars, show_lines
from goalward.studies.session import Progress


def test_lines_come_at_the_start_and_at_the_end():
    stream = io.StringIO()
    with show_lines(stream) as display:
        progress = Progress(10, 4, wanted=Counter(a=6))
        display(progress)
        for done in range(1, 7):
            progress.done["a"], progress.seconds, progress.seconds_left = done, done / 2, (6 - done) / 2
            display(progress)
    assert stream.getvalue() == "6 runs to make, 4 are stored already\n6 of 6 runs, 3.0 s, 2 runs/s\n"


def test_bars_show_every_agent():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with show_bars(console) as display:
        progress = Progress(5, 0, wanted=Counter({"one": 2, "another": 3}))
        display(progress)
        progress.done.update({"one": 2, "another": 3})
        progress.failed, progress.seconds, progress.seconds_left = 1, 2.5, 0.0
        display(progress)
    shown = console.file.getvalue()
    assert "loading the kernels" in shown
    assert all(part in shown for part in ("one", "another", "2/2", "3/3", "5/5", "2 runs/s", "1 failed"))
