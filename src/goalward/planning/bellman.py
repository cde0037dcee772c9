"""Kernels for Bellman's equation on the arrays of a reduced problem: initial policies and sweeps.

A policy names a row for each state. Kernels work on a block of states, ``begin..end``; the values of other states are
read but not changed. `values` has one number per state, then the value of dead ends and that of the goal, 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s, UInt32s
from goalward.jit import ASK_EVERY, ONE, interrupted, kernel, uint64
from goalward.planning.reduction import Problem

UNIT = 2.0**-52
TINY, HUGE = 1e-290, 1e290  # beyond these, rounding is no longer relative or sums may overflow


class Chain(NamedTuple):
    """The rows of a policy in a block of states, copied so that sweeps over them read memory in order."""

    start: UInt32s
    target: UInt32s
    weight: Floats
    cost: Floats

    @classmethod
    def empty(cls, states: int, entries: int) -> Chain:
        """Allocate the chain of a block of at most these sizes."""
        start, target = np.empty(states + 1, dtype=np.uint32), np.empty(entries, dtype=np.uint32)
        return cls(start, target, np.empty(entries), np.empty(states))

    @classmethod
    def of(cls, problem: Problem, rows: Int64s) -> Chain:
        """Return the chain of the given rows, one for each state."""
        lengths = (problem.start[rows + 1] - problem.start[rows]).astype(np.int64)
        start = np.append(0, np.cumsum(lengths))
        entries = np.arange(start[-1]) + np.repeat(problem.start[rows] - start[:-1], lengths)
        return cls(start.astype(np.uint32), problem.target[entries], problem.weight[entries], problem.cost[rows])


@kernel
def initial_policy(problem: Problem, begin: int, end: int, values: Floats, policy: Int64s) -> None:
    """Write a proper policy and initial values, in one pass away from the goal.

    A transition to a state that the pass has not reached yet counts as if it stayed in place.
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
    """Choose in each state the row that most likely leads to an earlier state or the goal: a proper policy.

    The initial policy may drift away from the goal, because it does not count steps that lead away.
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
    """Write to `policy` the chosen actions of the model, wherever the problem has their rows."""
    first, origin = problem.first, problem.origin
    for state in range(policy.size):
        for row in range(first[state], first[state + 1]):
            if chosen[origin[row] // actions] == origin[row] % actions:
                policy[state] = row


@kernel
def optimal_sweep(problem: Problem, begin: int, end: int, values: Floats, policy: Int64s, chain: Chain) -> float:
    """Do one Gauss-Seidel sweep over all rows; return the largest change, relative to the cost of the best row.

    The best rows are written to `policy` and copied into the chain.
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
    """Sweep over a chain, at least once and at most `most` times, until a sweep changes it by at most `enough`.

    Returns the number of sweeps and the largest change of the last one, relative to the cost of the row. After Ctrl-C
    it stops at the end of a sweep.
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
