"""Ratios of regrets: intervals against resampling, lower bounds, refusals, sums over worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goalward.paper.ratios import compare_all, late_regrets, ratio_interval
from goalward.statistics import mean_interval
from made_up_results import cell_results, study


def test_intervals_agree_with_resampling() -> None:
    """Pairs of skewed regrets that share their luck: the standard error within a tenth of the bootstrap's."""
    rng = np.random.default_rng(0)
    luck = rng.gamma(4.0, 1.0, 400)
    ours, theirs = 0.5 * luck * rng.gamma(20.0, 0.05, 400), luck * rng.gamma(20.0, 0.05, 400)
    found = ratio_interval(ours, theirs)
    picks = rng.integers(0, 400, (4000, 400))
    spread = np.std(np.log(ours[picks].mean(axis=1) / theirs[picks].mean(axis=1)))
    assert math.log(found.high / found.low) / (2 * 1.966) == pytest.approx(spread, rel=0.1)
    assert found.value == pytest.approx(ours.mean() / theirs.mean())


def test_intervals_cover_the_true_ratio() -> None:
    """Of 400 samples of 20 pairs, 95 % cover; fewer than 90 % has probability below 2e-4 for an exact interval."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        found = ratio_interval(rng.gamma(4.0, 0.5, 20), rng.gamma(4.0, 1.0, 20))
        inside += found.low <= 0.5 <= found.high
    assert inside >= 360


@pytest.mark.parametrize(("ours", "theirs"), [([0.0, 0.0], [1.0, 2.0]), ([1.0, 2.0], [0.0, 0.0]), ([np.inf], [1.0])])
def test_no_ratio_without_positive_means(ours, theirs) -> None:
    assert math.isnan(ratio_interval(np.array(ours), np.array(theirs)).value)


def test_over_worlds() -> None:
    cells = [cell_results(world, "base", slope) for world, slope in (("one", 8.5), ("two", 18.5))]
    cells += [cell_results("one", "a", 3.5), cell_results("two", "a", 78.5)]
    ratios = compare_all(study(*cells), "base")
    assert [ratios.find(world, "a").ratio.value for world in ("one", "two")] == pytest.approx([0.5, 4.0])
    best, other = ratios.overall()
    assert (best.agent, best.mean.value, best.mean.low, best.worst) == ("base", 1.0, 1.0, 1.0)
    assert other.mean.value == pytest.approx(math.sqrt(2.0))
    assert (other.worst, other.worst_world, other.cut_off, other.refused) == (pytest.approx(4.0), "two", 0, 0)
    widths = [math.log(cell.ratio.high / cell.ratio.low) for cell in ratios.cells if cell.agent == "a"]
    assert math.log(other.mean.high / other.mean.low) == pytest.approx(math.hypot(*widths) / 2)
    finals = cells[3].finals["gap_regret"]
    assert ratios.find("two", "a").regret == mean_interval(finals)


def test_runs_that_were_cut_off_count_with_what_they_had_paid() -> None:
    cut = cell_results("one", "a", 2.0, cut=60)
    ratios = compare_all(study(cell_results("one", "base", 2.0), cut), "base")
    found = ratios.find("one", "a")
    assert found.cut_off == 1
    paid = [200.0, 300.0, 400.0, 300.0]
    assert found.ratio.value == pytest.approx(mean_interval(np.array(paid)).value / 350.0)
    assert ratios.overall()[0].cut_off == 1


def test_refused_worlds_are_named() -> None:
    cells = [cell_results(world, "base", 2.0) for world in ("one", "two")] + [cell_results("one", "a", 2.0)]
    ratios = compare_all(study(*cells), "base", refusals={("two", "a"): "costs", ("one", "b"): "x", ("two", "b"): "x"})
    assert ratios.find("two", "a").refusal == "costs"
    by_agent = {each.agent: each for each in ratios.overall()}
    assert (by_agent["a"].mean.value, by_agent["a"].refused) == (1.0, 1)
    assert (by_agent["b"].worst_world, by_agent["b"].refused) == ("", 2)
    assert math.isnan(by_agent["b"].mean.value)


def test_the_worst_run_of_the_last_two_thirds() -> None:
    """Regret (slope + r) k: each episode costs slope + r, also of the run that was cut off."""
    cut = cell_results("one", "a", 2.0, cut=60)
    np.testing.assert_allclose(late_regrets(cut), [2.0, 3.0, 4.0, 5.0], rtol=1e-12)
    early = cell_results("one", "a", 2.0)
    early.curves["gap_regret"][:] = np.minimum(early.curves["gap_regret"], 30.0)
    early.values["gap_regret"][:] = 30.0
    np.testing.assert_allclose(late_regrets(early), 0.0, atol=1e-12)


@pytest.mark.parametrize(("slope", "sticks"), [(0.5, False), (4.9, False), (5.1, True)])
def test_flags(slope: float, sticks: bool) -> None:
    """With B* = 100 the base pays 0.01 B* an episode: 0.05 is five times that."""
    cells = [cell_results("one", "base", 1.0, runs=1), cell_results("one", "a", slope, runs=1)]
    ratios = compare_all(study(*cells), "base", largest_values={"one": 100.0})
    found = ratios.find("one", "a")
    assert found.late == pytest.approx(slope / 100.0)
    assert found.sticks is sticks
    assert [row.sticks for row in ratios.overall() if row.agent == "a"] == [int(sticks)]
