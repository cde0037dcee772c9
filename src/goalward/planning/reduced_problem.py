"""The arrays that the kernels of planning work on: a reduced problem, and the Markov chain of one of its policies.

A policy of a problem names a row for each state. Its chain is a problem with one row per state, so kernels take both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import kernel

__all__ = ["LEAST_NORMAL", "Problem", "adopt_policy", "copy_policy", "copy_row", "hurry", "initial_policy"]

LEAST_NORMAL = 2.0**-1022  # the smallest normal double; here because Numba freezes constants of hashed files only


class Problem(NamedTuple):
    """A reduced problem.

    State i has the rows ``first[i]..first[i + 1]``. Row r has the entries ``start[r]..start[r + 1]`` of `target` and
    `weight`, leads to the goal with probability ``to_goal[r]``, costs ``cost[r]`` and is row ``origin[r]`` of the
    model.
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
        """Allocate a problem of at most these sizes."""
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
        """Allocate a chain: row i is the only row of state i."""
        chain = cls.empty(states, states, entries)
        chain.first[:] = np.arange(states + 1)
        return chain


@kernel
def initial_policy(problem: Problem, begin: int, end: int, values: Floats, policy: Int64s) -> None:
    """Find a proper policy, and values to start from, for a range of states, in one walk away from the goal.

    A row that leads to states not reached yet counts as if it stayed where it is instead.
    """
    first, start, target, weight, to_goal, cost, _ = problem
    for state in range(begin, end):
        best = np.inf
        choice = first[state]
        found = False
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            leave = to_goal[row]
            for entry in range(start[row], start[row + 1]):
                if target[entry] < state:
                    total += weight[entry] * values[target[entry]]
                    leave += weight[entry]
            if leave > 0.0 and (not found or total / leave < best):
                best = total / leave
                choice = row
                found = True
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
def adopt_policy(problem: Problem, actions: int, given: Int64s, policy: Int64s) -> None:
    """Play the given actions of the model wherever the problem still has their rows."""
    first, origin = problem.first, problem.origin
    for state in range(policy.size):
        for row in range(first[state], first[state + 1]):
            if given[origin[row] // actions] == origin[row] % actions:
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
