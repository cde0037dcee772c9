"""How one step is drawn, by every kernel that acts on a known model.

A row of the kernel is read as the distribution proportional to its entries. With a uniform number u in [0, 1) the
successor is the first one whose cumulated entries exceed u times the sum of the row: a binary search, so the cost of a
step does not grow with the number of states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import exercise, kernel
from goalward.ssp.model import SSP

__all__ = ["Dynamics", "cumulate", "draw_action", "draw_successor", "dynamics"]


class Dynamics(NamedTuple):
    """The true world as kernels take it: rows as in `SSP`, probabilities cumulated within each row, all read-only."""

    indptr: Int64s
    successors: Int32s
    cumulative: Floats
    costs: Floats
    initial_state: int


def dynamics(ssp: SSP) -> Dynamics:
    """Return a model in the form from which steps are drawn."""
    cumulative = np.empty(len(ssp.probabilities))
    cumulate(ssp.indptr, ssp.probabilities, cumulative)
    cumulative.flags.writeable = False
    return Dynamics(ssp.indptr, ssp.successors, cumulative, ssp.costs, ssp.initial_state)


@kernel
def cumulate(indptr: Int64s, probabilities: Floats, cumulative: Floats) -> None:
    """Add up the probabilities within each row."""
    for row in range(len(indptr) - 1):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += probabilities[entry]
            cumulative[entry] = total


@kernel
def draw_successor(indptr: Int64s, successors: Int32s, cumulative: Floats, row: int, chance: float) -> int:
    """Return the successor in a row that is not empty, for a uniform number in [0, 1)."""
    low = indptr[row]
    high = indptr[row + 1] - 1
    target = chance * cumulative[high]
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return int(successors[low])


@kernel
def draw_action(chances: Floats, state: int, chance: float) -> int:
    """Return the action for a uniform number in [0, 1), given ``chances[s, a]`` cumulated over the actions."""
    last = int(chances.shape[1]) - 1
    target = chance * chances[state, last]
    for action in range(last):
        if chances[state, action] > target:
            return action
    return last


@exercise
def exercise_dynamics() -> None:
    """Call each kernel once."""
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    world = dynamics(ssp)
    draw_successor(world.indptr, world.successors, world.cumulative, 0, 0.25)
    draw_action(np.ones((1, 1)), 0, 0.5)
