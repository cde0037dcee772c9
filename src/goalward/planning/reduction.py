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

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.jit import kernel, prefetch
from goalward.planning.state_order import AHEAD, DEAD, GOAL, NEARLY_ACYCLIC, number_states, order_states
from goalward.ssp.checks import ModelArrays
from goalward.ssp.graph import Predecessors, predecessors_of, strong_components, sure_states, zero_cost_components
from goalward.ssp.model import SSP

__all__ = ["DEAD", "GOAL", "LEAST_NORMAL", "Problem", "Reduction", "write_problem"]

LEAST_NORMAL = 2.0**-1022  # the smallest normal double; here because Numba freezes constants of hashed files only
SCALE = 2.0**60  # makes the least subnormal number a normal one


class Problem(NamedTuple):
    """A reduced problem.

    State i has the rows ``first[i]..first[i + 1]``. Row r has the entries ``start[r]..start[r + 1]`` of `target` and
    `weight`, leads to the goal with probability ``to_goal[r]``, costs ``cost[r]`` and is row ``origin[r]`` of the
    model.
    """

    first: Int64s
    start: Int64s
    target: Int32s
    weight: Floats
    to_goal: Floats
    cost: Floats
    origin: Int32s

    @classmethod
    def empty(cls, states: int, rows: int, entries: int) -> Problem:
        """Allocate a problem of at most these sizes."""
        return cls(
            first=np.empty(states + 1, dtype=np.int64),
            start=np.empty(rows + 1, dtype=np.int64),
            target=np.empty(entries, dtype=np.int32),
            weight=np.empty(entries),
            to_goal=np.empty(rows),
            cost=np.empty(rows),
            origin=np.empty(rows, dtype=np.int32),
        )


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
    acyclic
        Whether every row leads to earlier states only.
    loop_rows, free_actions
        In a model with zero costs, the rows inside zero-cost loops, and the actions of states of value zero (-1
        elsewhere); None if there are no such rows or states.
    """

    problem: Problem
    longest: int
    reduced: Int32s
    members: Int32s
    usable: Bools
    acyclic: bool
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
        component, acyclic, has_free_rows = None, False, not ssp.costs.min() > 0.0
        if len(order) > small:
            most = int(NEARLY_ACYCLIC * ssp.states)
            component, cyclic = strong_components(ssp, None if has_free_rows else most)  # all for zero-cost loops
        if has_free_rows:
            loop, loops, loop_rows, free_actions = free_states(ssp, usable, component, predecessors, reduced)
        if component is not None:
            if members is not None and np.array_equal(np.sort(members), np.sort(order)):
                order = members
            else:
                order = order_states(ssp, usable, component if cyclic <= most else None, distance, order)
            acyclic = cyclic == 0 <= most
        if loop is None:
            states, members = len(order), order
            reduced[order] = np.arange(states, dtype=np.int32)
        else:
            members = np.empty_like(order)
            states, used = number_states(order, loop, loops, reduced, members)
            members = members[:used]
        problem = Problem.empty(states, len(usable), len(ssp.successors))
        longest = write_problem(ssp.arrays, usable, reduced, members, problem)
        return cls(problem, longest, reduced, members, usable, acyclic, loop_rows, free_actions)

    @property
    def states(self) -> int:
        """The number of reduced states."""
        return len(self.problem.first) - 1

    @property
    def has_free_rows(self) -> bool:
        """Whether some row costs nothing."""
        return not self.problem.cost[: self.problem.first[-1]].min() > 0.0

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
        chosen = self.problem.origin.take(rows)
        actions = np.empty(self.states + 2, dtype=np.int64)
        actions[:DEAD] = chosen % ssp.actions
        actions[DEAD:] = -1
        policy = actions.take(self.reduced[:-1])
        if self.free_actions is not None:
            np.copyto(policy, self.free_actions, where=self.free_actions >= 0)
        if self.loop_rows is not None:
            inside = actions_to_exits(ssp, self.loop_rows, chosen // ssp.actions)
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
    if reach_goal(ssp.indptr, ssp.successors, ssp.goal, costless):
        distance, free, free_rows = sure_states(ssp, costless, predecessors)
        free_actions = actions_nearer(ssp.indptr, ssp.successors, free_rows, distance)
        reduced[free] = GOAL
        others = costless & np.repeat(distance < 0, ssp.actions)
    loop, loops, inside = zero_cost_components(ssp, others, component, predecessors)
    return loop, loops, inside if loops else None, free_actions


@kernel
def reach_goal(indptr: Int64s, successors: Int32s, goal: int, rows: Bools) -> bool:
    """Return whether some of the rows may lead to the goal, which comes last in a row."""
    reaches = False
    for row in range(rows.size):
        reaches |= rows[row] and successors[indptr[row + 1] - 1] == goal
    return bool(reaches)


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
def write_problem(model: ModelArrays, usable: Bools, reduced: Int32s, members: Int32s, problem: Problem) -> int:
    """Write the usable rows of the members in order, without self-loops; return the length of the longest row."""
    indptr, successors, probabilities, costs = model
    first, start, target, weight, to_goal, cost, origin = problem
    actions = costs.shape[1]
    rows = 0
    longest = 0
    end = 0
    first[0] = 0
    start[0] = 0
    for position in range(members.size):
        # Members lie all over the model: without asking ahead, the processor waits for the memory of each.
        distant = members[min(position + 2 * AHEAD, members.size - 1)] * actions
        prefetch(indptr, distant)
        prefetch(indptr, distant + actions)
        near = members[min(position + AHEAD, members.size - 1)] * actions
        prefetch(usable, near)
        prefetch(costs, near)
        prefetch(costs, near + actions)
        prefetch(successors, indptr[near])
        prefetch(probabilities, indptr[near])
        prefetch(probabilities, indptr[near + actions])
        member = members[position]
        here = reduced[member]
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
                there = reduced[successors[entry]]
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
            if leave != 1.0:
                for entry in range(begin, end):
                    weight[entry] = weight[entry] * scale * share
            to_goal[rows] = goal * scale * share
            cost[rows] = costs[member, action] * scale * ((stay + leave) * share)
            origin[rows] = row
            rows += 1
            start[rows] = end
        first[here + 1] = rows
    return longest
