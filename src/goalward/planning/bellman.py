"""The kernels of planning, on the arrays of a reduced problem.

Row r of state s has cost c_r, weights w_r(t) on other states t and a goal probability g_r that sum to one. With

    residual_r(V) = c_r + Σ_t w_r(t) (V(t) - V(s)) - g_r V(s),

V solves Bellman's equation iff the smallest residual among the rows of each state is zero. In this form of differences
the rounding error is relative to the differences, not to V, which makes values of 1e12 steps provable in double
precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import kernel
from goalward.arrays import Floats, Int32s, Int64s

__all__ = [
    "HUGE", "TINY", "UNIT", "Equation", "Problem", "adopt", "aggregate", "certify", "dominates", "eliminate", "follow",
    "improve", "label", "optimal_sweep", "policy_iteration", "policy_sweep", "relative_width", "relax", "shift",
]  # fmt: skip

UNIT = 2.0**-52
TINY, HUGE = 1e-290, 1e290  # beyond these, rounding is no longer relative or sums may overflow


class Problem(NamedTuple):
    """A reduced problem.

    The rows of state i are ``first[i]..first[i + 1]``. Row r has the entries ``start[r]..start[r + 1]`` of `target` and
    `weight`, goes to the goal with probability ``to_goal[r]``, costs ``cost[r]`` and is row ``origin[r]`` of the model.
    """

    first: Int64s
    start: Int64s
    target: Int32s
    weight: Floats
    to_goal: Floats
    cost: Floats
    origin: Int32s

    @classmethod
    def empty(cls, states: int, rows: int, entries: int) -> Problem:
        """Return room for a problem of at most these sizes."""
        return cls(
            first=np.empty(states + 1, dtype=np.int64),
            start=np.empty(rows + 1, dtype=np.int64),
            target=np.empty(entries, dtype=np.int32),
            weight=np.empty(entries),
            to_goal=np.empty(rows),
            cost=np.empty(rows),
            origin=np.empty(rows, dtype=np.int32),
        )

    @classmethod
    def empty_chain(cls, states: int, entries: int) -> Problem:
        """Return room for a Markov chain: a problem with one row for each state, the row of its number."""
        chain = cls.empty(states, states, entries)
        chain.first[:] = np.arange(states + 1)
        return chain


class Equation(NamedTuple):
    """A linear equation for one number per group: x_i (goal_i + Σ_j≠i matrix_ij) = right_i + Σ_j≠i matrix_ij x_j.

    State s belongs to the group ``group[s]``.
    """

    group: Int32s
    matrix: Floats
    goal: Floats
    right: Floats


@kernel
def label(problem: Problem, values: Floats, policy: Int64s) -> None:
    """Walk away from the goal once, taking states not reached yet as staying: good first values, a proper policy."""
    first, start, target, weight, to_goal, cost, _ = problem
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
def adopt(problem: Problem, actions: int, given: Int64s, policy: Int64s) -> None:
    """Replace the rows of a policy by those that an earlier policy of the whole model plays, where they still exist."""
    first, origin = problem.first, problem.origin
    for state in range(policy.size):
        for row in range(first[state], first[state + 1]):
            if given[origin[row] // actions] == origin[row] % actions:
                policy[state] = row


@kernel
def copy_row(problem: Problem, row: int, state: int, chain: Problem) -> None:
    """Make a row that of a state in the chain, behind those of the states before it."""
    _, start, target, weight, to_goal, cost, origin = chain
    to_goal[state] = problem.to_goal[row]
    cost[state] = problem.cost[row]
    origin[state] = problem.origin[row]
    end = start[state]
    for entry in range(problem.start[row], problem.start[row + 1]):
        target[end] = problem.target[entry]
        weight[end] = problem.weight[entry]
        end += 1
    start[state + 1] = end


@kernel
def optimal_sweep(problem: Problem, values: Floats, policy: Int64s, chain: Problem) -> float:
    """Sweep once over all rows, Gauss-Seidel; returns the largest change relative to the cost of the best row.

    Leaves the best rows in `policy` and, while they are at hand, copies them as `follow` does.
    """
    first, start, target, weight, _, cost, _ = problem
    change = 0.0
    chain.start[0] = 0
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
        copy_row(problem, choice, state, chain)
    return change


@kernel
def follow(problem: Problem, policy: Int64s, chain: Problem) -> None:
    """Copy the rows of a policy side by side: sweeps over them then read memory in order."""
    chain.start[0] = 0
    for state in range(policy.size):
        copy_row(problem, policy[state], state, chain)


@kernel
def policy_sweep(chain: Problem, values: Floats) -> float:
    """Sweep once over one row per state; returns the largest change relative to the row's cost."""
    _, start, target, weight, _, cost, _ = chain
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
def relax(chain: Problem, values: Floats, relaxed: Floats) -> None:
    """Sweep once over one row per state as if rows cost nothing: the linear part of a Gauss-Seidel sweep."""
    _, start, target, weight, _, _, _ = chain
    for state in range(values.size):
        total = 0.0
        for entry in range(start[state], start[state + 1]):
            near = target[entry]
            total += weight[entry] * (relaxed[near] if near < state else values[near])
        relaxed[state] = total


@kernel
def aggregate(problem: Problem, policy: Int64s, values: Floats, equation: Equation) -> None:
    """Sum the rows of a policy over groups of states: the equation for a correction that is constant on each group."""
    _, start, target, weight, to_goal, cost, _ = problem
    group, matrix, goal, right = equation
    for i in range(goal.size):
        goal[i] = 0.0
        right[i] = 0.0
        for j in range(goal.size):
            matrix[i, j] = 0.0
    for state in range(values.size):
        own = group[state]
        row = policy[state]
        here = values[state]
        gain = cost[row] - to_goal[row] * here
        for entry in range(start[row], start[row + 1]):
            gain += weight[entry] * (values[target[entry]] - here)
            matrix[own, group[target[entry]]] += weight[entry]
        goal[own] += to_goal[row]
        right[own] += gain


@kernel
def eliminate(equation: Equation, solution: Floats) -> bool:
    """Solve x_i (goal_i + Σ_j≠i matrix_ij) = right_i + Σ_j≠i matrix_ij x_j; False if some state never gets to the goal.

    States are eliminated from the last to the first. The mass that leaves a state is always added up from what is left
    of its row (Grassmann, Taksar and Heyman 1985), so there is no subtraction, and for right >= 0 each component of the
    solution is accurate to a few units in the last place times the size. Overwrites its arguments.
    """
    _, matrix, goal, right = equation
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
def residual(problem: Problem, values: Floats, state: int, row: int) -> tuple[float, float]:
    """Return the residual of a row of the state, and the size of the values in it, to which their error is relative."""
    _, start, target, weight, to_goal, cost, _ = problem
    here = values[state]
    gain = cost[row] - to_goal[row] * here
    size = cost[row] + here
    for entry in range(start[row], start[row + 1]):
        gain += weight[entry] * (values[target[entry]] - here)
        size += weight[entry] * values[target[entry]]
    return gain, size


@kernel
def improve(problem: Problem, values: Floats, policy: Int64s) -> bool:
    """Switch each state to its row of smallest residual if that beats the present one by more than rounding of V."""
    changed = False
    for state in range(values.size):
        present = policy[state]
        best, _ = residual(problem, values, state, present)
        for row in range(problem.first[state], problem.first[state + 1]):
            if row != present:
                gain, size = residual(problem, values, state, row)
                if gain < best - (4.0 * UNIT) * size:
                    best = gain
                    policy[state] = row
                    changed = True
    return changed


@kernel
def policy_iteration(
    problem: Problem, equation: Equation, values: Floats, before: Floats, policy: Int64s, proper: Int64s
) -> int:
    """Iterate policies with exact evaluation; each state is a group. Returns the evaluations made, 0 if improper.

    Stops when no row is better or when no value fell by more than rounding, so ties cannot make it cycle. An improved
    policy that turns out improper, which only rounding can bring about, is taken back.
    """
    evaluations = 0
    while True:
        for state in range(values.size):
            before[state] = values[state] if evaluations > 0 else np.inf
            values[state] = 0.0
        aggregate(problem, policy, values, equation)
        if not eliminate(equation, values):
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
        if not fell or not improve(problem, values, policy):
            return evaluations


@kernel
def dominates(problem: Problem, values: Floats, policy: Int64s, error: float) -> bool:
    """Return whether no other row can beat the policy's, its values being known to a relative error."""
    for state in range(values.size):
        for row in range(problem.first[state], problem.first[state + 1]):
            gain, size = residual(problem, values, state, row)
            if row != policy[state] and not gain > error * size:
                return False
    return True


@kernel
def certify(
    problem: Problem, longest: int, values: Floats, policy: Int64s, low: Floats, high: Floats
) -> tuple[float, float]:
    """Bound the residuals of V: ratios (below, above) with V / (1 + below) <= V* <= V_policy <= V / (1 - above).

    Let residual_r >= -below c_r for all rows; then a V with a = 1 / (1 + below) satisfies c_r + P_r a V >= a V, so it
    lies below V*. Let residual_r <= above c_r, above < 1, for the rows of the policy; then b V with b = 1 / (1 - above)
    satisfies c_r + P_r b V <= b V: it lies above V_policy and, being finite, is a Lyapunov function, so the policy is
    proper. States for which the policy has -1 get their row of smallest residual. Also fills, per state, by how much
    the smallest residual may be negative (`low`) and that of the policy positive (`high`), rounding included.
    """
    first, start, target, weight, to_goal, cost, _ = problem
    below = 0.0
    above = 0.0
    for state in range(values.size):
        here = values[state]
        best = np.inf
        greedy = policy[state] < 0
        if greedy:
            policy[state] = first[state]
        low[state] = 0.0
        high[state] = np.inf
        for row in range(first[state], first[state + 1]):
            gain = cost[row] - to_goal[row] * here
            size = cost[row] + to_goal[row] * here
            for entry in range(start[row], start[row + 1]):
                term = weight[entry] * (values[target[entry]] - here)
                gain += term
                size += abs(term)
            rounding = (longest + 8) * UNIT * size
            excess = rounding - gain
            low[state] = max(low[state], excess)
            if not excess < np.inf:  # not a number, where values have overflowed
                below = np.inf
            elif excess > 0.0 and not excess <= below * cost[row]:
                below = excess / cost[row]
            if (greedy and gain < best) or (not greedy and row == policy[state]):
                best = gain
                policy[state] = row
                high[state] = rounding + gain
        if not (high[state] < np.inf and here > TINY):
            above = np.inf
        elif high[state] > 0.0 and not high[state] <= above * cost[policy[state]]:
            above = high[state] / cost[policy[state]]
    return below, above


@kernel
def relative_width(below: float, above: float) -> float:
    """Return the relative width of the bounds that `certify` proves; 1 if it proves none above."""
    return 1.0 - max(1.0 - above, 0.0) / (1.0 + below)
