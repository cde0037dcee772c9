"""Policy iteration with exact evaluation: linear equations solved without subtraction, and improvement by residuals.

Row r of state s has cost c_r and weights w_r(t), which sum to one, on the goal and on states t other than s. With
V(goal) = 0 and

    residual_r(V) = c_r + Σ_t w_r(t) (V(t) - V(s)),

V solves Bellman's equation if and only if the smallest residual among the rows of each state is zero. In this form the
rounding error is relative to the differences of values, not to the values, so that values of 1e12 steps can be proved
in double precision.

An equation has one unknown per group of states. Where each state is its own group, it gives the values of a policy.
With larger groups it gives the correction of the values that is constant on each group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import ONE, kernel, uint64
from goalward.planning.bellman import UNIT
from goalward.planning.reduction import Problem


class Equation(NamedTuple):
    """The equation x_i (goal_i + Σ_j≠i matrix_ij) = right_i + Σ_j≠i matrix_ij x_j, one per group of states."""

    group: Int32s
    matrix: Floats
    goal: Floats
    right: Floats


def policy_equation(states: int) -> Equation:
    """Allocate an equation in which each state is its own group."""
    return Equation(np.arange(states, dtype=np.int32), np.empty((states, states)), np.empty(states), np.empty(states))


@kernel
def aggregate(problem: Problem, policy: Int64s, begin: int, values: Floats, equation: Equation) -> None:
    """Write the equation for the correction of a policy's values, with its rows summed over each group.

    ``group[i]`` is the group of state ``begin + i``. Other states are not corrected, so they count as the goal.
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
    """Solve an equation, which is overwritten; return False if some group never leads to the goal.

    Groups are eliminated from the last to the first. The mass that leaves a group is always added up from the remaining
    entries of its row (Grassmann, Taksar and Heyman 1985). So there is no subtraction, and for right >= 0 the relative
    error of each component is a few units in the last place times the number of groups.
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
    """Return the residual of a row, and the sum of its cost and values, to which rounding errors are relative."""
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
    """Switch states to their row of smallest residual if it beats the current row by more than the rounding of V."""
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
    """Iterate policies with exact evaluation; each state is its own group in `equation`.

    Returns the number of evaluations, 0 if the first policy is not proper. Stops when no row is better or no value fell
    by more than rounding, so ties cannot make it cycle. Rounding may make an improved policy improper; then the
    previous policy is kept. `before` and `proper` are working memory.
    """
    evaluations = 0
    while True:
        for state in range(policy.size):
            before[state] = values[state] if evaluations > 0 else np.inf
            values[state] = 0.0
        aggregate(problem, policy, 0 * policy.size, values, equation)  # a literal would compile it twice
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
    """Return whether no row can beat the policy's, given that the values have at most this relative error."""
    for state in range(policy.size):
        for row in range(problem.first[state], problem.first[state + 1]):
            gain, size = residual(problem, values, state, row)
            if row != policy[state] and not gain > error * size:
                return False
    return True
