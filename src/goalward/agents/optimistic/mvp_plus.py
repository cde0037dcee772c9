"""MVP+: the reduction to a finite horizon, with monotonic value propagation inside.

Reference
    Chen, Jain, Luo: Improved No-Regret Algorithms for Stochastic Shortest Path with Linear MDP (ICML 2022), appendix
    B.5; checked. The terminal cost of the reduction is charged, as its analysis has it.

Pseudo-code
     1  H <- ceil(4 T* ln(4 K)), c_f(s) <- 2 B* for s other than the goal, B <- 3 B*
     2  for episodes k = 1, ..., K:
     3      s <- s_init
     4      while s is not the goal:
     5          if n(s, a) has passed a power of two for some pair since the last sweep:
     6              V_{H+1} <- c_f;  for h = H, ..., 1, all s and a, with p^ and n as at the last power of two:
     7                  iota <- 20 ln(2 S A n⁺ / delta)
     8                  b <- max { 7 sqrt(Var(p^, V_{h+1}) iota / n⁺), 49 B iota / n⁺ }
     9                  Q_h <- max { c + p^ V_{h+1} - b, 0 };  V_h <- min_a Q_h
    10          for h = 1, ..., H, while s is not the goal: play a = argmin Q_h(s, .), observe s'; s <- s'

How it maps
    `plan` is lines 5 to 9, `observe` the counting. All steps share p^ and n, so once V_h is equal to V_{h+1} no earlier
    step changes, and the sweep of line 6 stops there. Line 10 is one plan for all those steps, and another one with a
    policy indexed by the step for the last ones of the horizon. Ties are broken at every step. The costs are known, so
    there is no bonus for them.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.agents.base import Plan, Steps, Task, register
from goalward.agents.optimistic.backup import Bonus, Estimates, back_up_horizon
from goalward.agents.optimistic.common import HorizonOptimist, at_least_one, next_power
from goalward.agents.ties import break_ties
from goalward.arrays import Floats, Int64s
from goalward.beliefs.counts import Counts

__all__ = ["MVPPlus", "horizon", "iota"]

C1, C2, C3 = 7.0, 49.0, 20.0
"""The constants of lines 7 and 8; checked."""


@register("mvp-plus")
class MVPPlus(HorizonOptimist):
    """Optimism by bonuses over a finite horizon, refreshed at powers of two; it must be told B* and T*."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self._H = horizon(self.T_star, task.episodes)
        self.check_horizon("4 T* ln(4 K)", self._H)
        self.refreshed = Counts(task)
        self._Q = np.zeros((self._H, *task.costs.shape))
        self._V = np.zeros(task.states + 1)
        self._distinct = self._left = 0

    def plan(self, state: int) -> Plan:
        """Lines 5 to 9; then the steps that share their best actions, and after them those that do not."""
        self.epoch += 1
        if self._left == 0:
            self.refresh()
            self._left = self._H
        shared = self._left - self._distinct
        if shared > 0:
            steps, policy = shared, self.mixture(self.Q)
        else:
            last = self._Q[-self._left :]
            chances = self.rng.random(last.shape[:-1]) if self.ties == "random" else None
            steps, policy = self._left, break_ties(last, self._order, chances)
        values = self._unit * self._V[:-1]
        return Plan(policy, stop_after_goals=1, stop_after_steps=steps, stop_when_cut=True, values=values)

    def observe(self, steps: Steps) -> None:
        """Count what happened, and the steps that are left of the horizon."""
        super().observe(steps)
        at_goal = (steps.next_states == self.task.states).any()
        self._left = 0 if at_goal else max(self._left - len(steps.states), 0)

    def restart(self) -> None:
        """Line 3."""
        self._left = 0

    def refresh(self) -> None:
        """Line 5: sweep if pairs have passed a power of two, with the estimates at that time."""
        due = np.flatnonzero(next_power(self.refreshed.visits) <= self.counts.visits)
        for row in due.tolist():
            self.refreshed.copy_row(row, self.counts)
        if len(due) or not self._distinct:
            self._distinct = self.sweep()
            self.Q = self._Q[-self._distinct].copy()

    def sweep(self) -> int:
        """Lines 6 to 9; return at how many of the last steps the best actions may differ."""
        n, log_term = at_least_one(self.refreshed.visits), iota(self.refreshed.visits, self.delta)
        B_star = self.B_star / self._unit
        V, V_new = np.append(np.full(self.task.states, 2.0 * B_star), 0.0), self._V
        bonus = Bonus(C1 * C1 * log_term / n, C2 * 3.0 * B_star * log_term / n, np.zeros(len(n)), self.scale)
        rows = Estimates(*self.refreshed.estimates(0.0))
        return back_up_horizon(rows, self._costs, bonus, V, V, self._Q, self.Q, V_new, V_new)

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": self._H}


def horizon(T_star: float, episodes: int) -> int:
    """Return H = ceil(4 T* ln(4 K)); checked."""
    return math.ceil(4.0 * T_star * math.log(4.0 * episodes))


def iota(visits: Int64s, delta: float) -> Floats:
    """Return 20 ln(2 S A n⁺ / delta) for each row; checked."""
    return np.asarray(C3 * np.log(2.0 * visits.size * at_least_one(visits) / delta))
