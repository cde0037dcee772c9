"""Summaries and comparisons of studies."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from goalward import run, worlds
from goalward.errors import SettingError, UnknownNameError
from goalward.results.measures import MEASURES, Measure, Statistic
from goalward.results.summary import compare, comparison_table, summary_table, summary_tables
from goalward.table import render
from goalward.theory import regret_limit
from made_up_results import cell_results, study


@pytest.fixture
def results():
    return study(
        cell_results("one", "a", 2.0), cell_results("one", "b", 1.0, cut=60), cell_results("two", "a", 3.0, runs=6)
    )


def test_rows_hold_what_the_runs_say(results):
    row, cut, _ = summary_table(results).rows
    assert row["regret"].value == row["median"] == 350.0
    assert row["exponent"].value == pytest.approx(1.0)
    assert (row["complete"], row["steps"], row["seconds"]) == (4, 300.0, 1.0)
    assert (cut["complete"], cut["truncated"]) == (3, 1)
    assert cut["regret"].value == pytest.approx(200.0)


def test_a_new_measure_is_a_new_column_everywhere(results, monkeypatch):
    """Stored results have it too: nothing but the list of measures says which columns there are."""
    doubled = Measure(
        "doubled", lambda run: 2.0 * run.outcome["total_steps"], (Statistic("doubled", of=lambda s: s.values.max()),)
    )
    for module in ("summary", "results"):
        monkeypatch.setattr(f"goalward.results.{module}.MEASURES", (*MEASURES, doubled))
    cells = [replace(cell, values=cell.values | {"doubled": 2.0 * cell.values["steps"]}) for cell in results.cells]
    more = replace(results, cells=cells)
    assert summary_table(more)["doubled"] == [600.0, 600.0, 600.0]
    assert "doubled" in summary_table(more).headings
    assert more.runs()["doubled"][0] == 600.0


def test_caveats_are_marked_and_said():
    table = summary_table(study(cell_results("one", "a", 2.0), cell_results("one", "b", 1.0, caveat="no theorem")))
    assert "b: no theorem" in table.notes
    assert "  b * " in table.text()
    assert "  a * " not in table.text()


def test_the_text_marks_what_is_left_out(results):
    text = summary_table(results).text()
    assert "one: means after 100 episodes with 95 % t-intervals" in text
    assert "b *" in text
    assert "a *" not in text
    assert "* b in one: 1 of 4 runs were cut off by the step limit and are left out" in text
    assert "* some means are over 3 runs: too few" in text


def test_csv_holds_every_digit(results):
    table = summary_table(results)
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert [(row["world"], row["agent"]) for row in rows] == [("one", "a"), ("one", "b"), ("two", "a")]
    assert float(rows[0]["regret_high"]) == table.rows[0]["regret"].high
    lonely = summary_table(study(cell_results("one", "a", 2.0, runs=1)))
    assert next(csv.DictReader(io.StringIO(lonely.csv())))["regret_low"] == ""


def test_json_has_null_where_nothing_is_known(results):
    empty = study(*results.cells, cell_results("one", "c", 1.0, runs=0))
    assert json.loads(render(summary_tables(empty), "json"))["summary"][3]["regret"] is None


def test_regret_that_is_zero_for_a_while_has_no_exponent():
    late = study(cell_results("one", "a", 0.0, runs=2))
    late.cells[0].curves["gap_regret"][:, :60] = 0.0
    assert math.isnan(summary_table(late).rows[0]["exponent"].value)


def test_infinite_regret_is_shown_without_intervals():
    lost = study(cell_results("one", "a", 2.0), cell_results("one", "b", 1.0))
    for cell, first in zip(lost.cells, (1, 2), strict=True):
        cell.curves["gap_regret"][first:, 60:] = np.inf
        for name in ("regret", "gap_regret"):
            cell.values[name][first:] = np.inf
    lines = comparison_table(lost, "a", "b").text().splitlines()
    assert lines[2].split() == ["one", "4", "-", "0", "of", "4", "-", "-"]
    for interval in ("t", "median"):
        table = summary_table(lost, interval=interval)
        assert table.text().splitlines()[2].split()[:6] == ["a", "4", "inf", "inf", "inf", "-"]
        assert json.loads(table.json())["summary"][0]["gap_regret_low"] is None


def test_names_cannot_break_a_markdown_table():
    text = summary_table(study(cell_results("a|b", "*bold*", 1.0))).markdown()
    assert r"## a\|b" in text
    assert r"| \*bold\* |" in text


def test_a_level_that_is_no_number_is_refused(results):
    """Also where no interval is computed, because each cell has one run."""
    for some in (results, study(cell_results("one", "a", 1.0, runs=1))):
        with pytest.raises(SettingError, match="level is 'x'"):
            some.summary(level="x")


def test_comparisons_use_the_runs_that_both_completed(results):
    comparisons = compare(results, "a", "b", "regret")
    assert list(comparisons) == ["one"]
    assert comparisons["one"].pairs == 3
    assert comparisons["one"].difference.value == pytest.approx(100.0)
    text = comparison_table(results, "a", "b", "regret").text()
    assert "regret of a minus that of b" in text
    assert "0 of 3" in text
    with pytest.raises(SettingError, match="share no world"):
        comparison_table(study(cell_results("one", "a", 2.0), cell_results("two", "b", 2.0)), "a", "b")


def test_comparisons_say_what_they_leave_out(results):
    table = comparison_table(results, "a", "b", "regret")
    assert "one *" in table.text()
    assert table.notes[0].startswith("one: 1 of 4 runs are left out, because an agent did not complete them")
    assert table.notes[1].startswith("some comparisons are over 3 pairs: too few")
    assert table["left_out"] == [1]
    whole = study(*(cell_results("one", agent, 2.0, runs=6) for agent in "ab"))
    table = comparison_table(replace(whole, design=replace(whole.design, runs=6)), "a", "b", "regret")
    assert table["left_out"] == [0]
    assert not table.notes
    many = study(*(cell_results(f"w{n}", agent, 2.0, cut=60) for n in range(12) for agent in "ab"))
    assert comparison_table(many, "a", "b").notes[8] == "and 4 more notes like these; goalward status lists all"


def test_skewed_runs_are_named_and_medians_offered():
    skewed = study(cell_results("one", "a", 1.0, runs=8), cell_results("one", "b", 1.0, runs=8))
    skewed.cells[1].values["gap_regret"][:] = [1.0] * 7 + [1000.0]
    warnings = [note for note in summary_table(skewed).notes if "skewed" in note]
    assert warnings == ["the t-intervals of skewed runs are too short: b; use --interval median (six runs or more)"]
    medians = summary_table(skewed, interval="median")
    assert "skewed" not in " ".join(medians.notes)
    assert medians.title == "medians after 100 episodes with 95 % intervals of order statistics"
    assert medians["gap_regret"][1] == 1.0
    with pytest.raises(UnknownNameError, match="no kind of intervals is called 'mode'"):
        summary_table(skewed, interval="mode")


def test_comparisons_name_skewed_differences_and_offer_medians():
    skewed = study(cell_results("one", "a", 1.0, runs=8), cell_results("one", "b", 1.0, runs=8))
    skewed.cells[0].values["gap_regret"][:] = 1.0
    skewed.cells[1].values["gap_regret"][:] = [3.0] * 7 + [1000.0]
    skewed = replace(skewed, design=replace(skewed.design, runs=8))
    means = comparison_table(skewed, "b", "a")
    assert means.notes == [
        "the t-intervals of skewed differences are too short: one; use --interval median (six runs or more)"
    ]
    medians = comparison_table(skewed, "b", "a", interval="median")
    assert not medians.notes
    assert "run by run: median with 95 % interval of order statistics; p-values" in medians.title
    assert medians["difference"] == [2.0]
    assert medians["p_value"] == means["p_value"]
    assert "b minus a, run by run: median gap regret 2 " in summary_table(skewed, interval="median").notes[0]
    with pytest.raises(UnknownNameError, match="no kind of intervals is called 'mode'"):
        comparison_table(skewed, "b", "a", interval="mode")


def test_regret_in_units_of_the_reference(tmp_path):
    """In a built-in world and in a model of the user.

    It is not defined where costs are zero or each run has a world of its own, and no code of a user is executed.
    """
    model = worlds.random_mdp(seed=3)
    model.save(tmp_path / "mine.json")
    (tmp_path / "code.py").write_text("from goalward import worlds\n\n\ndef make():\n    return worlds.river_swim()\n")
    kinds = [
        {"world": "river-swim-v0"},
        {"world": str(tmp_path / "mine.json"), "label": "mine"},
        {"world": "free-corner-v0"},
        {"world": "river-swim-v0", "draw": "prior", "prior": {"kind": "dirichlet"}, "label": "drawn"},
        {"world": f"{tmp_path / 'code.py'}:make", "label": "code"},
    ]
    document = {"name": "small", "runs": 3, "episodes": 40, "worlds": kinds, "agents": [{"agent": "psrl"}]}
    results = run(document | {"max_steps": 20_000}, tmp_path / "results", workers=1)
    table = results.summary(reference=True)
    known = {"river-swim": worlds.river_swim(), "mine": model}
    for row in table:
        if row["world"] in known:
            expected = row["gap_regret"] / regret_limit(known[row["world"]]).reference(40)
            assert row["of_reference"] == pytest.approx(expected, rel=1e-12)
            assert row["of_reference_low"] <= expected <= row["of_reference_high"]
        else:
            assert math.isnan(row["of_reference"])
    assert "of_reference" not in results.summary().names
