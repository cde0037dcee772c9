"""SVI-SSP: optimistic backups of one pair at the ends of its stages.

Reference
    Chen, Jafarnia-Jahromi, Jain, Luo: Implicit Finite-Horizon Approximation and Efficient Optimal Algorithms for
    Stochastic Shortest Path (NeurIPS 2021). The full text could not be checked: the form is recalled; the constants 7,
    49 and 20 are those of MVP+ by the same first author (ICML 2022); H and the stages are recalled with less
    confidence.

Pseudo-code
     1  B <- 1; Q, V <- 0; n <- 0; the stages of a pair have e_1, e_2, ... visits:
            f_1 = 1, e_j = floor(f_j), f_{j+1} = f_j + e_j / H
     2  in every step, in state s:
     3      play a = argmin Q(s, .), observe s'; n(s, a) <- n(s, a) + 1, n(s, a, s') <- n(s, a, s') + 1
     4      if a stage of (s, a) ends:
     5          p^ <- n(s, a, .) / n(s, a);  iota <- 20 ln(2 S A n(s, a) / delta)
     6          b <- max { 7 sqrt(Var(p^, V) iota / n(s, a)), 49 B iota / n(s, a) }
     7          Q(s, a) <- max { c(s, a) + p^ V - b, Q(s, a) };  V(s) <- min_a Q(s, a)
     8          if V(s) > B: B <- 2 B

    H = ceil((4 B*/c_min) ln(2 / beta) + 1) with beta = c_min / (2 B*² S A K). Costs are known here, so the bonus for
    them is dropped; unknown ones are treated as `common.py` says.

How it maps
    `act` is the argmin of line 3, `learn` lines 3 to 8, `rollout` both in one kernel.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.model_world import CHOSEN, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop import TableStop
from goalward.agents.base import register
from goalward.agents.model_free.lcb_advantage import stage_horizon
from goalward.agents.optimistic.backup import moments
from goalward.agents.optimistic.common import ROW_FULL, Fact, OnlineOptimist
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import enter
from goalward.jit import kernel

__all__ = ["C1", "C2", "SVISSP", "iota"]

C1, C2, C3 = 7.0, 49.0, 20.0
"""The constants of lines 5 and 6."""


@register("svi-ssp")
class SVISSP(OnlineOptimist, kw_only=True):
    """Optimism by bonuses with sparse updates; it is told B*, for the length of the stages alone."""

    B_star: Fact
    """B*, or a bound on it."""

    needs: ClassVar[tuple[str, ...]] = ("B_star",)

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.stage = np.ones(task.costs.shape)
        self.stage_end: Int64s = np.ones(task.costs.shape, dtype=np.int64)
        self._horizon = stage_horizon(self.name, self._costs, self.B_star / self._unit, task.episodes)

    def learn(self, step: Step[int]) -> int:
        """Lines 3 to 8."""
        self.learn_cost(step)
        state, action = step.state, step.action
        while (ended := count_step(state, action, step.next_state, *self.counts.rows, self.stage_end)) == ROW_FULL:
            self.counts.widen()
        if ended:
            end_stage(state, action, *self.memory())
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, compiled; Python only makes room where a row of the counts is full."""
        while not roll_out(model, walk, self.chance_factor, self._order, *self.memory()):
            self.counts.widen()

    def memory(self) -> tuple[Any, ...]:
        """Return what the kernels read and change."""
        logarithm = math.log(2.0 * self.task.costs.size / self.delta)
        return (
            self._costs, *self.counts.rows, self.Q, self.V, self.B, self.stage, self.stage_end, self._horizon,
            logarithm, self.scale,
        )  # fmt: skip

    def notes(self) -> dict[str, int | float | str]:
        """Return H, beside B at the end, the scale and the rule for ties."""
        return super().notes() | {"horizon": self._horizon}


@kernel
def iota(logarithm: float, n: float) -> float:
    """Return line 5; `logarithm` is ln(2 S A / delta)."""
    return float(C3 * (logarithm + math.log(n)))


@kernel
def count_step(
    state: int, action: int, successor: int,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, stage_end: Int64s,
) -> int:  # fmt: skip
    """Line 3; return whether the stage of the pair ends, or ROW_FULL with nothing changed."""
    row = state * stage_end.shape[1] + action
    if not enter(row, successor, size, successors, counts):
        return ROW_FULL
    visits[row] += 1
    return int(visits[row] >= stage_end[state, action])


@kernel
def end_stage(
    state: int, action: int,
    costs: Floats, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, Q: Floats, V: Floats, B: Floats,
    stage: Floats, stage_end: Int64s, horizon: float, logarithm: float, scale: float,
) -> None:  # fmt: skip
    """Lines 5 to 8; ``stage[s, a]`` is f, ``stage_end[s, a]`` the visits at which e ends."""
    row = state * Q.shape[1] + action
    n = float(visits[row])
    m, v = moments(row, size, successors, counts, n, V)
    log_term = iota(logarithm, n)
    bonus = max(C1 * np.sqrt(v * log_term / n), C2 * B[0] * log_term / n)
    Q[state, action] = max(costs[state, action] + m - scale * bonus, Q[state, action])
    V[state] = np.inf
    for other in range(Q.shape[1]):
        V[state] = min(V[state], Q[state, other])
    if V[state] > B[0]:
        B[0] *= 2.0
    stage[state, action] += np.floor(stage[state, action]) / horizon
    stage_end[state, action] += int(stage[state, action])


@kernel
def roll_out(
    model: Dynamics, walk: Walk, chance_factor: float, order: Int64s,
    costs: Floats, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, Q: Floats, V: Floats, B: Floats,
    stage: Floats, stage_end: Int64s, horizon: float, logarithm: float, scale: float,
) -> bool:  # fmt: skip
    """Act and learn while there is room; False before a step whose row is full."""
    S, A = Q.shape
    width = counts.shape[1]
    cursor, choices = walk.cursor, walk.choices
    while has_room(cursor):
        state = cursor[STATE]
        action = pick(Q, state, order, chance_factor * choices[cursor[CHOSEN]])
        if size[state * A + action] == width and width <= S:
            return False
        cursor[CHOSEN] += 1
        successor = take_step(model, walk, action)
        if count_step(state, action, successor, size, successors, counts, visits, stage_end) > 0:
            end_stage(
                state, action, costs, size, successors, counts, visits, Q, V, B, stage, stage_end, horizon, logarithm,
                scale,
            )  # fmt: skip
    return True
