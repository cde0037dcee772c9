"""The kernels of Bellman's equation on the arrays of a reduced problem: policies to start from, and sweeps.

A policy names a row for each state. Its chain is a problem with one row per state, copied so that sweeps over it read
memory in order.
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import interrupted, kernel
from goalward.planning.reduction import Problem

__all__ = [
    "HUGE", "TINY", "UNIT", "adopt_policy", "copy_policy", "hurry", "initial_policy", "optimal_sweep", "policy_sweeps",
]  # fmt: skip

UNIT = 2.0**-52
TINY, HUGE = 1e-290, 1e290  # beyond these, rounding is no longer relative or sums may overflow


@kernel
def initial_policy(problem: Problem, values: Floats, policy: Int64s) -> None:
    """Find a proper policy, and values to start from, in one walk away from the goal.

    A row that leads to states not reached yet counts as if it stayed where it is instead.
    """
    first, start, target, weight, to_goal, cost, _ = problem
    for state in range(policy.size):
        best = np.inf
        choice = first[state]
        leads_on = False
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            leave = to_goal[row]
            for entry in range(start[row], start[row + 1]):
                if target[entry] < state:
                    total += weight[entry] * values[target[entry]]
                    leave += weight[entry]
            if leave > 0.0 and (not leads_on or total / leave < best):
                best = total / leave
                choice = row
                leads_on = True
        values[state] = best
        policy[state] = choice


@kernel
def hurry(problem: Problem, policy: Int64s) -> None:
    """Choose in each state the row that most likely leads to an earlier state or the goal: a proper policy."""
    for state in range(policy.size):
        best = 0.0
        for row in range(problem.first[state], problem.first[state + 1]):
            leave = problem.to_goal[row]
            for entry in range(problem.start[row], problem.start[row + 1]):
                if problem.target[entry] < state:
                    leave += problem.weight[entry]
            if leave > best:
                best = leave
                policy[state] = row


@kernel
def adopt_policy(problem: Problem, actions: int, chosen: Int64s, policy: Int64s) -> None:
    """Play chosen actions of the model wherever the problem still has their rows."""
    first, origin = problem.first, problem.origin
    for state in range(policy.size):
        for row in range(first[state], first[state + 1]):
            if chosen[origin[row] // actions] == origin[row] % actions:
                policy[state] = row


@kernel
def copy_row(problem: Problem, row: int, state: int, chain: Problem) -> None:
    """Copy a row into the chain as that of the state; the states before it must have theirs."""
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
def copy_policy(problem: Problem, policy: Int64s, chain: Problem) -> None:
    """Copy the rows of a policy into the chain, so that sweeps over them read memory in order."""
    chain.start[0] = 0
    for state in range(policy.size):
        copy_row(problem, policy[state], state, chain)


@kernel
def optimal_sweep(problem: Problem, values: Floats, policy: Int64s, chain: Problem) -> float:
    """Sweep once over all rows, Gauss-Seidel; return the largest change, relative to the cost of the best row.

    The best rows are written to `policy` and copied into its chain.
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
def policy_sweeps(chain: Problem, values: Floats, enough: float, most: int) -> tuple[int, float]:
    """Sweep over a chain, from once to `most` times, until a sweep changes it by little enough.

    Returns the number of sweeps and the largest change of the last one, relative to the cost of the row. Ctrl-C ends
    it after a sweep.
    """
    _, start, target, weight, _, cost, _ = chain
    sweeps = 0
    change = np.inf
    while sweeps == 0 or (sweeps < most and not change <= enough):
        change = 0.0
        for state in range(values.size):
            total = cost[state]
            for entry in range(start[state], start[state + 1]):
                total += weight[entry] * values[target[entry]]
            scale = cost[state] if cost[state] > 0.0 else max(total, TINY)
            if abs(total - values[state]) > change * scale:
                change = abs(total - values[state]) / scale
            values[state] = total
        sweeps += 1
        if interrupted(sweeps << 16):
            break
    return sweeps, change
