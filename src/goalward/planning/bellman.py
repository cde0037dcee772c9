"""The kernels of planning, on the arrays of a reduced problem.

Row r of state s has cost c_r, weights w_r(t) on other states t and a goal probability g_r that sum to one. With

    residual_r(V) = c_r + Σ_t w_r(t) (V(t) - V(s)) - g_r V(s),

V solves Bellman's equation iff the smallest residual among the rows of each state is zero. In this form of differences
the rounding error is relative to the differences, not to V, which makes values of 1e12 steps provable in double
precision.
"""

from __future__ import annotations

import numpy as np

from goalward._jit import kernel
from goalward.arrays import Floats, Int32s, Int64s

__all__ = [
    "HUGE", "TINY", "UNIT", "adopt", "aggregate", "certify", "dominates", "eliminate", "follow", "improve", "label",
    "optimal_sweep", "policy_iteration", "policy_sweep", "relax", "shift",
]  # fmt: skip

UNIT = 2.0**-52
TINY, HUGE = 1e-290, 1e290  # beyond these, rounding is no longer relative or sums may overflow


@kernel
def label(
    first: Int32s, start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats,
    values: Floats, policy: Int64s,
) -> None:  # fmt: skip
    """Walk away from the goal once, taking states not reached yet as staying: good first values, a proper policy."""
    for state in range(values.size):
        best = np.inf
        choice = -1
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            leave = to_goal[row]
            for entry in range(start[row], start[row + 1]):
                if target[entry] < state:
                    total += weight[entry] * values[target[entry]]
                    leave += weight[entry]
            if leave > 0.0 and (choice < 0 or total / leave < best):
                best = total / leave
                choice = row
        values[state] = best
        policy[state] = choice


@kernel
def adopt(first: Int32s, origin: Int32s, actions: int, given: Int64s, policy: Int64s) -> None:
    """Replace the rows of a policy by those that an earlier policy of the whole model plays, where they still exist."""
    for state in range(policy.size):
        for row in range(first[state], first[state + 1]):
            if given[origin[row] // actions] == origin[row] % actions:
                policy[state] = row


@kernel
def optimal_sweep(
    first: Int32s, start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats,
    values: Floats, policy: Int64s,
    own_start: Int64s, own_target: Int32s, own_weight: Floats, own_goal: Floats, own_cost: Floats,
) -> float:  # fmt: skip
    """Sweep once over all rows, Gauss-Seidel; returns the largest change relative to the cost of the best row.

    Leaves the best rows in `policy` and, while they are at hand, copies them as `follow` does.
    """
    change = 0.0
    end = 0
    for state in range(values.size):
        best = np.inf
        choice = first[state]
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            for entry in range(start[row], start[row + 1]):
                total += weight[entry] * values[target[entry]]
            if total < best:
                best = total
                choice = row
        scale = cost[choice] if cost[choice] > 0.0 else max(best, TINY)
        if abs(best - values[state]) > change * scale:
            change = abs(best - values[state]) / scale
        values[state] = best
        policy[state] = choice
        own_start[state] = end
        own_cost[state] = cost[choice]
        own_goal[state] = to_goal[choice]
        for entry in range(start[choice], start[choice + 1]):
            own_target[end] = target[entry]
            own_weight[end] = weight[entry]
            end += 1
    own_start[values.size] = end
    return change


@kernel
def follow(
    start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats, policy: Int64s,
    own_start: Int64s, own_target: Int32s, own_weight: Floats, own_goal: Floats, own_cost: Floats,
) -> None:  # fmt: skip
    """Copy the rows of a policy side by side: sweeps over them then read memory in order."""
    end = 0
    for state in range(policy.size):
        row = policy[state]
        own_start[state] = end
        own_cost[state] = cost[row]
        own_goal[state] = to_goal[row]
        for entry in range(start[row], start[row + 1]):
            own_target[end] = target[entry]
            own_weight[end] = weight[entry]
            end += 1
    own_start[policy.size] = end


@kernel
def policy_sweep(start: Int64s, target: Int32s, weight: Floats, cost: Floats, values: Floats) -> float:
    """Sweep once over one row per state; returns the largest change relative to the row's cost."""
    change = 0.0
    for state in range(values.size):
        total = cost[state]
        for entry in range(start[state], start[state + 1]):
            total += weight[entry] * values[target[entry]]
        scale = cost[state] if cost[state] > 0.0 else max(total, TINY)
        if abs(total - values[state]) > change * scale:
            change = abs(total - values[state]) / scale
        values[state] = total
    return change


@kernel
def relax(start: Int64s, target: Int32s, weight: Floats, values: Floats, relaxed: Floats) -> None:
    """Sweep once over one row per state as if rows cost nothing: the linear part of a Gauss-Seidel sweep."""
    for state in range(values.size):
        total = 0.0
        for entry in range(start[state], start[state + 1]):
            near = target[entry]
            total += weight[entry] * (relaxed[near] if near < state else values[near])
        relaxed[state] = total


@kernel
def aggregate(
    start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats, values: Floats,
    group: Int32s, matrix: Floats, goal: Floats, right: Floats,
) -> None:  # fmt: skip
    """Sum one row per state over groups of states: the equation for a correction that is constant on each group."""
    for i in range(goal.size):
        goal[i] = 0.0
        right[i] = 0.0
        for j in range(goal.size):
            matrix[i, j] = 0.0
    for state in range(values.size):
        own = group[state]
        here = values[state]
        residual = cost[state] - to_goal[state] * here
        for entry in range(start[state], start[state + 1]):
            residual += weight[entry] * (values[target[entry]] - here)
            matrix[own, group[target[entry]]] += weight[entry]
        goal[own] += to_goal[state]
        right[own] += residual


@kernel
def eliminate(matrix: Floats, goal: Floats, right: Floats, solution: Floats) -> bool:
    """Solve x_i (goal_i + Σ_j≠i matrix_ij) = right_i + Σ_j≠i matrix_ij x_j; False if some state never gets to the goal.

    States are eliminated from the last to the first. The mass that leaves a state is always added up from what is left
    of its row (Grassmann, Taksar and Heyman 1985), so there is no subtraction, and for right >= 0 each component of the
    solution is accurate to a few units in the last place times the size. Overwrites its arguments.
    """
    for k in range(goal.size - 1, 0, -1):
        leave = goal[k]
        for j in range(k):
            leave += matrix[k, j]
        if not leave > 0.0:
            return False
        matrix[k, k] = leave
        for i in range(k):
            if matrix[i, k] != 0.0:
                share = matrix[i, k] / leave
                for j in range(k):
                    matrix[i, j] += share * matrix[k, j]
                goal[i] += share * goal[k]
                right[i] += share * right[k]
    if not goal[0] > 0.0:
        return False
    matrix[0, 0] = goal[0]
    for k in range(goal.size):
        total = right[k]
        for j in range(k):
            total += matrix[k, j] * solution[j]
        solution[k] = total / matrix[k, k]
    return True


@kernel
def shift(group: Int32s, correction: Floats, values: Floats) -> bool:
    """Add to each value the correction of its group; False, and nothing is done, if one would become negative."""
    for state in range(values.size):
        if not values[state] + correction[group[state]] >= 0.0:
            return False
    for state in range(values.size):
        values[state] += correction[group[state]]
    return True


@kernel
def improve(
    first: Int32s, start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats,
    values: Floats, policy: Int64s,
) -> bool:  # fmt: skip
    """Switch each state to its row of smallest residual if that beats the present one by more than rounding of V."""
    changed = False
    for state in range(values.size):
        here = values[state]
        best = np.inf
        choice = policy[state]
        for position in range(first[state] - 1, first[state + 1]):
            row = choice if position < first[state] else position
            residual = cost[row] - to_goal[row] * here
            size = cost[row] + here
            for entry in range(start[row], start[row + 1]):
                residual += weight[entry] * (values[target[entry]] - here)
                size += weight[entry] * values[target[entry]]
            if residual < best - (4.0 * UNIT) * size:
                best = residual
                if row != policy[state]:
                    policy[state] = row
                    changed = True
    return changed


@kernel
def policy_iteration(
    first: Int32s, start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats,
    own_start: Int64s, own_target: Int32s, own_weight: Floats, own_goal: Floats, own_cost: Floats,
    group: Int32s, matrix: Floats, goal: Floats, right: Floats,
    values: Floats, before: Floats, policy: Int64s, proper: Int64s,
) -> int:  # fmt: skip
    """Iterate policies with exact evaluation; `group` is the identity. Returns the evaluations made, 0 if improper.

    Stops when no row is better or when no value fell by more than rounding, so ties cannot make it cycle. An improved
    policy that turns out improper, which only rounding can bring about, is taken back.
    """
    evaluations = 0
    while True:
        follow(start, target, weight, to_goal, cost, policy, own_start, own_target, own_weight, own_goal, own_cost)
        for state in range(values.size):
            before[state] = values[state] if evaluations > 0 else np.inf
            values[state] = 0.0
        aggregate(own_start, own_target, own_weight, own_goal, own_cost, values, group, matrix, goal, right)
        if not eliminate(matrix, goal, right, values):
            for state in range(values.size):
                values[state] = before[state]
                policy[state] = proper[state]
            return evaluations
        evaluations += 1
        fell = False
        for state in range(values.size):
            proper[state] = policy[state]
            if values[state] < before[state] * (1.0 - values.size * UNIT):
                fell = True
        if not fell or not improve(first, start, target, weight, to_goal, cost, values, policy):
            return evaluations


@kernel
def dominates(
    first: Int32s, start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats,
    values: Floats, policy: Int64s, error: float,
) -> bool:  # fmt: skip
    """Return whether no other row can beat the policy's, its values being known to a relative error."""
    for state in range(values.size):
        here = values[state]
        for row in range(first[state], first[state + 1]):
            if row == policy[state]:
                continue
            residual = cost[row] - to_goal[row] * here
            size = cost[row] + here
            for entry in range(start[row], start[row + 1]):
                residual += weight[entry] * (values[target[entry]] - here)
                size += weight[entry] * values[target[entry]]
            if not residual > error * size:
                return False
    return True


@kernel
def certify(
    first: Int32s, start: Int64s, target: Int32s, weight: Floats, to_goal: Floats, cost: Floats,
    longest: int, values: Floats, policy: Int64s, greedy: bool, low: Floats, high: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Bound the residuals of V: ratios (below, above) with V / (1 + below) <= V* <= V_policy <= V / (1 - above).

    Let residual_r >= -below c_r for all rows; then a V with a = 1 / (1 + below) satisfies c_r + P_r a V >= a V, so it
    lies below V*. Let residual_r <= above c_r, above < 1, for the rows of the policy; then b V with b = 1 / (1 - above)
    satisfies c_r + P_r b V <= b V: it lies above V_policy and, being finite, is a Lyapunov function, so the policy is
    proper. `greedy` takes the policy from V. Also fills, per state, by how much the smallest residual may be negative
    (`low`) and that of the policy positive (`high`), rounding included.
    """
    below = 0.0
    above = 0.0
    for state in range(values.size):
        here = values[state]
        best = np.inf
        low[state] = 0.0
        high[state] = np.inf
        for row in range(first[state], first[state + 1]):
            residual = cost[row] - to_goal[row] * here
            size = cost[row] + to_goal[row] * here
            for entry in range(start[row], start[row + 1]):
                term = weight[entry] * (values[target[entry]] - here)
                residual += term
                size += abs(term)
            rounding = (longest + 8) * UNIT * size
            low[state] = max(low[state], rounding - residual)
            excess = rounding - residual
            if not excess < np.inf:  # not a number, where values have overflowed
                below = np.inf
            elif excess > 0.0 and not excess <= below * cost[row]:
                below = excess / cost[row]
            if (greedy and residual < best) or (not greedy and row == policy[state]):
                best = residual
                policy[state] = row
                high[state] = rounding + residual
        if not (high[state] < np.inf and here > TINY):
            above = np.inf
        elif high[state] > 0.0 and not high[state] <= above * cost[policy[state]]:
            above = high[state] / cost[policy[state]]
    return below, above
