"""Labels: first guesses of the values of a large model, and an order of its states, by one pass from the goal.

States are closed one after the other, the cheapest first, as in Dijkstra's algorithm. A row counts as if it stayed
where it is instead of going to a state that is still open, so with c its cost and the sums over closed states t

    label(s) = min over the rows of s of (c + Σ p(t) label(t)) / Σ p(t).

Closing a state never raises a label, and what is closed is not reconsidered. Where rows are nearly deterministic, as in
samples of a posterior that has seen little, the labels are close to the optimal values; sweeps do the rest. Since each
closed state has a row that may lead to a state closed before it, or to the goal, sweeps in this order carry values
away from the goal. All costs must be positive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.model.checks import ModelArrays
from goalward.model.ssp import SSP

__all__ = ["Predecessors", "find_predecessors", "label_groups", "label_states"]

OPEN, CLOSED = -1, -2  # places of states that are not in the heap
RELATIVE_WIDTH = 0.01  # of a group of labels
HIGHEST = float(np.finfo(np.float64).max)
LIKELY = 0.1  # probability from which a transition counts at first


class Predecessors(NamedTuple):
    """The transitions by their successors: those to y are ``start[y]..start[y + 1]`` of the other arrays.

    They are where each transition comes from, its row and its entry.
    """

    start: Int64s
    state: Int32s
    row: Int32s
    entry: Int32s


@kernel
def find_predecessors(indptr: Int64s, successors: Int32s, actions: int, usable: Bools, states: int) -> Predecessors:
    """Sort the transitions of the usable rows by their successors, the goal included; staying is left out."""
    start = np.zeros(states + 3, dtype=np.int64)
    for state in range(states):
        for row in range(state * actions, (state + 1) * actions):
            if usable[row]:
                for entry in range(indptr[row], indptr[row + 1]):
                    if successors[entry] != state:
                        start[successors[entry] + 2] += 1
    for state in range(states + 1):
        start[state + 2] += start[state + 1]
    size = start[states + 2]
    found = Predecessors(start, np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32))
    for state in range(states):
        for row in range(state * actions, (state + 1) * actions):
            if usable[row]:
                for entry in range(indptr[row], indptr[row + 1]):
                    target = successors[entry]
                    if target != state:
                        place = start[target + 1]
                        found.state[place] = state
                        found.row[place] = row
                        found.entry[place] = entry
                        start[target + 1] = place + 1
    return found


@kernel
def rise(heap: Int32s, position: Int32s, label: Floats, place: int) -> None:
    """Move a state of the heap up to where its label belongs."""
    state = heap[place]
    while place > 0:
        parent = (place - 1) >> 1
        if not label[state] < label[heap[parent]]:
            break
        heap[place] = heap[parent]
        position[heap[place]] = place
        place = parent
    heap[place] = state
    position[state] = place


@kernel
def pop(heap: Int32s, position: Int32s, label: Floats, size: int) -> int:
    """Take the state of the smallest label out of a heap of this size."""
    first = heap[0]
    state = heap[size - 1]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and label[heap[child + 1]] < label[heap[child]]:
            child += 1
        if not label[heap[child]] < label[state]:
            break
        heap[place] = heap[child]
        position[heap[place]] = place
        place = child
    heap[place] = state
    position[state] = place
    position[first] = CLOSED
    return int(first)


@kernel
def lower(state: int, found: float, heap: Int32s, position: Int32s, label: Floats, size: int) -> int:
    """Lower the label of an open state, which enters the heap if it is not in it; return the size of the heap."""
    label[state] = found
    if position[state] == OPEN:
        heap[size] = state
        position[state] = size
        size += 1
    rise(heap, position, label, position[state])
    return size


@kernel
def add_closed(model: ModelArrays, row: int, position: Int32s, label: Floats, sums: Floats) -> None:
    """Add to the sums of a row what it pays on the way to closed states by unlikely transitions."""
    for entry in range(model.indptr[row], model.indptr[row + 1]):
        target = model.successors[entry]
        probability = model.probabilities[entry]
        if probability < LIKELY and (target == label.size or position[target] == CLOSED):
            sums[row, 0] += probability * (0.0 if target == label.size else label[target])
            sums[row, 1] += probability


@kernel
def label_states(model: ModelArrays, usable: Bools, predecessors: Predecessors, order: Int32s, label: Floats) -> int:
    """Write the labels, and the states in the order in which they were closed; return how many were."""
    _, _, probabilities, costs = model
    states, actions = costs.shape
    start, origins, rows, entries = predecessors
    sums = np.empty((states * actions, 2))  # what a row pays on the way to closed states, and how likely it gets there
    position = np.empty(states, dtype=np.int32)
    heap = np.empty(states, dtype=np.int32)
    for state in range(states):
        label[state] = HIGHEST
        position[state] = OPEN
        for action in range(actions):
            sums[state * actions + action, 0] = costs[state, action]
            sums[state * actions + action, 1] = 0.0
    least = LIKELY
    size = 0 * states  # a plain zero would be a type of its own
    count = 0
    closed = states
    value = 0.0
    while True:
        for place in range(start[closed], start[closed + 1]):
            state = 0 + origins[place]  # of 64 bits, like every state that `lower` gets
            row = rows[place]
            probability = probabilities[entries[place]]
            # A weight of zero in place of a branch that the processor could not foresee.
            weight = probability if (probability >= least) & (position[state] != CLOSED) else 0.0
            paid = sums[row, 0] + weight * value
            share = sums[row, 1] + weight
            sums[row, 0] = paid
            sums[row, 1] = share
            if paid < label[state] * share and weight > 0.0:
                size = lower(state, paid / share, heap, position, label, size)
        if size == 0 and least > 0.0 and count < states:
            # The states that are left reach the others by unlikely transitions only.
            least = 0.0
            for state in range(states):
                if position[state] == OPEN:
                    for row in range(state * actions, (state + 1) * actions):
                        if usable[row]:
                            add_closed(model, row, position, label, sums)
                            if sums[row, 0] < label[state] * sums[row, 1]:
                                size = lower(state, sums[row, 0] / sums[row, 1], heap, position, label, size)
        if size == 0:
            return count
        closed = pop(heap, position, label, size)
        size -= 1
        value = label[closed]
        order[count] = closed
        count += 1


@kernel
def label_groups(label: Floats, order: Int32s, most: int, group: Int32s) -> int:
    """Group states of similar labels, in order; return the number of groups, at most `most`.

    A group is as wide as the states in the middle need to fill half of the groups, and a hundredth of its labels at
    least.
    """
    count = order.size
    middle = label[order[count // 2]]
    width = 2.0 * middle / most
    groups = 0
    begin = label[order[0]]
    for position in range(count):
        here = label[order[position]]
        if here > begin + max(width, RELATIVE_WIDTH * begin) and groups < most - 1:
            groups += 1
            begin = here
        group[position] = groups
    return groups + 1


@exercise
def exercise_labels() -> None:
    """Label a model of one state."""
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    usable, order, label = np.ones(1, dtype=np.bool_), np.empty(1, dtype=np.int32), np.empty(1)
    predecessors = find_predecessors(ssp.indptr, ssp.successors, 1, usable, 1)
    label_states(ssp.arrays, usable, predecessors, order, label)
    label_groups(label, order, 1, np.empty(1, dtype=np.int32))
