"""Draws of Dirichlet rows.

A Dirichlet vector is a vector of independent gamma variates, divided by its sum. A gamma variate of shape a has the
law of G U^(1/a) with G of shape a + 1 and U uniform, so its logarithm is log G - X/a with X exponential. Taken in
logarithms, with the largest of a row brought to 0 before the exponential, nothing is lost at any concentration:
gamma variates of shape 0.0001 would all be zero in most rows. A probability below 1e-300 is set to 1e-300, which
keeps the support of the prior; the sum of a row does not feel it.

G comes by the rejection of Marsaglia and Tsang (2000): with d = a + 2/3, x normal and v = (1 + x/sqrt(9 d))^3 > 0,
d v is accepted with probability exp(x²/2 + d (1 - v + log v)), at least 0.95 of the time. NumPy draws the normal
and exponential numbers in blocks, the kernel uses them up; where a block ends inside a row, the row is drawn anew.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import FLOOR
from goalward.jit import kernel

__all__ = ["dirichlet_rows", "normalise_row", "uneven_rows"]


def uneven_rows(rng: np.random.Generator, indptr: Int64s, alpha: Floats) -> Floats:
    """Draw one Dirichlet vector for each row, with any parameters."""
    filled = np.flatnonzero(np.diff(indptr))
    starts, lengths = indptr[filled], np.diff(indptr)[filled]
    shape = np.maximum(alpha, FLOOR)  # a quotient that overflows would make NaN
    logarithms = np.log(rng.standard_gamma(alpha + 1.0)) - rng.standard_exponential(len(alpha)) / shape
    weights = np.exp(logarithms - np.repeat(np.maximum.reduceat(logarithms, starts), lengths))
    sums = np.add.reduceat(weights, starts)
    return np.asarray(np.maximum(weights / np.repeat(sums, lengths), FLOOR))


def dirichlet_rows(
    rng: np.random.Generator, indptr: Int64s, counts: Int64s, concentration: float, sharpness: float = 1.0
) -> Floats:
    """Draw one Dirichlet vector for each row, with parameters sharpness * counts + concentration."""
    size, concentration = len(counts), max(concentration, FLOOR)
    probabilities = np.empty(size)
    boosts = rng.standard_exponential(size)
    block = size + size // 8 + 16
    row = 0
    while row < len(indptr) - 1:
        normals, levels = rng.standard_normal(block), rng.standard_exponential(block)
        row = draw_rows(indptr, counts, concentration, sharpness, boosts, row, normals, levels, probabilities)
    return probabilities


@kernel
def draw_rows(
    indptr: Int64s,
    counts: Int64s,
    concentration: float,
    sharpness: float,
    boosts: Floats,
    first: int,
    normals: Floats,
    levels: Floats,
    probabilities: Floats,
) -> int:
    """Draw rows from the first on; return the row for which the random numbers did not suffice."""
    used = 0
    count = -1
    alpha = d = c = logarithm_d = logarithm_v = 0.0
    for row in range(first, len(indptr) - 1):
        largest = -np.inf
        for entry in range(indptr[row], indptr[row + 1]):
            if counts[entry] != count:
                count = counts[entry]
                alpha = sharpness * count + concentration
                d = alpha + 2.0 / 3.0
                c = 1.0 / np.sqrt(9.0 * d)
                logarithm_d = math.log(d)
            accepted = False
            while not accepted:
                if used == len(normals):
                    return row
                x = normals[used]
                root = 1.0 + c * x
                if root > 0.0:
                    logarithm_v = 3.0 * math.log(root)
                    accepted = 0.5 * x * x + d * (1.0 - root * root * root + logarithm_v) > -levels[used]
                used += 1
            probabilities[entry] = logarithm_d + logarithm_v - boosts[entry] / alpha
            largest = max(largest, probabilities[entry])
        normalise_row(probabilities, indptr[row], indptr[row + 1], largest)
    return len(indptr) - 1


@kernel
def normalise_row(probabilities: Floats, begin: int, end: int, largest: float) -> None:
    """Turn the logarithms of a row, the largest of which is given, into probabilities."""
    total = 0.0
    for entry in range(begin, end):
        probabilities[entry] = math.exp(probabilities[entry] - largest)
        total += probabilities[entry]
    share = 1.0 / total if total > 0.0 else 0.0  # an action that is not available has no entries
    for entry in range(begin, end):
        probabilities[entry] = max(probabilities[entry] * share, FLOOR)
