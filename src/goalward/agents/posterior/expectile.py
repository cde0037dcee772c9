"""The expectile index: optimism that ends where another trial no longer pays.

Idea
    A pair (s, a) was played N times; k episodes are over. Let X = theta(. | s, a) V be what is expected after it, as
    uncertain as the belief about theta; an unknown cost is added to it. Somebody who has a sure alternative of value y
    asks whether to try the pair once more. The trial costs E[X] - y more than the alternative. If the pair turns out to
    be better, X < y, it will be used from then on: the future is taken to be as long as the past, k episodes, and one
    trial of N + 1 to bring its share of what is to be learnt. The index is the alternative at which both are equal,

        E[X] - y = r E[(y - X)+],    r = (k + 1)/(N + 1).

    As E[X] - y = E[(X - y)+] - E[(y - X)+], this is E[(X - y)+] = (1 + r) E[(y - X)+]: y is an expectile of X.

Operator
        V(s) = min over a of  c(s, a) + y_sa(V)

    Expectiles are coherent: y_sa(V) is the smallest E[phi X] over densities phi whose largest value is at most 1 + r
    times their smallest one. So y_sa(V) is the minimum of q V over a convex set of rows q that does not depend on V:
    the operator is that of an SSP with more actions. It is monotone, and it has one fixed point wherever costs are
    positive and the goal can be reached. (An index of the form mean minus standard deviation is not monotone.)

Planner
    The belief is represented by M models drawn from it, sharper than the posterior unless `sharpness` is 1 (see
    `PSRL`). From any V compute the rows q that attain the minimum, solve the SSP that has these rows, and repeat. Each
    solution is at most the one before, and every row has finitely many minimisers, so this ends. It stops when no
    value falls by more than 1e-6 of the largest one. Dead ends keep the value infinity.

A plan ends when the visits of a pair have doubled, or when the number of episodes has grown by half. No theorem bounds
the regret.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from goalward.agents.base import Agent, Plan, Steps, Task, register
from goalward.agents.posterior.psrl import count_visits
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.base import Prior, Sharpness
from goalward.beliefs.neighbourhoods import Neighbourhoods
from goalward.jit import kernel
from goalward.planning.replan import Planned, Replanner
from goalward.ssp.model import SSP

__all__ = ["Expectile", "Samples", "join_samples", "lower_expectiles"]

TOLERANCE = 1e-6


class Samples(NamedTuple):
    """Rows of several models on the union of their supports; `indptr` and `successors` as in `SSP`.

    ``start[i, row]`` is where the entries of a row of model i begin, with one number more than rows for each model.
    Each entry has a `place` among the successors and a `probability`. ``costs[i, row]`` are zero where costs are known.
    """

    indptr: Int64s
    successors: Int32s
    start: Int64s
    place: Int64s
    probability: Floats
    costs: Floats


@register("expectile")
class Expectile(Agent):
    """Optimism by expectiles of the posterior: try a pair again while a trial pays. No theorem covers it."""

    prior: Prior = Neighbourhoods()
    """What is believed about the kernel before anything is seen."""

    samples: Annotated[int, Ge(1), Le(1_000)] = 8
    """M, how many models are drawn for each plan."""

    sharpness: Sharpness = 2.0
    """How many times counts count when probabilities are drawn; 1 draws from the posterior."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.belief = self.prior.belief(task)
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self.k = 0  # the number of finished episodes
        self._planner = Replanner()
        self._values: Floats = np.zeros(task.states)

    def plan(self, state: int) -> Plan:
        """Draw models and find the fixed point of the operator."""
        return self.optimistic()._replace(
            stop_after_visits=np.maximum(self.visits, 1), stop_after_goals=1 + self.k // 2
        )

    def observe(self, steps: Steps) -> None:
        """Learn, and count visits and episodes."""
        self.belief.update(steps)
        count_visits(steps, self.visits)
        self.k += int(np.count_nonzero(steps.reached))

    def mean_model(self) -> SSP:
        """Return the mean of the posterior, on the transitions that were seen; its optimal policy is deployed."""
        return self.belief.seen_mean()

    def optimistic(self) -> Plan:
        """Return the optimal policy of the rows that attain the minimum."""
        models = [self.belief.sample(self.rng, self.sharpness) for _ in range(self.samples)]
        samples = join_samples(models, np.isnan(self.task.costs))
        r: Floats = (self.k + 1.0) / (self.visits.reshape(-1) + np.float64(1.0))
        model, planned = self.solve_mixture(samples, r, self._values)
        while True:
            before = planned.values
            model, planned = self.solve_mixture(samples, r, before)
            # Dead ends are the same in all mixtures. Their values are infinite and never change.
            finite = np.isfinite(before)
            falls = before[finite] - planned.values[finite]
            if not falls.max(initial=0.0) > TOLERANCE * before[finite].max(initial=0.0):
                self._values = planned.values
                return Plan(planned.policy, model=model, values=planned.values)

    def solve_mixture(self, samples: Samples, r: Floats, values: Floats) -> tuple[SSP, Planned]:
        """Return the model of the rows that attain the minimum at some values, and its solution."""
        rows, mixed = lower_expectiles(samples, r, np.append(values, 0.0))
        known = self.task.costs
        costs = np.where(np.isnan(known), mixed.reshape(known.shape), known) if self.task.costs_unknown else None
        model = self.task.model(samples.indptr, samples.successors, rows, costs)
        return model, self._planner.solve(model)

    def caveats(self) -> list[str]:
        """Say that no theorem covers the agent."""
        return ["expectile index: no theorem bounds its regret"]


def join_samples(models: list[SSP], unknown: Bools | Literal[False] = False) -> Samples:
    """Return the rows of several models of the same size on the union of their supports, and their unknown costs."""
    rows, n = len(models[0].indptr) - 1, models[0].states + 1
    keys = np.concatenate(
        [np.repeat(np.arange(rows) * n, np.diff(model.indptr)) + model.successors for model in models]
    )
    union, place = np.unique(keys, return_inverse=True)
    offsets = np.cumsum([0, *(len(model.successors) for model in models[:-1])])
    indptr, successors = np.searchsorted(union, np.arange(rows + 1) * n), (union % n).astype(np.int32)
    indptr.flags.writeable = successors.flags.writeable = False  # as in models, which freeze them
    return Samples(
        indptr,
        successors,
        start=np.array([model.indptr + offset for model, offset in zip(models, offsets, strict=True)]),
        place=place,
        probability=np.concatenate([model.probabilities for model in models]),
        costs=np.array([np.where(unknown, model.costs, 0.0).ravel() for model in models]),
    )


@kernel
def lower_expectiles(samples: Samples, r: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return, for each row, the mixture of the models that attains the expectile of what they expect, and its cost.

    The expectile is the fixed point of y -> weighted mean of X with weights 1 + r where X < y, which from the mean on
    only falls.
    """
    M, rows = samples.start.shape[0], samples.start.shape[1] - 1
    mixture = np.zeros(samples.successors.size)
    costs = np.zeros(rows)
    X = np.empty(M)
    for row in range(rows):
        if samples.indptr[row] == samples.indptr[row + 1]:
            continue
        total = 0.0
        for i in range(M):
            X[i] = samples.costs[i, row]
            for entry in range(samples.start[i, row], samples.start[i, row + 1]):
                X[i] += samples.probability[entry] * values[samples.successors[samples.place[entry]]]
            total += X[i]
        y = np.inf
        lower = total / M
        while lower < y:
            y = lower
            below = 0.0
            number = 0
            for i in range(M):
                if X[i] < y:
                    below += X[i]
                    number += 1
            lower = (total + r[row] * below) / (M + r[row] * number)
        mass = 0.0
        for i in range(M):
            weight = 1.0 + r[row] if X[i] < y else 1.0
            costs[row] += weight * samples.costs[i, row]
            for entry in range(samples.start[i, row], samples.start[i, row + 1]):
                mixture[samples.place[entry]] += weight * samples.probability[entry]
                mass += weight * samples.probability[entry]
        for entry in range(samples.indptr[row], samples.indptr[row + 1]):
            mixture[entry] /= mass
        costs[row] /= mass
    return mixture, costs
