"""Sweeps over the states that still change, and over no others.

After some sweeps over all states the values of most have settled, while those of a few have not: near a wall, or where
two actions are nearly as good. So a state is backed up only after the value of one of its successors has moved by more
than a threshold since it was last announced. A sweep goes through the active states in order; each one that moves
announces its value, which makes its predecessors active. In the end every backup is up to date to twice the threshold.
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.jit import kernel
from goalward.planning.goal_labels import Predecessors
from goalward.planning.reduced_problem import Problem

__all__ = ["WORD", "active_sweeps", "full_sweep"]

WORD = 8  # flags that are looked at together


@kernel
def back_up(problem: Problem, values: Floats, state: int) -> tuple[float, int]:
    """Return the smallest right side of Bellman's equation at a state, and its row."""
    first, start, target, weight, _, cost, _ = problem
    best = np.inf
    choice = first[state]
    for row in range(first[state], first[state + 1]):
        total = cost[row]
        for entry in range(start[row], start[row + 1]):
            total += weight[entry] * values[target[entry]]
        if total < best:
            best = total
            choice = row
    return best, choice


@kernel
def full_sweep(
    problem: Problem, values: Floats, policy: Int64s, before: Floats, moved: Bools, enough: float
) -> tuple[int, float]:
    """Sweep once over all states; return how many moved by more than is enough, and the largest change.

    Both are relative to the cost of the best row. Old values are written to `before`, best rows to `policy`.
    """
    cost = problem.cost
    count = 0
    change = 0.0
    for state in range(values.size):
        best, choice = back_up(problem, values, state)
        size = abs(best - values[state])
        before[state] = values[state]
        moved[state] = not size <= enough * cost[choice]
        count += moved[state]
        if not size <= change * cost[choice]:
            change = size / cost[choice]
        values[state] = best
        policy[state] = choice
    return count, change


@kernel
def activate(predecessors: Predecessors, member: int, place: Int32s, active: Bools, end: int) -> None:
    """Make the predecessors of a state of the model active, those that are before an end of the order."""
    for entry in range(predecessors.start[member], predecessors.start[member + 1]):
        there = place[predecessors.state[entry]]
        if there < end:
            active[there] = True


@kernel
def active_sweeps(
    problem: Problem, predecessors: Predecessors, members: Int32s, place: Int32s, values: Floats, policy: Int64s,
    announced: Floats, moved: Bools, active: Bools, enough: float, most: int,
) -> bool:  # fmt: skip
    """Sweep over active states after a full sweep, until none is left; False if it took more than `most` backups.

    `announced` and `moved` are what the full sweep has written, `active` is working memory of a multiple of eight.
    """
    cost = problem.cost
    for state in range(active.size):
        active[state] = False
    for state in range(values.size):
        if moved[state]:
            announced[state] = values[state]
            activate(predecessors, members[state], place, active, state)
    words = active.view(np.int64)
    backups = 0
    left = True
    while left:
        left = False
        for word in range(words.size):
            if words[word] == 0:
                continue
            for state in range(WORD * word, WORD * (word + 1)):
                if not active[state]:
                    continue
                active[state] = False
                best, choice = back_up(problem, values, state)
                values[state] = best
                policy[state] = choice
                backups += 1
                if not abs(best - announced[state]) <= enough * cost[choice]:
                    announced[state] = best
                    left = True
                    activate(predecessors, members[state], place, active, values.size)
        if left and backups > most:
            return False
    return True
