"""Which successors: drawing neighbourhoods and rows of given sizes, and whether the goal can be reached in them.

One permutation of the successors serves all states. Its first k places are the neighbourhood: what was seen from the
state, then others drawn one by one from the rest. The rows are drawn in the same way inside the neighbourhood. A
uniform subset of a set comes out whatever the order was before. The members of a neighbourhood are drawn when a row
comes to them, so a draw takes time for the rows, however large the neighbourhoods are.
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import RowCounts
from goalward.jit import kernel

__all__ = ["draw_sets", "sort_rows", "unreached"]


@kernel
def exchange(order: Int64s, place: Int64s, one: int, other: int) -> None:
    """Exchange two places of a permutation and of its inverse."""
    first = order[one]
    second = order[other]
    order[one] = second
    order[other] = first
    place[second] = one
    place[first] = other


@kernel
def draw_sets(
    chances: Floats, actions: int, n: int, neighbourhood: Int64s, lengths: Int64s,
    rows: RowCounts, indptr: Int64s, successors: Int32s,
) -> None:  # fmt: skip
    """Draw the successors of every row, in any order."""
    size = rows.size
    seen = rows.successors
    order = np.empty(n, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    for successor in range(n):
        order[successor] = successor
        place[successor] = successor
    used = 0
    end = 0
    for state in range(neighbourhood.size):
        k = neighbourhood[state]
        # A plain 0 is a type of its own, for which `exchange` would be compiled again.
        front: int = np.int64(0)  # type: ignore[assignment]
        for row in range(state * actions, (state + 1) * actions):
            for entry in range(size[row]):
                if place[seen[row, entry]] >= front:
                    exchange(order, place, place[seen[row, entry]], front)
                    front += 1
        # The places before `front` are known members; those from there up to k are members still to be drawn.
        for row in range(state * actions, (state + 1) * actions):
            length = lengths[row]
            if length == k:
                while front < k:
                    exchange(order, place, front, front + int(chances[used] * (n - front)))
                    used += 1
                    front += 1
            else:
                for entry in range(size[row]):
                    exchange(order, place, place[seen[row, entry]], entry)
                for entry in range(size[row], length):
                    chosen = entry + int(chances[used] * (k - entry))
                    used += 1
                    if chosen >= front:
                        exchange(order, place, front, front + int(chances[used] * (n - front)))
                        used += 1
                        chosen = front
                        front += 1
                    exchange(order, place, entry, chosen)
            for entry in range(length):
                successors[end] = order[entry]
                end += 1
            indptr[row + 1] = end


@kernel
def unreached(actions: int, indptr: Int64s, successors: Int32s, start: Int64s, leading: Int32s) -> int:
    """Return a state from which the goal cannot be reached; -1 if there is none.

    Also lists the rows that may lead to each successor: those of y are ``leading[start[y] : start[y + 1]]``.
    """
    S = (indptr.size - 1) // actions
    for successor in range(S + 3):
        start[successor] = 0
    for entry in range(indptr[-1]):
        start[successors[entry] + 2] += 1
    for successor in range(S + 2):
        start[successor + 1] += start[successor]
    # Filling moves each start to its end, which is the start of the next one.
    for row in range(indptr.size - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            successor = successors[entry]
            leading[start[successor + 1]] = row
            start[successor + 1] += 1
    reached = np.zeros(S, dtype=np.bool_)
    queue = np.empty(S, dtype=np.int32)
    count = 0
    head = -1
    while head < count:
        target = S if head < 0 else queue[head]
        for position in range(start[target], start[target + 1]):
            state = leading[position] // actions
            if not reached[state]:
                reached[state] = True
                queue[count] = state
                count += 1
        head += 1
    for state in range(S):
        if not reached[state]:
            return state
    return -1


@kernel
def sort_rows(
    start: Int64s, leading: Int32s, indptr: Int64s, rows: RowCounts, successors: Int32s, counts: Int64s
) -> None:
    """Write the successors of each row in increasing order, from the lists of `unreached`, and how often each came."""
    filled = np.empty(indptr.size - 1, dtype=np.int64)
    matched = np.zeros(indptr.size - 1, dtype=np.int64)
    for row in range(filled.size):
        filled[row] = indptr[row]
    for successor in range(start.size - 2):
        for position in range(start[successor], start[successor + 1]):
            row = leading[position]
            entry = filled[row]
            successors[entry] = successor
            counts[entry] = 0
            if matched[row] < rows.size[row] and rows.successors[row, matched[row]] == successor:
                counts[entry] = rows.counts[row, matched[row]]
                matched[row] += 1
            filled[row] = entry + 1
