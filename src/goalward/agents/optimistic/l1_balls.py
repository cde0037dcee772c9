"""Extended value iteration over L1 balls around empirical rows: the optimism of UC-SSP.

The operators
    Line 13 of UC-SSP needs min { sum_y p~(y) v(y) : |p~ - p^|_1 <= beta }. V(goal) = 0 is the smallest value, so this
    gives beta/2 more to the goal and takes as much from the successors of largest value (Jaksch, Ortner and Auer 2010,
    section 3.1.2, for costs instead of rewards). A row never visited has beta >= 2 and goes to the goal at once. From
    v_0 = 0 all iterates lie below the fixed point. For line 15, |Q~^(n-1)|_inf is the largest entry of Q~^(n-1) applied
    to the vector of ones: one product for each n.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import kernel

__all__ = ["Ball", "empirical", "extended_value_iteration", "minimise", "pivot_horizon", "radius", "write_radii"]


def radius(visits: Int64s, delta: float) -> Floats:
    """Return beta = sqrt(8 S log(2 A N⁺ / delta) / N⁺) for each row of ``visits[s, a]``; checked against the paper.

    A pair that was never played may lead anywhere: at N⁺ = 1 beta is above 2, the diameter of the simplex. Where a
    small `scale` takes it below, the empirical row of such a pair is empty, which also stands for the goal.
    """
    radii = np.empty(visits.size)
    states, actions = visits.shape
    write_radii(visits.reshape(-1), states, actions, delta, 1.0, radii)
    return radii


@kernel
def write_radii(visits: Int64s, states: int, actions: int, delta: float, scale: float, radii: Floats) -> None:
    """Write the radius of each row, multiplied by a scale."""
    for row in range(visits.size):
        N = float(max(visits[row], 1))
        radii[row] = scale * math.sqrt(8.0 * states * math.log(2.0 * actions * N / delta) / N)


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
                row = state * A + action
                Q[state, action] = costs[state, action] + minimise(row, radius[row], kept, near, mass, values)
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
