"""Linear equations for one number per group of states, solved without subtraction.

Where each state is its own group, the equation gives the values of a policy. With larger groups it gives the
correction of the values that is constant on each group.
"""

from __future__ import annotations

from typing import NamedTuple

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import kernel
from goalward.planning.reduction import Problem

__all__ = ["Equation", "add_correction", "aggregate", "eliminate"]


class Equation(NamedTuple):
    """The equation x_i (goal_i + Σ_j≠i matrix_ij) = right_i + Σ_j≠i matrix_ij x_j; state s is in ``group[s]``."""

    group: Int32s
    matrix: Floats
    goal: Floats
    right: Floats


@kernel
def aggregate(problem: Problem, policy: Int64s, values: Floats, equation: Equation) -> None:
    """Sum the rows of a policy over the groups: the equation for the correction of its values."""
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
    """Solve an equation, which is overwritten; return False if some group never leads to the goal.

    Groups are eliminated from the last to the first. The mass that leaves a group is always added up from what is left
    of its row (Grassmann, Taksar and Heyman 1985). So there is no subtraction, and for right >= 0 the relative error of
    each component is a few units in the last place times the number of groups.
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
def add_correction(group: Int32s, correction: Floats, values: Floats) -> bool:
    """Add to each value the correction of its group; return False and do nothing if one would become negative."""
    for state in range(values.size):
        if not values[state] + correction[group[state]] >= 0.0:
            return False
    for state in range(values.size):
        values[state] += correction[group[state]]
    return True
