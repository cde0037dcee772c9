"""Optimism by confidence sets: the most favourable model among those that the counts allow.

Counts lie in rows, row s * A + a: `size[row]` successors have been seen, ``successors[row, i]`` in increasing order and
``counts[row, i]`` times each, ``visits[row]`` times in all. A row's empirical distribution is p̂ = counts / visits.
V(goal) = 0 is the least value, so whatever a set allows to be moved goes to the goal, and the goal's mass drops out.

The L1 ball (UC-SSP)
    min { Σ_y p̃(y) V(y) : |p̃ - p̂|_1 <= β }. The minimum gives β/2 more to the goal and takes as much from the successors
    of largest value (Jaksch, Ortner and Auer 2010, section 3.1.2, turned upside down). A row never visited has β >= 2
    and goes to the goal at once.

Extended value iteration
    v_0 = 0, v_{m+1}(s) = min_a { c(s, a) + min over the ball of Σ_y p̃(y) v_m(y) }; stops at the first m with
    |v_{m+1} - v_m|_inf <= accuracy. From v_0 = 0 all v_m lie below the fixed point.

The pivot horizon
    H = min { n > 1 : |Q̃^{n-1}|_inf <= γ } for the transitions Q̃ between non-goal states under a policy. The norm is the
    largest entry of Q̃^{n-1} applied to the vector of ones: one product per n.

Intervals with the slack to the goal (Bernstein-SSP)
    p̃(y) = max { p̂(y) - w(y), 0 } for y other than the goal, the rest to the goal. This is the minimum of Σ p̃ V over all
    distributions with p̃(y) >= p̂(y) - w(y), for every V >= 0 at once.
"""

from __future__ import annotations

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Bools, Floats, Int32s, Int64s

__all__ = ["Ball", "extended_value_iteration", "lower_rows", "minimise", "pivot_horizon"]


class Ball:
    """Room for extended value iteration on so many rows: the empirical rows without the goal, largest value first."""

    def __init__(self, rows: int, width: int):
        self.kept = np.zeros(rows, dtype=np.int64)
        self.near = np.zeros((rows, width), dtype=np.int32)
        self.mass = np.zeros((rows, width))
        self.width = width


@kernel
def empirical(
    goal: int, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s,
    kept: Int64s, near: Int32s, mass: Floats,
) -> None:  # fmt: skip
    """Write the empirical rows without the goal."""
    for row in range(size.size):
        end = 0
        for entry in range(size[row]):
            if successors[row, entry] != goal and counts[row, entry] > 0:
                near[row, end] = successors[row, entry]
                mass[row, end] = counts[row, entry] / visits[row]
                end += 1
        kept[row] = end


@kernel
def sort_row(row: int, end: int, values: Floats, near: Int32s, mass: Floats) -> None:
    """Put the entries of a row in falling order of value; quick on a row that is nearly so, as between sweeps."""
    for entry in range(1, end):
        state = near[row, entry]
        share = mass[row, entry]
        place = entry
        while place > 0 and values[near[row, place - 1]] < values[state]:
            near[row, place] = near[row, place - 1]
            mass[row, place] = mass[row, place - 1]
            place -= 1
        near[row, place] = state
        mass[row, place] = share


@kernel
def minimise(row: int, radius: float, kept: Int64s, near: Int32s, mass: Floats, values: Floats) -> float:
    """Return the least Σ p̃ V over the ball of a row; the row is left in falling order of value."""
    if radius >= 2.0:
        return 0.0
    end = kept[row]
    sort_row(row, end, values, near, mass)
    excess = 0.5 * radius
    total = 0.0
    for entry in range(end):
        share = mass[row, entry]
        if excess >= share:
            excess -= share
        else:
            total += (share - excess) * values[near[row, entry]]
            excess = 0.0
    return total


@kernel
def extended_value_iteration(
    radius: Floats, kept: Int64s, near: Int32s, mass: Floats, costs: Floats, accuracy: float, max_sweeps: int,
    values: Floats, following: Floats, Q: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Iterate from zero; return the sweeps and the last change.

    `values` is left as v_m, `following` as v_{m+1} and ``Q[s, a]`` as the extended operator at v_m; the rows are left
    in the order of v_m, which is what `pivot_horizon` needs.
    """
    S, A = costs.shape
    for state in range(S):
        following[state] = 0.0
    change = np.inf
    sweeps = 0
    while change > accuracy and sweeps < max_sweeps:
        sweeps += 1
        for state in range(S):
            values[state] = following[state]
        change = 0.0
        for state in range(S):
            best = np.inf
            for action in range(A):
                Q[state, action] = costs[state, action]
                if costs[state, action] < np.inf:
                    row = state * A + action
                    Q[state, action] += minimise(row, radius[row], kept, near, mass, values)
                best = min(best, Q[state, action])
            following[state] = best
            change = max(change, abs(best - values[state]))
    return sweeps, change


@kernel
def pivot_horizon(
    policy: Int64s, actions: int, radius: Floats, kept: Int64s, near: Int32s, mass: Floats,
    target: float, limit: int, weight: Floats, spare: Floats,
) -> int:  # fmt: skip
    """Return the first n > 1 with |Q̃^{n-1}|_inf <= target, or `limit`; call it after `extended_value_iteration`.

    The rows of the policy are replaced by the minimising ones.
    """
    S = policy.size
    for state in range(S):
        weight[state] = 1.0
        row = state * actions + policy[state]
        excess = 0.5 * radius[row] if radius[row] < 2.0 else np.inf
        for entry in range(kept[row]):
            taken = min(excess, mass[row, entry])
            mass[row, entry] -= taken
            excess -= taken
    horizon = 1
    largest = np.inf
    while largest > target and horizon < limit:
        horizon += 1
        largest = 0.0
        for state in range(S):
            row = state * actions + policy[state]
            total = 0.0
            for entry in range(kept[row]):
                total += mass[row, entry] * weight[near[row, entry]]
            spare[state] = total
            largest = max(largest, total)
        for state in range(S):
            weight[state] = spare[state]
    return horizon


@kernel
def lower_rows(
    goal: int, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, available: Bools,
    constant: Floats, root: Floats, indptr: Int64s, near: Int32s, mass: Floats,
) -> int:  # fmt: skip
    """Write p̃ as canonical rows, w(y) = constant + root sqrt(p̂(y)) per row; return the number of entries.

    The goal's share is added up from what is taken away, so it is positive however small the widths are.
    """
    end = 0
    for row in range(size.size):
        if available[row]:
            slack = 0.0
            for entry in range(size[row]):
                share = counts[row, entry] / visits[row]
                if successors[row, entry] == goal:
                    slack += share
                else:
                    taken = min(constant[row] + root[row] * np.sqrt(share), share)
                    slack += taken
                    if share - taken > 0.0:
                        near[end] = successors[row, entry]
                        mass[end] = share - taken
                        end += 1
            near[end] = goal
            mass[end] = slack if visits[row] > 0 else 1.0
            end += 1
        indptr[row + 1] = end
    return end


@exercise
def exercise_optimism() -> None:
    """Plan once in a ball and once with intervals, on one pair seen three times."""
    size, visits, radius = np.array([2]), np.array([3]), np.array([0.5])
    successors, counts = np.array([[0, 1]], dtype=np.int32), np.array([[1, 2]])
    costs, pair = np.ones((1, 1)), np.ones((1, 1))
    ball = Ball(1, 2)
    empirical(1, size, successors, counts, visits, ball.kept, ball.near, ball.mass)
    rows = (radius, ball.kept, ball.near, ball.mass)
    extended_value_iteration(*rows, costs, 0.1, 100, np.zeros(1), np.zeros(1), pair)
    pivot_horizon(np.zeros(1, dtype=np.int64), 1, *rows, 0.1, 100, np.zeros(1), np.zeros(1))
    indptr, near = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int32)
    available = np.ones(1, dtype=np.bool_)
    lower_rows(1, size, successors, counts, visits, available, radius, radius, indptr, near, np.zeros(2))
