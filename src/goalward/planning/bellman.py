"""Kernels for Bellman's equation on the arrays of a reduced problem: initial policies and sweeps.

A policy names a row for each state. Kernels work on a block of states, ``begin..end``, and do not change the values of
other states. `values` has one number per state, then the value of dead ends and the value of the goal (0).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s, UInt32s
from goalward.jit import ASK_EVERY, ONE, interrupted, kernel, uint64
from goalward.planning.reduction import Problem

UNIT = 2.0**-52
TINY, HUGE = 1e-290, 1e290  # below TINY, rounding errors are not relative; above HUGE, sums may overflow


class Chain(NamedTuple):
    """A copy of a policy's rows in one block of states, so that sweeps read memory in order."""

    start: UInt32s
    target: UInt32s
    weight: Floats
    cost: Floats

    @classmethod
    def empty(cls, states: int, entries: int) -> Chain:
        """Allocate a chain for up to `states` states and `entries` entries."""
        start, target = np.empty(states + 1, dtype=np.uint32), np.empty(entries, dtype=np.uint32)
        return cls(start, target, np.empty(entries), np.empty(states))

    @classmethod
    def of(cls, problem: Problem, rows: Int64s) -> Chain:
        """Return a chain with the given `rows`, one row for each state."""
        lengths = (problem.start[rows + 1] - problem.start[rows]).astype(np.int64)
        start = np.append(0, np.cumsum(lengths))
        entries = np.arange(start[-1]) + np.repeat(problem.start[rows] - start[:-1], lengths)
        return cls(start.astype(np.uint32), problem.target[entries], problem.weight[entries], problem.cost[rows])


@kernel
def initial_policy(problem: Problem, begin: int, end: int, values: Floats, policy: Int64s) -> None:
    """Write initial values and a proper policy in one pass over the states of the block.

    Transitions to later states are treated as self-loops.
    """
    first, start, target, weight, cost, _ = problem
    for state in range(begin, end):
        best = np.inf
        choice = first[state]
        leads_on = False
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            leave = 0.0
            for entry in range(start[row], start[row + ONE]):
                if target[entry] < state or target[entry] > policy.size:
                    total += weight[entry] * values[target[entry]]
                    leave += weight[entry]
            if leave > 0.0 and (not leads_on or total / leave < best):
                best = total / leave
                choice = row
                leads_on = True
        values[state] = best
        policy[state] = choice


@kernel
def hurry(problem: Problem, begin: int, end: int, policy: Int64s) -> None:
    """Write the policy that is most likely to move from each state to an earlier state or the goal.

    This policy is proper. The policy of `initial_policy` may drift away from the goal, because it ignores steps to
    later states.
    """
    for state in range(begin, end):
        best = 0.0
        for row in range(problem.first[state], problem.first[state + 1]):
            leave = 0.0
            for entry in range(problem.start[row], problem.start[row + ONE]):
                if problem.target[entry] < state or problem.target[entry] > policy.size:
                    leave += problem.weight[entry]
            if leave > best:
                best = leave
                policy[state] = row


@kernel
def adopt_policy(problem: Problem, actions: int, chosen: Int64s, policy: Int64s) -> None:
    """Write to `policy` the rows of the actions `chosen` in the model, if the reduced problem has these rows."""
    first, origin = problem.first, problem.origin
    for state in range(policy.size):
        for row in range(first[state], first[state + 1]):
            if chosen[origin[row] // actions] == origin[row] % actions:
                policy[state] = row


@kernel
def optimal_sweep(problem: Problem, begin: int, end: int, values: Floats, policy: Int64s, chain: Chain) -> float:
    """Do one Gauss-Seidel sweep over all rows; return the largest relative change of a value.

    Changes are relative to the cost of the state's best row. The best rows are written to `policy` and `chain`.
    """
    first, start, target, weight, cost, _ = problem
    change = 0.0
    count = uint64(0)
    chain.start[0] = 0
    for state in range(begin, end):
        best = np.inf
        choice = uint64(first[state])
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            for entry in range(start[row], start[row + ONE]):
                total += weight[entry] * values[target[entry]]
            if total < best:
                best = total
                choice = row
        scale = cost[choice] if cost[choice] > 0.0 else max(best, TINY)
        if abs(best - values[state]) > change * scale:
            change = abs(best - values[state]) / scale
        values[state] = best
        policy[state] = choice
        for entry in range(start[choice], start[choice + ONE]):
            chain.target[count] = target[entry]
            chain.weight[count] = weight[entry]
            count += ONE
        chain.cost[state - begin] = cost[choice]
        chain.start[state - begin + 1] = count
    return change


@kernel
def policy_sweeps(chain: Chain, begin: int, end: int, values: Floats, enough: float, most: int) -> tuple[int, float]:
    """Do 1 to `most` sweeps over a chain, until no value changes by more than `enough`.

    Returns the number of sweeps and the largest change in the last sweep. Changes are relative to the cost of the row.
    """
    start, target, weight, cost = chain
    sweeps = 0
    change = np.inf
    while sweeps == 0 or (sweeps < most and not change <= enough):
        change = 0.0
        for state in range(begin, end):
            total = cost[state - begin]
            for entry in range(start[state - begin], start[state - begin + 1]):
                total += weight[entry] * values[target[entry]]
            scale = cost[state - begin] if cost[state - begin] > 0.0 else max(total, TINY)
            if abs(total - values[state]) > change * scale:
                change = abs(total - values[state]) / scale
            values[state] = total
        sweeps += 1
        if end - begin > ASK_EVERY and interrupted(0):
            break
    return sweeps, change
