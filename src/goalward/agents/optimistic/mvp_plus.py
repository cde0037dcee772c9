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
    policy indexed by the step for the last ones of the horizon. Ties are broken anew at every step. The costs are
    known, so there is no bonus for them.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.agents.base import Plan, Steps, Task, register
from goalward.agents.optimistic.common import HorizonOptimist, at_least_one
from goalward.agents.ties import break_ties, least
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.counts import Counts, mean, variance
from goalward.jit import kernel

__all__ = ["MVPPlus", "horizon", "iota", "sweep_back"]

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
        self._tied = np.zeros((self._H, *task.costs.shape), dtype=np.bool_)
        self._values = np.zeros((2, task.states + 1))
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
            steps, policy = self._left, self.decide(self._tied[-self._left :])
        values = self._unit * self._values[0, :-1]
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
        due = np.flatnonzero(np.maximum(2 * self.refreshed.visits, 1) <= self.counts.visits)
        for row in due.tolist():
            self.refreshed.copy_row(row, self.counts)
        if len(due) or not self._distinct:
            self._distinct = self.sweep()

    def sweep(self) -> int:
        """Lines 6 to 9; return at how many of the last steps the best actions may differ."""
        n, log_term = at_least_one(self.refreshed.visits), iota(self.refreshed.visits, self.delta)
        B_star = self.B_star / self._unit
        self._values[:, :-1] = 2.0 * B_star
        values, following = self._values
        parts = (C1 * C1 * log_term / n, C2 * 3.0 * B_star * log_term / n, self.scale)
        return sweep_back(*self.refreshed.estimates(0.0), self._costs, *parts, values, following, self.Q, self._tied)

    def decide(self, tied: Bools) -> Int64s:
        """Break ties, for every step and state anew."""
        chances = self.rng.random(tied.shape[:-1]) if self.ties == "random" else None
        return break_ties(tied, self._order, chances)

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": self._H}


def horizon(T_star: float, episodes: int) -> int:
    """Return H = ceil(4 T* ln(4 K)); checked."""
    return math.ceil(4.0 * T_star * math.log(4.0 * episodes))


def iota(visits: Int64s, delta: float) -> Floats:
    """Return 20 ln(2 S A n⁺ / delta) for each row; checked."""
    return np.asarray(C3 * np.log(2.0 * visits.size * at_least_one(visits) / delta))


@kernel
def sweep_back(
    size: Int64s, successors: Int32s, mass: Floats, rest: Floats, costs: Floats,
    spread: Floats, floor: Floats, scale: float, values: Floats, following: Floats, Q: Floats, tied: Bools,
) -> int:  # fmt: skip
    """Go back from the terminal values in `following` until nothing changes; return the number of steps this took.

    ``tied[h, s, a]`` is filled from the last step on: whether a minimises Q_h(s, .). All steps before the last one
    filled are equal to it. `values` is left as that of the first step; both have the goal at the end.
    """
    H, S, A = tied.shape
    for depth in range(H):
        h = H - 1 - depth
        still = True
        for state in range(S):
            for action in range(A):
                row = state * A + action
                m = mean(row, size, successors, mass, following)
                v = variance(row, size, successors, mass, rest[row], following, m)
                bonus = max(np.sqrt(spread[row] * v), floor[row])
                Q[state, action] = max(costs[state, action] + m - scale * bonus, 0.0)
            margin = least(Q, state)
            values[state] = np.inf
            for action in range(A):
                tied[h, state, action] = Q[state, action] <= margin and costs[state, action] < np.inf
                values[state] = min(values[state], Q[state, action])
            if values[state] != following[state]:
                still = False
        if still:
            return depth + 1
        for state in range(S):
            following[state] = values[state]
    return int(H)
