"""The numbers of a study in their several forms."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from goalward.errors import FileError
from goalward.report.paper_values import PUBLISHED, published_table
from goalward.report.progress import BarDisplay, LineDisplay, duration
from goalward.report.summary_text import (
    comparison_document,
    comparison_text,
    csv_text,
    grouped,
    markdown_text,
    summary_document,
    summary_text,
    with_interval,
    write_text,
)
from goalward.results.statistics import Interval
from goalward.results.summary import compare, summarise
from made_up_results import cell_results, study


@pytest.mark.parametrize(
    ("value", "text"),
    [(361241.24, "361,241"), (99.96, "100.0"), (12.345, "12.3"), (0.01234, "0.0123"), (0.0, "0"), (-5.0, "-5.00"),
     (1e-12, "1.00e-12"), (math.nan, "-"), (math.inf, "infinite"), (-math.inf, "-infinite")],
)  # fmt: skip
def test_numbers(value, text):
    assert grouped(value) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((804.96, 761.2, 848.7), "805 ± 44"),
        ((360525.0, 358190.0, 362860.0), "360,525 ± 2,335"),
        ((0.1404, 0.1216, 0.1592), "0.140 ± 0.019"),
        ((805.0, 768.0, 850.0), "805 [768, 850]"),
        ((3.0, math.nan, math.nan), "3.00"),
        ((3.0, 3.0, 3.0), "3.00"),
        ((2e-12, 1e-12, 3e-12), "2.00e-12 ± 1.0e-12"),
    ],
)
def test_intervals(interval, text):
    assert with_interval(Interval(*interval, runs=5)) == text


@pytest.fixture
def results():
    return study(
        cell_results("one", "a", 2.0), cell_results("one", "b", 1.0, cut=60), cell_results("two", "a", 3.0, runs=6)
    )


def test_rows_hold_what_the_runs_say(results):
    summary = summarise(results)
    row = summary.rows[0]
    assert row.regret.value == row.median == 350.0
    assert row.exponent.value == pytest.approx(1.0)
    assert (row.complete, row.steps, row.seconds) == (4, 300.0, 1.0)
    cut = summary.rows[1]
    assert (cut.complete, cut.truncated) == (3, 1)
    assert cut.regret.value == pytest.approx(200.0)


def test_the_text_marks_what_is_left_out(results):
    text = summary_text(summarise(results))
    assert "one: regret after 100 episodes, mean of 3 to 4 runs with 95 % t-intervals" in text
    assert "b *" in text
    assert "a *" not in text
    assert "* b in one: 1 of 4 runs were cut off by the step limit and are left out" in text
    assert "* some means are of 3 runs: too few" in text


def test_markdown(results):
    text = markdown_text(summarise(results))
    assert text.startswith("# made-up\n\n## one\n\nRegret after 100 episodes")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables} == {8}
    assert len(tables) == 2 + 2 + 2 + 1


def test_csv_holds_every_digit(results):
    rows = list(csv.DictReader(io.StringIO(csv_text(summarise(results)))))
    assert [(row["world"], row["agent"]) for row in rows] == [("one", "a"), ("one", "b"), ("two", "a")]
    assert float(rows[0]["regret_high"]) == summarise(results).rows[0].regret.high
    lonely = study(cell_results("one", "a", 2.0, runs=1))
    assert next(csv.DictReader(io.StringIO(csv_text(summarise(lonely)))))["regret_low"] == ""


def test_the_document_is_strict_json(results):
    empty = study(*results.cells, cell_results("one", "c", 1.0, runs=0))
    document = summary_document(summarise(empty))
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text)["rows"][3]["regret"] is None


def test_no_exponent_of_rounding():
    tiny = study(cell_results("one", "a", 0.0, runs=1))
    tiny.cells[0].curves["gap_regret"][:] = 1e-13 * np.arange(1, 101)
    assert math.isnan(summarise(tiny).rows[0].exponent.value)


def test_comparisons_use_the_runs_that_both_completed(results):
    found = compare(results, "a", "b", "regret")
    assert list(found) == ["one"]
    assert found["one"].pairs == 3
    assert found["one"].difference.value == pytest.approx(100.0)
    text = comparison_text("a", "b", "regret", found, 0.95)
    assert "regret of a minus that of b" in text
    assert "0 of 3" in text


def test_comparisons_say_what_they_leave_out(results):
    found = compare(results, "a", "b", "regret")
    text = comparison_text("a", "b", "regret", found, 0.95)
    assert "one *" in text
    assert "* one: 1 of 4 runs left out: not both agents completed them" in text
    assert "* some comparisons are of 3 pairs: too few" in text
    document = comparison_document("a", "b", "regret", found, 0.95)
    assert document["worlds"]["one"]["left_out"] == 1
    assert len(document["notes"]) == 2
    whole = study(*(cell_results("one", agent, 2.0, runs=6) for agent in "ab"))
    whole = replace(whole, design=replace(whole.design, runs=6))
    found = compare(whole, "a", "b", "regret")
    assert found["one"].left_out == 0
    assert comparison_document("a", "b", "regret", found, 0.95)["notes"] == []
    assert "*" not in comparison_text("a", "b", "regret", found, 0.95)
    many = study(*(cell_results(f"w{n}", agent, 2.0, cut=60) for n in range(12) for agent in "ab"))
    notes = comparison_document("a", "b", "regret", compare(many, "a", "b"), 0.95)["notes"]
    assert notes[8] == "and 4 more of the kind; goalward status lists all"


@pytest.mark.filterwarnings("error")
def test_infinite_regret_is_shown_without_intervals():
    lost = study(cell_results("one", "a", 2.0), cell_results("one", "b", 1.0))
    lost.cells[0].curves["gap_regret"][1:, 60:] = np.inf
    lost.cells[1].curves["gap_regret"][2:, 60:] = np.inf
    text = comparison_text("a", "b", "gap_regret", compare(lost, "a", "b"), 0.95)
    assert text.splitlines()[2].split() == ["one", "4", "-", "0", "of", "4", "-"]
    for bootstrap in (False, True):
        summary = summarise(lost, bootstrap=bootstrap)
        assert "infinite" in summary_text(summary)
        assert summary_document(summary)["rows"][0]["gap_regret_low"] is None


def test_texts_that_cannot_be_written(tmp_path):
    write_text(tmp_path / "new" / "file.csv", "x")
    with pytest.raises(FileError, match="choose a place that can be written"):
        write_text(tmp_path / "new", "x")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (59.6, "1 min 0 s"), (3599.0, "59 min 59 s"), (7500.0, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_lines_come_at_the_start_and_at_the_end():
    from collections import Counter

    from goalward.execution.runner import Progress

    stream = io.StringIO()
    with LineDisplay(stream) as display:
        progress = Progress(10, 4, wanted=Counter(a=6))
        display(progress)
        for done in range(1, 7):
            progress.done["a"], progress.seconds, progress.seconds_left = done, done / 2, (6 - done) / 2
            display(progress)
    assert stream.getvalue() == "6 runs to make, 4 are stored already\n6 of 6 runs, 3.0 s, 2 runs/s\n"


def test_bars_show_every_agent():
    from collections import Counter

    from rich.console import Console

    from goalward.execution.runner import Progress

    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with BarDisplay(console) as display:
        progress = Progress(5, 0, wanted=Counter({"one": 2, "another": 3}))
        display(progress)
        progress.done.update({"one": 2, "another": 3})
        progress.failed, progress.seconds, progress.seconds_left = 1, 2.5, 0.0
        display(progress)
    shown = console.file.getvalue()
    assert "loading the kernels" in shown
    assert all(part in shown for part in ("one", "another", "2/2", "3/3", "5/5", "2 runs/s", "1 failed"))


def test_the_published_values_stand_beside_ours():
    cell = cell_results("GridWorld", "ULCVI", 2.0)
    assert published_table(summarise(study(cell)), "theory") is None
    long = replace(cell, cell=replace(cell.cell, episodes=10_000))
    text = published_table(summarise(study(long)), "theory")
    assert text.splitlines()[-1].split()[:2] == ["GridWorld", "ULCVI"]
    assert text.endswith("361,000")
    assert set(PUBLISHED["theory"]) == set(PUBLISHED["tuned"])
