"""The order of the states of a reduced problem, which decides how far one sweep carries values.

By likely steps
    The distance of a state is the number of steps to the goal along transitions that have at least a tenth of the
    largest probability in their row, staying not counted. A tiny chance of the goal in each row says nothing about how
    values depend on each other: by plain steps it would put every state at distance one. Where no likely transition
    leads on, an unlikely one does, so each state still has a row that may lead to an earlier state.

By components
    Where the graph has many strongly connected components, those that others lead to come first. Then the values of a
    component depend on earlier ones and on itself alone. Inside a component, the distance is that to other components.

Ties
    Of states at one distance, those come first that others of them lead to, so that a sweep carries values along such
    steps too. This matters where many steps lead from a state to others at its own distance.
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Bools, Int32s, Int64s
from goalward.jit import interrupted, kernel
from goalward.ssp.checks import ModelArrays

__all__ = [
    "DEAD",
    "DEEP",
    "GOAL",
    "all_likely",
    "has_likely_order",
    "likely_distances",
    "number_states",
    "order_parts",
    "sees_goal",
    "sort_ties",
]

GOAL = -1  # the reduced number of the goal, and of the states that reach it for nothing
DEAD = -2  # the reduced number of dead ends
LIKELY = 0.1
DEEP = 32  # fewer distances than that tell little about values, and ties among them even less
SAMPLE = 256  # states that are looked at to learn whether there are ties


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
def has_likely_order(model: ModelArrays, usable: Bools, distance: Int32s) -> bool:
    """Return whether plain distances are likely ones."""
    for state in range(distance.size):
        if interrupted(state):
            return True
        if distance[state] > 0 and not has_likely_step(model, usable, distance, state):
            return False
    return True


def all_likely(model: ModelArrays) -> bool:
    """Return whether no row of a model has a probability that is small beside the others."""
    return bool(model.probabilities.min(initial=1.0) >= LIKELY)


def likely_distances(model: ModelArrays, usable: Bools, distance: Int32s, order: Int32s) -> None:
    """Change plain distances and the order by them to likely ones; `order` holds the states that reach the goal."""
    if all_likely(model) or has_likely_order(model, usable, distance):
        return
    if distance[order[-1]] == 1 and not sees_goal(model, usable):
        return
    place = np.full(len(distance) + 1, GOAL, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    while not order_parts(model, usable, False, order, np.array([0, len(order)]), place, distance):
        pass


@kernel
def order_parts(
    model: ModelArrays, usable: Bools, likely: bool, order: Int32s, parts: Int64s, place: Int32s, distance: Int32s
) -> bool:
    """Order the states of each component by likely steps to the states outside of it; a single state has distance 1.

    ``place[state]`` is where a state stands in `order`; both are changed. `likely` says that all transitions are.
    Returns False on Ctrl-C.
    """
    states, actions = model.costs.shape
    most_states = 0
    most_entries = 0
    for part in range(parts.size - 1):
        if parts[part + 1] - parts[part] > 1:
            entries = 0
            for position in range(parts[part], parts[part + 1]):
                state = order[position]
                entries += model.indptr[(state + 1) * actions] - model.indptr[state * actions]
            most_states = max(most_states, parts[part + 1] - parts[part])
            most_entries = max(most_entries, entries)
    start = np.empty(most_states + 2, dtype=np.int64)
    last = np.empty(most_states + 1, dtype=np.int32)  # the predecessor that was found last
    predecessors = np.empty(most_entries, dtype=np.int32)
    members = np.empty(most_states, dtype=np.int32)
    found = np.empty(most_states, dtype=np.int32)
    waiting = np.empty(most_states, dtype=np.int32)  # states with an unlikely transition to one that was reached
    is_waiting = np.zeros(most_states, dtype=np.bool_)
    steps = 0
    for part in range(parts.size - 1):
        begin = parts[part]
        size = parts[part + 1] - begin
        wide = size > states // 8  # then they are visited as they lie in memory
        if size == 1:
            distance[order[begin]] = 1
            continue
        # Predecessors of each member, and of the outside, which comes last; ~member where none of the transitions of
        # that member is likely.
        for member in range(size + 1):
            start[member] = 0
            last[member] = -1
        start[size + 1] = 0
        for index in range(states if wide else size):
            steps += 1
            if interrupted(steps):
                return False
            state = index if wide else order[begin + index]
            member = place[state] - begin
            if not 0 <= member < size:
                continue
            for row in range(state * actions, (state + 1) * actions):
                if usable[row]:
                    for entry in range(model.indptr[row], model.indptr[row + 1]):
                        target = place[model.successors[entry]] - begin
                        target = target if 0 <= target < size else size
                        if last[target] != member:
                            last[target] = member
                            start[target + 1] += 1
        for member in range(size + 1):
            start[member + 1] += start[member]
            last[member] = -1
        for index in range(states if wide else size):
            steps += 1
            if interrupted(steps):
                return False
            state = index if wide else order[begin + index]
            member = place[state] - begin
            if not 0 <= member < size:
                continue
            for row in range(state * actions, (state + 1) * actions):
                if usable[row]:
                    limit = 0.0 if likely else likely_limit(model, row)
                    for entry in range(model.indptr[row], model.indptr[row + 1]):
                        target = place[model.successors[entry]] - begin
                        target = target if 0 <= target < size else size
                        if last[target] != member:
                            last[target] = member
                            predecessors[start[target]] = ~member
                            start[target] += 1
                        if model.probabilities[entry] >= limit:
                            predecessors[start[target] - 1] = member
        # Each start has moved to its end: start[i - 1] is now where the predecessors of member i begin.
        for member in range(size):
            members[member] = order[begin + member]
            distance[members[member]] = -1
        waiters = 0
        count = 0
        head = -1
        while count < size:
            steps += 1
            if interrupted(steps):
                for member in range(size):
                    order[begin + member] = members[member]
                return False
            target = size if head < 0 else found[head]
            far = 1 if head < 0 else distance[members[target]] + 1
            for position in range(start[target - 1] if target > 0 else 0, start[target]):
                member = predecessors[position]
                if member >= 0:
                    if distance[members[member]] < 0:
                        distance[members[member]] = far
                        found[count] = member
                        count += 1
                elif distance[members[~member]] < 0 and not is_waiting[~member]:
                    is_waiting[~member] = True
                    waiting[waiters] = ~member
                    waiters += 1
            head += 1
            if head == count:
                for position in range(waiters):
                    member = waiting[position]
                    is_waiting[member] = False
                    if distance[members[member]] < 0:
                        distance[members[member]] = far
                        found[count] = member
                        count += 1
                waiters = 0
        for position in range(size):
            order[begin + position] = members[found[position]]
            place[order[begin + position]] = begin + position
        for member in range(size):
            is_waiting[member] = False
    return True


@kernel
def has_ties(model: ModelArrays, distance: Int32s, order: Int32s) -> bool:
    """Return whether one of some states leads to another at the same distance."""
    actions = model.costs.shape[1]
    for sample in range(min(SAMPLE, order.size)):
        state = order[sample * (order.size // min(SAMPLE, order.size))]
        for entry in range(model.indptr[state * actions], model.indptr[(state + 1) * actions]):
            target = model.successors[entry]
            if target != distance.size and target != state and distance[target] == distance[state]:
                return True
    return False


@kernel
def sort_ties(model: ModelArrays, distance: Int32s, order: Int32s) -> None:
    """Put states of one distance behind those of the same distance that they lead to, where they do not circle."""
    if distance[order[order.size - 1]] < DEEP or not has_ties(model, distance, order):
        return
    states, actions = model.costs.shape
    given = order.copy()
    seen = np.zeros(states, dtype=np.bool_)
    path = np.empty(order.size, dtype=np.int32)
    at = np.empty(order.size, dtype=np.int64)
    count = 0
    for position in range(given.size):
        root = given[position]
        if seen[root]:
            continue
        if interrupted(position):
            for place in range(given.size):
                order[place] = given[place]
            return
        depth = 0
        path[0] = root
        at[0] = model.indptr[root * actions]
        seen[root] = True
        while depth >= 0:
            state = path[depth]
            entry = at[depth]
            end = model.indptr[(state + 1) * actions]
            descends = False
            while entry < end and not descends:
                target = model.successors[entry]
                descends = target < states and not seen[target] and distance[target] == distance[state]
                entry += 1
            at[depth] = entry
            if descends:
                depth += 1
                path[depth] = target
                at[depth] = model.indptr[target * actions]
                seen[target] = True
            else:
                order[count] = state
                count += 1
                depth -= 1


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
