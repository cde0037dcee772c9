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
    An online policy: `act` carries out lines 5 to 9 when no attempt is in progress (`plan_interval`), then line 10;
    `learn` counts. All steps share p^ and n, so once V_h is equal to V_{h+1} no earlier step changes, and the sweep of
    line 6 stops there. Ties are broken at every step. The costs are known, so there is no bonus for them;
    unknown ones are treated as `common.py` says.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from goalward.acting.contract import Task
from goalward.acting.model_world import Dynamics, Walk, has_room
from goalward.acting.stop import TableStop
from goalward.agents.base import register
from goalward.agents.optimistic.attempts import DISTINCT, IN_PROGRESS, HorizonOptimist, play_interval
from goalward.agents.optimistic.backup import Bonus, Estimates, back_up_horizon
from goalward.agents.optimistic.common import at_least_one, next_power
from goalward.arrays import Floats, Int64s
from goalward.beliefs.counts import Counts

__all__ = ["MVPPlus", "iota"]

C1, C2, C3 = 7.0, 49.0, 20.0
"""The constants of lines 7 and 8; checked."""


@register("mvp-plus")
class MVPPlus(HorizonOptimist):
    """Optimism by bonuses over a finite horizon, refreshed at powers of two; it must be told B* and T*."""

    factor: ClassVar[float] = 4.0

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.refreshed = Counts(task)

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, each attempt in one kernel."""
        while has_room(walk.cursor):
            if self._attempt[IN_PROGRESS] == 0:
                self.plan_interval()
            counts = self.counts.rows
            if not play_interval(model, walk, self._Q, self._order, self.chance_factor, *counts, self._attempt):
                self.counts.widen()

    def plan_interval(self) -> None:
        """Line 5: sweep if pairs have passed a power of two, with the estimates at that time."""
        due = np.flatnonzero(next_power(self.refreshed.visits) <= self.counts.visits)
        for row in due.tolist():
            self.refreshed.copy_row(row, self.counts)
        if len(due) or self._attempt[DISTINCT] == 0:
            self._attempt[DISTINCT] = self.sweep()
        self._attempt[: IN_PROGRESS + 1] = 0, len(self._Q), 1

    def sweep(self) -> int:
        """Lines 6 to 9; return at how many of the last steps Q differs."""
        n, log_term = at_least_one(self.refreshed.visits), iota(self.refreshed.visits, self.delta)
        B_star = self.B_star / self._unit
        V = np.append(np.full(self.task.states, 2.0 * B_star), 0.0)
        bonus = Bonus(C1 * C1 * log_term / n, C2 * 3.0 * B_star * log_term / n, np.zeros(len(n)), self.scale)
        rows = Estimates(*self.refreshed.estimates(0.0))
        return back_up_horizon(rows, self._costs, bonus, V, V, self._Q, self.Q, self._V, self._V)


def iota(visits: Int64s, delta: float) -> Floats:
    """Return 20 ln(2 S A n⁺ / delta) for each row; checked."""
    return np.asarray(C3 * np.log(2.0 * visits.size * at_least_one(visits) / delta))
