"""Statistics over the runs of a study: intervals, paired comparisons and growth exponents.

Mean with t-interval
    For n runs with mean m and standard deviation s, the interval is m +- t_{n-1} s / sqrt(n), where t_{n-1} is a
    quantile of Student's t. The interval is exact for normally distributed runs. With ten skewed runs, the coverage is
    below the level.

Median with interval of order statistics
    The ends of the interval are the i-th smallest and the i-th largest run, where i is a binomial quantile. The
    coverage is at least the level for every distribution. There is no 95 % interval for fewer than six runs. Use this
    interval for skewed runs (`is_skewed`), for which intervals of the mean are too short.

Paired comparison
    Run r of one agent and run r of another agent have the same world and the same random transitions. The comparison
    therefore uses the differences of paired runs: their mean with t-interval, and a sign-flip test. Both are valid
    for any correlation of the runs, but a larger correlation gives a narrower interval. If the agents were alike, each
    sign of a difference would be equally likely. The p-value is the share of sign patterns whose |mean| is at least as
    large as observed. For n <= 16, it counts all 2^n patterns. For larger n, it counts 100,000 random patterns and the
    observed pattern. (`scipy.stats.permutation_test` gives the same result but takes thirty times as long.)

Growth exponent
    The exponent is the least-squares slope of log(mean regret after k episodes) on log k, at points spread evenly in
    log k from K/10 to K. Its interval is a jackknife interval: leaving out one run at a time gives n pseudo-values, and
    the pseudo-values give a t-interval. In a sweep over a setting, such as the number of states, the exponent is the
    slope of log(mean final regret) on log(setting).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from goalward.arrays import Floats
from goalward.errors import SettingError, UnknownNameError
from goalward.formatting import Interval
from goalward.settings import Confidence, check

FEW_RUNS = 5
"""With fewer runs than this, an interval says little, and tables add a note."""
FEW_SKEWED_RUNS = 50
MOST_EXACT = 16
RANDOM_PATTERNS = 100_000
GROWTH_POINTS = 25
FLAT = 1e-12


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two agents; `wins` counts the pairs in which the first agent has the smaller value.

    `difference` is the mean or median difference. `correlation` is Pearson's correlation of the paired runs, or NaN if
    all runs of an agent are equal. `left_out` counts the planned runs that one of the agents did not complete. `skewed`
    is the result of `is_skewed` for the differences.
    """

    difference: Interval
    p_value: float
    wins: int
    pairs: int
    correlation: float = math.nan
    left_out: int = 0
    skewed: bool = False


def checked_level(level: float) -> float:
    """Return the confidence level `level`; raise SettingError unless it is a number between 0 and 1."""
    return float(check("level", level, Confidence, ", such as 0.95"))


def mean_interval(samples: Floats, level: float = 0.95) -> Interval:
    """Return the mean of `samples` with its t-interval at confidence `level`.

    >>> round(mean_interval(np.array([1.0, 2.0, 3.0])).high, 6)
    4.484138
    """
    n = len(samples)
    mean = mean_of(samples)
    if n < 2 or not np.isfinite(samples).all():
        return Interval(mean, math.nan, math.nan, n)
    reach = quantile(n - 1, level) * float(np.std(samples, ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - reach, mean + reach, n)


def mean_of(samples: Floats) -> float:
    """Return the mean of `samples`, or NaN if there are no samples or if both infinities occur."""
    with np.errstate(invalid="ignore"):
        return float(np.mean(samples)) if len(samples) else math.nan


def quantile(freedom: int, level: float) -> float:
    """Return the (1 + `level`)/2 quantile of Student's t with `freedom` degrees of freedom."""
    return float(special.stdtrit(freedom, 0.5 + checked_level(level) / 2.0))


def median_interval(samples: Floats, level: float = 0.95) -> Interval:
    """Return the median with an interval of order statistics; with fewer than six runs, a 95 % interval is NaN.

    >>> median_interval(np.arange(10.0))
    Interval(value=4.5, low=1.0, high=8.0, runs=10)
    """
    n = len(samples)
    median = float(np.median(samples)) if n else math.nan
    steps = np.count_nonzero(special.bdtr(np.arange(n), n, 0.5) <= 0.5 - checked_level(level) / 2.0)
    if not steps or math.isnan(median):
        return Interval(median, math.nan, math.nan, n)
    ordered = np.sort(samples)
    return Interval(median, float(ordered[steps - 1]), float(ordered[n - steps]), n)


INTERVALS: dict[str, Callable[[Floats, float], Interval]] = {"t": mean_interval, "median": median_interval}
"""The kinds of intervals: the mean with a t-interval, or the median with its interval of order statistics."""


def checked_interval(kind: str) -> str:
    """Return `kind`; raise UnknownNameError unless `kind` is a key of `INTERVALS`."""
    if kind not in INTERVALS:
        raise UnknownNameError("kind of intervals", kind, INTERVALS)
    return kind


def is_skewed(samples: Floats) -> bool:
    """Return whether there are fewer than 50 `samples` with a skewness above 1, so that the mean needs a warning.

    This is a rule of thumb. With ten lognormal runs (skewness 6), 95 % t-intervals contain the mean in 84 % of cases.
    """
    if not 2 < len(samples) < FEW_SKEWED_RUNS or not np.isfinite(samples).all():
        return False
    centred = samples - samples.mean()
    spread = float(np.mean(centred**2))
    return spread > 0.0 and abs(float(np.mean(centred**3))) > spread**1.5


def compare_pairs(first: Floats, second: Floats, level: float = 0.95, seed: int = 0, interval: str = "t") -> Comparison:
    """Compare the runs `first` and `second` of two agents in pairs; `interval` is a key of `INTERVALS`."""
    if len(first) != len(second):
        raise SettingError(f"{len(first)} and {len(second)} runs cannot be paired; both agents need the same runs")
    with np.errstate(invalid="ignore"):  # the difference of two infinite regrets is NaN
        differences = np.asarray(first - second)
        n, varies = len(differences), len(differences) > 2 and bool(np.ptp(first) > 0.0 < np.ptp(second))
        correlation = float(np.corrcoef(first, second)[0, 1]) if varies else math.nan
    wins = int(np.count_nonzero(differences < 0.0))
    difference, p_value = INTERVALS[interval](differences, level), permutation_test(differences, seed)
    return Comparison(difference, p_value, wins, n, correlation, skewed=is_skewed(differences))


def permutation_test(differences: Floats, seed: int = 0) -> float:
    """Return the two-sided p-value of the hypothesis that the differences are symmetric around zero.

    The result is NaN if there are no differences or if a difference is not finite.

    >>> permutation_test(np.array([1.0, 2.0, 3.0]))
    0.25
    """
    n = len(differences)
    if n == 0 or not np.isfinite(differences).all():
        return math.nan
    observed = abs(float(differences.sum()))
    # Sums that are equal in exact arithmetic must count as equal.
    margin = observed - 1e-12 * float(np.abs(differences).sum())
    if n <= MOST_EXACT:
        bits = np.arange(1 << n)[:, np.newaxis] >> np.arange(n) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ differences) >= margin))
    rng = np.random.default_rng(seed)
    reached = 0
    for _ in range(RANDOM_PATTERNS // 1000):
        signs = rng.integers(0, 2, (1000, n)) * 2 - 1
        reached += int(np.count_nonzero(np.abs(signs @ differences) >= margin))
    return (reached + 1) / (RANDOM_PATTERNS + 1)


def growth_along(episodes: Floats, regrets: Floats, level: float = 0.95) -> Interval:
    """Return the growth exponent of the mean of ``regrets[run, point]``; it is NaN if a mean is not positive."""
    last = episodes >= episodes[-1] / 10.0 if len(episodes) else np.zeros(0, dtype=np.bool_)
    if np.count_nonzero(last) < 3 or not len(regrets):
        return Interval(math.nan, math.nan, math.nan, len(regrets))
    chosen = spread_points(np.flatnonzero(last), np.log(episodes[last]))
    return growth_of_means(episodes[chosen], regrets[:, chosen], level)


def growth_of_means(sizes: Floats, numbers: Floats, level: float = 0.95) -> Interval:
    """Return the slope of log(mean of ``numbers[run, size]``) on log(size), with a jackknife interval.

    The result is NaN if there is only one size, or if a mean is not positive and finite.
    """
    x, n = np.log(sizes), len(numbers)
    total = numbers.sum(axis=0)
    whole = float(slope(x, total)) if len(set(sizes.tolist())) > 1 else math.nan
    if n < 2 or math.isnan(whole):
        return Interval(whole, math.nan, math.nan, n)
    reach = mean_interval(n * whole - (n - 1) * slope(x, total - numbers), level).half_width
    return Interval(whole, whole - reach, whole + reach, n)


def spread_points(indices: NDArray[np.intp], position: Floats) -> NDArray[np.intp]:
    """Return a subset of `indices` such that the values of `position` are spread as evenly as possible."""
    wanted = np.linspace(position[0], position[-1], GROWTH_POINTS)
    return np.asarray(indices[np.unique(np.searchsorted(position, wanted).clip(max=len(indices) - 1))])


def slope(x: Floats, y: Floats) -> Floats:
    """Return the least-squares slope of log(`y`) on `x` for each row of `y`. It is NaN if an entry is not positive."""
    centred = x - x.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        fitted = np.log(y) @ centred / (centred @ centred)
    fitted = np.where(((y > 0.0) & np.isfinite(y)).all(axis=-1), fitted, np.nan)
    # A flat curve has a slope of a few 1e-16, which is rounding.
    return np.where(np.abs(fitted) <= FLAT, 0.0, fitted)


def share(count: int, runs: int, level: float = 0.95) -> Interval:
    """Return the share ``count / runs`` with its Clopper-Pearson interval at confidence `level`.

    >>> round(share(0, 20).high, 4), round(share(20, 20).low, 4)
    (0.1684, 0.8316)
    """
    tail = (1.0 - level) / 2.0
    low = float(special.betaincinv(count, runs - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, runs - count, 1.0 - tail)) if count < runs else 1.0
    return Interval(count / runs, low, high, runs)
