"""Statistics against SciPy, closed forms and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from goalward import statistics
from goalward.errors import SettingError
from goalward.formatting import with_margin
from goalward.statistics import (
    checked_level,
    compare_pairs,
    growth_along,
    growth_of_means,
    is_skewed,
    mean_interval,
    median_interval,
    permutation_test,
    share,
)

SAMPLES = np.random.default_rng(5).lognormal(size=12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 3, 10, 12])
def test_t_intervals(n, level):
    found = mean_interval(SAMPLES[:n], level)
    expected = stats.ttest_1samp(SAMPLES[:n], 0.0).confidence_interval(level)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-12)
    assert found.value == SAMPLES[:n].mean()
    assert found.half_width == pytest.approx(found.high - found.value)


@pytest.mark.parametrize("interval", [mean_interval, median_interval])
def test_intervals_of_few_or_equal_runs(interval):
    assert math.isnan(interval(np.array([])).value)
    one = interval(np.array([3.0]))
    assert (one.value, one.runs) == (3.0, 1)
    assert math.isnan(one.low)
    same = interval(np.full(6, 7.0))
    assert (same.low, same.value, same.high) == (7.0, 7.0, 7.0)


@pytest.mark.parametrize("n", [6, 10, 25])
def test_intervals_of_the_median(n):
    """The share of intervals that contain the median, 0.95 at least: 20,000 samples, five standard errors."""
    rng = np.random.default_rng(n)
    found = [median_interval(sample) for sample in rng.lognormal(size=(20_000, n))]
    covered = np.mean([each.low <= 1.0 <= each.high for each in found])
    steps = int(stats.binom.ppf(0.025, n, 0.5))
    exact = 1.0 - 2.0 * stats.binom.cdf(steps - 1, n, 0.5)
    assert exact >= 0.95
    assert covered == pytest.approx(exact, abs=5 * np.sqrt(0.05 * 0.95 / 20_000))
    assert math.isnan(median_interval(np.arange(5.0)).low)
    assert math.isnan(median_interval(np.array([])).value)
    assert median_interval(np.append(np.arange(9.0), np.inf)).high == 8.0


def test_skewed_runs_are_noticed():
    rng = np.random.default_rng(0)
    assert is_skewed(np.append(np.zeros(9), 1.0))
    assert not is_skewed(rng.normal(size=20))
    assert not is_skewed(np.ones(10))
    assert not is_skewed(rng.lognormal(size=60))
    # What the docstring says of t-intervals: 4,000 samples of ten runs.
    found = [mean_interval(sample) for sample in rng.lognormal(size=(4_000, 10))]
    covered = np.mean([each.low <= np.exp(0.5) <= each.high for each in found])
    assert covered == pytest.approx(0.84, abs=0.03)


@pytest.mark.parametrize("n", [4, 20])
def test_infinite_regrets_have_no_interval_and_no_p_value(n):
    lost = np.arange(float(n))
    lost[1] = np.inf
    found = mean_interval(lost)
    assert (found.value, found.runs) == (math.inf, n)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert math.isnan(mean_interval(np.array([np.inf, -np.inf, 1.0])).value)
    assert math.isnan(mean_interval(np.full(n, np.inf)).low)
    for other in (lost, np.zeros(n), np.roll(lost, 1)):
        compared = compare_pairs(lost, other)
        assert math.isnan(compared.p_value)
        assert math.isnan(compared.difference.low)
    assert math.isnan(growth_of_means(np.arange(1.0, n + 1.0), lost[np.newaxis] + 1.0).value)


@pytest.mark.parametrize("n", [2, 5, 11])
def test_the_permutation_test_counts_all_patterns(n):
    differences = np.random.default_rng(n).normal(0.5, 1.0, n)
    expected = stats.permutation_test(
        (differences,), lambda x: np.abs(np.mean(x)), permutation_type="samples", alternative="greater"
    ).pvalue
    assert permutation_test(differences) == pytest.approx(expected)


def test_patterns_that_tie_with_what_was_seen_count():
    # In floating point 0.1 + 0.2 is not 0.3: all eight patterns but none are as extreme as the two of |sum| = 0.6.
    assert permutation_test(np.array([0.1, 0.2, 0.3])) == 0.25
    assert permutation_test(np.array([0.3, 0.2, 0.1])) == 0.25
    assert permutation_test(np.zeros(4)) == 1.0
    assert math.isnan(permutation_test(np.array([])))


def test_random_patterns_agree_with_all_of_them(monkeypatch):
    differences = np.random.default_rng(3).normal(0.4, 1.0, 12)
    exact = permutation_test(differences)
    monkeypatch.setattr(statistics, "MOST_EXACT", 5)
    # The share among 100,000 patterns has a standard error below 0.0016; six of them.
    assert permutation_test(differences) == pytest.approx(exact, abs=0.01)
    assert permutation_test(differences, seed=1) == permutation_test(differences, seed=1)
    assert 0.0 < permutation_test(np.full(100, 1.0)) < 1e-4


def test_comparisons_are_pair_by_pair():
    luck = np.array([100.0, 200.0, 300.0, 400.0])
    other = luck + np.array([1.0, 2.0, 3.0, -1.0])
    found = compare_pairs(other, luck)
    assert found.difference.value == pytest.approx(1.25)
    assert (found.wins, found.pairs) == (1, 4)
    assert found.correlation == pytest.approx(stats.pearsonr(other, luck).statistic)
    assert math.isnan(compare_pairs(luck, np.ones(4)).correlation)
    t = stats.ttest_rel(other, luck).confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx(tuple(t))
    with pytest.raises(SettingError, match="3 and 4 runs cannot be paired"):
        compare_pairs(luck[:3], luck)


@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0])
def test_the_exponent_of_a_power_law(exponent):
    episodes = np.arange(1.0, 10_001.0)
    factors = np.array([1.0, 2.0, 5.0])
    found = growth_along(episodes, factors[:, np.newaxis] * episodes**exponent)
    assert found.value == pytest.approx(exponent, abs=1e-12)
    assert found.half_width == pytest.approx(0.0, abs=1e-9)
    alone = growth_along(episodes, episodes[np.newaxis] ** exponent)
    assert alone.value == pytest.approx(exponent)
    assert math.isnan(alone.low)


def test_the_exponent_is_that_of_the_last_decade():
    episodes = np.arange(1.0, 10_001.0)
    regrets = np.where(episodes < 900.0, episodes, 900.0 * np.sqrt(episodes / 900.0))
    assert growth_along(episodes, np.stack([regrets, regrets])).value == pytest.approx(0.5, abs=1e-9)


def test_the_interval_of_the_exponent_covers_it():
    # Curves c_i k^a_i with random c_i and a_i around 1/2: the truth is the slope of their expectation, here that of
    # very many of them. 200 intervals of level 0.9 from 15 curves each; fewer than 160 would cover with probability
    # below 1e-4 if the coverage were 0.9.
    rng = np.random.default_rng(8)
    episodes = np.unique(np.geomspace(100, 10_000, 60).round())

    def curves(n):
        return rng.uniform(1.0, 2.0, (n, 1)) * episodes ** rng.normal(0.5, 0.02, (n, 1))

    truth = growth_along(episodes, curves(20_000)).value
    found = [growth_along(episodes, curves(15), 0.9) for _ in range(200)]
    assert sum(each.low <= truth <= each.high for each in found) >= 160


def test_exponents_that_do_not_exist():
    episodes = np.arange(1.0, 101.0)
    assert math.isnan(growth_along(episodes, np.zeros((3, 100))).value)
    assert math.isnan(growth_along(episodes, np.full((3, 100), np.inf)).value)
    assert math.isnan(growth_along(episodes[:2], np.ones((3, 2))).value)
    assert math.isnan(growth_along(episodes, np.ones((0, 100))).value)
    assert math.isnan(growth_along(np.array([]), np.ones((2, 0))).value)


def test_growth_across_a_sweep_is_the_slope_of_the_means():
    rng = np.random.default_rng(4)
    sizes = np.array([4.0, 8.0, 16.0, 32.0])
    finals = sizes**1.5 * rng.lognormal(0.0, 0.2, (10, 4))
    expected = stats.linregress(np.log(sizes), np.log(finals.mean(axis=0)))
    found = growth_of_means(sizes, finals)
    assert found.value == pytest.approx(expected.slope)
    assert found.low < 1.5 < found.high
    assert math.isnan(growth_of_means(sizes[:1], finals[:, :1]).value)
    assert math.isnan(growth_of_means(sizes, -finals).value)


def test_levels_outside_their_range():
    for level in (0.0, 1.0, 95.0, math.nan, "x"):
        with pytest.raises(SettingError, match="it must be a number between 0 and 1, both excluded"):
            checked_level(level)


def test_a_flat_curve_has_the_exponent_zero():
    episodes = np.arange(1.0, 1001.0)
    found = growth_along(episodes, np.full((4, 1000), 7.3) * np.arange(1, 5)[:, np.newaxis])
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
    assert with_margin(found) == "0"


@pytest.mark.parametrize(("count", "runs"), [(0, 30), (30, 30), (15, 30), (1, 7)])
def test_shares_have_the_interval_of_clopper_and_pearson(count, runs):
    found = share(count, runs, 0.9)
    low, high = stats.binomtest(count, runs).proportion_ci(0.9)
    assert (found.value, found.low, found.high) == pytest.approx((count / runs, low, high), abs=1e-9)
