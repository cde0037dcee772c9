"""Whoever waits sees what is being done."""

import io
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from goalward import agents, learn, worlds
from goalward.progress import Display, Phase, counted, current, phase
from goalward.studies.runner import Report, study_progress
from goalward.studies.study import Study


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_phases_nest_and_end() -> None:
    with phase("whole", 4, "parts") as whole, phase("part", second_unit="steps") as inner:
        whole.advance(1)
        inner.advance(0, 1_000)
        said = current(whole.began + 5.0)
    assert said == "whole: 1 of 4 parts, about 15 s left; part: 1,000 steps"
    assert current() == ""


def test_an_estimate_needs_something_done() -> None:
    assert Phase("learning", 10, "episodes", began=0.0).line(60.0) == "learning: 0 of 10 episodes"


def test_counted_declares_how_far_it_is() -> None:
    seen = [(item, current(0.0).partition(",")[0]) for item in counted("reading", "files", "ab", 2)]
    assert seen == [("a", "reading: 0 of 2 files"), ("b", "reading: 1 of 2 files")]


def test_lines_come_after_a_while_and_then_now_and_then() -> None:
    stream = io.StringIO()
    display = Display(stream, 100.0)
    display.look(1_000.0)
    assert stream.getvalue() == ""
    display = Display(stream, 100.0)
    with phase("one\x1bthing"):
        for seconds in (0.0, 9.5, 10.0, 10.5, 20.0):
            display.look(100.0 + seconds)
        assert stream.getvalue() == "one\\x1bthing (10 s)\none\\x1bthing (20 s)\n"
        display.look(1_000.0)
    display.look(2_000.0)
    assert len(stream.getvalue().splitlines()) == 3


def test_bars_show_every_phase_and_disappear(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    with phase("making runs", 10, "runs") as making, phase("[red]psrl[/red]", 4, "runs"):
        display = Display(stream, making.began)
        display.look(making.began)
        assert stream.getvalue() == ""
        making.advance(5)
        display.look(making.began + 3.0)
        shown = stream.getvalue()
        assert all(part in shown for part in ("making runs", "5 of 10 runs", "about 3.0 s left", "[red]psrl[/red]"))
        display.clear()
    assert display.bars is None
    assert "\x1b[2K" in stream.getvalue()[len(shown) :]


def test_a_study_shows_how_far_it_is(capsys) -> None:
    with study_progress() as watch:
        report = Report(Study.load("growth").design, 10, 4)
        watch(report)
        for done in range(1, 7):
            report.done, report.seconds_left, report.workers = done, (6 - done) / 2, 2
            watch(report)
            if done == 3:
                assert current() == "making runs: 3 of 6 runs, about 1.5 s left; 2 workers"
    assert capsys.readouterr().err == "6 runs to make, 4 already stored\n"


def test_learn_shows_its_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goalward.progress.SECONDS_BEFORE_BARS", 0.0)

    def slow(episodes: int, steps: int) -> None:
        time.sleep(0.05)

    for stream, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        learn(agents.PSRL(), worlds.grid_world(2, 2), 40, watch=slow)
        assert ("psrl learns" in stream.getvalue()) is expected


def test_notebooks_show_bars_without_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of IPython are not installed here; these have what is used of them."""
    shown: list[str] = []

    class Place:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data["text/plain"])

    kernel = types.SimpleNamespace(kernel=True)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
    display = types.SimpleNamespace(display=lambda data, raw, display_id: Place())
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    look = Display(io.StringIO(), 0.0)
    with phase("psrl <learns>", 10, "episodes") as entry:
        entry.advance(4)
        look.look(entry.began + 10.0)
        look.clear()
    assert "████████░░░░░░░░░░░░ psrl <learns>: 4 of 10 episodes" in shown[0]
    assert shown[-1] == ""


SLOW = """
import time
from goalward.agents import PSRL

class Slow(PSRL):
    def plan(self, state):
        time.sleep(0.2)
        return super().plan(state)
"""


NOTEBOOK = """
import goalward as gw
from slow import Slow
world = {"world": "grid-world", "settings": {"rows": 2, "columns": 2}}
study = {"name": "slow", "runs": 2, "episodes": 4, "worlds": [world], "agents": [{"agent": "slow.py:Slow"}]}
gw.run(study, "results", workers=2)
gw.learn(Slow(), gw.worlds.grid_world(2, 2), 6)
"""


def test_a_notebook_shows_bars(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    shown: list[str] = []

    class Client(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
        def process_message(self, message: dict[str, Any], cell: Any, index: int) -> Any:
            shown.append(message["content"].get("data", {}).get("text/plain", message["msg_type"]))
            return super().process_message(message, cell, index)

    (tmp_path / "slow.py").write_text(SLOW)
    cell = nbformat.v4.new_code_cell(NOTEBOOK)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    Client(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}, timeout=120).execute()
    assert any("making runs" in text and "of 2 runs" in text for text in shown)
    assert any("Slow learns" in text and "of 6 episodes" in text for text in shown)
    # The bars have disappeared, and the last value is shown.
    assert [output["output_type"] for output in cell.outputs if output.get("data", {}).get("text/plain") != ""] == [
        "execute_result"
    ]
