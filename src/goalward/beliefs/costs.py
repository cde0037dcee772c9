"""Unknown costs: a posterior over the mean cost of every pair.

Prior
    The costs of a state-action pair are normal with unknown mean m and unknown variance v. Pairs are independent. Let
    [l, h] be the range of costs. Then v is inverse gamma with shape 1 and scale (0.1 (h - l))². Given v, the mean m is
    normal with mean l and variance v. So unvisited pairs look as if each had already cost l once, and are tried.

Posterior
    Let x be the mean of n observed costs, and q the sum of squared deviations from x. The posterior of m is a Student t
    distribution with 2a degrees of freedom, centre (l + n x) / (n + 1) and squared scale b / (a (n + 1)), where

        a = 1 + n/2,    b = (0.1 (h - l))² + q/2 + n (x - l)² / (2 (n + 1)).

    If the cost of a pair is constant, the error falls like 1/n. Otherwise, the error falls like 1/sqrt(n).

The task may state the range [l, h]. Otherwise, the range of all unknown costs seen so far is used, which is not
Bayesian. Before the first cost is seen, the range is [1, 1]. Samples are clipped to the range and raised to at least
0.001 h. So all costs in plans are positive, and plans avoid loops. This adds at most 0.001 h to the cost of a step. No
theorem covers sampled costs. Costs need not be normal. If costs lie in a bounded range, the posterior concentrates
around the true mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goalward.acting.contract import Steps, Task
from goalward.arrays import Bools, Floats, Int64s
from goalward.jit import kernel
from goalward.memory import Memory

SPREAD = 0.1
"""The prior guess for the standard deviation of costs, as a share of the range."""

LEAST = 0.001
"""The smallest cost that plans use, as a share of the largest cost."""


class CostBelief(Memory):
    """The posterior of the unknown costs. If all costs are known, the arrays are empty.

    Attributes
    ----------
    visits, means, squares
        The number, the mean and the sum of squared deviations of the costs observed for each pair, ``[S, A]``.
    seen
        Two numbers: the negative of the smallest cost seen so far, and the largest cost seen so far.
    """

    def __init__(self, task: Task):
        self.task = task
        self.unknown: Bools = np.isnan(task.costs)
        self.unknown.flags.writeable = False
        shape = task.costs.shape if task.costs_unknown else (0, 0)
        self.visits: Int64s = np.zeros(shape, dtype=np.int64)
        self.means, self.squares = np.zeros(shape), np.zeros(shape)
        self.seen = np.array([-np.inf, -np.inf])

    def update(self, steps: Steps) -> None:
        """Learn from the costs of `steps`."""
        if self.visits.size:
            add_costs(
                steps.states, steps.actions, steps.costs, self.unknown, self.visits, self.means, self.squares, self.seen
            )

    @property
    def range(self) -> tuple[float, float]:
        """The range of costs that the task states, or else the range seen so far, which is (1, 1) at the start."""
        if self.task.cost_range is not None:
            return self.task.cost_range
        low, high = -self.seen[0].item(), self.seen[1].item()
        return (low, high) if low <= high else (1.0, 1.0)

    def sample(self, rng: np.random.Generator) -> Floats:
        """Return all costs, ``[S, A]``, with the unknown mean costs drawn from their posterior."""
        low, high = self.range
        n, x = self.visits[self.unknown], self.means[self.unknown]
        a = 1.0 + 0.5 * n
        b = (SPREAD * (high - low)) ** 2 + 0.5 * self.squares[self.unknown] + 0.5 * n * (x - low) ** 2 / (n + 1)
        return self.filled((low + n * x) / (n + 1) + np.sqrt(b / (a * (n + 1))) * rng.standard_t(2.0 * a))

    def mean(self) -> Floats:
        """Return all costs. An unknown cost is estimated by the mean paid or, before any payment, the lowest cost."""
        if not self.visits.size:
            return self.task.costs
        return self.filled(np.where(self.visits == 0, self.range[0], self.means)[self.unknown])

    def filled(self, unknown: Floats) -> Floats:
        """Return all costs; the estimates in `unknown` fill the gaps, clipped to the range and made positive."""
        low, high = self.range
        costs = self.task.costs.copy()
        costs[self.unknown] = np.maximum(np.clip(unknown, low, high), LEAST * (high or 1.0))
        costs.flags.writeable = False
        return costs

    @property
    def learnt(self) -> Sequence[str]:
        return ("visits", "means", "squares", "seen") if self.visits.size else ()

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self.seen[0] > 0.0:
            raise ValueError(f"the smallest paid cost is {-self.seen[0]:g}; costs must not be negative")


@kernel
def add_costs(
    states: Int64s, actions: Int64s, costs: Floats, unknown: Bools,
    visits: Int64s, means: Floats, squares: Floats, seen: Floats,
) -> None:  # fmt: skip
    """Add `costs` to the statistics one by one, so the result does not depend on how steps are grouped."""
    for i in range(len(states)):
        state, action = states[i], actions[i]
        if unknown[state, action]:
            visits[state, action] += 1
            above = costs[i] - means[state, action]
            means[state, action] += above / visits[state, action]
            squares[state, action] += above * (costs[i] - means[state, action])
            seen[0] = max(seen[0], -costs[i])
            seen[1] = max(seen[1], costs[i])
