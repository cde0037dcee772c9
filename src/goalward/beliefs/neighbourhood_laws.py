"""The laws of sizes in the prior of neighbourhoods.

A law of sizes on 1..m is geometric: weight r^(j-1) for size j, with the sum Z_r(m). Ratio 1 makes it uniform; ratio
infinity stands for the size m, surely. A pair of laws, one of neighbourhoods and one of rows, is drawn first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import kernel

__all__ = ["Laws", "draw_from_law", "law_weights", "laws", "log_sum"]

LARGEST = 1 << 20
"""The largest mean number of transitions in a sample that a pair of laws may have."""

ROW_RATIOS = (0.2, 0.5, 0.75, 1.0, math.inf)
GEOMETRIC_LAWS = 5


class Laws(NamedTuple):
    """The pairs of laws: `ratio` of neighbourhoods and `row_ratio` of rows, and the logarithm of the prior weight."""

    ratio: Floats
    row_ratio: Floats
    weight: Floats


def laws(n: int, pairs: int) -> Laws:
    """Return the pairs of laws for n successors.

    The laws of neighbourhoods are geometric with means 2 .. towards n before truncation, uniform, and n surely. Pairs
    of laws whose samples would have more than `LARGEST` transitions in the mean are left out.
    """
    means = 2.0 * max(n / 2.0, 1.0) ** (np.arange(GEOMETRIC_LAWS) / GEOMETRIC_LAWS)
    neighbourhoods = [*(1.0 - 1.0 / means), 1.0, math.inf]
    sizes = np.arange(1, n + 1)
    found = []
    for ratio in neighbourhoods:
        weights = law_weights(ratio, n)
        for row_ratio in ROW_RATIOS:
            mean = float(weights @ mean_size(row_ratio, sizes))
            if pairs * mean <= max(LARGEST, 4 * pairs):
                found.append((ratio, row_ratio))
    table = np.array(found)
    return Laws(table[:, 0].copy(), table[:, 1].copy(), np.full(len(table), -math.log(len(table))))


def law_weights(ratio: float, m: int) -> Floats:
    """Return the probabilities of the sizes 1..m."""
    if ratio == math.inf:
        return np.asarray(np.arange(1, m + 1) == m, dtype=np.float64)
    weights = ratio ** np.arange(m, dtype=np.float64)
    return np.asarray(weights / weights.sum())


def mean_size(ratio: float, sizes: Int64s) -> Floats:
    """Return the mean of the law on 1..m for each m."""
    if ratio == math.inf:
        return np.asarray(sizes, dtype=np.float64)
    if ratio == 1.0:
        return np.asarray((sizes + 1.0) / 2.0, dtype=np.float64)
    powers = ratio ** sizes.astype(np.float64)
    return np.asarray(1.0 / (1.0 - ratio) - sizes * powers / (1.0 - powers))


@kernel
def log_sum(ratio: float, m: int) -> float:
    """Return log Z_r(m)."""
    if ratio == np.inf:
        return 0.0
    if ratio == 1.0:
        return math.log(m)
    return math.log1p(-(ratio**m)) - math.log1p(-ratio)


@kernel
def draw_from_law(chance: float, ratio: float, m: int) -> int:
    """Draw a size from the law on 1..m."""
    if ratio == np.inf:
        return m
    if ratio == 1.0:
        return 1 + int(chance * m)
    return min(m, 1 + int(math.log1p(-chance * (1.0 - ratio**m)) / math.log(ratio)))
