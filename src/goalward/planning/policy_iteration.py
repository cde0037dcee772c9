"""Policy iteration: policies are evaluated by elimination without subtraction, and improved by residuals.

Row r of state s has the cost c_r and weights w_r(t), which sum to one over the goal and all states t except s. Let
V(goal) = 0. The residual of V in row r is

    residual_r(V) = c_r + Σ_t w_r(t) (V(t) - V(s)).

V solves Bellman's equation if and only if the smallest residual of each state is zero. The rounding error of a residual
is relative to differences of values. So even values of 1e12 steps can be proved in double precision.

An `Equation` has one unknown for each group of states. If each state is its own group, the solution is the values of a
policy. With larger groups, the solution is a correction of the values that is constant on each group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import ONE, kernel, uint64
from goalward.planning.bellman import UNIT
from goalward.planning.reduction import Problem


class Equation(NamedTuple):
    """The equations x_i (goal_i + Σ_j≠i matrix_ij) = right_i + Σ_j≠i matrix_ij x_j, one for each group i of states."""

    group: Int32s
    matrix: Floats
    goal: Floats
    right: Floats


def policy_equation(states: int) -> Equation:
    """Allocate an equation in which each state is its own group."""
    return Equation(np.arange(states, dtype=np.int32), np.empty((states, states)), np.empty(states), np.empty(states))


@kernel
def aggregate(problem: Problem, policy: Int64s, begin: int, values: Floats, equation: Equation) -> None:
    """Write to `equation` the equations for correcting a policy's values by a constant on each group.

    ``group[i]`` is the group of state ``begin + i``. States without a group are not corrected and count as the goal.
    """
    _, start, target, weight, cost, _ = problem
    group, matrix, goal, right = equation
    for i in range(goal.size):
        goal[i] = 0.0
        right[i] = 0.0
        for j in range(goal.size):
            matrix[i, j] = 0.0
    for index in range(group.size):
        own = group[index]
        row = uint64(policy[begin + index])
        here = values[begin + index]
        gain = cost[row]
        for entry in range(start[row], start[row + ONE]):
            there = target[entry]
            gain += weight[entry] * (values[there] - here)
            if begin <= there < begin + group.size:
                matrix[own, group[there - begin]] += weight[entry]
            else:
                goal[own] += weight[entry]
        right[own] += gain


@kernel
def eliminate(equation: Equation, solution: Floats) -> bool:
    """Write the solution of an equation to `solution`; return False if a group of states cannot reach the goal.

    Groups are eliminated from the last to the first. The probability of leaving a group is the sum of the remaining
    entries in the group's row, so nothing is subtracted (Grassmann, Taksar and Heyman 1985). If `right` is never
    negative, the relative error of each component is a few units in the last place times the number of groups.
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
def residual(problem: Problem, values: Floats, state: int, row: int) -> tuple[float, float]:
    """Return the residual of a row, and the scale of its rounding error: the sum of the row's cost and values."""
    _, start, target, weight, cost, _ = problem
    here = values[state]
    gain = cost[row]
    size = cost[row] + here
    for entry in range(start[row], start[row + ONE]):
        there = values[target[entry]]
        gain += weight[entry] * (there - here)
        size += weight[entry] * there
    return gain, size


@kernel
def improve(problem: Problem, values: Floats, policy: Int64s) -> bool:
    """Switch states to better rows, if the gain exceeds the rounding error; return whether the policy has changed."""
    changed = False
    for state in range(policy.size):
        present = uint64(policy[state])
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
    """Run policy iteration; return the number of evaluations, or 0 if the first policy is not proper.

    Each state is its own group in `equation`. The iteration stops when no row is better, or when no value has decreased
    by more than rounding. So ties cannot cause a cycle. If an improved policy is improper because of rounding, the
    previous policy is kept. `before` and `proper` are working memory.
    """
    evaluations = 0
    while True:
        for state in range(policy.size):
            before[state] = values[state] if evaluations > 0 else np.inf
            values[state] = 0.0
        aggregate(problem, policy, 0 * policy.size, values, equation)  # a literal 0 would compile `aggregate` twice
        if not eliminate(equation, values):
            for state in range(policy.size):
                values[state] = before[state]
                policy[state] = proper[state]
            return evaluations
        evaluations += 1
        fell = False
        for state in range(policy.size):
            proper[state] = policy[state]
            if values[state] < before[state] * (1.0 - policy.size * UNIT):
                fell = True
        if not fell or not improve(problem, values, policy):
            return evaluations


@kernel
def dominates(problem: Problem, values: Floats, policy: Int64s, error: float) -> bool:
    """Return whether no other row beats the policy's row, even if `values` are wrong by the relative `error`."""
    for state in range(policy.size):
        for row in range(problem.first[state], problem.first[state + 1]):
            gain, size = residual(problem, values, state, row)
            if row != policy[state] and not gain > error * size:
                return False
    return True
