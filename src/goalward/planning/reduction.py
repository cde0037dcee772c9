"""The problem that is left once the graph of a model has been understood.

The reduction of an SSP keeps its values and leaves arithmetic that is safe and fast:

1. Dead ends and the rows that touch them are left out. States from which the goal is reached for nothing have the value
   0 and become one with the goal.
2. Every zero-cost loop becomes one state, with all the rows that leave it.
3. Self-loops are divided out: a row that stays with probability q costs c / (1 - q) and goes on with p / (1 - q). The
   mass that leaves is added up, never taken as a difference, so tiny goal probabilities keep all their digits.
4. States are numbered in order of their distance to the goal. Sweeps in that order carry values away from the goal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import kernel, prefetch
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.model.checks import ModelArrays
from goalward.model.ssp import SSP
from goalward.model.structure import sure_states, zero_cost_components
from goalward.planning.problem import Problem
from goalward.planning.workspace import workspace

__all__ = ["DEAD", "GOAL", "Reduction"]

GOAL = -1  # the reduced number of the goal, and of the states that reach it for nothing
DEAD = -2  # the reduced number of dead ends
AHEAD = 6  # for how many states ahead memory is prefetched
LINE = 8  # doubles in a line of cache


class Reduction(NamedTuple):
    """A reduced problem and the way back to its model; valid until the next reduction in this thread.

    `place` is the reduced number of each state, or GOAL, or DEAD. `distance` is the number of steps from each reduced
    state to the goal. The longest usable row of the model has `longest` entries; any policy of the problem has at most
    `widest` entries. In a model with zero costs, `loop_rows` are the rows inside zero-cost loops, if there are any, and
    `free_actions` are the actions of states of value zero (-1 elsewhere).
    """

    problem: Problem
    longest: int
    widest: int
    place: Int32s
    distance: Int32s
    loop_rows: Bools | None
    free_actions: Int64s | None

    @classmethod
    def of(cls, ssp: SSP) -> Reduction:
        """Reduce a model."""
        distance, order, usable = sure_states(ssp, ssp.available)
        place = np.empty(ssp.states + 1, dtype=np.int32)
        place.fill(DEAD)
        place[ssp.goal] = GOAL
        place[order] = np.arange(len(order), dtype=np.int32)
        near, loop_rows, free_actions = distance.take(order), None, None
        if not ssp.costs.min() > 0.0:
            order, loop_rows, free_actions = merge_free_states(ssp, usable, place)
            near = np.full(int(place.max()) + 1, ssp.states, dtype=np.int32)
            np.minimum.at(near, place[order], distance[order])
        problem = workspace(Problem.empty, len(near), len(usable), len(ssp.successors))
        longest, widest = write_problem(ssp.arrays, usable, place, order, problem)
        return cls(problem, longest, widest, place[:-1], near, loop_rows, free_actions)

    @property
    def states(self) -> int:
        """The number of reduced states."""
        return len(self.problem.first) - 1

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


def merge_free_states(ssp: SSP, usable: Bools, place: Int32s) -> tuple[Int32s, Bools | None, Int64s]:
    """Merge states of value zero with the goal, and each zero-cost loop into one state; changes `place`.

    Returns the states of the model in the order of their reduced states, the rows inside loops, and the actions of
    states of value zero.
    """
    costless = usable & (ssp.costs.reshape(-1) == 0.0)
    distance, free, kept = sure_states(ssp, costless)
    free_actions = actions_nearer(ssp, ssp.successors, kept, distance)
    place[free] = GOAL

    busy = place[:-1] >= 0
    component, count = zero_cost_components(ssp, usable & np.repeat(busy, ssp.actions))
    rank = place[:-1].copy()
    loop_rows = None
    if count:
        earliest = np.full(count, ssp.states, dtype=np.int32)
        looped = component >= 0
        np.minimum.at(earliest, component[looped], rank[looped])
        rank[looped] = earliest[component[looped]]
        length = np.diff(ssp.indptr)
        source = np.repeat(np.arange(ssp.states), np.add.reduceat(length, np.arange(0, len(length), ssp.actions)))
        label = np.append(component, -1)
        stays = (label[source] >= 0) & (label[source] == label[ssp.successors])
        leaving = np.zeros(len(costless), dtype=np.bool_)
        leaving[np.repeat(np.arange(len(length)), length)[~stays]] = True
        loop_rows = costless & ~leaving
    _, renumbered = np.unique(rank[busy], return_inverse=True)
    place[:-1][busy] = renumbered
    members = np.flatnonzero(busy).astype(np.int32)
    return members[np.argsort(renumbered, kind="stable")], loop_rows, free_actions


def actions_to_exits(ssp: SSP, loop_rows: Bools, exits: Int32s) -> Int64s:
    """Return actions that lead inside each loop to its exit; -1 at exits and outside of loops."""
    is_exit = np.zeros(ssp.states + 1, dtype=np.bool_)
    is_exit[exits] = True
    successors = np.where(is_exit[ssp.successors], np.int32(ssp.goal), ssp.successors)
    successors.flags.writeable = False
    rows = loop_rows & ~np.repeat(is_exit[:-1], ssp.actions)
    distance, _, usable = sure_states(ssp, rows, successors)
    return actions_nearer(ssp, successors, usable, distance)


def actions_nearer(ssp: SSP, successors: Int32s, rows: Bools, distance: Int32s) -> Int64s:
    """Return for each state an action among the given rows that may lead one step nearer; -1 if there is none."""
    entry_row = np.repeat(np.arange(len(rows)), np.diff(ssp.indptr))
    near = np.append(distance, np.int32(0))
    source = entry_row // ssp.actions
    nearer = rows[entry_row] & (near[source] > 0) & (near[successors] == near[source] - 1)
    action = np.full(ssp.states, -1, dtype=np.int64)
    action[source[nearer]] = entry_row[nearer] % ssp.actions
    return action


@kernel
def write_problem(
    model: ModelArrays, usable: Bools, place: Int32s, members: Int32s, problem: Problem
) -> tuple[int, int]:
    """Write the usable rows of the members in order, without self-loops; return `longest` and `widest`."""
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
            share = 1.0 / leave
            for entry in range(begin, end):
                weight[entry] *= share
            to_goal[rows] = goal * share
            cost[rows] = costs[member, action] * ((stay + leave) * share)
            origin[rows] = row
            rows += 1
            start[rows] = end
            if end - begin > wide:
                widest += end - begin - wide
                wide = end - begin
        first[here + 1] = rows
    return longest, widest
