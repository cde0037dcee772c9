"""A reduced problem in the order of its components: where they begin, and which states need no number.

States that reach the goal for nothing take the place of the goal, and the others close up. The order itself is that of
`state_order.py`.
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Bools, Int32s, Int64s
from goalward.jit import interrupted, kernel
from goalward.planning.state_order import GOAL
from goalward.ssp.checks import ModelArrays

__all__ = ["find_free_states", "leave_out", "part_limits", "sort_by_component"]


@kernel
def find_free_states(
    model: ModelArrays, order: Int32s, parts: Int64s, place: Int32s, free_actions: Int64s, inside: Bools
) -> tuple[int, bool]:
    """Find the states that reach the goal for nothing, in a model ordered by components.

    Such a state gets an action in `free_actions`. Free rows that stay in a component of several states are marked in
    `inside`. Returns how many states were found, and whether rows were marked. Returns (-1, False) where a component
    of several states might reach the goal for nothing, which takes more than one look at each row, and on Ctrl-C.
    """
    states, actions = model.costs.shape
    found = 0
    marked = False
    for part in range(parts.size - 1):
        begin = parts[part]
        end = parts[part + 1]
        for position in range(begin, end):
            if interrupted(position):
                return -1, False
            state = order[position]
            for action in range(actions):
                row = state * actions + action
                if model.costs[state, action] != 0.0:
                    continue
                stays = True
                for_nothing = True
                for entry in range(model.indptr[row], model.indptr[row + 1]):
                    target = model.successors[entry]
                    if not begin <= place[target] < end:
                        stays = False
                        for_nothing = for_nothing and (target == states or free_actions[target] >= 0)
                if not stays and for_nothing:
                    if end > begin + 1:
                        return -1, False
                    found += free_actions[state] < 0
                    free_actions[state] = action
                elif stays and end > begin + 1:
                    inside[row] = True
                    marked = True
    return found, marked


@kernel
def leave_out(order: Int32s, parts: Int64s, place: Int32s, free_actions: Int64s) -> tuple[int, int]:
    """Give free states the place of the goal, and close up the others; return how many states and parts are left."""
    count = 0
    kept = 0
    for part in range(parts.size - 1):
        begin = parts[part]
        end = parts[part + 1]
        if free_actions[order[begin]] >= 0:
            place[order[begin]] = GOAL
            continue
        parts[kept] = count
        kept += 1
        for position in range(begin, end):
            order[count] = order[position]
            place[order[count]] = count
            count += 1
    parts[kept] = count
    return count, kept


@kernel
def sort_by_component(order: Int32s, label: Int32s) -> Int32s:
    """Return the states of each component, one after the other, each in the order given."""
    start = np.zeros(label.size + 1, dtype=np.int64)
    for position in range(order.size):
        start[label[order[position]] + 1] += 1
    for component in range(label.size):
        start[component + 1] += start[component]
    found = np.empty(order.size, dtype=np.int32)
    for position in range(order.size):
        component = label[order[position]]
        found[start[component]] = order[position]
        start[component] += 1
    return found


@kernel
def part_limits(head: Int32s, label: Int32s) -> Int64s:
    """Return where the component of each state begins among reduced states, and where the last one ends."""
    limits = np.empty(head.size + 1, dtype=np.int64)
    parts = 0
    for state in range(head.size):
        if state == 0 or label[head[state]] != label[head[state - 1]]:
            limits[parts] = state
            parts += 1
    limits[parts] = head.size
    return limits[: parts + 1]
