"""Strongly connected components of the graph of a model, and the end components among its rows.

Tarjan's algorithm (1972) without recursion. It finishes a component after all those that it leads to, so the numbers of
components are an order in which each comes after whatever its values depend on.
"""

from __future__ import annotations

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Bools, Int32s, Int64s

__all__ = ["end_components", "strong_components"]

SCANS = 8


@kernel
def strong_components(
    indptr: Int64s,
    successors: Int32s,
    actions: int,
    rows: Bools,
    wanted: Bools,
    roots: Int32s,
    patience: int,
    label: Int32s,
) -> int:
    """Give numbers to the components of the wanted states, -1 to other states; return how many there are.

    The search starts at the roots, one after the other, which must hold all wanted states. It gives up, and returns 0,
    if it has seen more than `patience` states before the first component is complete.
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
    for root in roots:
        if not wanted[root] or number[root] > 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            state = path[depth]
            if number[state] == 0:
                if seen > patience and count == 0:
                    return 0
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

    `rows` keeps those inside components only. `component` is -1 for states in none.
    """
    states = component.size
    wanted = np.empty(states, dtype=np.bool_)
    roots = np.arange(states).astype(np.int32)
    while True:
        drop_escaping_rows(indptr, successors, actions, rows, wanted)
        strong_components(indptr, successors, actions, rows, wanted, roots, states, component)
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
def drop_escaping_rows(indptr: Int64s, successors: Int32s, actions: int, rows: Bools, wanted: Bools) -> None:
    """Drop rows that may lead to the goal or to a state without rows; `wanted` states have rows left.

    A few scans drop most of them, so that few searches for components are needed to drop the rest.
    """
    states = wanted.size
    for state in range(states):
        wanted[state] = True
    for scan in range(SCANS):
        dropped = False
        for position in range(states):
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
                dropped = True
        if not dropped:
            break


@exercise
def exercise_components() -> None:
    """Find the component of one state that leads to the goal."""
    indptr, successors = np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    indptr.flags.writeable = successors.flags.writeable = False
    end_components(indptr, successors, 1, np.ones(1, dtype=np.bool_), np.empty(1, dtype=np.int32))
