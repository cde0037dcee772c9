"""Optimism by bonuses: Bellman backups of the empirical model from which what is not known yet is subtracted.

Counts lie in rows as in `optimism.py`. With m and v the mean and the variance of V(s') under an estimate of a row, all
backups here have the form

    Q(s, a) = max { c(s, a) + m - scale * bonus(s, a), 0 },    V(s) = min_a Q(s, a),    V(goal) = 0.

Everything is cut off at exactly 0, so that where the bonus is larger than all that is known, actions tie exactly.

VISGO, value iteration with slight goal optimism (EB-SSP)
    The estimate is p̃ = (counts + 1 for the goal) / (n + 1), bonus = max { sqrt(spread v), floor } + extra. Iterates
    from V = 0 until |V_{i+1} - V_i|_inf <= accuracy.

Upper and lower backward induction (ULCVI)
    The estimate is p̂ = counts / n⁺. Backwards from the terminal values J_lo = J_up:
    bonus = sqrt(spread v) + constant + blend * (mean of J_up - mean of J_lo) with v the variance of J_lo,
    Q_lo = max { c - scale bonus + mean of J_lo, 0 },  Q_up = min { c + scale bonus + mean of J_up, cap }.
    Every step h uses the same counts. So once J_lo and J_up do not change from one step to the one before, no earlier
    step changes either, and the induction stops there: exact, and hundreds of steps shorter.
"""

from __future__ import annotations

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Bools, Floats, Int32s, Int64s

__all__ = ["TIE", "estimate", "least", "mean", "upper_lower", "variance", "visgo"]

TIE = 1e-9
"""Actions whose values differ by no more than this, relative to the smallest, are tied: rounding decides nothing."""


@kernel
def estimate(more: float, size: Int64s, counts: Int64s, visits: Int64s, mass: Floats, rest: Floats) -> None:
    """Write counts / total, total = visits + more but at least 1; what is missing, in `rest`, goes to the goal."""
    for row in range(size.size):
        total = max(visits[row] + more, 1.0)
        rest[row] = (total - visits[row]) / total
        for entry in range(size[row]):
            mass[row, entry] = counts[row, entry] / total


@kernel
def mean(row: int, size: Int64s, successors: Int32s, mass: Floats, values: Floats) -> float:
    """Return the mean of V(s')."""
    total = 0.0
    for entry in range(size[row]):
        total += mass[row, entry] * values[successors[row, entry]]
    return total


@kernel
def variance(
    row: int, size: Int64s, successors: Int32s, mass: Floats, rest: float, values: Floats, centre: float
) -> float:
    """Return the variance of V(s') about its mean, `centre`; never negative, being a sum of squares."""
    total = rest * centre * centre
    for entry in range(size[row]):
        away = values[successors[row, entry]] - centre
        total += mass[row, entry] * away * away
    return total


@kernel
def least(Q: Floats, state: int) -> float:
    """Return the smallest value in a state, with the margin in which others tie with it."""
    best = np.inf
    for action in range(Q.shape[1]):
        best = min(best, Q[state, action])
    return best + TIE * abs(best)


@kernel
def visgo(
    size: Int64s, successors: Int32s, mass: Floats, rest: Floats, costs: Floats,
    spread: Floats, floor: Floats, extra: Floats, scale: float, accuracy: float, max_sweeps: int, limit: float,
    values: Floats, following: Floats, Q: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Iterate from zero until nothing moves or a value exceeds `limit`; return the sweeps and the last change.

    `values` and `following`, the last two iterates, have the goal at the end; ``Q[s, a]`` is that of the last.
    """
    S, A = costs.shape
    for state in range(S + 1):
        following[state] = 0.0
    change = np.inf
    largest = 0.0
    sweeps = 0
    while change > accuracy and largest <= limit and sweeps < max_sweeps:
        sweeps += 1
        for state in range(S):
            values[state] = following[state]
        values[S] = 0.0
        change = 0.0
        for state in range(S):
            best = np.inf
            for action in range(A):
                row = state * A + action
                m = mean(row, size, successors, mass, values)
                v = variance(row, size, successors, mass, rest[row], values, m)
                bonus = max(np.sqrt(spread[row] * v), floor[row]) + extra[row]
                Q[state, action] = max(costs[state, action] + m - scale * bonus, 0.0)
                best = min(best, Q[state, action])
            following[state] = best
            change = max(change, abs(best - values[state]))
            largest = max(largest, best)
    return sweeps, change


@kernel
def upper_lower(
    size: Int64s, successors: Int32s, mass: Floats, rest: Floats, costs: Floats,
    spread: Floats, constant: Floats, blend: float, scale: float, cap: float,
    lower: Floats, upper: Floats, next_lower: Floats, next_upper: Floats, Q: Floats, tied: Bools,
) -> tuple[int, bool]:  # fmt: skip
    """Go back from the terminal values in `next_lower` and `next_upper` until nothing changes.

    Returns the number of steps this took and whether actions tie anywhere. ``tied[h, s, a]`` is filled from the last
    step on: whether a minimises Q_lo at step h. All steps before the last one filled are equal to it. Where several
    actions tie, J_up is the largest of theirs, which holds however ties are broken. `lower` and `upper` are left as
    those of the first step. The goal is at the end of all four.
    """
    H, S, A = tied.shape
    several = False
    for depth in range(H):
        h = H - 1 - depth
        still = True
        for state in range(S):
            for action in range(A):
                row = state * A + action
                m = 0.0
                above = 0.0
                for entry in range(size[row]):
                    m += mass[row, entry] * next_lower[successors[row, entry]]
                    above += mass[row, entry] * next_upper[successors[row, entry]]
                v = variance(row, size, successors, mass, rest[row], next_lower, m)
                bonus = np.sqrt(spread[row] * v) + constant[row] + blend * (above - m)
                Q[0, state, action] = max(costs[state, action] + m - scale * bonus, 0.0)
                Q[1, state, action] = min(costs[state, action] + above + scale * bonus, cap)
            margin = least(Q[0], state)
            lower[state] = np.inf
            upper[state] = 0.0
            best = 0
            for action in range(A):
                tied[h, state, action] = Q[0, state, action] <= margin and costs[state, action] < np.inf
                if tied[h, state, action]:
                    best += 1
                    lower[state] = min(lower[state], Q[0, state, action])
                    upper[state] = max(upper[state], Q[1, state, action])
            several = several or best > 1
            if lower[state] != next_lower[state] or upper[state] != next_upper[state]:
                still = False
        if still:
            return depth + 1, several
        for state in range(S):
            next_lower[state] = lower[state]
            next_upper[state] = upper[state]
    return H, several


@exercise
def exercise_bonuses() -> None:
    """Plan once with each, on one pair seen three times."""
    size, ones, rest = np.array([2]), np.ones(1), np.zeros(1)
    mass = np.zeros((1, 2))
    estimate(1.0, size, np.array([[1, 2]]), np.array([3]), mass, rest)
    rows = (size, np.array([[0, 1]], dtype=np.int32), mass, rest)
    costs = np.ones((1, 1))
    visgo(*rows, costs, ones, ones, ones, 0.01, 0.1, 100, np.inf, np.zeros(2), np.zeros(2), np.zeros((1, 1)))
    tied = np.zeros((3, 1, 1), dtype=np.bool_)
    a, b, c, d = np.zeros((4, 2))
    upper_lower(*rows, costs, ones, ones, 0.1, 0.01, 10.0, a, b, c, d, np.zeros((2, 1, 1)), tied)
