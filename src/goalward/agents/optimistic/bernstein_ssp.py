"""Bernstein-SSP: optimism by a confidence interval for every transition probability.

Reference
    Rosenberg, Cohen, Mansour, Kaplan: Near-optimal Regret Bounds for Stochastic Shortest Path (ICML 2020), Algorithm 2.

Pseudo-code
     1  pi <- any policy, N <- 0, n <- 0
     2  for episodes k = 1, ..., K:
     3      s <- s_init
     4      while s is not the goal:
     5          play a = pi(s), observe s'; n(s, a) <- n(s, a) + 1, n(s, a, s') <- n(s, a, s') + 1
     6          if s' is not the goal and n(s', pi(s')) >= N(s', pi(s')):
     7              N <- N + n, n <- 0
     8              P^(s' | s, a) <- N(s, a, s') / N⁺(s, a)
     9              A(s, a) <- log(S A N⁺(s, a) / delta) / N⁺(s, a)
    10              P~(s' | s, a) <- max { P^ - 28 A - 4 sqrt(P^ A), 0 } for s' other than the goal
    11              P~(goal | s, a) <- 1 - sum of P~(s' | s, a)
    12              pi <- the optimal policy of the SSP (P~, c)
    13          s <- s'

Implementation
    `plan` executes lines 7 to 12, and `observe` does the counting in line 5. The stop condition ``stop_before_visits``
    with value N implements line 6. The loop tests this condition before every action, including the first action of an
    episode. So a plan always ends before a pair is played for the first time.

In the optimistic model, every pair may lead to the goal, so every policy is proper. For every V >= 0, the rows P~ of
lines 10 and 11 minimise sum_y P~(y) V(y) under the constraint that P~(y) >= P^(y) - 28 A - 4 sqrt(P^(y) A) for all y.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Plan, Task
from goalward.agents.base import register
from goalward.agents.optimistic.common import Optimist, at_least_one
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import PrecisionError
from goalward.jit import kernel
from goalward.planning.evaluate import action_values
from goalward.planning.solve import Solution, solve
from goalward.ssp.model import SSP

TOLERANCE = 1e-10
"""The tolerance of the planner. It is smaller than the margin within which actions tie."""


@register("bernstein-ssp")
class BernsteinSSP(Optimist):
    """Optimism by Bernstein intervals. Needs neither B* nor T*, and needs K only if a cost is zero."""

    bound = "O~(B* S sqrt(A K))"
    assumes = "c >= c_min > 0"

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` (lines 1 and 3 of the algorithm)."""
        super().begin(task, rng)
        if not self._costs.min() > 0.0:
            self._costs = np.maximum(self._costs, cost_floor(task))
        self._available = task.available.reshape(-1).copy()
        self._solution: Solution | None = None

    def plan(self, state: int) -> Plan:
        """Start an epoch and return its plan (lines 7 to 12 of the algorithm)."""
        self.epoch += 1
        N = self.counts.visits.copy()
        model = self.optimistic_model()
        self._solution = self.solve(model)
        Q = action_values(model, self._solution.values)
        # A plan shows true costs and values.
        shown = model if self._unit == 1.0 else model._replace(costs=self._unit * self._costs)
        return Plan(self.greedy(Q), stop_before_visits=N, model=shown, values=self._unit * self._solution.values)

    def optimistic_model(self) -> SSP:
        """Return the optimistic model (P~, c), by lines 8 to 11 of the algorithm."""
        counts = self.counts
        rows = counts.visits.size
        A_ratio = log_ratio(counts.visits, self.delta)
        constant, root = width(A_ratio, self.scale)
        indptr = np.zeros(rows + 1, dtype=np.int64)
        near, mass = np.empty(rows * (counts.width + 1), dtype=np.int32), np.empty(rows * (counts.width + 1))
        end = lower_rows(counts.goal, *counts.rows, self._available, constant, root, indptr, near, mass)
        return SSP._trusted(indptr, near[:end], mass[:end], self._costs, self.task.initial_state)

    def solve(self, model: SSP) -> Solution:
        """Solve the optimistic `model` (line 12), starting from the solution of the previous epoch."""
        try:
            return solve(model, TOLERANCE, start=self._solution)
        except PrecisionError as error:
            self.check_settled(error.solution.width, TOLERANCE, error.solution.iterations)
            raise


def log_ratio(visits: Int64s, delta: float) -> Floats:
    """Return A(s, a) = log(S A N⁺ / delta) / N⁺ for each pair. The formula was checked against the paper."""
    N = at_least_one(visits)
    return np.log(visits.size * N / delta) / N


def width(A_ratio: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return 28 A and 4 sqrt(A), both multiplied by `scale`, where A is `A_ratio`. The width is 28 A + 4 sqrt(P^ A)."""
    return scale * 28.0 * A_ratio, scale * 4.0 * np.sqrt(A_ratio)


def cost_floor(task: Task) -> float:
    """Return the cost floor eps = S² A / K, used if some cost is zero. With known B*, the paper uses B* eps."""
    return task.states**2 * task.actions / task.episodes


@kernel
def lower_rows(
    goal: int, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, available: Bools,
    constant: Floats, root: Floats, indptr: Int64s, near: Int32s, mass: Floats,
) -> int:  # fmt: skip
    """Write the canonical rows P~, with widths `constant` + `root` sqrt(P^). Return the number of entries.

    All subtracted probability is added to the goal, so the goal is possible even for very small widths.
    """
    end = 0
    for row in range(size.size):
        if available[row]:
            slack = 0.0
            for entry in range(size[row]):
                share = counts[row, entry] / visits[row]
                if successors[row, entry] == goal:
                    slack += share
                else:
                    taken = min(constant[row] + root[row] * np.sqrt(share), share)
                    slack += taken
                    if share - taken > 0.0:
                        near[end] = successors[row, entry]
                        mass[end] = share - taken
                        end += 1
            near[end] = goal
            mass[end] = slack if visits[row] > 0 else 1.0
            end += 1
        indptr[row + 1] = end
    return end
