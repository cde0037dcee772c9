"""The KL index: plan with the best rows that the posterior still allows; the optimism grows while a pair is not played.

Idea
    A row of the posterior is Dirichlet(1 + counts) on its successors: mean p, weight w = N + (number of successors).
    Its probability of being near another row q is exp(-w KL(p, q)), up to smaller factors. So at level f the lowest
    plausible mean of the values V is the exact lower tail of the posterior,

        y(V) = min{ q V : w KL(p, q) <= f },      f = log(1 + r/10),   r = sqrt(k (N_s + 1)) / (N + 1),

    in episode k, where the state was visited N_s times and the pair was played N times. If the pair is played at every
    visit, f is about 0.1, which is hardly optimistic. If the pair is not played, f grows without bound, so the pair is
    tried again even after bad outcomes. An index based on the smallest of M posterior samples has no such tail, so a
    row with bad early outcomes is never tried again (docs/reference/agents-posterior.md).

    If the prior does not know the possible successors, the probability of a successor that was not seen in N visits is
    about 1/(N + 1). So a part g = log(1 + r/10/(N + 1)) of the level f is used for unseen successors: the row may lead
    to the goal with probability m = 1 - exp(-g/w), for which w KL = g. The rest f - g is for the sampled successors.

Operator
        V(s) = min over a of  c(s, a) + y_sa(V)

    y_sa(V) is the minimum of q V over a convex set of rows that does not depend on V, so this is the operator of an SSP
    with more actions. It is monotone, and has one fixed point if costs are positive and the goal can be reached. The
    minimiser is q(s') = p(s') / (V(s') + t) up to a factor, with values shifted so that the smallest is 0.

Planner
    The mean p is estimated from M models drawn with counts multiplied by `SHARPNESS`. This does not change how often
    the prior's supports contain a transition that was never seen. Starting from any V, compute the rows q, solve the
    SSP with these rows, and repeat. The values never increase; the iteration stops when no value falls by more than
    1e-6 of the largest value. Dead ends keep the value infinity.

    An unknown cost is the mean of the M draws minus sqrt(2 f) standard deviations, the same tail of a normal.

A plan ends when the visits of a pair have grown by half, or the number of episodes by a tenth. No theorem bounds the
regret. Indices of this form with f = log k attain the asymptotic limit in bandits (KL-UCB); the form for shortest paths
is our own.
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
SHARPNESS = 8.0  # with it, the mean of eight draws has hardly any noise
SHARE = 10.0
ROOT_STEPS = 60


class MeanRows(NamedTuple):
    """The mean of several models on the union of their supports; `indptr` and `successors` as in `SSP`.

    Rows that may lead to unseen successors have an entry for the goal, even if its probability is 0. ``sizes[row]`` is
    the mean number of successors of the row in the models.
    """

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    sizes: Floats


@register("kl-index")
class KLIndex(BeliefAgent):
    """Optimism by the exact lower tail of the posterior; it grows for pairs that are not played."""

    prior: Prior = Neighbourhoods()
    """The distribution of the kernel before any step is seen."""

    samples: Annotated[int, Ge(1), Le(1_000)] = 8
    """M, the number of models drawn for each plan."""

    recommended: ClassVar[str] = "the lowest regret"

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.believe(self.prior)
        self._planner = Replanner()
        self._values: Floats = np.zeros(task.states)

    def plan(self, state: int) -> Plan:
        """Return the optimistic plan for the mean of newly drawn models, with its stop conditions."""
        return self.optimistic()._replace(
            stop_after_visits=1 + self.visits // 2, stop_after_goals=1 + (self.k - 1) // 10
        )

    def levels(self) -> tuple[Floats, Floats]:
        """Return the levels f and g of each pair, ``[S, A]``; g is 0 if all possible successors are known."""
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
        """Return the model with the rows that minimise q V for V = `values`, and its solution."""
        rows = lowest_rows(mean.indptr, mean.successors, mean.probabilities, radii, goal_mass, np.append(values, 0.0))
        model = self.task.model(mean.indptr, mean.successors, rows, costs)
        return model, self._planner.solve(model)

    def caveats(self) -> list[str]:
        """Return the caveat that no theorem covers the agent."""
        return ["no theorem bounds the regret of the KL index"]


def mean_of_rows(models: list[SSP], open_rows: Bools) -> MeanRows:
    """Return the mean of models of equal size; rows marked in `open_rows` also get an entry for the goal."""
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
    """Return, for each row, the q with KL(p, q) <= radius that has the smallest mean of the values.

    Then the share `goal_mass` of each row moves to the goal, its last entry. Let d be the values minus the smallest
    value of the row. Then q is proportional to p / (d + t), and KL(p, q) decreases in x = log t. Newton's method with
    bisection finds the root below the bound on t from Hoeffding's lemma, KL(p, q) <= (max d / t)²/8.
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
