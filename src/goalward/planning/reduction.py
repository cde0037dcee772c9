"""Reduced problems: models without dead ends, zero-cost loops and self-loops.

The reduction of an SSP keeps the values of the states, and makes the arithmetic safe and fast:

1. Dead ends are removed, with all rows that may lead to dead ends. States that can reach the goal at zero cost have the
   value 0 and are merged with the goal.
2. The states of a zero-cost loop become one state, which has all rows that leave the loop.
3. Self-loops are divided out. If a row stays in its state with probability q, its cost becomes c / (1 - q), and its
   other probabilities become p / (1 - q). Here 1 - q is computed as the sum of the other probabilities, so tiny
   probabilities keep all digits. Without this step, mazes take 1.8 times as long to solve, and chains 2.1 times.
4. States are sorted so that sweeps carry values away from the goal (`state_order.py`). Then states are split into
   blocks, which are solved in order. A block is a strongly connected component, or several small components.

The reduction depends only on the graph and on which costs are zero. For a second model with the same graph and positive
costs, `write_problem` only replaces the probabilities and costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s, UInt32s
from goalward.jit import INTERRUPTED, ONE, completed, int64, interrupted, kernel, uint32, uint64
from goalward.planning.state_order import DEAD, GOAL, number_states, order_states
from goalward.ssp.checks import ModelArrays
from goalward.ssp.graph import (
    Predecessors,
    find_end_components,
    find_sure_states,
    predecessors_of,
    strong_components,
    sure_states,
)  # fmt: skip
from goalward.ssp.model import SSP

LEAST_NORMAL = 2.0**-1022  # the smallest normal double; defined here, because the kernel cache hashes this file
SCALE = 2.0**60  # times SCALE, the smallest subnormal number is normal
LEAST_BLOCK = 200  # components with fewer states are combined


class Problem(NamedTuple):
    """A reduced problem.

    State i has the rows ``first[i]..first[i + 1]``. Row r has the entries ``start[r]..start[r + 1]`` of `target` and
    `weight`. The cost of row r is ``cost[r]``, and its number in the model is ``origin[r]``. With n states, the goal is
    target n + 1. If a row leads to the goal, the goal is its first entry. Unsigned indices make sweeps twice as fast.
    """

    first: UInt32s
    start: UInt32s
    target: UInt32s
    weight: Floats
    cost: Floats
    origin: Int32s

    @classmethod
    def empty(cls, states: int, rows: int, entries: int) -> Problem:
        """Allocate a problem for up to `states` states, `rows` rows and `entries` entries."""
        return cls(
            first=np.empty(states + 1, dtype=np.uint32),
            start=np.empty(rows + 1, dtype=np.uint32),
            target=np.empty(entries, dtype=np.uint32),
            weight=np.empty(entries),
            cost=np.empty(rows),
            origin=np.empty(rows, dtype=np.int32),
        )


class Blocks(NamedTuple):
    """Blocks of states: block i starts at state ``bounds[i]`` and leads only to itself and to earlier blocks."""

    bounds: Int64s
    cyclic: Bools
    """Whether a block may contain a cycle of states."""


class FreeStates(NamedTuple):
    """The states that can reach the goal at zero cost, and the zero-cost loops of a model.

    Attributes
    ----------
    actions
        The actions of states that can reach the goal at zero cost, and -1 for all other states.
    rows
        A mask of the rows inside zero-cost loops.
    loop, loops
        The index of each state's zero-cost loop (-1 for no loop), and the number of loops.
    """

    actions: Int64s
    rows: Bools
    loop: Int32s
    loops: int

    @classmethod
    def of(cls, ssp: SSP, usable: Bools, component: Int32s, predecessors: Predecessors, reduced: Int32s) -> FreeStates:
        """Find the zero-cost states and loops; write GOAL to `reduced` for states that reach the goal at zero cost."""
        rows, loop = np.empty_like(usable), np.empty(ssp.states, dtype=np.int32)
        actions = np.empty(ssp.states, dtype=np.int64)
        arrays = (ssp.state_starts, ssp.arrays, usable, predecessors, component, reduced, rows, actions, loop)
        return cls(actions, rows, loop, completed(find_free, *arrays))


class Reduction(NamedTuple):
    """A reduced problem, and the maps between its states and the states of the model.

    Attributes
    ----------
    problem
        The reduced problem. Its policies name a row for each state.
    longest
        The number of entries in the longest usable row of the model.
    reduced
        The reduced number of each state of the model, which may be GOAL or DEAD. The last entry belongs to the goal.
    members, usable
        The states of the model in the order of their reduced numbers, and a mask of the rows without dead ends.
    blocks
        The blocks that are solved one after the other.
    has_free_rows
        Whether some row of the reduced problem has zero cost.
    free
        The zero-cost states and loops of the model, or None if all costs are positive.
    """

    problem: Problem
    longest: int
    reduced: Int32s
    members: Int32s
    usable: Bools
    blocks: Blocks
    has_free_rows: bool
    free: FreeStates | None

    @classmethod
    def of(cls, ssp: SSP, small: int, members: Int32s | None = None) -> Reduction:
        """Return the reduction of a model; models of up to `small` states are solved without sweeps or blocks.

        `members` is the order of states in an earlier reduction of the same graph. The new problem has the same order.
        """
        predecessors = predecessors_of(ssp, ssp.available)
        distance, order, usable = sure_states(ssp, ssp.available, predecessors)
        reduced = np.full(ssp.states + 1, DEAD, dtype=np.int32)
        reduced[ssp.goal] = GOAL
        free, has_free_rows, large = None, not ssp.costs.min() > 0.0, len(order) > small
        if large or has_free_rows:
            component, components = strong_components(ssp)
        if has_free_rows:
            free = FreeStates.of(ssp, usable, component, predecessors, reduced)
        if large:
            if members is not None and np.array_equal(np.sort(members), np.sort(order)):
                order = members
            else:
                order = order_states(ssp, usable, component, components, distance, order)
        if free is None:
            states, members = len(order), order
            reduced[order] = np.arange(states, dtype=np.int32)
        else:
            members = np.empty_like(order)
            states, used = number_states(order, free.loop, free.loops, reduced, members)
            members = members[:used]
        if large:
            blocks = find_blocks(members, reduced, component, components)
        else:
            blocks = Blocks(np.array([0, states]), np.ones(1, dtype=np.bool_))
        problem = Problem.empty(states, len(usable), len(ssp.successors))
        longest = completed(write_problem, ssp.arrays, usable, reduced, members, problem)
        has_free_rows = has_free_rows and not problem.cost[: problem.first[-1]].min(initial=1.0) > 0.0
        return cls(problem, longest, reduced, members, usable, blocks, has_free_rows, free)

    @property
    def states(self) -> int:
        """The number of reduced states."""
        return len(self.problem.first) - 1

    def extended(self) -> Floats:
        """Allocate an array with an entry for each reduced state, then infinity for dead ends and 0 for the goal."""
        numbers = np.empty(self.states + 2)
        numbers[DEAD] = np.inf
        numbers[GOAL] = 0.0
        return numbers

    def expand(self, extended: Floats) -> Floats:
        """Convert an array over the reduced states (see `extended`) to an array over the states of the model."""
        return extended.take(self.reduced[:-1])

    def expand_policy(self, ssp: SSP, rows: Int64s) -> Int64s:
        """Return an action for each state of the model from `rows`, a row for each reduced state; -1 at dead ends."""
        policy = np.full(ssp.states, -1) if self.free is None else self.free.actions.copy()
        expand_actions(self.problem.origin, rows, self.reduced, ssp.actions, policy)
        if self.free is not None and self.free.loops:
            exits = self.problem.origin.take(rows) // ssp.actions
            inside = actions_to_exits(ssp, self.free.rows, exits)
            np.copyto(policy, inside, where=inside >= 0)
        return policy


def actions_to_exits(ssp: SSP, loop_rows: Bools, exits: Int32s) -> Int64s:
    """Return the actions that lead through each loop to the loop's exit; -1 at exits and outside loops."""
    is_exit = np.zeros(ssp.states + 1, dtype=np.bool_)
    is_exit[exits] = True
    ssp = ssp._replace(successors=np.where(is_exit[ssp.successors], np.int32(ssp.goal), ssp.successors))
    distance, _, usable = sure_states(ssp, loop_rows & ~np.repeat(is_exit[:-1], ssp.actions))
    actions = np.empty(ssp.states, dtype=np.int64)
    actions_nearer(ssp.indptr, ssp.successors, usable, distance, actions)
    return actions


@kernel
def find_free(
    first: UInt32s,
    model: ModelArrays,
    usable: Bools,
    predecessors: Predecessors,
    component: Int32s,
    reduced: Int32s,
    rows: Bools,
    actions: Int64s,
    loop: Int32s,
) -> int:
    """Find states that reach the goal at zero cost, and zero-cost loops; return the number of loops or INTERRUPTED."""
    indptr, successors, _, costs = model
    states, width = costs.shape
    flat = costs.reshape(-1)
    for row in range(rows.size):
        rows[row] = usable[row] and flat[row] == 0.0
    near = False
    for position in range(predecessors.start[states], predecessors.start[states + 1]):
        for action in range(width):
            near |= rows[predecessors.state[position] * width + action]
    distance = np.full(states, -1, dtype=np.int32)
    if near:
        kept = rows.copy()
        if find_sure_states(indptr, successors, width, kept, predecessors, not near, distance, loop) == INTERRUPTED:
            return INTERRUPTED
        actions_nearer(indptr, successors, kept, distance, actions)
    for state in range(states):
        if distance[state] >= 0:
            reduced[state] = GOAL
            for action in range(width):
                rows[state * width + action] = False
        else:
            actions[state] = -1
    return find_end_components(first, indptr, successors, rows, predecessors, component, loop)


@kernel
def actions_nearer(indptr: Int64s, successors: Int32s, rows: Bools, distance: Int32s, chosen: Int64s) -> None:
    """For each state, write to `chosen` an action in `rows` that may lead one step nearer to the goal, else -1."""
    states = distance.size
    actions = rows.size // states
    for state in range(states):
        chosen[state] = -1
        if distance[state] <= 0:
            continue
        for action in range(actions):
            row = state * actions + action
            if rows[row]:
                for entry in range(indptr[row], indptr[row + 1]):
                    target = successors[entry]
                    if (0 if target == states else distance[target]) == distance[state] - 1:
                        chosen[state] = action
                        break


@kernel
def expand_actions(origin: Int32s, rows: Int64s, reduced: Int32s, actions: int, policy: Int64s) -> None:
    """Write to `policy` the action of each state that has a reduced number."""
    for state in range(policy.size):
        if reduced[state] >= 0:
            policy[state] = origin[rows[reduced[state]]] % actions


@kernel
def find_blocks(members: Int32s, reduced: Int32s, component: Int32s, components: int) -> Blocks:
    """Split the ordered states into blocks: a block is one large component, or several small components."""
    size = np.zeros(components, dtype=np.int32)
    for position in range(members.size):
        size[component[members[position]]] += 1
    bounds = np.zeros(2 * (members.size // LEAST_BLOCK) + 3, dtype=np.int64)
    cyclic = np.zeros(bounds.size, dtype=np.bool_)
    count = 0
    states = 0
    last = -1
    for position in range(members.size):
        member = members[position]
        own = component[member]
        if own != last:
            if (states - bounds[count] >= LEAST_BLOCK or size[own] >= LEAST_BLOCK) and states > bounds[count]:
                count += 1
                bounds[count] = states
            cyclic[count] |= size[own] > 1
            last = own
        states = reduced[member] + 1
    bounds[count + 1] = states
    return Blocks(bounds[: count + 2], cyclic[: count + 1])


@kernel
def write_problem(model: ModelArrays, usable: Bools, reduced: Int32s, members: Int32s, problem: Problem) -> int:
    """Write the usable rows of all `members` to `problem`, without self-loops.

    Returns the length of the longest row, or INTERRUPTED on Ctrl-C.
    """
    indptr, successors, probabilities, _ = model
    first, start, target, weight, cost, origin = problem
    actions = uint64(model.costs.shape[1])
    costs = model.costs.reshape(-1)
    rows = uint64(0)
    longest = uint64(0)
    end = uint64(0)
    first[0] = 0
    start[0] = 0
    for position in range(members.size):
        if interrupted(position + 1):
            return INTERRUPTED
        member = uint64(members[position])
        here = reduced[member]
        for row in range(member * actions, (member + ONE) * actions):
            if not usable[row]:
                continue
            row_end = uint64(indptr[row + ONE])
            longest = max(longest, row_end - uint64(indptr[row]))
            begin = end
            stay = 0.0
            goal = 0.0
            leave = 0.0
            for entry in range(uint64(indptr[row]), row_end):
                there = reduced[uint32(successors[entry])]
                probability = probabilities[entry]
                target[end] = there  # overwritten by the next entry unless `end` moves on
                weight[end] = probability
                if there >= 0 and there != here:
                    leave += probability
                    end += ONE
                elif there == here:
                    stay += probability
                else:
                    goal += probability
            leave += goal
            if leave == 0.0:
                continue
            if goal > 0.0:
                entry = end
                while entry > begin:
                    target[entry] = target[entry - ONE]
                    weight[entry] = weight[entry - ONE]
                    entry -= ONE
                target[begin] = first.size
                weight[begin] = goal
                end += ONE
            scale = 1.0 if leave >= LEAST_NORMAL else SCALE  # 1 / leave may overflow
            share = 1.0 / (leave * scale)
            if leave != 1.0:
                for entry in range(begin, end):
                    weight[entry] = weight[entry] * scale * share
            cost[rows] = costs[row] * scale * ((stay + leave) * share)
            origin[rows] = row
            rows += ONE
            start[rows] = end
        first[here + 1] = rows
    return int64(longest)  # type: ignore[no-any-return]
