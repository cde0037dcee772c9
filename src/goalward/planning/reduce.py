"""From a model to the problem that is left once its graph has been understood.

The reduction of an SSP keeps its values and leaves arithmetic that is safe and fast:

1. Dead ends and the rows that touch them are gone, and so are the states from which the goal is reached for nothing:
   their value is 0, they are one with the goal.
2. Every zero-cost loop is one state, with all the rows that leave it.
3. Self-loops are divided out: a row that stays with probability q costs c / (1 - q) and goes on with p / (1 - q). The
   mass that leaves is added up, never taken as a difference, so tiny goal probabilities keep all their digits.
4. States are numbered in order of their distance to the goal. Sweeps in that order carry values away from the goal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import kernel
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.model.ssp import SSP
from goalward.model.structure import sure_reach, sure_states, zero_cost_components

__all__ = ["Reduced", "Reduction", "reduce"]

GOAL = -1  # the reduced index of the goal and of the states that are as good as the goal
DEAD = -2


class Reduced(NamedTuple):
    """The arrays of a reduced problem, as kernels take them.

    The rows of state i are ``first[i]..first[i + 1]``. Row r has the entries ``start[r]..start[r + 1]`` of `target` and
    `weight`, goes to the goal with probability ``to_goal[r]``, costs ``cost[r]`` and is row ``origin[r]`` of the model.
    """

    first: Int32s
    start: Int64s
    target: Int32s
    weight: Floats
    to_goal: Floats
    cost: Floats
    origin: Int32s


class Reduction(NamedTuple):
    """A reduced problem and the way back to the model it came from.

    `index` is the reduced state of each state, or GOAL, or DEAD; `distance` that of each reduced state to the goal, in
    steps. In a model with zero costs, `loops` are the rows inside zero-cost loops, if there are any, and `inner` is what
    states of no value play (-1 elsewhere).
    """

    problem: Reduced
    index: Int32s
    distance: Int64s
    loops: Bools | None
    inner: Int64s | None

    def expand(self, values: Floats) -> Floats:
        """Carry one number per reduced state back to the states of the model; 0 at the goal, infinity at dead ends."""
        return np.append(values, (np.inf, 0.0))[self.index]

    def groups(self, most: int) -> Int32s:
        """Put reduced states of equal distance to the goal into one group, or each into its own if there are few."""
        states = len(self.problem.first) - 1
        if states <= most // 4:
            return np.arange(states, dtype=np.int32)
        depth = int(self.distance[-1])
        return ((self.distance - 1) * min(most, depth) // depth).astype(np.int32)

    def expand_policy(self, ssp: SSP, rows: Int64s) -> Int64s:
        """Carry a row per reduced state back to an action per state; -1 at dead ends."""
        chosen = self.problem.origin[rows].astype(np.int64)
        policy = np.append(chosen, (-1, -1))[self.index]
        policy[policy >= 0] %= ssp.actions
        if self.inner is not None:
            exits = chosen // ssp.actions
            policy = np.where(self.inner >= 0, self.inner, policy)
            if self.loops is not None:
                walk = walk_to(ssp, self.loops, exits)
                policy = np.where(walk >= 0, walk, policy)
        return policy


def reduce(ssp: SSP) -> Reduction:
    """Reduce a model."""
    distance, order, usable = sure_states(ssp, ssp.available)
    index = np.full(ssp.states + 1, DEAD, dtype=np.int32)
    index[ssp.goal] = GOAL
    index[order] = np.arange(len(order), dtype=np.int32)
    loops = inner = None
    if (ssp.costs == 0.0).any():
        order, loops, inner = merge_free_states(ssp, order, usable, index)
    problem = compact(ssp.indptr, ssp.successors, ssp.probabilities, ssp.costs.reshape(-1), usable, index, order)
    heads = order[np.searchsorted(index[order], np.arange(len(problem[0]) - 1))] if inner is not None else order
    return Reduction(Reduced(*problem), index[:-1], distance[heads].astype(np.int64), loops, inner)


def merge_free_states(ssp: SSP, order: Int32s, usable: Bools, index: Int32s) -> tuple[Int32s, Bools | None, Int64s]:
    """Make states of value zero one with the goal, and each zero-cost loop one state; renumbers `index` in place.

    Returns the members of the reduced states in their order, the rows inside loops, and what free states play.
    """
    costless = usable & (ssp.costs.reshape(-1) == 0.0)
    distance, free, kept = sure_states(ssp, costless)
    inner = descend(ssp, ssp.successors, kept, distance)
    index[free] = GOAL

    busy = index[:-1] >= 0
    component, count = zero_cost_components(ssp, usable & np.repeat(busy, ssp.actions))
    place = index[:-1].copy()
    loops = None
    if count:
        earliest = np.full(count, ssp.states, dtype=np.int32)
        looped = component >= 0
        np.minimum.at(earliest, component[looped], place[looped])
        place[looped] = earliest[component[looped]]
        length = np.diff(ssp.indptr)
        source = np.repeat(np.arange(ssp.states), np.add.reduceat(length, np.arange(0, len(length), ssp.actions)))
        label = np.append(component, -1)
        stays = (label[source] >= 0) & (label[source] == label[ssp.successors])
        leaving = np.zeros(len(costless), dtype=np.bool_)
        leaving[np.repeat(np.arange(len(length)), length)[~stays]] = True
        loops = costless & ~leaving
    _, renumbered = np.unique(place[busy], return_inverse=True)
    index[:-1][busy] = renumbered
    members = np.flatnonzero(busy).astype(np.int32)
    return members[np.argsort(renumbered, kind="stable")], loops, inner


def walk_to(ssp: SSP, rows: Bools, exits: Int64s) -> Int64s:
    """Return actions that lead by the given rows, which never leave their loop, to the exit of each loop; -1 elsewhere."""
    is_exit = np.zeros(ssp.states + 1, dtype=np.bool_)
    is_exit[exits] = True
    successors = np.where(is_exit[ssp.successors], np.int32(ssp.goal), ssp.successors)
    successors.flags.writeable = False
    usable = rows & ~np.repeat(is_exit[:-1], ssp.actions)
    distance, order = np.empty(ssp.states, dtype=np.int32), np.empty(ssp.states, dtype=np.int32)
    sure_reach(ssp.indptr, successors, ssp.actions, usable, distance, order)
    return descend(ssp, successors, usable, distance)


def descend(ssp: SSP, successors: Int32s, rows: Bools, distance: Int32s) -> Int64s:
    """Return for each state an action among the given rows that may bring it one step nearer; -1 where there is none."""
    entry_row = np.repeat(np.arange(len(rows)), np.diff(ssp.indptr))
    near = np.append(distance, np.int32(0))
    source = entry_row // ssp.actions
    nearer = rows[entry_row] & (near[source] > 0) & (near[successors] == near[source] - 1)
    action = np.full(ssp.states, -1, dtype=np.int64)
    action[source[nearer]] = entry_row[nearer] % ssp.actions
    return action


@kernel
def compact(
    indptr: Int64s,
    successors: Int32s,
    probabilities: Floats,
    costs: Floats,
    usable: Bools,
    index: Int32s,
    members: Int32s,
) -> tuple[Int32s, Int64s, Int32s, Floats, Floats, Floats, Int32s]:
    """Write the usable rows of the members, in order, without self-loops and without the goal's column."""
    actions = usable.size // (index.size - 1)
    states = 0
    entries = 0
    rows = 0
    for member in members:
        states = index[member] + 1
        for row in range(member * actions, (member + 1) * actions):
            if usable[row]:
                rows += 1
                entries += indptr[row + 1] - indptr[row]
    first = np.zeros(states + 1, np.int32)
    start = np.zeros(rows + 1, np.int64)
    target = np.empty(entries, np.int32)
    weight = np.empty(entries, np.float64)
    to_goal = np.empty(rows, np.float64)
    cost = np.empty(rows, np.float64)
    origin = np.empty(rows, np.int32)

    rows = 0
    for member in members:
        here = index[member]
        for row in range(member * actions, (member + 1) * actions):
            if not usable[row]:
                continue
            begin = start[rows]
            end = begin
            stay = 0.0
            goal = 0.0
            leave = 0.0
            for entry in range(indptr[row], indptr[row + 1]):
                there = index[successors[entry]]
                probability = probabilities[entry]
                if there == here:
                    stay += probability
                    continue
                leave += probability
                if there < 0:
                    goal += probability
                else:
                    target[end] = there
                    weight[end] = probability
                    end += 1
            if leave == 0.0:
                continue
            for entry in range(begin, end):
                weight[entry] /= leave
            to_goal[rows] = goal / leave
            cost[rows] = costs[row] * ((stay + leave) / leave)
            origin[rows] = row
            rows += 1
            start[rows] = end
        first[here + 1] = rows
    return first, start, target, weight, to_goal, cost, origin
