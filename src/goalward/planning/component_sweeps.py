"""Sweeps over the strongly connected components of a problem, one component after the other.

In a problem whose states are ordered by components, the values of a component depend on those of earlier ones, which
are known by then, and on itself. A component of one state needs one backup. Others are swept until nothing moves, in
rounds of one sweep over all rows, a correction that is the same for all states of the component, and up to twelve
sweeps over the rows of the policy. The correction carries in one step what a component that is rarely left would need
many sweeps for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.planning.reduced_problem import Problem, initial_policy

__all__ = ["Progress", "sweep_parts"]

POLICY_SWEEPS = 12


@kernel
def backup(problem: Problem, row: int, values: Floats) -> float:
    total: float = problem.cost[row]
    for entry in range(problem.start[row], problem.start[row + 1]):
        total += problem.weight[entry] * values[problem.target[entry]]
    return total


@kernel
def change_of(problem: Problem, row: int, least: float, before: float, after: float) -> float:
    """Return a change relative to the cost of the row; if that is free, to the least cost, as others must pay for it.

    Below a millionth of the value, nothing can be asked of a change.
    """
    cost = problem.cost[row]
    return abs(after - before) / (cost if cost > 0.0 else max(least, 1e-6 * after))


@kernel
def sweep_rows(problem: Problem, begin: int, end: int, least: float, values: Floats, policy: Int64s) -> float:
    """Sweep once over all rows of a range of states; return the largest relative change."""
    change = 0.0
    for state in range(begin, end):
        best = np.inf
        choice = problem.first[state]
        for row in range(problem.first[state], problem.first[state + 1]):
            total = backup(problem, row, values)
            if total < best:
                best = total
                choice = row
        change = max(change, change_of(problem, choice, least, values[state], best))
        values[state] = best
        policy[state] = choice
    return change


@kernel
def sweep_policy(problem: Problem, begin: int, end: int, least: float, values: Floats, policy: Int64s) -> float:
    """Sweep once over the rows of a policy; return the largest relative change."""
    change = 0.0
    for state in range(begin, end):
        total = backup(problem, policy[state], values)
        change = max(change, change_of(problem, policy[state], least, values[state], total))
        values[state] = total
    return change


@kernel
def correct_part(problem: Problem, begin: int, end: int, values: Floats, policy: Int64s) -> None:
    """Add the best constant to the values of a component, unless one would become negative."""
    gain = 0.0
    leave = 0.0
    least = np.inf
    for state in range(begin, end):
        row = policy[state]
        here = values[state]
        least = min(least, here)
        gain += problem.cost[row] - problem.to_goal[row] * here
        leave += problem.to_goal[row]
        for entry in range(problem.start[row], problem.start[row + 1]):
            gain += problem.weight[entry] * (values[problem.target[entry]] - here)
            if problem.target[entry] < begin:
                leave += problem.weight[entry]
    if leave > 0.0 and least + gain / leave >= 0.0:
        for state in range(begin, end):
            values[state] += gain / leave


class Progress(NamedTuple):
    """How far the sweeps have come: components done, rounds in the present one and its last change, most rounds."""

    part: int
    rounds: int
    change: float
    longest: int


@kernel
def sweep_parts(
    problem: Problem, parts: Int64s, values: Floats, policy: Int64s, threshold: float, most_rounds: int, most_work: int,
    progress: Progress,
) -> Progress:  # fmt: skip
    """Sweep each component until a sweep over all rows changes it by less than the threshold.

    Goes on from `progress` and returns how far it came before a component took `most_rounds`, or before it had done
    `most_work` multiplications. If it gave a component up, values and policy of all later states are those to start
    from.
    """
    least = np.inf
    for row in range(problem.first[values.size]):
        if problem.cost[row] > 0.0:
            least = min(least, problem.cost[row])
    part, rounds, change, longest = progress
    work = 0
    while part < parts.size - 1 and work < most_work:
        begin, end = parts[part], parts[part + 1]
        entries = problem.start[problem.first[end]] - problem.start[problem.first[begin]]
        if end == begin + 1:
            values[begin] = np.inf
            sweep_rows(problem, begin, end, least, values, policy)
            work += entries
            part += 1
            continue
        if rounds == 0:
            initial_policy(problem, begin, end, values, policy)
            change = np.inf
        while not change <= threshold and rounds < most_rounds and work < most_work:
            correct_part(problem, begin, end, values, policy)
            for _ in range(POLICY_SWEEPS):
                if sweep_policy(problem, begin, end, least, values, policy) <= max(0.02 * change, threshold):
                    break
            change = sweep_rows(problem, begin, end, least, values, policy)
            rounds += 1
            work += POLICY_SWEEPS * entries
        if change <= threshold:
            longest = max(longest, rounds)
            part += 1
            rounds = 0
        elif rounds == most_rounds:
            initial_policy(problem, end, values.size, values, policy)
            break
    return Progress(part, rounds, change, longest)
