"""Planning again and again on large models: to a loose tolerance, from what the last plan left.

A posterior sample is planned on for a few steps only, so what is asked for is a policy that is optimal to a stated
tolerance, proved by the certificate of `bellman.certify`. Three things are kept from plan to plan:

* The graph. Which states reach the goal surely and which transitions lead to a state does not depend on probabilities.
* The order of the states and their groups, if the first sweep from the last values changes them by less than the cost
  of a step. Otherwise both come from the labels of the new model (`goal_labels.py`), as do the values to start from.
* The working memory.

A round is a sweep over all states and, as long as that moves many of them, a correction that is constant on groups of
similar labels and sweeps over the rows of the policy. Once few states move, sweeps over these alone do the rest
(`active_sweeps.py`). Where rounds do not end, or a model is not one for this planner, `goalward.solve` takes over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.planning.active_sweeps import WORD, active_sweeps, full_sweep
from goalward.planning.bellman import HUGE, UNIT, certify, relative_width
from goalward.planning.goal_labels import Predecessors, find_predecessors, label_groups, label_states
from goalward.planning.policy_chain import PolicyChain
from goalward.planning.reduced_problem import Problem
from goalward.planning.reduction import DEAD, GOAL, Reduction, rewrite_problem, write_problem
from goalward.ssp.graph import sure_states
from goalward.ssp.model import SSP

__all__ = ["LargePlanner"]

LONG_ROW = 32  # mean number of entries from which labels of every model would cost more than they save
MOST_GROUPS = 512
MOST_ROUNDS = 40
ROUNDING = 16.0 * UNIT  # the rounding error of the bounds that certified ratios give
POLICY_SWEEPS, PATIENT_SWEEPS = 10, 24  # in one round that starts from labels, or from the values of the last plan
FEW = 0.2  # if a smaller share of all states moves, only active states are swept
MOST_BACKUPS = 2  # in sweeps over active states, on average over all states
CLOSE = 1.0  # the largest change of a first sweep, in costs of a step, from which the last order is kept
LABELLED_PLANS = 15  # how many plans start from labels after the values of a last plan did not help


class Graph(NamedTuple):
    """What is known of a model without its probabilities."""

    indptr: Int64s
    successors: Int32s
    usable: Bools
    predecessors: Predecessors

    @classmethod
    def of(cls, model: SSP) -> Graph:
        """Explore the graph of a model."""
        _, _, usable = sure_states(model, model.available)
        predecessors = find_predecessors(model.indptr, model.successors, model.actions, usable, model.states)
        return cls(model.indptr, model.successors, usable, predecessors)

    def is_sparse(self) -> bool:
        """Return whether rows are so short that the few predecessors of a state can be looked at one by one."""
        return len(self.successors) <= LONG_ROW * len(self.usable)

    def is_of(self, model: SSP) -> bool:
        """Return whether a model has this graph, being made of the same arrays."""
        return self.indptr is model.indptr and self.successors is model.successors


class Order(NamedTuple):
    """An order of the states, `members`, the place of each state in it, and groups of neighbours."""

    members: Int32s
    place: Int32s
    group: Int32s

    @classmethod
    def by_labels(cls, label: Floats, members: Int32s) -> Order:
        """Order states by their labels."""
        place = np.full(len(label) + 1, DEAD, dtype=np.int32)
        place[members] = np.arange(len(members), dtype=np.int32)
        place[-1] = GOAL
        group = np.empty(len(members), dtype=np.int32)
        label_groups(label, members, min(MOST_GROUPS, 2 * int(len(members) ** 0.5)), group)
        return cls(members, place, group)


class Layout(NamedTuple):
    """The rows of a model in an order, and whether none of its usable rows was left out."""

    order: Order
    problem: Problem
    longest: int
    widest: int
    complete: bool


class LargePlanner:
    """Solves large models of positive costs, one after the other, to a relative tolerance."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self.order: Order | None = None
        self.layout: Layout | None = None
        self.values: Floats
        self.labelled_plans = 0  # how many of the next plans start from labels

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def solve(self, model: SSP, tolerance: float) -> tuple[Floats, Int64s] | None:
        """Return values and a policy, -1 at dead ends; None if rounds did not prove the tolerance."""
        if self.graph is None or not self.graph.is_of(model):
            self.graph, self.order, self.layout, self.labelled_plans = Graph.of(model), None, None, 0
        found = None
        sparse = self.graph.is_sparse()
        if self.labelled_plans > 0:
            self.labelled_plans -= 1
        elif self.order is not None:
            close, sweeps = (CLOSE, PATIENT_SWEEPS) if sparse else (np.inf, POLICY_SWEEPS)
            found = self.settle(model, self.graph, self.order, self.values, tolerance, close, sweeps)
            if found is None and sparse:
                self.labelled_plans = LABELLED_PLANS
        if found is None and (sparse or self.order is None):
            found = self.solve_from_labels(model, self.graph, tolerance)
        if found is None:
            self.order, self.labelled_plans = None, 0
        return found

    def solve_from_labels(self, model: SSP, graph: Graph, tolerance: float) -> tuple[Floats, Int64s] | None:
        """Order the states by their labels and start from these."""
        label, members = np.empty(model.states), np.empty(model.states, dtype=np.int32)
        members = members[: label_states(model.arrays, graph.usable, graph.predecessors, members, label)]
        if not len(members) or not label[members[-1]] < HUGE:
            return None
        self.order = Order.by_labels(label, members)
        return self.settle(model, graph, self.order, label.take(members), tolerance, np.inf, POLICY_SWEEPS)

    def lay_out(self, model: SSP, graph: Graph, order: Order) -> Layout:
        """Write the rows of a model in an order; only their probabilities if this is the order of the last plan."""
        last, states, rows = self.layout, len(order.members), len(graph.usable)
        kept = last is not None and last.order is order and last.complete
        if last is not None and kept and rewrite_problem(model.arrays, order.members, last.problem):
            return last
        same = last is not None and len(last.order.members) == states
        problem = last.problem if last is not None and same else Problem.empty(states, rows, len(model.successors))
        longest, widest = write_problem(model.arrays, graph.usable, order.place, order.members, problem)
        complete = int(problem.first[-1]) == np.count_nonzero(graph.usable)
        self.layout = Layout(order, problem, longest, widest, complete)
        return self.layout

    def settle(
        self, model: SSP, graph: Graph, order: Order, start: Floats, tolerance: float, close: float, sweeps: int
    ) -> tuple[Floats, Int64s] | None:
        """Run rounds from some values; None if they do not prove the tolerance, or do not begin close enough."""
        _, problem, longest, widest, _ = self.lay_out(model, graph, order)
        reduction = Reduction(problem, longest, widest, order.place[:-1], order.group, None, None, None)
        states, sparse = reduction.states, graph.is_sparse()
        chain = PolicyChain(reduction, exact=False, group=order.group)
        extended, policy = reduction.extended(), np.zeros(states, dtype=np.int64)
        values, before, moved = extended[:DEAD], np.empty(states), np.empty(states, dtype=np.bool_)
        active = np.empty(-(-states // WORD) * WORD, dtype=np.bool_)
        values[:] = start
        # Long rows average over so many states that what a change leaves is far smaller than itself.
        enough = tolerance * (0.5 if sparse else 2.0)
        few = FEW * states if sparse else 0.0
        most = MOST_BACKUPS * states
        count, change = full_sweep(problem, values, policy, before, moved, enough)
        if not change <= close:
            return None
        for number in range(MOST_ROUNDS):
            if count <= few and active_sweeps(
                problem, graph.predecessors, order.members, order.place, values, policy, before, moved, active, enough,
                most,
            ):  # fmt: skip
                policy.fill(-1)
                below, above = certify(problem, longest, values, policy, before, np.empty(states))
                if relative_width(below, above) + ROUNDING <= tolerance:
                    self.values = values
                    return extended.take(reduction.place), reduction.expand_policy(model, policy)
                enough *= 0.3
            chain.choose(policy)
            # Each correction disturbs the states that are unlike others of their group; with long rows none are.
            if not sparse or number < 2 or number % 4 == 0:
                chain.correct(values)
            for _ in range(sweeps):
                if chain.sweep(values) <= max(0.05 * change, enough):
                    break
            count, change = full_sweep(problem, values, policy, before, moved, enough)
        return None
