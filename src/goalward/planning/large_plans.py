"""Planning again and again on large models: to a loose tolerance, from what the last plan left.

A posterior sample is planned on for a few steps only, so what is asked for is a policy that is optimal to a stated
tolerance, proved by the certificate of `bellman.certify`. Three things are kept from plan to plan:

* The graph. Which states reach the goal surely and which transitions lead to a state does not depend on probabilities.
* The order of the states and their groups, if the first sweep from the last values changes them by less than the cost
  of a step. Otherwise both come from the labels of the new model (`labels.py`), as do the values to start from.
* The working memory.

A round is a correction that is constant on groups of similar labels, sweeps over the rows of the policy, and a sweep
over all rows. Where rounds do not end, or a model is not one for this planner, `goalward.solve` takes over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.model.ssp import SSP
from goalward.model.structure import sure_states
from goalward.planning.bellman import HUGE
from goalward.planning.certificate import Certifier
from goalward.planning.chain import PolicyChain
from goalward.planning.labels import Predecessors, find_predecessors, label_groups, label_states
from goalward.planning.problem import Problem
from goalward.planning.reduction import DEAD, GOAL, Reduction, write_problem
from goalward.planning.workspace import workspace

__all__ = ["LargePlanner"]

LONG_ROW = 32  # mean number of entries from which labels of every model would cost more than they save
MOST_GROUPS = 512
MOST_ROUNDS = 40
POLICY_SWEEPS = 10
CLOSE = 1.0  # the largest change of a first sweep, in costs of a step, from which the last order is kept
LABELLED_PLANS = 15  # plans that start from labels after values of the last plan were of no use


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


class LargePlanner:
    """Solves large models of positive costs, one after the other, to a relative tolerance."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self.order: Order | None = None
        self.values: Floats
        self.labelled_plans = 0  # how many of the next plans start from labels

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def solve(self, model: SSP, tolerance: float) -> tuple[Floats, Int64s] | None:
        """Return values and a policy, -1 at dead ends; None if rounds did not prove the tolerance."""
        if self.graph is None or not self.graph.is_of(model):
            self.graph, self.order, self.labelled_plans = Graph.of(model), None, 0
        found = None
        sparse = len(model.successors) <= LONG_ROW * len(self.graph.usable)
        if self.labelled_plans > 0:
            self.labelled_plans -= 1
        elif self.order is not None:
            found = self.settle(model, self.graph, self.order, self.values, tolerance, CLOSE if sparse else np.inf)
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
        return self.settle(model, graph, self.order, label.take(members), tolerance, np.inf)

    def settle(
        self, model: SSP, graph: Graph, order: Order, start: Floats, tolerance: float, close: float
    ) -> tuple[Floats, Int64s] | None:
        """Run rounds from some values; None if they do not prove the tolerance, or do not begin close enough."""
        problem = workspace(Problem.empty, len(order.members), len(graph.usable), len(model.successors))
        longest, widest = write_problem(model.arrays, graph.usable, order.place, order.members, problem)
        reduction = Reduction(problem, longest, widest, order.place[:-1], order.group, None, None, None)
        chain = PolicyChain(reduction, exact=False, group=order.group)
        certifier = Certifier(reduction, chain)
        extended, policy = reduction.extended(), np.zeros(reduction.states, dtype=np.int64)
        values = extended[:DEAD]
        values[:] = start
        threshold = 2.0 * tolerance  # a change of a sweep; what it leaves is some ten times smaller
        change = chain.optimal_sweep(values, policy)
        if not change <= close:
            return None
        for _ in range(MOST_ROUNDS):
            chain.correct(values)
            for _ in range(POLICY_SWEEPS):
                if chain.sweep(values) <= max(0.05 * change, threshold):
                    break
            change = chain.optimal_sweep(values, policy)
            if change <= threshold:
                if certifier.by_ratio(extended, policy, greedy=True).width <= tolerance:
                    self.values = values
                    return extended.take(reduction.place), reduction.expand_policy(model, policy)
                threshold *= 0.3
                chain.choose(policy)
        return None
