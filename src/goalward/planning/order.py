"""The order of the states of a reduced problem, which decides how far one sweep carries values.

By likely steps
    The distance of a state is the number of steps to the goal along transitions that have at least a tenth of the
    largest probability in their row, staying not counted. A tiny chance of the goal in each row says nothing about how
    values depend on each other: by plain steps it would put every state at distance one. Where no likely transition
    leads on, an unlikely one does, so each state still has a row that may lead to an earlier state.

By components
    Where the graph has many strongly connected components, those that others lead to come first. Then the values of a
    component depend on earlier ones and on itself alone.
"""

from __future__ import annotations

import numpy as np

from goalward._jit import kernel
from goalward.arrays import Bools, Int32s, Int64s
from goalward.model.checks import ModelArrays
from goalward.model.components import strong_components

__all__ = [
    "DEAD",
    "GOAL",
    "find_components",
    "likely_distances",
    "number_states",
    "part_limits",
    "sort_by_component",
]

GOAL = -1  # the reduced number of the goal, and of the states that reach it for nothing
DEAD = -2  # the reduced number of dead ends
LIKELY = 0.1
PART = 16  # components are looked for if the first one is smaller than this part of all


@kernel
def likely_limit(model: ModelArrays, row: int) -> float:
    """Return the probability from which a transition of a row counts as likely."""
    state = row // model.costs.shape[1]
    largest = 0.0
    for entry in range(model.indptr[row], model.indptr[row + 1]):
        if model.successors[entry] != state:
            largest = max(largest, model.probabilities[entry])
    return LIKELY * largest


@kernel
def has_likely_step(model: ModelArrays, usable: Bools, distance: Int32s, state: int) -> bool:
    """Return whether a likely transition leads one step nearer to the goal."""
    states, actions = model.costs.shape
    nearer = distance[state] - 1
    # A transition with a tenth of all probability is likely whatever else its row holds.
    for row in range(state * actions, (state + 1) * actions):
        if usable[row]:
            for entry in range(model.indptr[row], model.indptr[row + 1]):
                if model.probabilities[entry] >= LIKELY:
                    target = model.successors[entry]
                    if (0 if target == states else distance[target]) == nearer:
                        return True
    for row in range(state * actions, (state + 1) * actions):
        if usable[row]:
            limit = -1.0
            for entry in range(model.indptr[row], model.indptr[row + 1]):
                target = model.successors[entry]
                if (0 if target == states else distance[target]) == nearer:
                    if limit < 0.0:
                        limit = likely_limit(model, row)
                    if model.probabilities[entry] >= limit:
                        return True
    return False


@kernel
def sees_goal(model: ModelArrays, usable: Bools) -> bool:
    """Return whether a likely transition leads to the goal from anywhere."""
    states = model.costs.shape[0]
    for row in range(usable.size):
        last = model.indptr[row + 1] - 1
        if not usable[row] or model.successors[last] != states:  # the goal has the highest number
            continue
        if model.probabilities[last] >= likely_limit(model, row):
            return True
    return False


@kernel
def likely_distances(model: ModelArrays, usable: Bools, distance: Int32s, order: Int32s) -> None:
    """Change plain distances and the order by them to likely ones; `order` holds the states that reach the goal."""
    states, actions = model.costs.shape
    same = True
    for state in range(states):
        if distance[state] > 0 and not has_likely_step(model, usable, distance, state):
            same = False
            break
    if same or (distance[order[order.size - 1]] == 1 and not sees_goal(model, usable)):
        return
    # Predecessors of each state, the goal included; ~state where no transition of that state is likely.
    start = np.zeros(states + 2, dtype=np.int64)
    for position in range(order.size):
        state = order[position]
        for row in range(state * actions, (state + 1) * actions):
            if usable[row]:
                for entry in range(model.indptr[row], model.indptr[row + 1]):
                    start[model.successors[entry] + 1] += 1
    for state in range(states + 1):
        start[state + 1] += start[state]
    predecessors = np.empty(start[states + 1], dtype=np.int32)
    for position in range(order.size):
        state = order[position]
        for row in range(state * actions, (state + 1) * actions):
            if usable[row]:
                limit = likely_limit(model, row)
                for entry in range(model.indptr[row], model.indptr[row + 1]):
                    target = model.successors[entry]
                    predecessors[start[target]] = state if model.probabilities[entry] >= limit else ~state
                    start[target] += 1
        distance[state] = -1
    # Each start has moved to its end: start[y - 1] is now where the predecessors of y begin.
    waiting = np.empty(order.size, dtype=np.int32)  # states with an unlikely transition to one that was reached
    is_waiting = np.zeros(states, dtype=np.bool_)
    waiters = 0
    count = 0
    head = -1
    while count < order.size:
        target = states if head < 0 else order[head]
        far = 1 if head < 0 else distance[target] + 1
        for position in range(start[target - 1] if target > 0 else 0, start[target]):
            state = predecessors[position]
            if state >= 0:
                if distance[state] < 0:
                    distance[state] = far
                    order[count] = state
                    count += 1
            elif distance[~state] < 0 and not is_waiting[~state]:
                is_waiting[~state] = True
                waiting[waiters] = ~state
                waiters += 1
        head += 1
        if head == count:
            for position in range(waiters):
                state = waiting[position]
                is_waiting[state] = False
                if distance[state] < 0:
                    distance[state] = far
                    order[count] = state
                    count += 1
            waiters = 0


@kernel
def find_components(model: ModelArrays, usable: Bools, place: Int32s, order: Int32s, label: Int32s) -> tuple[int, int]:
    """Label the components of the states whose place is DEAD; return how many there are, and the size of the largest.

    There are none if the first one seems to be large: then to know the others would help little.
    """
    states, actions = model.costs.shape
    patience = states // PART
    wanted = np.zeros(states, dtype=np.bool_)
    for position in range(order.size):
        wanted[order[position]] = place[order[position]] == DEAD
    count = strong_components(model.indptr, model.successors, actions, usable, wanted, order, patience, label)
    if count < 2:
        return 0, 0
    sizes = np.zeros(count, dtype=np.int64)
    largest = 0
    for state in range(states):
        if wanted[state]:
            sizes[label[state]] += 1
            largest = max(largest, sizes[label[state]])
    return count, largest


@kernel
def sort_by_component(order: Int32s, label: Int32s, count: int) -> Int32s:
    """Return the states of each component, one after the other, each in the order given; states of none come last."""
    start = np.zeros(count + 2, dtype=np.int64)
    for position in range(order.size):
        component = label[order[position]]
        start[(component if component >= 0 else count) + 1] += 1
    for component in range(count):
        start[component + 1] += start[component]
    found = np.empty(order.size, dtype=np.int32)
    for position in range(order.size):
        component = label[order[position]]
        component = component if component >= 0 else count
        found[start[component]] = order[position]
        start[component] += 1
    return found


@kernel
def part_limits(head: Int32s, label: Int32s, count: int) -> Int64s:
    """Return where the component of each state begins among reduced states, and where the last one ends."""
    limits = np.empty(count + 1, dtype=np.int64)
    parts = 0
    for state in range(head.size):
        if state == 0 or label[head[state]] != label[head[state - 1]]:
            limits[parts] = state
            parts += 1
    limits[parts] = head.size
    return limits[: parts + 1]


@kernel
def number_states(
    order: Int32s, loop: Int32s, loops: int, place: Int32s, members: Int32s, head: Int32s
) -> tuple[int, int]:
    """Give numbers to the states whose place is DEAD, in order, one for each loop.

    `members` gets the states of the model in the order of their numbers, those of a loop by their own numbers; `head`
    gets the first state of each number in the order given. Returns how many numbers and how many members there are.
    """
    states = loop.size
    start = np.zeros(loops + 1, dtype=np.int64)
    inside = np.empty(states, dtype=np.int32)
    for state in range(states):
        if loop[state] >= 0:
            start[loop[state] + 1] += 1
    for index in range(loops):
        start[index + 1] += start[index]
    for state in range(states):
        if loop[state] >= 0:
            inside[start[loop[state]]] = state
            start[loop[state]] += 1
    # Each start has moved to its end.
    number = 0
    count = 0
    for position in range(order.size):
        state = order[position]
        if place[state] != DEAD:
            continue
        head[number] = state
        if loop[state] < 0:
            place[state] = number
            members[count] = state
            count += 1
        else:
            for other in range(start[loop[state] - 1] if loop[state] > 0 else 0, start[loop[state]]):
                place[inside[other]] = number
                members[count] = inside[other]
                count += 1
        number += 1
    return number, count
