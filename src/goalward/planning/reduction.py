"""The problem that is left once the graph of a model has been understood.

The reduction of an SSP keeps its values and leaves arithmetic that is safe and fast:

1. Dead ends and the rows that touch them are left out. States from which the goal is reached for nothing have the value
   0 and become one with the goal.
2. Every zero-cost loop becomes one state, with all the rows that leave it.
3. Self-loops are divided out: a row that stays with probability q costs c / (1 - q) and goes on with p / (1 - q). The
   mass that leaves is added up, never taken as a difference, so tiny goal probabilities keep all their digits.
4. States are numbered in order of their distance to the goal, large models by likely steps and components
   (`state_order.py`). Sweeps in that order carry values away from the goal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.jit import interrupted, kernel, prefetch
from goalward.planning.component_order import find_free_states, leave_out, part_limits, sort_by_component
from goalward.planning.reduced_problem import LEAST_NORMAL, Problem
from goalward.planning.state_order import (
    DEAD,
    GOAL,
    all_likely,
    likely_distances,
    number_states,
    order_parts,
    sort_ties,
)
from goalward.planning.workspace import workspace
from goalward.ssp.checks import ModelArrays
from goalward.ssp.graph import INTERRUPTED, order_by_components, sure_states, zero_cost_components
from goalward.ssp.model import SSP

__all__ = ["DEAD", "GOAL", "Reduction", "rewrite_problem", "write_problem"]

AHEAD = 6  # for how many states ahead memory is prefetched
PATIENCE = 16  # components are looked for if the first one is smaller than this part of all
LINE = 8  # doubles in a line of cache
SCALE = 2.0**60  # makes the least subnormal number a normal one


class Reduction(NamedTuple):
    """A reduced problem and the way back to its model; valid until the next reduction in this thread.

    `place` is the reduced number of each state, or GOAL, or DEAD. `distance` is the number of steps from each reduced
    state to the goal, or empty if components made the order. Component i of the graph has the states
    ``parts[i]..parts[i + 1]``; if `parts` is None, they were not looked for. The longest usable row of the model has
    `longest` entries; any policy of the problem has at most `widest` entries. In a model with zero costs, `loop_rows`
    are the rows inside zero-cost loops, if there are any, and `free_actions` are the actions of states of value zero
    (-1 elsewhere).
    """

    problem: Problem
    longest: int
    widest: int
    place: Int32s
    distance: Int32s
    parts: Int64s | None
    loop_rows: Bools | None
    free_actions: Int64s | None

    @classmethod
    def of(cls, ssp: SSP, small: int) -> Reduction:
        """Reduce a model; with more than `small` states, look for a better order than that of plain distances."""
        parts = None
        if ssp.states > small:
            place, order = np.empty(ssp.states + 1, dtype=np.int32), np.empty(ssp.states, dtype=np.int32)
            parts, closed = component_order(ssp, place, order)
            if parts is not None and not closed:
                found = cls.by_components(ssp, place, order, parts)
                if found is not None:
                    return found
        label = None
        if parts is not None:
            label = np.empty(ssp.states, dtype=np.int32)
            label[order] = np.repeat(np.arange(len(parts) - 1, dtype=np.int32), np.diff(parts))
        return cls.by_distance(ssp, small, label)

    @classmethod
    def by_components(cls, ssp: SSP, place: Int32s, order: Int32s, parts: Int64s) -> Reduction | None:
        """Reduce a model in which all states reach the goal; None if states of one component may circle for nothing."""
        usable, free_actions = ssp.indptr[1:] > ssp.indptr[:-1], None
        if not ssp.costs.min() > 0.0:
            free_actions, inside = np.full(ssp.states, -1, dtype=np.int64), np.zeros(len(usable), dtype=np.bool_)
            free, marked = find_free_states(ssp.arrays, order, parts, place, free_actions, inside)
            if free < 0 or (marked and zero_cost_components(ssp, inside)[1]):
                return None
            if free:
                left, count = leave_out(order, parts, place, free_actions)
                order, parts = order[:left], parts[: count + 1]
        distance, likely = np.empty(ssp.states, dtype=np.int32), all_likely(ssp.arrays)
        while not order_parts(ssp.arrays, usable, likely, order, parts, place, distance):
            pass
        return cls.written(ssp, usable, place, order, len(order), distance[:0], parts, None, free_actions)

    @classmethod
    def by_distance(cls, ssp: SSP, small: int, label: Int32s | None) -> Reduction:
        """Reduce any model; `label` has the component of each state, None if these do not matter."""
        distance, order, usable = sure_states(ssp, ssp.available)
        place = np.empty(ssp.states + 1, dtype=np.int32)
        place.fill(DEAD)
        place[ssp.goal] = GOAL
        loop, loops, loop_rows, free_actions = None, 0, None, None
        if not ssp.costs.min() > 0.0:
            loop, loops, loop_rows, free_actions = free_states(ssp, usable, place)
        if label is not None:
            order = sort_by_component(order, label)
        elif len(order) > small:
            likely_distances(ssp.arrays, usable, distance, order)
            sort_ties(ssp.arrays, distance, order)
        if loop is None:
            head = order
            place[order] = np.arange(len(order), dtype=np.int32)
        else:
            members, head = np.empty_like(order), np.empty_like(order)
            numbers, used = number_states(order, loop, loops, place, members, head)
            order, head = members[:used], head[:numbers]
        parts = None if label is None else part_limits(head, label)
        return cls.written(ssp, usable, place, order, len(head), distance.take(head), parts, loop_rows, free_actions)

    @classmethod
    def written(
        cls, ssp: SSP, usable: Bools, place: Int32s, order: Int32s, states: int, distance: Int32s,
        parts: Int64s | None, loop_rows: Bools | None, free_actions: Int64s | None,
    ) -> Reduction:  # fmt: skip
        """Write the problem of so many reduced states in the order given."""
        problem = workspace(Problem.empty, states, len(usable), len(ssp.successors))
        longest, widest = write_problem(ssp.arrays, usable, place, order, problem)
        while longest < 0:  # interrupted
            longest, widest = write_problem(ssp.arrays, usable, place, order, problem)
        return cls(problem, longest, widest, place[:-1], distance, parts, loop_rows, free_actions)

    @property
    def states(self) -> int:
        """The number of reduced states."""
        return len(self.problem.first) - 1

    @property
    def levels(self) -> Int32s:
        """Numbers from 1 on that grow away from the goal: distances, or those of components if they made the order."""
        if self.parts is None or len(self.distance) > 0:
            return self.distance
        return np.repeat(np.arange(1, len(self.parts), dtype=np.int32), np.diff(self.parts))

    def extended(self) -> Floats:
        """Allocate one number per reduced state, followed by infinity for dead ends and 0 for the goal.

        ``numbers[reduction.place]`` are then the numbers of the model's states.
        """
        numbers = np.empty(self.states + 2)
        numbers[DEAD] = np.inf
        numbers[GOAL] = 0.0
        return numbers

    def expand_policy(self, ssp: SSP, rows: Int64s) -> Int64s:
        """Return the action of each state of the model for a row per reduced state; -1 at dead ends."""
        chosen = self.problem.origin.take(rows)
        actions = np.empty(self.states + 2, dtype=np.int64)
        actions[:DEAD] = chosen % ssp.actions
        actions[DEAD:] = -1
        policy = actions.take(self.place)
        if self.free_actions is not None:
            np.copyto(policy, self.free_actions, where=self.free_actions >= 0)
        if self.loop_rows is not None:
            inside = actions_to_exits(ssp, self.loop_rows, chosen // ssp.actions)
            np.copyto(policy, inside, where=inside >= 0)
        return policy


def component_order(ssp: SSP, place: Int32s, order: Int32s) -> tuple[Int64s | None, int]:
    """Order the states by component; return the limits of the components, and how many are never left.

    The limits are None if the first component seems to be large: then to know the others would help little.
    """
    parts, patience = np.empty(ssp.states + 1, dtype=np.int64), ssp.states // PATIENCE
    count = INTERRUPTED
    while count == INTERRUPTED:
        count, closed = order_by_components(ssp.indptr, ssp.successors, ssp.actions, patience, place, order, parts)
    return (parts[: count + 1], closed) if count > 1 else (None, closed)


def free_states(ssp: SSP, usable: Bools, place: Int32s) -> tuple[Int32s, int, Bools | None, Int64s | None]:
    """Find what costs nothing; states of value zero get the place of the goal.

    Returns the zero-cost loop of each state (-1 for none), the number of loops, the rows inside them, and the actions
    of states of value zero; None for what there is none of.
    """
    costless = usable & (ssp.costs.reshape(-1) == 0.0)
    free_actions = None
    others = costless
    if reach_goal(ssp.indptr, ssp.successors, ssp.goal, costless):
        distance, free, kept = sure_states(ssp, costless)
        free_actions = actions_nearer(ssp.indptr, ssp.successors, kept, distance)
        place[free] = GOAL
        others = costless & np.repeat(distance < 0, ssp.actions)
    loop, loops, inside = zero_cost_components(ssp, others)
    return loop, loops, inside if loops else None, free_actions


@kernel
def reach_goal(indptr: Int64s, successors: Int32s, goal: int, rows: Bools) -> bool:
    """Return whether some of the rows may lead to the goal, which comes last in a row."""
    found = False
    for row in range(rows.size):
        found = found or (rows[row] and successors[indptr[row + 1] - 1] == goal)
    return found


def actions_to_exits(ssp: SSP, loop_rows: Bools, exits: Int32s) -> Int64s:
    """Return actions that lead inside each loop to its exit; -1 at exits and outside of loops."""
    is_exit = np.zeros(ssp.states + 1, dtype=np.bool_)
    is_exit[exits] = True
    successors = np.where(is_exit[ssp.successors], np.int32(ssp.goal), ssp.successors)
    successors.flags.writeable = False
    rows = loop_rows & ~np.repeat(is_exit[:-1], ssp.actions)
    distance, _, usable = sure_states(ssp, rows, successors)
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
def write_problem(
    model: ModelArrays, usable: Bools, place: Int32s, members: Int32s, problem: Problem
) -> tuple[int, int]:
    """Write the usable rows of the members in order, without self-loops; return `longest` and `widest`.

    Returns (-1, -1) on Ctrl-C.
    """
    indptr, successors, probabilities, costs = model
    first, start, target, weight, to_goal, cost, origin = problem
    actions = costs.shape[1]
    rows = 0
    longest = 0
    widest = 0
    wide = 0
    end = 0
    first[0] = 0
    start[0] = 0
    previous = -1
    for position in range(members.size):
        if interrupted(position):
            return -1, -1
        # Members lie all over the model; without prefetching, the processor waits for the memory of each.
        distant = members[min(position + 2 * AHEAD, members.size - 1)] * actions
        prefetch(indptr, distant)
        near = members[min(position + AHEAD, members.size - 1)] * actions
        prefetch(usable, near)
        prefetch(costs, near)
        prefetch(successors, indptr[near])
        prefetch(probabilities, indptr[near])
        prefetch(probabilities, indptr[near] + LINE)
        member = members[position]
        here = place[member]
        if here != previous:
            previous = here
            wide = 0
        for action in range(actions):
            row = member * actions + action
            if not usable[row]:
                continue
            longest = max(longest, indptr[row + 1] - indptr[row])
            begin = end
            stay = 0.0
            goal = 0.0
            leave = 0.0
            for entry in range(indptr[row], indptr[row + 1]):
                there = place[successors[entry]]
                probability = probabilities[entry]
                target[end] = there  # overwritten by the next entry unless `end` moves on
                weight[end] = probability
                if there >= 0 and there != here:
                    leave += probability
                    end += 1
                elif there == here:
                    stay += probability
                else:
                    goal += probability
            leave += goal
            if leave == 0.0:
                continue
            scale = 1.0 if leave >= LEAST_NORMAL else SCALE  # 1 / leave may overflow
            share = 1.0 / (leave * scale)
            for entry in range(begin, end):
                weight[entry] = weight[entry] * scale * share
            to_goal[rows] = goal * scale * share
            cost[rows] = costs[member, action] * scale * ((stay + leave) * share)
            origin[rows] = row
            rows += 1
            start[rows] = end
            if end - begin > wide:
                widest += end - begin - wide
                wide = end - begin
        first[here + 1] = rows
    return longest, widest


@kernel
def rewrite_problem(model: ModelArrays, members: Int32s, problem: Problem) -> bool:
    """Write the probabilities of another model with the same graph; False if a row of it would stay where it is.

    Each member must be a state of its own, and the problem must have been written with all of their usable rows.
    """
    indptr, successors, probabilities, costs = model
    first, _, _, weight, to_goal, cost, origin = problem
    states, actions = costs.shape
    end = 0
    for position in range(members.size):
        near = members[min(position + AHEAD, members.size - 1)] * actions
        prefetch(successors, indptr[near])
        prefetch(probabilities, indptr[near])
        prefetch(probabilities, indptr[near] + LINE)
        member = members[position]
        for row in range(first[position], first[position + 1]):
            source = origin[row]
            begin = end
            stay = 0.0
            goal = 0.0
            leave = 0.0
            for entry in range(indptr[source], indptr[source + 1]):
                there = successors[entry]
                probability = probabilities[entry]
                weight[end] = probability  # overwritten by the next entry unless `end` moves on
                if there == member:
                    stay += probability
                elif there == states:
                    goal += probability
                else:
                    leave += probability
                    end += 1
            leave += goal
            if leave == 0.0:
                return False
            scale = 1.0 if leave >= LEAST_NORMAL else SCALE  # 1 / leave may overflow
            share = 1.0 / (leave * scale)
            for entry in range(begin, end):
                weight[entry] = weight[entry] * scale * share
            to_goal[row] = goal * scale * share
            cost[row] = costs[member, source - member * actions] * scale * ((stay + leave) * share)
    return True
