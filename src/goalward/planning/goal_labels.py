"""Labels: first guesses of the values of a large model, and an order of its states, by one pass from the goal.

States are closed one after the other, the cheapest first, as in Dijkstra's algorithm. A row counts as if states that
are still open were somewhat farther away than the state of the row, by the share AWAY of its cost c. So with p(t) the
probabilities of closed states t

    label(s) = min over the rows of s of  (c + AWAY c (1 - Σ p(t)) + Σ p(t) label(t)) / Σ p(t).

What is closed is not reconsidered. Where rows are nearly deterministic, as in samples of a posterior that has seen
little, the labels are close to the optimal values; sweeps do the rest. Since each closed state has a row that may lead
to a state closed before it, or to the goal, sweeps in this order carry values away from the goal. All costs must be
positive.

Open states wait in buckets of labels that differ by a thousandth (Dial 1969). Shortest paths of less than a thousand
times the least cost are found exactly. In other models a label may be below those closed before it by a thousandth or
by AWAY c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.jit import kernel
from goalward.ssp.checks import ModelArrays

__all__ = ["Predecessors", "find_predecessors", "label_groups", "label_states"]

AWAY = 0.75
SHIFT = 42  # bits of a label that are dropped; its exponent and the first ten bits of its fraction stay
BUCKETS = 24 * 1024  # a thousand for each doubling of the least cost; the last one takes all that is above
RELATIVE_WIDTH = 0.01  # the least width of a group, relative to its labels
HIGHEST = float(np.finfo(np.float64).max)
LIKELY = 0.1  # less likely transitions are left out at first


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
def add_closed(model: ModelArrays, row: int, closed: Bools, label: Floats, sums: Floats) -> None:
    """Add to the sums of a row what it pays on the way to closed states by unlikely transitions."""
    for entry in range(model.indptr[row], model.indptr[row + 1]):
        target = model.successors[entry]
        probability = model.probabilities[entry]
        if probability < LIKELY and (target == label.size or closed[target]):
            sums[row, 0] += probability * (0.0 if target == label.size else label[target])
            sums[row, 1] += probability


@kernel
def label_states(model: ModelArrays, usable: Bools, predecessors: Predecessors, order: Int32s, label: Floats) -> int:
    """Write the labels, and the states in the order in which they were closed; return how many were."""
    _, _, probabilities, costs = model
    states, actions = costs.shape
    start, origins, rows, entries = predecessors
    sums = np.empty((states * actions, 2))  # what a row pays on the way to closed states, and how likely it gets there
    closed = np.zeros(states, dtype=np.bool_)
    # A bucket is a list of nodes. A state whose label moves to a lower bucket leaves its old node behind.
    head = np.full(BUCKETS, -1, dtype=np.int32)
    bucket_of = np.full(states, BUCKETS, dtype=np.int32)
    following = np.empty(entries.size + states, dtype=np.int32)
    waiting = np.empty(entries.size + states, dtype=np.int32)
    nodes = 0
    bits = label.view(np.int64)
    label[0] = HIGHEST
    for state in range(states):
        for action in range(actions):
            sums[state * actions + action, 0] = (1.0 + AWAY) * costs[state, action]
            sums[state * actions + action, 1] = 0.0
            label[0] = min(label[0], costs[state, action])
    lowest = bits[0] >> SHIFT
    for state in range(states):
        label[state] = HIGHEST
    least = LIKELY
    current = 0 * states  # a plain zero would have another type for the compiler
    count = 0
    newest = states
    value = 0.0
    while True:
        for place in range(start[newest], start[newest + 1]):
            state = origins[place]
            row = rows[place]
            probability = probabilities[entries[place]]
            # A weight of zero in place of a branch that the processor could not foresee.
            weight = 0.0 if (probability < least) | closed[state] else probability
            paid = sums[row, 0] + weight * value
            share = sums[row, 1] + weight
            sums[row, 0] = paid
            sums[row, 1] = share
            away = AWAY * costs[state, row - state * actions]
            if paid < (label[state] + away) * share and weight > 0.0:
                label[state] = paid / share - away
                bucket = min(max((bits[state] >> SHIFT) - lowest, current), BUCKETS - 1)
                if bucket < bucket_of[state]:
                    bucket_of[state] = bucket
                    waiting[nodes] = state
                    following[nodes] = head[bucket]
                    head[bucket] = nodes
                    nodes += 1
        newest = -1
        while newest < 0:
            while current < BUCKETS and head[current] < 0:
                current += 1
            if current < BUCKETS:
                node = head[current]
                head[current] = following[node]
                if not closed[waiting[node]]:
                    newest = 0 + waiting[node]
                continue
            if least == 0.0 or count == states:
                return count
            # The states that are left reach the others by unlikely transitions only.
            least = 0.0
            current = 0
            for state in range(states):
                if closed[state]:
                    continue
                for action in range(actions):
                    row = state * actions + action
                    if usable[row]:
                        add_closed(model, row, closed, label, sums)
                        away = AWAY * costs[state, action]
                        if sums[row, 0] < (label[state] + away) * sums[row, 1]:
                            label[state] = sums[row, 0] / sums[row, 1] - away
                if label[state] < HIGHEST:
                    bucket = min(max((bits[state] >> SHIFT) - lowest, 0), BUCKETS - 1)
                    bucket_of[state] = bucket
                    waiting[nodes] = state
                    following[nodes] = head[bucket]
                    head[bucket] = nodes
                    nodes += 1
        closed[newest] = True
        value = float(label[newest])
        order[count] = newest
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
