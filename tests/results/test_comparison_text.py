"""Comparisons of two agents."""

from dataclasses import replace

import pytest

from goalward.results.comparison_text import comparison_document, comparison_text
from goalward.results.summary import compare
from made_up_results import cell_results, study


@pytest.fixture
def results():
    return study(
        cell_results("one", "a", 2.0), cell_results("one", "b", 1.0, cut=60), cell_results("two", "a", 3.0, runs=6)
    )


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
