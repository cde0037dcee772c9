"""The expected rows of the prior of neighbourhoods.

Given the sizes k and l, a successor seen c times in a row has the mean (1 + c)/(l + N). The other l - k0 members of the
row are uniform among the k - k0 of the neighbourhood that the row has not shown, and share (l - k0)/(l + N). What the
state has never shown lies in the neighbourhood with probability (k - K0)/(n - K0). The expectation over sizes is a sum
over k and l, in logarithms, in the notation of `neighbourhood_evidence`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from goalward.arrays import Floats, Int64s

__all__ = ["Expected", "expected_rows"]


class Expected(NamedTuple):
    """What the rows of a state give to a successor, one number for each action.

    Attributes
    ----------
    seen
        To one that the row has shown, for each of 1 + its count.
    near
        To one that other actions of the state have shown.
    far
        To one that the state has never shown.
    """

    seen: Floats
    near: Floats
    far: Floats


def expected_rows(n: int, visits: Int64s, size: Int64s, K0: int, ratio: float, row_ratio: float) -> Expected:
    """Return the expectation for one pair of laws and a state whose rows have these visits and numbers of successors.

    An action that was never tried has a row without visits.
    """
    k = np.arange(max(K0, 1), n + 1)
    N, k0 = visits[:, np.newaxis], size[:, np.newaxis]
    if row_ratio == math.inf:
        log_rows = gammaln(k) - gammaln(k + N)
        seen, others = 1.0 / (k + N), (k - k0) / (k + N)
    else:
        l = np.arange(1, n + 1)  # noqa: E741
        with np.errstate(divide="ignore", invalid="ignore"):
            log_L = (l - 1) * math.log(row_ratio) + gammaln(l + 1) - gammaln(l - k0 + 1) + gammaln(l) - gammaln(l + N)
        log_L = np.where(l >= k0, log_L, -np.inf)
        log_Z = np.logaddexp.accumulate((l - 1) * math.log(row_ratio))
        sums = cumulated(log_L)[:, k - 1]
        log_rows = gammaln(k - k0 + 1) - gammaln(k + 1) + sums - log_Z[k - 1]
        seen = np.exp(cumulated(log_L - np.log(l + N))[:, k - 1] - sums)
        others = 1.0 - (k0 + N) * seen
    log_h = np.where(k == n, 0.0, -np.inf) if ratio == math.inf else (k - 1) * math.log(ratio)
    log_w = log_h + gammaln(k + 1) - gammaln(k - K0 + 1) + log_rows.sum(axis=0)
    weights = np.exp(log_w - log_w.max())
    weights /= weights.sum()
    near = np.where(k > k0, others / np.maximum(k - k0, 1), 0.0)
    inside = (k - K0) / max(n - K0, 1)
    return Expected(seen @ weights, near @ weights, (near * inside) @ weights)


def cumulated(logarithms: Floats) -> Floats:
    """Return the logarithms of the cumulated sums of each line."""
    return np.asarray(np.logaddexp.accumulate(logarithms, axis=1))
