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
    them is dropped.

How it maps
    `act` is the argmin of line 3, `learn` lines 3 to 8, `rollout` both in one kernel.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.rollout import CHOSEN, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop import TableStop
from goalward.agents.base import register
from goalward.agents.model_free.lcb_advantage import stage_horizon
from goalward.agents.optimistic.common import Fact, OnlineOptimist
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import enter
from goalward.jit import kernel

__all__ = ["C1", "C2", "SVISSP", "iota"]

C1, C2, C3 = 7.0, 49.0, 20.0
"""The constants of lines 5 and 6."""


class Memory(NamedTuple):
    """What the kernels read and change; ``stage[s, a]`` is f, ``stage_end[s, a]`` the visits at which e ends."""

    costs: Floats
    size: Int64s
    successors: Int32s
    counts: Int64s
    visits: Int64s
    Q: Floats
    V: Floats
    B: Floats
    stage: Floats
    stage_end: Int64s
    horizon: float
    logarithm: float
    scale: float


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
        while not update(step.state, step.action, step.next_state, self.memory()):
            self.counts.widen()
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, compiled; Python only makes room where a row of the counts is full."""
        while not roll_out(model, walk, self.chance_factor, self._order, self.memory()):
            self.counts.widen()

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        logarithm = math.log(2.0 * self.task.costs.size / self.delta)
        return Memory(
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
def update(state: int, action: int, successor: int, memory: Memory) -> bool:
    """Lines 3 to 8; False, with nothing changed, if the row of the pair has no room for the successor."""
    row = state * memory.costs.shape[1] + action
    if not enter(row, successor, memory.size, memory.successors, memory.counts):
        return False
    memory.visits[row] += 1
    if memory.visits[row] < memory.stage_end[state, action]:
        return True
    n = float(memory.visits[row])
    mean = 0.0
    for entry in range(memory.size[row]):
        mean += memory.counts[row, entry] / n * memory.V[memory.successors[row, entry]]
    variance = 0.0
    for entry in range(memory.size[row]):
        away = memory.V[memory.successors[row, entry]] - mean
        variance += memory.counts[row, entry] / n * away * away
    log_term = iota(memory.logarithm, n)
    bonus = max(C1 * np.sqrt(variance * log_term / n), C2 * memory.B[0] * log_term / n)
    backup = memory.costs[state, action] + mean - memory.scale * bonus
    memory.Q[state, action] = max(backup, memory.Q[state, action])
    memory.V[state] = np.inf
    for other in range(memory.Q.shape[1]):
        memory.V[state] = min(memory.V[state], memory.Q[state, other])
    if memory.V[state] > memory.B[0]:
        memory.B[0] *= 2.0
    memory.stage[state, action] += np.floor(memory.stage[state, action]) / memory.horizon
    memory.stage_end[state, action] += int(memory.stage[state, action])
    return True


@kernel
def roll_out(model: Dynamics, walk: Walk, chance_factor: float, order: Int64s, memory: Memory) -> bool:
    """Act and learn while there is room; False before a step whose row is full."""
    S, A = memory.Q.shape
    cursor = walk.cursor
    while has_room(cursor):
        state = cursor[STATE]
        action = pick(memory.Q, state, order, chance_factor * walk.choices[cursor[CHOSEN]])
        size = memory.size[state * A + action]
        if size == memory.counts.shape[1] and size <= S:
            return False
        cursor[CHOSEN] += 1
        update(state, action, take_step(model, walk, action), memory)
    return True
