"""The problem that is left once the graph of a model is understood.

The reduction of an SSP keeps its values and leaves arithmetic that is safe and fast:

1. Dead ends and the rows that touch them are left out. States from which the goal is reached for nothing have the value
   0 and become one with the goal.
2. Every zero-cost loop becomes one state, with all the rows that leave it.
3. Self-loops are divided out: a row that stays with probability q costs c / (1 - q) and goes on with p / (1 - q). The
   mass that leaves is added up, never taken as a difference, so tiny goal probabilities keep all their digits. Without
   this, mazes take 1.8 times as long and chains 2.1 times.
4. States are numbered so that sweeps carry values away from the goal (`state_order.py`).

The reduction depends on the graph and on which costs are zero. For another model with the same graph and positive costs
only the numbers are written again (`write_problem`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s, UInt32s
from goalward.jit import ONE, int64, kernel, prefetch, uint32, uint64
from goalward.planning.state_order import AHEAD, DEAD, GOAL, number_states, order_states
from goalward.ssp.checks import ModelArrays
from goalward.ssp.graph import Predecessors, predecessors_of, strong_components, sure_states, zero_cost_components
from goalward.ssp.model import SSP

__all__ = ["DEAD", "GOAL", "LEAST_NORMAL", "Blocks", "Problem", "Reduction", "write_problem"]

LEAST_NORMAL = 2.0**-1022  # the smallest normal double; here because Numba freezes constants of hashed files only
SCALE = 2.0**60  # makes the least subnormal number a normal one
LEAST_BLOCK = 200


class Problem(NamedTuple):
    """A reduced problem.

    State i has the rows ``first[i]..first[i + 1]``. Row r has the entries ``start[r]..start[r + 1]`` of `target` and
    `weight`, costs ``cost[r]`` and is row ``origin[r]`` of the model. With n states, the goal is target n + 1; it comes
    first in its row. Unsigned numbers make sweeps twice as fast: signed ones might count from the end of an array.
    """

    first: UInt32s
    start: UInt32s
    target: UInt32s
    weight: Floats
    cost: Floats
    origin: Int32s

    @classmethod
    def empty(cls, states: int, rows: int, entries: int) -> Problem:
        """Allocate a problem of at most these sizes."""
        return cls(
            first=np.empty(states + 1, dtype=np.uint32),
            start=np.empty(rows + 1, dtype=np.uint32),
            target=np.empty(entries, dtype=np.uint32),
            weight=np.empty(entries),
            cost=np.empty(rows),
            origin=np.empty(rows, dtype=np.int32),
        )


class Blocks(NamedTuple):
    """Blocks of states that lead to themselves and earlier blocks only: block i is ``bounds[i]..bounds[i + 1]``."""

    bounds: Int64s
    cyclic: Bools
    """Whether a state of the block may lead to itself or a later one."""


class Reduction(NamedTuple):
    """A reduced problem and the way back to its model.

    Attributes
    ----------
    problem
        The rows. A policy of the problem names a row for each state.
    longest
        The number of entries of the longest usable row of the model.
    reduced
        The reduced number of each state of the model, or GOAL, or DEAD; GOAL for the goal itself, which comes last.
    members, usable
        The states of the model in the order of their reduced numbers, and the rows that are left of each.
    blocks
        The blocks that are solved one after the other.
    has_free_rows
        Whether some row costs nothing.
    loop_rows, free_actions
        In a model with zero costs, the rows inside zero-cost loops, and the actions of states of value zero (-1
        elsewhere); None if there are no such rows or states.
    """

    problem: Problem
    longest: int
    reduced: Int32s
    members: Int32s
    usable: Bools
    blocks: Blocks
    has_free_rows: bool
    loop_rows: Bools | None
    free_actions: Int64s | None

    @classmethod
    def of(cls, ssp: SSP, small: int, members: Int32s | None = None) -> Reduction:
        """Reduce a model; up to `small` states, where nothing is swept, the order by plain distances will do.

        `members` is the order of an earlier reduction of the same graph, to have the very same problem again.
        """
        predecessors = predecessors_of(ssp, ssp.available)
        distance, order, usable = sure_states(ssp, ssp.available, predecessors)
        reduced = np.full(ssp.states + 1, DEAD, dtype=np.int32)
        reduced[ssp.goal] = GOAL
        loop, loops, loop_rows, free_actions = None, 0, None, None
        component, has_free_rows = None, not ssp.costs.min() > 0.0
        if len(order) > small:
            component, components, cyclic = strong_components(ssp)
        if has_free_rows:
            loop, loops, loop_rows, free_actions = free_states(ssp, usable, component, predecessors, reduced)
        if component is not None:
            if members is not None and np.array_equal(np.sort(members), np.sort(order)):
                order = members
            else:
                order = order_states(ssp, usable, component, components, cyclic, distance, order)
        if loop is None:
            states, members = len(order), order
            reduced[order] = np.arange(states, dtype=np.int32)
        else:
            members = np.empty_like(order)
            states, used = number_states(order, loop, loops, reduced, members)
            members = members[:used]
        if component is None:
            blocks = Blocks(np.array([0, states]), np.ones(1, dtype=np.bool_))
        else:
            blocks = find_blocks(members, reduced, component, components)
        problem = Problem.empty(states, len(usable), len(ssp.successors))
        longest = write_problem(ssp.arrays, usable, reduced, members, problem)
        has_free_rows = has_free_rows and not problem.cost[: problem.first[-1]].min(initial=1.0) > 0.0
        return cls(problem, longest, reduced, members, usable, blocks, has_free_rows, loop_rows, free_actions)

    @property
    def states(self) -> int:
        """The number of reduced states."""
        return len(self.problem.first) - 1

    def extended(self) -> Floats:
        """Allocate one number per reduced state, followed by infinity for dead ends and 0 for the goal."""
        numbers = np.empty(self.states + 2)
        numbers[DEAD] = np.inf
        numbers[GOAL] = 0.0
        return numbers

    def expand(self, extended: Floats) -> Floats:
        """Return the numbers of the model's states for those of reduced states, as `extended` allocates them."""
        return extended.take(self.reduced[:-1])

    def expand_policy(self, ssp: SSP, rows: Int64s) -> Int64s:
        """Return the action of each state of the model for a row per reduced state; -1 at dead ends."""
        policy = expand_actions(self.problem.origin, rows, self.reduced, ssp.actions)
        if self.free_actions is not None:
            np.copyto(policy, self.free_actions, where=self.free_actions >= 0)
        if self.loop_rows is not None:
            exits = self.problem.origin.take(rows) // ssp.actions
            inside = actions_to_exits(ssp, self.loop_rows, exits)
            np.copyto(policy, inside, where=inside >= 0)
        return policy


def free_states(
    ssp: SSP, usable: Bools, component: Int32s | None, predecessors: Predecessors, reduced: Int32s
) -> tuple[Int32s, int, Bools | None, Int64s | None]:
    """Find what costs nothing; states of value zero become one with the goal.

    Returns the zero-cost loop of each state (-1 for none), the number of loops, the rows inside them, and the actions
    of states of value zero; the last two are None if there are no such rows or states.
    """
    costless = usable & (ssp.costs.reshape(-1) == 0.0)
    free_actions = None
    others = costless
    near_goal = predecessors.state[predecessors.start[ssp.goal] : predecessors.start[ssp.goal + 1]]
    if costless.reshape(ssp.costs.shape)[near_goal].any():
        distance, free, free_rows = sure_states(ssp, costless, predecessors)
        free_actions = actions_nearer(ssp.indptr, ssp.successors, free_rows, distance)
        reduced[free] = GOAL
        others = costless & np.repeat(distance < 0, ssp.actions)
    loop, loops, inside = zero_cost_components(ssp, others, component, predecessors)
    return loop, loops, inside if loops else None, free_actions


def actions_to_exits(ssp: SSP, loop_rows: Bools, exits: Int32s) -> Int64s:
    """Return actions that lead inside each loop to its exit; -1 at exits and outside of loops."""
    is_exit = np.zeros(ssp.states + 1, dtype=np.bool_)
    is_exit[exits] = True
    successors = np.where(is_exit[ssp.successors], np.int32(ssp.goal), ssp.successors)
    successors.flags.writeable = False
    rows = loop_rows & ~np.repeat(is_exit[:-1], ssp.actions)
    distance, _, usable = sure_states(ssp, rows, successors=successors)
    return actions_nearer(ssp.indptr, successors, usable, distance)


@kernel
def actions_nearer(indptr: Int64s, successors: Int32s, rows: Bools, distance: Int32s) -> Int64s:
    """Return for each state an action among the given rows that may lead one step nearer; -1 if there is none."""
    states = distance.size
    actions = rows.size // states
    chosen = np.full(states, -1, dtype=np.int64)
    for state in range(states):
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
    return chosen


@kernel
def expand_actions(origin: Int32s, rows: Int64s, reduced: Int32s, actions: int) -> Int64s:
    """Return the action of each state, -1 where it has no reduced number."""
    policy = np.empty(reduced.size - 1, dtype=np.int64)
    for state in range(policy.size):
        policy[state] = origin[rows[reduced[state]]] % actions if reduced[state] >= 0 else -1
    return policy


@kernel
def find_blocks(members: Int32s, reduced: Int32s, component: Int32s, components: int) -> Blocks:
    """Split the order of the states: a large component is a block of its own, small ones are put together."""
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
    """Write the usable rows of the members in order, without self-loops; return the length of the longest row."""
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
        # Members lie all over the model. The processor would wait for the memory of each: 1.6 to 2.3 times as long on
        # the public models of elevators, leader, beauquier and pnueli-zuck.
        distant = uint64(members[min(position + 2 * AHEAD, members.size - 1)]) * actions
        prefetch(indptr, distant)
        prefetch(indptr, distant + actions)
        near = uint64(members[min(position + AHEAD, members.size - 1)]) * actions
        prefetch(usable, near)
        prefetch(costs, near)
        prefetch(costs, near + actions)
        prefetch(successors, indptr[near])
        prefetch(probabilities, indptr[near])
        prefetch(probabilities, indptr[near + actions])
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
