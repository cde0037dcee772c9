"""The KL index: optimistic planning with the best rows that are plausible under the posterior.

Idea
    The posterior of a row is Dirichlet(1 + counts). Let p be the mean of the row, and w = N + (number of successors).
    The probability that the row is near q is exp(-w KL(p, q)), up to smaller factors. So the lowest plausible mean of
    the values V at the level f is

        y(V) = min{ q V : w KL(p, q) <= f },      f = log(1 + r/10),   r = sqrt(k (N_s + 1)) / (N + 1).

    Here k is the episode, N_s is the number of visits of the state, and N is the number of visits of the pair. If the
    pair is played at every visit of the state, f is about 0.1, and y is hardly optimistic. If the pair is not played, f
    grows without bound. So the pair is tried again, even after bad outcomes. The smallest of M posterior samples does
    not ensure this (docs/reference/agents-posterior.md).

    If the prior does not know the possible successors, a new successor has probability about 1/(N + 1) after N visits.
    So the part g = log(1 + r/10/(N + 1)) of the level f is used for new successors. The row leads to the goal with
    probability m = 1 - exp(-g/w), for which w KL = g. The remaining part f - g is used for the sampled successors.

Operator
        V(s) = min over a of  c(s, a) + y_sa(V)

    y_sa(V) is the minimum of q V over a convex set of rows q, and this set does not depend on V. So this is the
    operator of an SSP with more actions. The operator is monotone, with exactly one fixed point if costs are positive
    and the goal can be reached. If min V is shifted to 0, the minimising q(s') is proportional to p(s') / (V(s') + t).

Planner
    The mean p is estimated from M models, which are drawn with counts multiplied by `SHARPNESS`. This factor does not
    change how often the drawn models contain new successors. Starting from any V, the planner computes the rows q,
    solves the SSP with these rows, and repeats both steps. The values never increase. The iteration stops when no value
    falls by more than 1e-6 of the largest value. Dead ends keep the value infinity.

    An unknown cost is estimated by the mean of the M drawn costs minus sqrt(2 f) standard deviations.

A plan ends when the visits of a pair have grown by half, or when the number of episodes has grown by a tenth. No
theorem bounds the regret. In bandits, a similar index with f = log k (KL-UCB) is asymptotically optimal. The form for
shortest paths is our own.
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
SHARPNESS = 8.0  # makes the mean of eight draws nearly free of noise
SHARE = 10.0
ROOT_STEPS = 60


class MeanRows(NamedTuple):
    """The mean of several models on the union of their supports. `indptr` and `successors` are as in `SSP`.

    Rows that may lead to unseen successors have an entry for the goal, even if the goal has probability 0.
    ``sizes[row]`` is the number of successors of the row, averaged over the models.
    """

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    sizes: Floats


@register("kl-index")
class KLIndex(BeliefAgent):
    """Optimism by the lower tail of the posterior. Pairs look better the longer they are not played."""

    prior: Prior = Neighbourhoods()
    """The prior distribution of the kernel."""

    samples: Annotated[int, Ge(1), Le(1_000)] = 8
    """M, the number of models drawn for each plan."""

    recommended: ClassVar[str] = "the lowest regret"

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task`."""
        super().begin(task, rng)
        self.believe(self.prior)
        self._planner = Replanner()
        self._values: Floats = np.zeros(task.states)

    def plan(self, state: int) -> Plan:
        """Draw models, and return an optimistic plan with stop conditions."""
        return self.optimistic()._replace(
            stop_after_visits=1 + self.visits // 2, stop_after_goals=1 + (self.k - 1) // 10
        )

    def levels(self) -> tuple[Floats, Floats]:
        """Return the levels f and g of each pair, ``[S, A]``. If all possible successors are known, g is 0."""
        N, N_s = self.visits + 1.0, self.visits.sum(axis=1, keepdims=True) + 1.0
        ratio = np.sqrt(self.k * N_s) / (SHARE * N)
        open_rows = unknown_pairs(self.task) & (not self.belief.knows_support)
        return np.log1p(ratio), np.where(open_rows, np.log1p(ratio / N), 0.0)

    def optimistic(self) -> Plan:
        """Draw models, and return the policy and values at the fixed point of the optimistic operator."""
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
        """Return the model whose rows q minimise q V for V = `values`, and the solution of this model."""
        rows = lowest_rows(mean.indptr, mean.successors, mean.probabilities, radii, goal_mass, np.append(values, 0.0))
        model = self.task.model(mean.indptr, mean.successors, rows, costs)
        return model, self._planner.solve(model)

    def caveats(self) -> list[str]:
        """Return the caveat that no theorem covers the agent."""
        return ["no theorem bounds the regret of the KL index"]


def mean_of_rows(models: list[SSP], open_rows: Bools) -> MeanRows:
    """Return the mean of `models` of equal size. Rows marked in `open_rows` always get an entry for the goal."""
    rows, n = len(models[0].indptr) - 1, models[0].states + 1
    lengths = np.array([np.diff(model.indptr) for model in models])
    begins = np.repeat(np.tile(np.arange(rows) * n, len(models)), lengths.ravel())
    goals = np.flatnonzero(open_rows) * n + n - 1
    keys = np.concatenate([begins + np.concatenate([model.successors for model in models]), goals])
    union, place = np.unique(keys, return_inverse=True)
    indptr, successors = np.searchsorted(union, np.arange(rows + 1) * n), (union % n).astype(np.int32)
    indptr.flags.writeable = successors.flags.writeable = False  # as in models
    probabilities = np.concatenate([*(model.probabilities for model in models), np.zeros(len(goals))])
    total = np.bincount(place, probabilities, len(union))
    return MeanRows(indptr, successors, total / len(models), lengths.mean(axis=0))


@kernel
def lowest_rows(
    indptr: Int64s, successors: Int32s, p: Floats, radii: Floats, goal_mass: Floats, values: Floats
) -> Floats:
    """Return, for each row, the distribution q with KL(p, q) <= radius that has the smallest mean of `values`.

    At the end, the share `goal_mass` of q is moved to the goal, which is the last entry of the row. Let d be the values
    minus the smallest value of the row. Then q is proportional to p / (d + t), and KL(p, q) decreases in x = log t.
    Newton's method with bisection finds x. Hoeffding's lemma, KL(p, q) <= (max d / t)²/8, gives an upper bound on t.
    """
    lowest = p.copy()
    for row in range(len(indptr) - 1):
        first, end, radius = indptr[row], indptr[row + 1], radii[row]
        smallest, largest = np.inf, -np.inf
        for entry in range(first, end):
            if p[entry] > 0.0:
                smallest = min(smallest, values[successors[entry]])
                largest = max(largest, values[successors[entry]])
        # If a dead end is possible, the mean is infinite for every q.
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
