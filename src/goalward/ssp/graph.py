"""Graph analysis: dead ends, zero-cost loops, reachability, strong components.

Definitions
    A state is *sure* if some policy reaches the goal from this state with probability one. All other states are dead
    ends, with the value infinity. A dead end is *maybe* if a path leads to the goal, so that some policy reaches the
    goal with positive probability. Other dead ends are *never*. A policy is proper if it reaches the goal with
    probability one from every state. A model is proper if it has a proper policy, which means that it has no dead ends.

    The sure states are a greatest fixed point. Start with the set of all states and all rows. Drop every row that may
    leave the set, and then every state without a path to the goal inside the set. Repeat until nothing is dropped.

    A zero-cost loop is an end component of zero-cost rows: a strongly connected set of states, each of which has a
    zero-cost row that never leaves the set. A policy may stay in a loop forever at no cost, so Bellman's equation alone
    does not determine the values. To find maximal end components, drop rows that leave their strong component until no
    row does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from goalward.arrays import Bools, Int32s, Int64s, UInt32s
from goalward.jit import INTERRUPTED, ONE, completed, interrupted, kernel, lightly, uint32, uint64
from goalward.ssp.model import SSP, check_model
from goalward.table import ShownAsFacts

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class Structure(ShownAsFacts):
    """Dead ends, zero-cost loops and reachability of a model.

    Attributes
    ----------
    surely
        The states from which some policy reaches the goal with probability one.
    maybe
        The states from which the goal can be reached, but from which no policy reaches the goal with probability one.
    never
        The states from which the goal cannot be reached.
    zero_cost_loops
        The sets of states in which a policy can stay forever at no cost (maximal end components of zero-cost rows).
    unreachable
        The states that cannot be reached from the initial state.
    reaches_goal
        Whether some policy reaches the goal with probability one from the initial state.
    """

    surely: Int64s
    maybe: Int64s
    never: Int64s
    zero_cost_loops: tuple[Int64s, ...]
    unreachable: Int64s
    reaches_goal: bool

    @property
    def dead_ends(self) -> Int64s:
        """The states of `maybe` and `never`, from which no policy reaches the goal with probability one."""
        return np.union1d(self.maybe, self.never)

    @property
    def proper(self) -> bool:
        """Whether some policy reaches the goal with probability one from every state."""
        return len(self.maybe) + len(self.never) == 0

    def _facts(self) -> dict[str, object]:
        sets = ("surely", "maybe", "never", "zero_cost_loops", "unreachable")
        counts = {name: len(getattr(self, name)) for name in sets}
        return {"reaches_goal": self.reaches_goal, "proper": self.proper, **counts}


def structure(ssp: SSP) -> Structure:
    """Return the dead ends, the zero-cost loops and the unreachable states of `ssp`."""
    check_model(ssp)
    distance, _, _ = sure_states(ssp, ssp.available)
    component, count = zero_cost_components(ssp, ssp.available)
    by_component = np.argsort(component, kind="stable")
    loops = tuple(np.split(by_component, np.searchsorted(component[by_component], np.arange(count)))[1:])
    sure = distance >= 0
    possible = sure if sure.all() else can_reach_goal(ssp)
    return Structure(
        surely=np.flatnonzero(sure),
        maybe=np.flatnonzero(possible & ~sure),
        never=np.flatnonzero(~possible),
        zero_cost_loops=loops,
        unreachable=np.flatnonzero(~reached_from(state_graph(ssp), ssp.initial_state)),
        reaches_goal=bool(distance[ssp.initial_state] >= 0),
    )


def predecessors_of(ssp: SSP, rows: Bools) -> Predecessors:
    """Return the predecessors of each state, using only the rows in the mask `rows`."""
    entries = ALL_ENTRIES if rows is ssp.available else np.repeat(rows.reshape(-1), np.diff(ssp.indptr))
    return lightly(list_predecessors, len(ssp.successors))(ssp.state_starts, ssp.successors, entries)


def sure_states(ssp: SSP, rows: Bools, predecessors: Predecessors | None = None) -> tuple[Int32s, Int32s, Bools]:
    """Return the states from which a policy reaches the goal almost surely with the rows in the mask `rows` only.

    The result has three arrays: the distance of each state to the goal in steps inside the set (-1 for dead ends), the
    sure states in order of distance, and a mask of the rows that stay inside the set. `predecessors` are the
    predecessors along all rows of the model, if the caller has computed them.
    """
    usable = np.array(rows, dtype=np.bool_).reshape(-1)
    distance, order = np.empty((2, ssp.states), dtype=np.int32)
    exact = predecessors is None or rows is ssp.available
    predecessors = predecessors_of(ssp, rows) if predecessors is None else predecessors
    arrays = (ssp.indptr, ssp.successors, ssp.actions, usable, predecessors, exact, distance, order)
    count = completed(lightly(find_sure_states, len(ssp.successors)), *arrays)
    return distance, order[:count], usable


def zero_cost_components(ssp: SSP, rows: Bools) -> tuple[Int32s, int]:
    """Return the zero-cost end component of each state (-1 for none) within `rows`, and the number of components.

    Components are numbered in the order of their first states.
    """
    costless = rows.reshape(-1) & (ssp.costs.reshape(-1) == 0.0)
    loop = np.full(ssp.states, -1, dtype=np.int32)
    if not costless.any():
        return loop, 0
    first, predecessors, component = ssp.state_starts, predecessors_of(ssp, costless), strong_components(ssp)[0]
    arrays = (first, ssp.indptr, ssp.successors, costless, predecessors, component, loop)
    return loop, completed(find_end_components, *arrays)


def strong_components(ssp: SSP) -> tuple[Int32s, int]:
    """Return the strong component of each state, and the number of components."""
    component = np.empty(ssp.states, dtype=np.int32)
    return component, completed(number_components, ssp.state_starts, ssp.successors, ALL_ENTRIES, component)


@kernel
def find_end_components(
    first: UInt32s,
    indptr: Int64s,
    successors: Int32s,
    rows: Bools,
    predecessors: Predecessors,
    component: Int32s,
    loop: Int32s,
) -> int:
    """Write the end component of each state to `loop`, drop other `rows`, return the number of components.

    `component` has the strong components of a graph that contains the rows. The result is INTERRUPTED after Ctrl-C.
    Calling the function again with the remaining rows gives the same result.
    """
    states = component.size
    actions = rows.size // states
    component = component.copy()
    entries = np.zeros(successors.size, dtype=np.bool_)
    size = np.empty(states, dtype=np.int32)
    alive = np.empty(states, dtype=np.bool_)
    queue = np.empty(states, dtype=np.int32)
    before = -1
    while True:
        drop_leaving_rows(indptr, successors, component, rows, alive)
        for state in range(states):
            size[state] = 0
        for state in range(states):
            size[component[state]] += 1
        lost = 0 * states  # a literal would compile drop_rows_into twice
        for state in range(states):
            if not alive[state] and size[component[state]] > 1:  # no row leads to a state alone in its component
                queue[lost] = state
                lost += 1
        if drop_rows_into(indptr, successors, actions, rows, predecessors, alive, queue, lost) == INTERRUPTED:
            return INTERRUPTED
        count = 0
        for row in range(rows.size):
            count += rows[row]
        if count in (0, before):
            break
        for row in range(uint64(rows.size)):
            for entry in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
                entries[entry] = rows[row]
        before = count
        if number_components(first, successors, entries, component) == INTERRUPTED:
            return INTERRUPTED
    loops = 0
    for state in range(states):
        size[state] = -1
    for state in range(states):
        loop[state] = -1
        if alive[state]:
            own = component[state]
            if size[own] < 0:
                size[own] = loops
                loops += 1
            loop[state] = size[own]
    return loops


@kernel
def drop_leaving_rows(indptr: Int64s, successors: Int32s, component: Int32s, rows: Bools, alive: Bools) -> None:
    """Drop the rows that may lead to another component or to the goal; states that keep any row are `alive`."""
    states = component.size
    actions = uint64(rows.size // states)
    for state in range(uint64(states)):
        own = component[state]
        left = False
        for row in range(state * actions, (state + ONE) * actions):
            if rows[row]:
                for entry in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
                    successor = uint32(successors[entry])
                    if successor == states or component[successor] != own:
                        rows[row] = False
                left |= rows[row]
        alive[state] = left


def can_reach_goal(ssp: SSP) -> Bools:
    """Return a mask of the states from which a path leads to the goal."""
    return reached_from(state_graph(ssp).T.tocsr(), ssp.goal)


def state_graph(ssp: SSP) -> sparse.csr_array:
    """Return the graph whose nodes are the states and the goal and whose edges are all possible transitions."""
    from scipy import sparse

    # The entries of a state are adjacent; repeated entries are one edge.
    indptr = np.append(ssp.indptr[:: ssp.actions], ssp.indptr[-1])
    return sparse.csr_array((ssp.probabilities, ssp.successors, indptr), shape=(ssp.states + 1, ssp.states + 1))


def reached_from(graph: sparse.csr_array, start: int) -> Bools:
    """Return a mask of the states that can be reached from `start`, without the goal (the last node of `graph`)."""
    from scipy.sparse import csgraph

    reached = np.zeros(graph.shape[0], dtype=np.bool_)
    reached[csgraph.breadth_first_order(graph, start, return_predecessors=False)] = True
    return reached[:-1]


@kernel
def leads_to(indptr: Int64s, successors: Int32s, usable: Bools, actions: int, state: int, target: int) -> bool:
    first = uint64(state) * uint64(actions)
    for row in range(first, first + uint64(actions)):
        if usable[row]:
            for entry in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
                if successors[entry] == target:
                    return True
    return False


class Predecessors(NamedTuple):
    """Lists of predecessors; ``state[start[y] : start[y + 1]]`` has the predecessors of y, with repetitions."""

    start: UInt32s
    state: Int32s


ALL_ENTRIES = np.empty(0, dtype=np.bool_)


@kernel
def list_predecessors(first: UInt32s, successors: Int32s, entries: Bools) -> Predecessors:
    """Return the predecessors of each state along the masked `entries`, or along all entries if the mask is empty."""
    states = first.size - 1
    start = np.zeros(states + 2, dtype=np.uint32)
    for entry in range(successors.size):
        if entries.size == 0 or entries[entry]:
            start[uint32(successors[entry])] += 1
    total = 0
    for state in range(states + 1):
        total += start[state]
        start[state] = total
    start[states + 1] = total
    state_of = np.empty(total, dtype=np.int32)
    for state in range(states - 1, -1, -1):
        # Backwards, so that each start moves from the end of its range to the beginning.
        for entry in range(first[state], first[state + 1]):
            if entries.size == 0 or entries[entry]:
                successor = uint32(successors[entry])
                start[successor] -= 1
                state_of[start[successor]] = state
    return Predecessors(start, state_of)


@kernel
def drop_rows_into(
    indptr: Int64s,
    successors: Int32s,
    actions: int,
    usable: Bools,
    predecessors: Predecessors,
    alive: Bools,
    queue: Int32s,
    count: int,
) -> int:
    """Drop rows that may lead to the first `count` states of `queue` or to states that have lost all rows.

    States that lose all rows are no longer `alive` and join the queue. The result is the length of the queue, or
    INTERRUPTED after Ctrl-C.
    """
    head = 0
    while head < count:
        if interrupted(head):
            return INTERRUPTED
        target = queue[head]
        for position in range(predecessors.start[target], predecessors.start[target + 1]):
            state = uint64(predecessors.state[position])
            if not alive[state]:
                continue
            left = False
            for row in range(state * uint64(actions), (state + ONE) * uint64(actions)):
                if usable[row]:
                    for entry in range(uint64(indptr[row]), uint64(indptr[row + ONE])):
                        if successors[entry] == target:
                            usable[row] = False
                            break
                    left |= usable[row]
            if not left:
                alive[state] = False
                queue[count] = state
                count += 1
        head += 1
    return count


@kernel
def find_sure_states(
    indptr: Int64s,
    successors: Int32s,
    actions: int,
    usable: Bools,
    predecessors: Predecessors,
    exact: bool,
    distance: Int32s,
    order: Int32s,
) -> int:
    """Fill `distance` and `order` for the sure states, shrink `usable`, and return the number of sure states.

    `exact` is True if `predecessors` has only transitions of usable rows. The result is INTERRUPTED after Ctrl-C.
    Calling the function again with the remaining rows gives the same result.
    """
    states = distance.size
    alive = np.empty(states, dtype=np.bool_)
    for state in range(states):
        alive[state] = True
    remaining = states
    dropped_any = not exact
    steps = 0
    while True:
        # Breadth-first search backwards from the goal over usable rows.
        for state in range(states):
            distance[state] = -1
        count = 0
        head = -1
        while head < count:
            steps += 1
            if interrupted(steps):
                return INTERRUPTED
            target = states if head < 0 else order[head]
            far = 1 if head < 0 else distance[target] + 1
            for position in range(predecessors.start[target], predecessors.start[target + 1]):
                state = uint32(predecessors.state[position])
                if distance[state] >= 0 or not alive[state]:
                    continue
                if not dropped_any or leads_to(indptr, successors, usable, actions, state, target):
                    distance[state] = far
                    order[count] = state
                    count += 1
            head += 1
        if count == remaining:
            return count
        # Drop the states that were not reached, the rows that may lead there, and states that lose their last row.
        dropped_any = True
        tail = 0 * count  # a literal 0 would make a second specialisation of drop_rows_into
        for state in range(states):
            if alive[state] and distance[state] < 0:
                alive[state] = False
                order[tail] = state
                tail += 1
        if drop_rows_into(indptr, successors, actions, usable, predecessors, alive, order, tail) < 0:
            return INTERRUPTED
        remaining = 0
        for state in range(states):
            if alive[state]:
                remaining += 1
            else:
                for row in range(state * actions, (state + 1) * actions):
                    usable[row] = False


@kernel
def number_components(first: UInt32s, successors: Int32s, entries: Bools, component: Int32s) -> int:
    """Write the strong component of each state to `component`; no transition leads to a component of higher number.

    Only transitions in the mask `entries` count. The result is the number of components, or INTERRUPTED after Ctrl-C.

    The algorithm is that of Pearce (2016). `low` of a state is 0 before the first visit, and `done` once its component
    is complete. In between, it is the smallest number of a state on the current path that this state can reach.
    """
    states = component.size
    done = states + 1
    low = np.zeros(states + 1, dtype=np.int32)
    low[states] = done
    path = np.empty(states, dtype=np.uint32)
    number = np.empty(states, dtype=np.int32)  # of each state of the path
    position = np.empty(states, dtype=np.uint32)  # the next entry of each state of the path
    waiting = np.empty(states, dtype=np.uint32)  # states that lead back to the path
    seen = 0
    count = 0
    waiters = 0
    for root in range(states):
        if low[root] != 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            state = path[depth]
            if low[state] == 0:
                if interrupted(seen):
                    return INTERRUPTED
                seen += 1
                low[state] = seen
                number[depth] = seen
                position[depth] = first[state]
            lowest = low[state]
            entry = uint64(position[depth])
            end = first[state + 1]
            link = done
            while entry < end:
                if entries.size == 0 or entries[entry]:
                    link = low[uint32(successors[entry])]
                    if link == 0:
                        break
                    lowest = min(link, lowest)
                entry += ONE
            low[state] = lowest
            if link == 0:  # this entry is read again when its successor is done
                position[depth] = entry
                depth += 1
                path[depth] = successors[entry]
                continue
            if lowest < number[depth]:
                waiting[waiters] = state
                waiters += 1
            else:
                component[state] = count
                low[state] = done
                while waiters > 0 and low[waiting[waiters - 1]] >= lowest:
                    waiters -= 1
                    component[waiting[waiters]] = count
                    low[waiting[waiters]] = done
                count += 1
            depth -= 1
    return count
