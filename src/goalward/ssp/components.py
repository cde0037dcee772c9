"""Strongly connected components of the graph of a model, and the end components among its rows.

Tarjan's algorithm (1972) without recursion. It finishes a component after all those that it leads to, so the numbers of
components are an order in which each comes after whatever its values depend on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Int32s, Int64s
from goalward.jit import exercise, interrupted, kernel

__all__ = ["INTERRUPTED", "Topology", "end_components", "order_by_components", "strong_components"]

INTERRUPTED = -1
SCANS = 8


class Topology(NamedTuple):
    """How many components there are, and how many of these no transition leaves."""

    components: int
    closed: int


@kernel
def order_by_components(
    indptr: Int64s, successors: Int32s, actions: int, patience: int, place: Int32s, order: Int32s, parts: Int64s
) -> Topology:
    """Order all states by component, each component after those that its transitions lead to.

    `order` gets the states and `place` where each stands there, -1 for the goal; component i has the states
    ``order[parts[i] : parts[i + 1]]``. The search begins beside the goal. It gives up, and finds none, if it has
    seen more than `patience` states before the first component is complete. There are INTERRUPTED of them on Ctrl-C.

    Pearce's form of the algorithm (2016): `place` holds 0 for a state not seen yet, then the smallest number on the
    path that it is known to lead back to, and from `done` on its place.
    """
    states = order.size
    done = states + 2
    path = np.empty(states, dtype=np.int32)
    number = np.empty(states, dtype=np.int32)  # of each state of the path
    at = np.empty(states, dtype=np.int64)  # the next entry of each state of the path
    leaves = np.empty(states, dtype=np.bool_)  # whether a transition is known to lead from it to another component
    waiting = np.empty(states, dtype=np.int32)  # states that lead back to the path
    for state in range(states):
        place[state] = 0
    place[states] = done - 1
    seen = 0
    count = 0
    closed = 0
    placed = 0
    waiters = 0
    for beside_goal in (True, False):
        for root in range(states):
            if place[root] != 0:
                continue
            if beside_goal:
                if count > 0:
                    break
                near = False
                for row in range(root * actions, (root + 1) * actions):  # the goal comes last in a row
                    near = near or (indptr[row] < indptr[row + 1] and successors[indptr[row + 1] - 1] == states)
                if not near:
                    continue
            depth = 0
            path[0] = root
            while depth >= 0:
                state = path[depth]
                low = place[state]
                if low == 0:
                    if seen > patience and count == 0:
                        return Topology(0, 0)
                    if interrupted(seen):
                        return Topology(INTERRUPTED, 0)
                    seen += 1
                    low = seen
                    place[state] = seen
                    number[depth] = seen
                    at[depth] = indptr[state * actions]
                    leaves[depth] = False
                end = indptr[(state + 1) * actions]
                entry = at[depth]
                leave = leaves[depth]
                link = 1
                while entry < end:
                    link = place[successors[entry]]
                    if link == 0:
                        break
                    entry += 1
                    if link > states:
                        leave = True
                    elif link < low:
                        low = link
                place[state] = low
                if link == 0:  # this entry is looked at again when its state is done
                    at[depth] = entry
                    leaves[depth] = leave
                    depth += 1
                    path[depth] = successors[entry]
                    continue
                if low < number[depth]:
                    waiting[waiters] = state
                    waiters += 1
                    leaves[depth - 1] |= leave
                else:
                    parts[count] = placed
                    count += 1
                    if not leave:
                        closed += 1
                    order[placed] = state
                    place[state] = done + placed
                    placed += 1
                    while waiters > 0 and place[waiting[waiters - 1]] >= low:
                        waiters -= 1
                        order[placed] = waiting[waiters]
                        place[waiting[waiters]] = done + placed
                        placed += 1
                depth -= 1
    parts[count] = placed
    for state in range(states + 1):
        place[state] -= done
    return Topology(count, closed)


@kernel
def strong_components(
    indptr: Int64s,
    successors: Int32s,
    actions: int,
    rows: Bools,
    wanted: Bools,
    label: Int32s,
) -> int:
    """Give numbers to the components of the wanted states, -1 to other states; return how many there are.

    Returns INTERRUPTED on Ctrl-C.
    """
    states = wanted.size
    number = np.zeros(states, dtype=np.int32)  # order of discovery, from 1 on
    low = np.empty(states, dtype=np.int32)
    path = np.empty(states, dtype=np.int32)
    stack = np.empty(states, dtype=np.int32)
    at_row = np.empty(states, dtype=np.int64)
    at_entry = np.empty(states, dtype=np.int64)
    for state in range(states):
        label[state] = -1
    seen = 0
    count = 0
    top = 0
    for root in range(states):
        if not wanted[root] or number[root] > 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            state = path[depth]
            if number[state] == 0:
                if interrupted(seen):
                    return INTERRUPTED
                seen += 1
                number[state] = seen
                low[state] = seen
                stack[top] = state
                top += 1
                at_row[state] = state * actions
                at_entry[state] = indptr[state * actions]
            row = at_row[state]
            entry = at_entry[state]
            descends = False
            while row < (state + 1) * actions and not descends:
                end = indptr[row + 1]
                if not rows[row]:
                    entry = end
                while entry < end and not descends:
                    target = successors[entry]
                    entry += 1
                    if target < states and wanted[target]:
                        if number[target] == 0:
                            descends = True
                            depth += 1
                            path[depth] = target
                        elif label[target] < 0:
                            low[state] = min(low[state], number[target])
                if not descends:
                    row += 1
            at_row[state] = row
            at_entry[state] = entry
            if descends:
                continue
            if low[state] == number[state]:
                while True:
                    top -= 1
                    label[stack[top]] = count
                    if stack[top] == state:
                        break
                count += 1
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[state])
    return count


@kernel
def end_components(indptr: Int64s, successors: Int32s, actions: int, rows: Bools, component: Int32s) -> int:
    """Give numbers to the maximal end components among the given rows by their first states; return how many there are.

    `rows` keeps those inside components only. `component` is -1 for states in none. Returns INTERRUPTED on Ctrl-C.
    """
    states = component.size
    wanted = np.empty(states, dtype=np.bool_)
    while True:
        left = drop_escaping_rows(indptr, successors, actions, rows, wanted)
        if left == 0:
            for state in range(states):
                component[state] = -1
            return 0
        if left < 0 or strong_components(indptr, successors, actions, rows, wanted, component) < 0:
            return INTERRUPTED
        leaves = False
        for state in range(states):
            for row in range(state * actions, (state + 1) * actions):
                if rows[row]:
                    for entry in range(indptr[row], indptr[row + 1]):
                        target = successors[entry]
                        if target == states or component[target] != component[state]:
                            rows[row] = False
                            leaves = True
                            break
        if not leaves:
            break
    names = np.full(states, -1, dtype=np.int32)
    count = 0
    for state in range(states):
        if component[state] >= 0:
            if names[component[state]] < 0:
                names[component[state]] = count
                count += 1
            component[state] = names[component[state]]
    return count


@kernel
def drop_escaping_rows(indptr: Int64s, successors: Int32s, actions: int, rows: Bools, wanted: Bools) -> int:
    """Drop rows that may lead to the goal or to a state without rows; `wanted` states have rows left.

    A few scans drop most of them, so that few searches for components are needed to drop the rest. Returns how many
    states are wanted, or INTERRUPTED on Ctrl-C.
    """
    states = wanted.size
    for state in range(states):
        wanted[state] = True
    remaining = states
    for scan in range(SCANS):
        before = remaining
        for position in range(states):
            if interrupted(position):
                return INTERRUPTED
            state = position if scan % 2 == 0 else states - 1 - position
            if not wanted[state]:
                continue
            left = 0
            for row in range(state * actions, (state + 1) * actions):
                if rows[row]:
                    left += 1
                    for entry in range(indptr[row], indptr[row + 1]):
                        if successors[entry] == states or not wanted[successors[entry]]:
                            rows[row] = False
                            left -= 1
                            break
            if left == 0:
                wanted[state] = False
                remaining -= 1
        if remaining == before or remaining == 0:
            break
    return remaining


@exercise
def exercise_components() -> None:
    """Find the component of one state that leads to the goal."""
    indptr, successors = np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    indptr.flags.writeable = successors.flags.writeable = False
    end_components(indptr, successors, 1, np.ones(1, dtype=np.bool_), np.empty(1, dtype=np.int32))
