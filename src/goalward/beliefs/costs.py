"""Unknown costs: a posterior over the mean cost of every pair.

Prior
    What a pair costs is normal with unknown mean m and variance v; both are independent between pairs. With the range
    [l, h] of costs, v is inverse gamma with shape 1 and scale (0.1 (h - l))², and m given v is normal around l with
    variance v: as if every pair had once cost the least that is possible. So unseen pairs look cheap and are tried.

Posterior
    After n costs with mean x and sum of squared deviations q, m has Student's t distribution with 2 a degrees of
    freedom around (l + n x) / (n + 1), with squared scale b / (a (n + 1)),

        a = 1 + n/2,    b = (0.1 (h - l))² + q/2 + n (x - l)² / (2 (n + 1)).

    Where a cost is always the same, the error falls like 1/n, otherwise like 1/sqrt(n).

The range is the one that the task states. If it states none, it is the range of all unknown costs seen so far, which is
not Bayesian, and the costs are 1 until one was seen. Samples are clipped into the range. Costs are kept above 0.001 of
the largest one, so that every plan has positive costs and avoids loops; this adds at most that much to the cost of a
step. No theorem covers the sampling of costs. The normal distribution is a model: for any costs in a range the
posterior concentrates around the true mean.
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
"""The prior's guess of the standard deviation of costs, as a share of the range."""

LEAST = 0.001
"""The least cost that is planned with, as a share of the largest one."""


class CostBelief(Memory):
    """The costs paid for pairs of unknown cost, and the posterior given them; empty if all costs are known.

    Attributes
    ----------
    visits, means, squares
        ``[S, A]``: how often each pair was paid for, the mean cost and the sum of squared deviations from it.
    seen
        Minus the least cost so far, and the largest one.
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
        """Learn from the costs of steps."""
        if self.visits.size:
            add_costs(
                steps.states, steps.actions, steps.costs, self.unknown, self.visits, self.means, self.squares, self.seen
            )

    @property
    def range(self) -> tuple[float, float]:
        """The stated range of costs, or the one seen so far; (1, 1) before anything was seen."""
        if self.task.cost_range is not None:
            return self.task.cost_range
        low, high = -self.seen[0].item(), self.seen[1].item()
        return (low, high) if low <= high else (1.0, 1.0)

    def sample(self, rng: np.random.Generator) -> Floats:
        """Draw mean costs from the posterior; known costs take no random numbers."""
        low, high = self.range
        n, x = self.visits[self.unknown], self.means[self.unknown]
        a = 1.0 + 0.5 * n
        b = (SPREAD * (high - low)) ** 2 + 0.5 * self.squares[self.unknown] + 0.5 * n * (x - low) ** 2 / (n + 1)
        return self.filled((low + n * x) / (n + 1) + np.sqrt(b / (a * (n + 1))) * rng.standard_t(2.0 * a))

    def mean(self) -> Floats:
        """Return the known costs and, for other pairs, the mean of the costs paid; the least cost if there are none."""
        if not self.visits.size:
            return self.task.costs
        return self.filled(np.where(self.visits == 0, self.range[0], self.means)[self.unknown])

    def filled(self, unknown: Floats) -> Floats:
        """Return all costs, with `unknown` for the unknown ones, clipped into the range and kept positive."""
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
            raise ValueError(f"a cost of {-self.seen[0]:g} was paid; costs must not be negative")


@kernel
def add_costs(
    states: Int64s, actions: Int64s, costs: Floats, unknown: Bools,
    visits: Int64s, means: Floats, squares: Floats, seen: Floats,
) -> None:  # fmt: skip
    """Add paid costs to the sums, step by step, so that the result does not depend on how steps are grouped."""
    for i in range(len(states)):
        state, action = states[i], actions[i]
        if unknown[state, action]:
            visits[state, action] += 1
            above = costs[i] - means[state, action]
            means[state, action] += above / visits[state, action]
            squares[state, action] += above * (costs[i] - means[state, action])
            seen[0] = max(seen[0], -costs[i])
            seen[1] = max(seen[1], costs[i])
