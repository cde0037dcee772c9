"""The KL index: each row is as good as the data still allow, and its optimism grows while it is not played.

Idea
    A row of the posterior is Dirichlet(1 + counts) on its successors: mean p, weight w = N + (number of successors). It
    is near another row q with probability exp(-w KL(p, q)), up to smaller factors. So the lowest value that is still
    believable at level f is the exact lower tail of the posterior,

        y(V) = min{ q V : w KL(p, q) <= f },      f = log(1 + r/10),   r = sqrt(k (N_s + 1)) / (N + 1),

    in episode k, where N of the N_s visits of the state played the pair. For a pair that is played all the
    time f is about 0.1, hardly any optimism. For a pair that is not played f grows without end, so that it is tried
    again however unlucky it was. An index on the smallest of M samples of the posterior has no such tail: it never lies
    below the smallest one, and a row that was unlucky early stays so (docs/reference/agents-posterior.md).

    If the prior does not know which successors are possible, one that was never seen in N visits is about 1/(N + 1) as
    likely, so the part g = log(1 + r/10/(N + 1)) of the level f pays for it: the row may lead to the goal with
    probability m = 1 - exp(-g/w), which costs w KL = g, and f - g is left for the successors of the sampled rows.

Operator
        V(s) = min over a of  c(s, a) + y_sa(V)

    y_sa(V) is the minimum of q V over a convex set of rows that does not depend on V: the operator is that of an SSP
    with more actions. It is monotone, and has one fixed point wherever costs are positive and the goal can be reached.
    The minimiser is q(s') = p(s') / (V(s') + t) up to a factor, with values shifted so that the least one is 0.

Planner
    The mean p is that of M models drawn with counts multiplied by `SHARPNESS`, which leaves the prior's supports as
    they are: a transition that was never seen is possible as often as the prior says. From any V compute the rows q,
    solve the SSP that has these rows, and repeat. Each solution is at most the one before; it stops when no value falls
    by more than 1e-6 of the largest one. Dead ends keep the value infinity.

    An unknown cost counts with its mean minus sqrt(2 f) standard deviations of the M draws, the same tail of a normal.

A plan ends when the visits of a pair have grown by half, or the number of episodes by a tenth. No theorem bounds the
regret. Indices of this form with f = log k attain the asymptotic limit in bandits (KL-UCB); the form for shortest paths
is ours.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from goalward.acting.contract import Plan, Task
from goalward.agents.base import register
from goalward.agents.posterior.psrl import BeliefAgent
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.base import Prior, unknown_pairs
from goalward.beliefs.neighbourhoods import Neighbourhoods
from goalward.jit import kernel
from goalward.planning.replan import Planned, Replanner
from goalward.ssp.model import SSP

TOLERANCE = 1e-6
SHARPNESS = 8.0  # so the mean of eight draws has next to no noise left
SHARE = 10.0
ROOT_STEPS = 60


class MeanRows(NamedTuple):
    """The mean of several models on the union of their supports; `indptr` and `successors` as in `SSP`.

    Rows that may lead to unseen successors have an entry for the goal, perhaps of probability 0. ``sizes[row]`` is the
    mean number of successors of the row in a model.
    """

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    sizes: Floats


@register("kl-index")
class KLIndex(BeliefAgent):
    """Optimism by the exact lower tail of the posterior, which grows for pairs that are not played."""

    prior: Prior = Neighbourhoods()
    """What is believed about the kernel before anything is seen."""

    samples: Annotated[int, Ge(1), Le(1_000)] = 8
    """M, how many models are drawn for each plan."""

    recommended: ClassVar[str] = "the least regret"

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.believe(self.prior)
        self._planner = Replanner()
        self._values: Floats = np.zeros(task.states)

    def plan(self, state: int) -> Plan:
        """Draw models, and find the fixed point of the optimistic operator on their mean."""
        return self.optimistic()._replace(
            stop_after_visits=1 + self.visits // 2, stop_after_goals=1 + (self.k - 1) // 10
        )

    def levels(self) -> tuple[Floats, Floats]:
        """Return f and g for each pair, ``[S, A]``; g is 0 where all possible successors are known."""
        N, N_s = self.visits + 1.0, self.visits.sum(axis=1, keepdims=True) + 1.0
        ratio = np.sqrt(self.k * N_s) / (SHARE * N)
        open_rows = unknown_pairs(self.task) & (not self.belief.knows_support)
        return np.log1p(ratio), np.where(open_rows, np.log1p(ratio / N), 0.0)

    def optimistic(self) -> Plan:
        """Return the optimal policy of the rows that attain the minimum."""
        models = [self.belief.sample(self.rng, SHARPNESS) for _ in range(self.samples)]
        levels, unseen = self.levels()
        mean = mean_of_rows(models, unseen.ravel() > 0.0)
        weights = np.maximum(self.visits.ravel() + mean.sizes, 1.0)
        radii, goal_mass = (levels - unseen).ravel() / weights, -np.expm1(-unseen.ravel() / weights)
        costs = None
        if self.task.costs_unknown:
            draws = np.array([model.costs[self.belief.costs.unknown] for model in models])
            tail = np.sqrt(2.0 * levels[self.belief.costs.unknown])
            costs = self.belief.costs.filled(draws.mean(axis=0) - tail * draws.std(axis=0))
        model, planned = self.solve_lowest(mean, radii, goal_mass, self._values, costs)
        while True:
            before = planned.values
            model, planned = self.solve_lowest(mean, radii, goal_mass, before, costs)
            # Dead ends are the same in all of these models. Their values are infinite and never change.
            finite = np.isfinite(before)
            falls = before[finite] - planned.values[finite]
            if not falls.max(initial=0.0) > TOLERANCE * before[finite].max(initial=0.0):
                self._values = planned.values
                return Plan(planned.policy, model=model, values=planned.values)

    def solve_lowest(
        self, mean: MeanRows, radii: Floats, goal_mass: Floats, values: Floats, costs: Floats | None
    ) -> tuple[SSP, Planned]:
        """Return the model of the rows that attain the minimum at the given values, and its solution."""
        rows = lowest_rows(mean.indptr, mean.successors, mean.probabilities, radii, goal_mass, np.append(values, 0.0))
        model = self.task.model(mean.indptr, mean.successors, rows, costs)
        return model, self._planner.solve(model)

    def caveats(self) -> list[str]:
        """Say that no theorem covers the agent."""
        return ["KL index: no theorem bounds its regret"]


def mean_of_rows(models: list[SSP], open_rows: Bools) -> MeanRows:
    """Return the mean of several models of the same size on the union of their supports, and the goal in open rows."""
    rows, n = len(models[0].indptr) - 1, models[0].states + 1
    lengths = np.array([np.diff(model.indptr) for model in models])
    begins = np.repeat(np.tile(np.arange(rows) * n, len(models)), lengths.ravel())
    goals = np.flatnonzero(open_rows) * n + n - 1
    keys = np.concatenate([begins + np.concatenate([model.successors for model in models]), goals])
    union, place = np.unique(keys, return_inverse=True)
    indptr, successors = np.searchsorted(union, np.arange(rows + 1) * n), (union % n).astype(np.int32)
    indptr.flags.writeable = successors.flags.writeable = False  # as in models, which freeze them
    probabilities = np.concatenate([*(model.probabilities for model in models), np.zeros(len(goals))])
    total = np.bincount(place, probabilities, len(union))
    return MeanRows(indptr, successors, total / len(models), lengths.mean(axis=0))


@kernel
def lowest_rows(
    indptr: Int64s, successors: Int32s, p: Floats, radii: Floats, goal_mass: Floats, values: Floats
) -> Floats:
    """Return, for each row, the q with KL(p, q) <= radius that has the smallest mean of the values.

    The goal, the last entry of its row, then gets some mass on top. With d the values above the smallest one of the
    row, q = p / (d + t) / sum, and KL(p, q) falls in x = log t. By Hoeffding's lemma it is at most (max d / t)²/8,
    which gives the upper end of the interval in which Newton's method, with bisection as a guard, finds the root.
    """
    lowest = p.copy()
    for row in range(len(indptr) - 1):
        first, end, radius = indptr[row], indptr[row + 1], radii[row]
        smallest, largest = np.inf, -np.inf
        for entry in range(first, end):
            if p[entry] > 0.0:
                smallest = min(smallest, values[successors[entry]])
                largest = max(largest, values[successors[entry]])
        # Where a dead end is possible, every q has the mean infinity.
        if radius > 0.0 and largest < np.inf and largest - smallest > 1e-12 * largest:
            high = math.log((largest - smallest) / math.sqrt(8.0 * radius))
            low = high - 80.0
            x = high
            for _ in range(ROOT_STEPS):
                t = math.exp(x)
                logarithms, total, squares = 0.0, 0.0, 0.0
                for entry in range(first, end):
                    if p[entry] > 0.0:
                        inverse = 1.0 / (values[successors[entry]] - smallest + t)
                        logarithms -= p[entry] * math.log(inverse)
                        total += p[entry] * inverse
                        squares += p[entry] * inverse * inverse
                excess = logarithms + math.log(total) - radius
                if abs(excess) <= 1e-10 * radius:
                    break
                if excess > 0.0:
                    low = x
                else:
                    high = x
                slope = t * (total - squares / total)
                step = x - excess / slope if slope < 0.0 else low
                x = step if low < step < high else 0.5 * (low + high)
            t = math.exp(x)
            total = 0.0
            for entry in range(first, end):
                if p[entry] > 0.0:
                    lowest[entry] = p[entry] / (values[successors[entry]] - smallest + t)
                    total += lowest[entry]
            for entry in range(first, end):
                lowest[entry] /= total
        if goal_mass[row] > 0.0:
            for entry in range(first, end):
                lowest[entry] *= 1.0 - goal_mass[row]
            lowest[end - 1] += goal_mass[row]
    return lowest
