"""ULCVI: the reduction to a finite horizon, with upper and lower confident value iteration inside.

Reference
    Cohen, Efroni, Mansour, Rosenberg: Minimax Regret for Stochastic Shortest Path (NeurIPS 2021), Algorithms 1 and 2.
    The text was not at hand: the form of the reduction is checked against Chen, Jain, Luo (ICML 2022), who restate it;
    its digits and the bonuses are recalled (see docs/agents/ulcvi.md).

Pseudo-code
     1  H <- ceil(8 T* ln(8 K)), c_f(s) <- 8 B* for s other than the goal, B <- 9 B*, delta <- delta / 4, m <- 0
     2  for episodes k = 1, ..., K:
     3      s <- s_init
     4      while s is not the goal:
     5          m <- m + 1; n, p^ <- from all steps so far
     6          pi_1, ..., pi_H <- ULCVI(n, p^, m)
     7          for h = 1, ..., H, while s is not the goal: play a = pi_h(s), observe s'; s <- s'

    ULCVI
     8      L <- 3 log(3 S' A H m / delta)
     9      J_lo, J_up at step H + 1 <- c_f
    10      for h = H, ..., 1, all s and a, with J_lo and J_up of step h + 1:
    11          b <- sqrt(2 Var(p^, J_lo) L/n⁺) + 62 H³ S' L/(B n⁺) + B/(16 H²) p^ (J_up - J_lo)
    12          Q_lo <- max { c - b + p^ J_lo, 0 }; Q_up <- c + b + p^ J_up
    13          pi_h(s) <- argmin_a Q_lo; J_lo(s) <- Q_lo(s, pi_h(s)); J_up(s) <- min { Q_up(s, pi_h(s)), H + 8 B* }

How it maps
    `plan` is lines 5, 6 and 8 to 13, `observe` the counting, line 7 is ``stop_after_goals=1, stop_after_steps=H`` with
    a policy indexed by the step. Counts are shared by all steps, so once J_lo and J_up do not change from one step to
    the one before, no earlier step changes either, and the induction of line 10 stops there: exact, and hundreds of
    steps shorter. The costs are known, so there is no bonus for them. Each step of a plan is played at
    most once, so ties drawn for every step and state are ties broken anew at every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from goalward._jit import exercise, kernel
from goalward.agents.base import Agent, Plan, Steps, Task, register
from goalward.agents.optimist import Optimist, at_least_one, check_fact
from goalward.agents.ties import break_ties, least
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.counts import Counts, variance
from goalward.errors import SettingError

__all__ = ["ULCVI", "blend", "constant", "horizon", "log_term", "spread", "terminal_cost", "upper_lower", "value_bound"]

LARGEST = 1 << 31


@register("ulcvi")
@dataclass(eq=False, kw_only=True)
class ULCVI(Optimist, Agent):
    """Optimism by bonuses over a finite horizon; it must be told B* and T*."""

    B_star: float
    """B*, the largest optimal value."""

    T_star: float
    """T*, the largest expected number of steps of the optimal policy."""

    # The term with H³ is above 1e10 where the others are of the size of the values.
    scales: ClassVar[tuple[float, ...]] = (1.0, *(10.0 ** (-step / 4) for step in range(32, 53)))
    needs: ClassVar[tuple[str, ...]] = ("B_star", "T_star")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fact(self.name, "B_star", self.B_star)
        check_fact(self.name, "T_star", self.T_star)

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        if self.H * task.costs.size > LARGEST:
            raise SettingError(
                f"the horizon 8 T* ln(8 K) is {self.H}; its plans of {self.H} steps by {task.costs.size} pairs do not"
                " fit into memory: a smaller T_star is needed"
            )
        self._Q = np.zeros((2, *task.costs.shape))
        self._ends = [np.zeros(task.states + 1) for _ in range(4)]
        self._tied = np.zeros((self.H, *task.costs.shape), dtype=np.bool_)

    @property
    def H(self) -> int:
        """The horizon of a plan."""
        return horizon(self.T_star, self.task.episodes)

    def plan(self, state: int) -> Plan:
        """Lines 5 and 6."""
        self.epoch += 1  # m
        distinct, several = self.ulcvi(self.epoch)
        policy = self.decide(self._tied[-distinct:], several)
        values = self._unit * self._ends[0][:-1]
        return Plan(policy, stop_after_goals=1, stop_after_steps=self.H, stop_when_cut=True, values=values)

    def ulcvi(self, m: int) -> tuple[int, bool]:
        """Lines 8 to 13; return at how many of the last steps the best actions may differ, and whether any tie."""
        visits, B_star = self.counts.visits, self.B_star / self._unit
        B = value_bound(B_star)
        L = log_term(visits, self.H, m, self.delta / 4.0)
        c_f = terminal_cost(B_star)
        _, _, next_lower, next_upper = self._ends
        next_lower[:-1] = next_upper[:-1] = c_f
        parts = (spread(visits, L), constant(visits, self.H, B, L), blend(self.H, B))
        work = (*self._ends, self._Q, self._tied)
        return upper_lower(*self.counts.estimates(0.0), self._costs, *parts, self.scale, self.H + c_f, *work)

    def decide(self, tied: Bools, several: bool) -> NDArray[Any]:
        """Break the ties of the last steps, the first of which stands for all before it."""
        early = tied[0]
        drawn = several and self.ties == "random"
        if (tied == early).all():
            return np.asarray(early / early.sum(axis=1, keepdims=True)) if drawn else break_ties(early, self._order)
        before = self.H - len(tied)
        policy = np.empty((self.H, len(early)), dtype=np.int64)
        policy[before:] = break_ties(tied, self._order, self.rng.random(tied.shape[:2]) if drawn else None)
        policy[:before] = policy[before]
        again = np.flatnonzero(early.sum(axis=1) > 1) if drawn else ()
        if len(again):
            policy[:before, again] = break_ties(early[again], self._order, self.rng.random((before, len(again))))
        return policy

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": self.H}


def horizon(T_star: float, episodes: int) -> int:
    """Return H = ceil(8 T* ln(8 K)); the form is checked, the two eights are recalled."""
    return math.ceil(8.0 * T_star * math.log(8.0 * episodes))


def terminal_cost(B_star: float) -> float:
    """Return c_f = 8 B*, charged inside the plan where it ends away from the goal; the eight is recalled."""
    return 8.0 * B_star


def value_bound(B_star: float) -> float:
    """Return B = 9 B*, the bound on values that the bonuses use; the nine is recalled."""
    return 9.0 * B_star


def log_term(visits: Int64s, H: int, m: int, delta: float) -> float:
    """Return L = 3 log(3 S' A H m / delta) in interval m; recalled."""
    S, A = visits.shape
    return 3.0 * math.log(3.0 * (S + 1) * A * H * m / delta)


def spread(visits: Int64s, L: float) -> Floats:
    """Return 2 L / n⁺, the factor of the variance, for each row; recalled."""
    return 2.0 * L / at_least_one(visits)


def constant(visits: Int64s, H: int, B: float, L: float) -> Floats:
    """Return 62 H³ S' L / (B n⁺) for each row; the form is recalled, the 62 with less confidence."""
    return 62.0 * float(H) ** 3 * (len(visits) + 1) * L / (B * at_least_one(visits))


def blend(H: int, B: float) -> float:
    """Return B / (16 H²), the factor of the distance between the upper and the lower values; recalled."""
    return B / (16.0 * H * H)


@kernel
def upper_lower(
    size: Int64s, successors: Int32s, mass: Floats, rest: Floats, costs: Floats,
    spread: Floats, constant: Floats, blend: float, scale: float, cap: float,
    lower: Floats, upper: Floats, next_lower: Floats, next_upper: Floats, Q: Floats, tied: Bools,
) -> tuple[int, bool]:  # fmt: skip
    """Go back from the terminal values in `next_lower` and `next_upper` until nothing changes.

    Returns the number of steps this took and whether actions tie anywhere. ``tied[h, s, a]`` is filled from the last
    step on: whether a minimises Q_lo at step h. All steps before the last one filled are equal to it. Where several
    actions tie, J_up is the largest of theirs, which holds however ties are broken. `lower` and `upper` are left as
    those of the first step. The goal is at the end of all four.
    """
    H, S, A = tied.shape
    several = False
    for depth in range(H):
        h = H - 1 - depth
        still = True
        for state in range(S):
            for action in range(A):
                row = state * A + action
                m = 0.0
                above = 0.0
                for entry in range(size[row]):
                    m += mass[row, entry] * next_lower[successors[row, entry]]
                    above += mass[row, entry] * next_upper[successors[row, entry]]
                v = variance(row, size, successors, mass, rest[row], next_lower, m)
                bonus = np.sqrt(spread[row] * v) + constant[row] + blend * (above - m)
                Q[0, state, action] = max(costs[state, action] + m - scale * bonus, 0.0)
                Q[1, state, action] = min(costs[state, action] + above + scale * bonus, cap)
            margin = least(Q[0], state)
            lower[state] = np.inf
            upper[state] = 0.0
            best = 0
            for action in range(A):
                tied[h, state, action] = Q[0, state, action] <= margin and costs[state, action] < np.inf
                if tied[h, state, action]:
                    best += 1
                    lower[state] = min(lower[state], Q[0, state, action])
                    upper[state] = max(upper[state], Q[1, state, action])
            several = several or best > 1
            if lower[state] != next_lower[state] or upper[state] != next_upper[state]:
                still = False
        if still:
            return depth + 1, several
        for state in range(S):
            next_lower[state] = lower[state]
            next_upper[state] = upper[state]
    return H, several


@exercise
def exercise_ulcvi() -> None:
    """Plan once, on one pair seen three times."""
    counts = Counts(Task(np.ones((1, 1)), 0, 1))
    zeros = np.zeros(3, dtype=np.int64)
    counts.add(Steps(zeros, zeros, np.ones(3), np.array([0, 1, 1])))
    one, tied = np.ones(1), np.zeros((3, 1, 1), dtype=np.bool_)
    lower, upper, next_lower, next_upper = np.zeros((4, 2))
    pair, Q = np.ones((1, 1)), np.zeros((2, 1, 1))
    size, successors, mass, rest = counts.estimates(0.0)
    rows = (size, successors, mass, rest)
    upper_lower(*rows, pair, one, one, 0.1, 0.01, 10.0, lower, upper, next_lower, next_upper, Q, tied)
