"""The numbers of a study in their several forms."""

import csv
import io
import json
import math

import numpy as np
import pytest

from goalward.errors import SettingError
from goalward.json_documents import json_text
from goalward.results.comparison_text import comparison_text
from goalward.results.summary import compare, summarise
from goalward.results.summary_text import markdown_text, summary_document, summary_text
from made_up_results import cell_results, study


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


def test_caveats_are_marked_and_said():
    summary = summarise(study(cell_results("one", "a", 2.0), cell_results("one", "b", 1.0, caveat="no theorem")))
    assert "b: no theorem" in summary.notes
    assert "  b * " in summary_text(summary)
    assert "  a * " not in summary_text(summary)


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
    rows = list(csv.DictReader(io.StringIO(summarise(results).table.csv())))
    assert [(row["world"], row["agent"]) for row in rows] == [("one", "a"), ("one", "b"), ("two", "a")]
    assert float(rows[0]["regret_high"]) == summarise(results).rows[0].regret.high
    lonely = study(cell_results("one", "a", 2.0, runs=1))
    assert next(csv.DictReader(io.StringIO(summarise(lonely).table.csv())))["regret_low"] == ""


def test_the_document_is_strict_json(results):
    empty = study(*results.cells, cell_results("one", "c", 1.0, runs=0))
    text = json_text(summary_document(summarise(empty)))
    assert json.loads(text)["rows"][3]["regret"] is None


def test_regret_that_is_zero_for_a_while_has_no_exponent():
    late = study(cell_results("one", "a", 0.0, runs=2))
    late.cells[0].curves["gap_regret"][:, :60] = 0.0
    assert math.isnan(summarise(late).rows[0].exponent.value)


def test_infinite_regret_is_shown_without_intervals():
    lost = study(cell_results("one", "a", 2.0), cell_results("one", "b", 1.0))
    lost.cells[0].curves["gap_regret"][1:, 60:] = np.inf
    lost.cells[1].curves["gap_regret"][2:, 60:] = np.inf
    text = comparison_text("a", "b", "gap_regret", compare(lost, "a", "b"), 0.95)
    assert text.splitlines()[2].split() == ["one", "4", "-", "0", "of", "4", "-"]
    for bootstrap in (False, True):
        summary = summarise(lost, bootstrap=bootstrap)
        assert summary_text(summary).splitlines()[2].split() == ["a", "inf", "inf", "inf", "-", "300", "1.0"]
        assert json.loads(json_text(summary_document(summary)))["rows"][0]["gap_regret_low"] is None


def test_names_cannot_break_a_markdown_table():
    text = markdown_text(summarise(study(cell_results("a|b", "*bold*", 1.0))))
    assert r"## a\|b" in text
    assert r"| \*bold\* |" in text


def test_a_level_that_is_no_number_is_refused(results):
    """Also where no interval is computed, because each cell has one run."""
    for found in (results, study(cell_results("one", "a", 1.0, runs=1))):
        with pytest.raises(SettingError, match="level is 'x'"):
            found.summary(level="x")
