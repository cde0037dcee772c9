"""EB-SSP: value iteration with slight goal optimism and exploration bonuses.

Reference
    Tarbouriech, Zhou, Du, Pirotta, Valko, Lazaric: Stochastic Shortest Path: Minimax, Parameter-Free and Towards
    Horizon-Free Regret (NeurIPS 2021). The text was not available. The algorithm and its constants were written from
    memory, and were checked against two later papers that restate VISGO (see docs/reference/agents-optimistic.md).

Pseudo-code
     1  N, n <- 0; Q, V <- 0; j <- 0
     2  for episodes k = 1, ..., K:
     3      s <- s_init
     4      while s is not the goal:
     5          play a = argmin Q(s, .), pay the cost, observe s'; N(s, a), N(s, a, s') <- + 1
     6          theta(s, a) <- theta(s, a) + max(cost, eta)
     7          if N(s, a) is a power of two:
     8              j <- j + 1; n(s, a) <- N(s, a); p^(. | s, a) <- N(s, a, .) / N(s, a), for this pair only
     9              c^(s, a) <- the mean cost of this pair since its last update; theta(s, a) <- 0
    10              Q, V <- VISGO(eps = 2^(-j))
    11          s <- s'

    VISGO
    12      p~(s' | s, a) <- n/(n + 1) p^(s' | s, a) + 1{s' is the goal}/(n + 1)
    13      iota(s, a) <- ln(12 S A S' n⁺(s, a)² / delta)
    14      V_0 <- 0; repeat until |V_{i+1} - V_i|_inf <= eps:
    15          b <- max { c_1 sqrt(Var(p~, V_i) iota/n⁺), c_2 B iota/n⁺ }
                     + c_3 sqrt(c^ iota/n⁺) + c_4 B sqrt(S' iota)/n⁺
    16          Q <- max { c^ + p~ V_i - b, 0 }; V_{i+1} <- min_a Q

Implementation
    `plan` executes lines 7 to 10 and VISGO, and `observe` does the counting in lines 5 and 6. A plan ends as soon as
    the visits of a pair reach the next power of two (``stop_after_visits``). Ties in line 5 are broken at every step,
    so the policy of a plan is randomised. If costs are known, c^ = c, and the term with c_3 is left out. Line 16 sets
    negative values to exactly 0, so all actions with a very large bonus tie.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from goalward.acting.contract import Plan, Steps, Task
from goalward.agents.base import register
from goalward.agents.optimistic.backup import Bonus, Estimates, fixed_point
from goalward.agents.optimistic.common import MAX_SWEEPS, Optimist, at_least_one
from goalward.arrays import Floats, Int64s
from goalward.beliefs.counts import Counts
from goalward.settings import Positive

C1, C2, C3 = 6.0, 36.0, 2.0 * np.sqrt(2.0)
"""The constants of line 15, written from memory. With c_2 = c_1², line 16 is monotone in V."""

C4 = 2.0 * np.sqrt(2.0)
"""The constant of the last term of line 15, written from memory with less certainty."""

FINEST = 1e-10
"""The smallest eps of VISGO. Without this limit, 2^(-j) would underflow after a thousand updates."""


@register("eb-ssp")
class EBSSP(Optimist, kw_only=True):
    """Optimism by exploration bonuses. Needs B* or an upper bound on B*, unless `B_star` is "doubling"."""

    bound = "O~(sqrt((B*² + B*) S A K))"
    assumes = "c >= c_min > 0"

    B_star: Positive | Literal["doubling"]
    """B* or an upper bound on B*. With "doubling", the bound starts at 1 and doubles when a value exceeds it."""

    unknown_costs_covered: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("B_star",)

    @property
    def doubling(self) -> bool:
        """Whether the setting `B_star` is "doubling"."""
        return self.B_star == "doubling"

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` (line 1 of the algorithm)."""
        super().begin(task, rng)
        self.eta = 0.0 if self._costs.min() > 0.0 else cost_floor(task)
        self._costs = np.maximum(self._costs, self.eta)
        self.c_hat = np.where(self.paid.unknown, 0.0, self._costs)
        self.theta = np.zeros(task.costs.shape)
        self.refreshed = Counts(task)
        self.j = 0
        self.k = 1
        self.B = 1.0 if self.doubling else float(self.B_star) / self._unit
        self._before, self.V = np.zeros(task.states + 1), np.zeros(task.states + 1)

    def plan(self, state: int) -> Plan:
        """Return a plan (lines 7 to 10), which ends when the visits of some pair reach the next power of two."""
        N, n = self.counts.visits, self.refreshed.visits
        due = np.flatnonzero(next_power(n) <= N)
        for row in due.tolist():
            self.refresh(row)
        if len(due):
            self.epoch += 1
            self.visgo(max(2.0**-self.j, FINEST))
        policy = self.mixture(self.Q)
        return Plan(policy, stop_after_visits=next_power(n) - N, values=self._unit * self.V[:-1])

    def refresh(self, row: int) -> None:
        """Update the estimates of the pair `row` from the counts (lines 8 and 9 of the algorithm)."""
        pair = divmod(row, self.task.actions)
        self.j += 1
        if self.paid.unknown[pair]:
            since = self.counts.visits[pair] - self.refreshed.visits[pair]
            self.c_hat[pair] = self.theta[pair] / since
            self.theta[pair] = 0.0
        self.refreshed.copy_row(row, self.counts)

    def visgo(self, eps: float) -> None:
        """Compute Q and V (lines 12 to 16). With "doubling", double B until no value exceeds B."""
        if self.doubling:
            self.B = max(self.B, least_bound(self.k, self.task))
        rows = Estimates(*self.refreshed.estimates(1.0))  # line 12
        costs = np.where(self.paid.unknown, self.c_hat, 0.0) if self.task.costs_unknown else None
        while True:
            limit = self.B if self.doubling else np.inf
            b = bonus(self.refreshed.visits, self.delta, self.B, costs, self.scale)
            work = (self._before, self.V, self.Q)
            sweeps, change = fixed_point(rows, self.c_hat, b, eps, MAX_SWEEPS, limit, *work)
            if not self.V.max() > limit:
                self.check_settled(change, eps, sweeps)
                return
            self.B *= 2.0

    def observe(self, steps: Steps) -> None:
        """Count `steps` and add up costs (lines 5 and 6 of the algorithm)."""
        super().observe(steps)
        self.k += int(np.count_nonzero(steps.next_states == self.task.goal))
        if self.task.costs_unknown:
            # One by one, so that the sums do not depend on how steps are grouped.
            paid = np.maximum(steps.costs / self._unit, self.eta)
            np.add.at(self.theta, (steps.states, steps.actions), paid)

    def notes(self) -> dict[str, int | float | str]:
        return super().notes() | {"B": self._unit * self.B, "cost_floor": self._unit * self.eta}


def next_power(n: Int64s) -> Int64s:
    """Return, for each pair, the visits at which the next update is due. `n` holds the visits at the last update."""
    return np.maximum(2 * n, 1)


def iota(visits: Int64s, delta: float) -> Floats:
    """Return ln(12 S A S' n⁺² / delta) for each pair. The formula was written from memory."""
    S, A = visits.shape
    n = at_least_one(visits)
    return np.asarray(np.log(12.0 * S * A * (S + 1) * n * n / delta))


def bonus(visits: Int64s, delta: float, B: float, costs: Floats | None, scale: float) -> Bonus:
    """Return the coefficients of line 15. `costs` is c^ with known costs set to 0, or None if all costs are known."""
    n = at_least_one(visits)
    log_term = iota(visits, delta)
    extra = C4 * B * np.sqrt((visits.shape[0] + 1) * log_term) / n
    if costs is not None:
        extra += C3 * np.sqrt(costs.reshape(-1) * log_term / n)
    return Bonus(C1 * C1 * log_term / n, C2 * B * log_term / n, extra, scale)


def least_bound(k: int, task: Task) -> float:
    """Return sqrt(k / (S³ A)), the smallest B in episode `k` with "doubling". The formula was written from memory."""
    return float(np.sqrt(k / (task.states**3 * task.actions)))


def cost_floor(task: Task) -> float:
    """Return the cost floor eta = 1 / K², used if some cost is zero. The formula was written from memory."""
    return 1.0 / task.episodes**2
