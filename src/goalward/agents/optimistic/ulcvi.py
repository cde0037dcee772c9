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
    An online policy: `act` carries out lines 5, 6 and 8 to 13 when no interval is in progress (`plan_interval`), then
    line 7; `learn` counts; `rollout` does both in one kernel, because nearly every episode has a plan of its own. The
    backups of lines 10 to 13 are in `backup.py`. Counts are shared by all steps, so once J_lo and J_up do not change
    from one step to the one before, no earlier step changes either, and the induction of line 10 stops there: exact,
    and hundreds of steps shorter. The costs are known, so there is no bonus for them. Ties are broken at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from goalward.acting.contract import Plan, Task
from goalward.acting.rollout import CHOSEN, STATE, Dynamics, Walk, end_epoch, has_room, take_step
from goalward.acting.stop import TableStop
from goalward.agents.base import register
from goalward.agents.optimistic.backup import Bonus, Estimates, back_up_horizon
from goalward.agents.optimistic.common import (
    HORIZON,
    IN_PROGRESS,
    TAKEN,
    Attempts,
    HorizonOptimist,
    count_step,
)
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int64s
from goalward.beliefs.counts import RowCounts, estimate
from goalward.jit import kernel

__all__ = ["ULCVI", "horizon", "log_term"]

# Positions in the progress: m, and the number of last steps whose Q differ.
NUMBER, DISTINCT = range(2)


class Memory(NamedTuple):
    """What the kernels read and change; `constant` is 62 H³ S', `values` are J_lo and J_up of two steps."""

    counts: RowCounts
    rows: Estimates
    bonus: Bonus
    costs: Floats
    values: Floats
    Q: Floats
    Q_up: Floats
    order: Int64s
    attempt: Int64s
    progress: Int64s
    terminal_cost: float
    constant: float
    B: float
    delta: float
    chance_factor: float


@register("ulcvi")
class ULCVI(Attempts, HorizonOptimist):
    """Optimism by bonuses over a finite horizon; it needs B* and T*."""

    # The term with H³ is above 1e10 where the others are of the size of the values.
    scales: ClassVar[tuple[float, ...]] = (1.0, *(10.0 ** (-step / 4) for step in range(32, 53)))

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.check_horizon("8 T* ln(8 K)", self.H)
        self.progress: Int64s = np.zeros(2, dtype=np.int64)
        self._c_f, self._B = 8.0 * self.B_star / self._unit, 9.0 * self.B_star / self._unit
        spread, floor, extra = np.zeros((3, task.costs.size))
        self._bonus = Bonus(spread, floor, extra, self.scale, self._B / (16.0 * self.H**2), self.H + self._c_f)
        self._mass, self._rest = np.empty(self.counts.counts.shape), np.empty(task.costs.size)
        self._Q, self._Q_up = np.zeros((self.H, *task.costs.shape)), np.zeros(task.costs.shape)
        self._values = np.zeros((4, task.states + 1))

    @property
    def H(self) -> int:
        """The horizon of a plan."""
        return horizon(self.T_star, self.task.episodes)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Lines 5 and 6 if no interval is in progress, then line 7."""
        if self._attempt[IN_PROGRESS] == 0:
            plan_interval(self.memory())
        h = max(self._attempt[TAKEN], len(self._Q) - self.progress[DISTINCT])
        return int(pick(self._Q[h], state, self._order, draw() * self.chance_factor))

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, compiled; Python only makes room where a row of the counts is full."""
        while not roll_out(model, walk, self.memory()):
            self.counts.widen()

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        counts = self.counts.rows
        if self._mass.shape != counts.counts.shape:
            self._mass = np.empty(counts.counts.shape)
        return Memory(
            counts, Estimates(counts.size, counts.successors, self._mass, self._rest), self._bonus, self._costs,
            self._values, self._Q, self._Q_up, self._order, self._attempt, self.progress,
            self._c_f, 62.0 * float(self.H) ** 3 * (self.task.states + 1), self._B, self.delta / 4.0,
            self.chance_factor,
        )  # fmt: skip

    def values(self) -> Floats:
        """Return J_lo of the last plan."""
        return np.asarray(self._unit * self._values[2, :-1])

    def current_plan(self) -> Plan:
        """Return the last plan, to look at; its policy is that of the first steps."""
        policy = self.mixture(self._Q[-self.progress[DISTINCT]])
        return Plan(policy, stop_after_goals=1, stop_after_steps=self.H, stop_when_cut=True, values=self.values())

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": self.H}


def horizon(T_star: float, episodes: int) -> int:
    """Return H = ceil(8 T* ln(8 K)); the form is checked, the two eights are recalled."""
    return math.ceil(8.0 * T_star * math.log(8.0 * episodes))


@kernel
def log_term(S: int, A: int, H: int, m: int, delta: float) -> float:
    """Return L of line 8; recalled."""
    return 3.0 * math.log(3.0 * (S + 1) * A * H * m / delta)


@kernel
def plan_interval(memory: Memory) -> None:
    """Lines 5 and 8 to 13."""
    counts, rows, bonus, attempt, progress = memory.counts, memory.rows, memory.bonus, memory.attempt, memory.progress
    H, S, A = memory.Q.shape
    progress[NUMBER] += 1
    estimate(0.0, counts.size, counts.counts, counts.visits, rows.mass, rows.rest)
    L = log_term(S, A, H, progress[NUMBER], memory.delta)
    for row in range(S * A):
        n = float(max(counts.visits[row], 1))
        bonus.spread[row] = 2.0 * L / n
        bonus.extra[row] = memory.constant * L / (memory.B * n)
    values = memory.values
    for state in range(S):
        values[0, state] = values[1, state] = memory.terminal_cost
    progress[DISTINCT] = back_up_horizon(
        rows, memory.costs, bonus, values[0], values[1], memory.Q, memory.Q_up, values[2], values[3]
    )
    attempt[TAKEN], attempt[HORIZON], attempt[IN_PROGRESS] = 0, H, 1


@kernel
def roll_out(model: Dynamics, walk: Walk, memory: Memory) -> bool:
    """Plan, act and count while there is room; False before a step whose row is full."""
    # Local variables: reading them from the memory at every step takes as long as the rest.
    size, successors, counts, visits = memory.counts
    attempt, progress, Q, order, chance_factor = (
        memory.attempt, memory.progress, memory.Q, memory.order, memory.chance_factor,
    )  # fmt: skip
    cursor, choices = walk.cursor, walk.choices
    H, S, A = Q.shape
    width = counts.shape[1]
    while has_room(cursor):
        if attempt[IN_PROGRESS] == 0:
            plan_interval(memory)
        state = cursor[STATE]
        h = max(attempt[TAKEN], H - progress[DISTINCT])
        action = pick(Q[h], state, order, chance_factor * choices[cursor[CHOSEN]])
        row = state * A + action
        if size[row] == width and width <= S:
            return False
        cursor[CHOSEN] += 1
        successor = take_step(model, walk, action)
        ended = count_step(row, successor, S, size, successors, counts, visits, attempt)
        if ended > 0:
            end_epoch(walk, ended)
    return True
