"""LCB-Advantage-SSP: model-free optimism with a reference value.

Reference
    Chen, Jafarnia-Jahromi, Jain, Luo: Implicit Finite-Horizon Approximation and Efficient Optimal Algorithms for
    Stochastic Shortest Path (NeurIPS 2021). The full text could not be checked: the formulas are recalled and agree
    with an implementation by others, but for the factors 2 before the roots of line 9, which it has as 1.

Pseudo-code
     1  B <- 1; Q, V, V_ref <- 0; all counts and sums <- 0; the first stage of a pair has e_1 = ceil(H) visits
     2  in every step, in state s:
     3      play a = argmin Q(s, .), observe s'; n <- n + 1, m <- m + 1          (m: visits in this stage)
     4      r += V_ref(s'), r2 += V_ref(s')²                                    (over all visits)
     5      v += V(s'), d += V(s') - V_ref(s'), d2 += (V(s') - V_ref(s'))²      (over this stage)
     6      if the stage of (s, a) ends:
     7          iota <- 256 ln(4 S A B⁸ n⁵ / delta)⁶
     8          b  <- 2 sqrt(B² iota / m) + sqrt(c iota / n) + iota / n
     9          b' <- 2 sqrt(Var_ref iota / n) + 2 sqrt(Var_d iota / m) + (4 B / n + 3 B / m) iota + sqrt(c iota / n)
    10          Q(s, a) <- max { Q(s, a), c + v/m - b, c + r/n + d/m - b' };  V(s) <- min_a Q(s, a)
    11          if V(s) > B: B <- 2 V(s)
    12          m, v, d, d2 <- 0; the next stage has floor((1 + 1/H) e) visits
    13      if the visits of s are a power of two: V_ref(s) <- V(s)

    H = ceil((4 B*/c_min) ln(2 / beta) + 1) with beta = c_min / (2 B*² S A K), recalled with less confidence. Costs are
    known here, so c^ = c and the terms sqrt(c iota / n) of lines 8 and 9 are dropped; unknown ones are treated as
    `goalward.agents.optimistic.common` says. The paper stops line 13 after
    theta* visits, which is of no effect in runs of practical length and left out.

How it maps
    `act` is the argmin of line 3, `learn` lines 3 to 13, `rollout` both in one kernel. With the theory's constants
    the bonus exceeds all values for longer than any run: use `scale`.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge

from goalward.acting.contract import Step, Task
from goalward.acting.model_world import CHOSEN, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop import TableStop
from goalward.agents.base import register
from goalward.agents.optimistic.common import Fact, OnlineOptimist
from goalward.agents.ties import best_tried, pick
from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import LARGEST_NUMBER
from goalward.errors import CostError
from goalward.jit import kernel

__all__ = ["FACTOR", "LCBAdvantage", "iota", "stage_horizon"]

FACTOR = 2.0
"""The factor before the two roots of line 9, recalled."""

REFERENCE, SQUARES, STAGE, ADVANTAGE, ADVANTAGE_SQUARES = range(5)


class Memory(NamedTuple):
    """What the kernels read and change; ``sums[s, a]`` are r, r2, v, d, d2."""

    costs: Floats
    Q: Floats
    V: Floats
    V_ref: Floats
    B: Floats
    visits: Int64s
    state_visits: Int64s
    stage_visits: Int64s
    stage_length: Int64s
    sums: Floats
    horizon: float
    logarithm: float
    scale: float


@register("lcb-advantage")
class LCBAdvantage(OnlineOptimist, kw_only=True):
    """Model-free optimism in stages; memory S A."""

    B_star: Fact
    """B*, or a bound on it: for the length of the stages alone."""

    horizon: Annotated[float, Ge(1.0)] | None = None
    """H, which decides the length of the stages; None for that of the theory."""

    needs: ClassVar[tuple[str, ...]] = ("B_star",)

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        del self.counts  # no model: memory S A
        self.V_ref = np.zeros(task.states + 1)
        theory = stage_horizon(self.name, self._costs, self.B_star / self._unit, task.episodes)
        self._horizon = theory if self.horizon is None else float(math.ceil(self.horizon))
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self.state_visits: Int64s = np.zeros(task.states, dtype=np.int64)
        self.stage_visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self.stage_length: Int64s = np.full(task.costs.shape, int(self._horizon))
        self.sums = np.zeros((*task.costs.shape, 5))

    def learn(self, step: Step[int]) -> int:
        """Lines 3 to 13."""
        self.learn_cost(step)
        update(step.state, step.action, step.next_state, self.memory())
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn in one kernel."""
        roll_out(model, walk, self.chance_factor, self._order, self.memory())

    def mean_model(self) -> None:
        """Return None: there is no model."""

    def best_policy(self) -> Floats:
        """Return the smallest Q among the actions that were tried; tied ones with equal probability."""
        return best_tried(self.Q, self.visits)

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        logarithm = math.log(4.0 * self.task.costs.size / self.delta)
        return Memory(
            self._costs, self.Q, self.V, self.V_ref, self.B, self.visits, self.state_visits, self.stage_visits,
            self.stage_length, self.sums, self._horizon, logarithm, self.scale,
        )  # fmt: skip

    def notes(self) -> dict[str, int | float | str]:
        """Return H, beside B at the end, the scale and the rule for ties."""
        return super().notes() | {"horizon": self._horizon}


def stage_horizon(agent: str, costs: Floats, B_star: float, episodes: int) -> float:
    """Return H, from 1 to 2^53; recalled."""
    c_min = float(costs.min())
    if c_min <= 0.0:
        raise CostError(
            f"a cost is 0, or may be; {agent} needs positive costs, because its stages grow with 1/c_min: use vi-ssp"
        )
    # In logarithms, because beta may be smaller than any double.
    log_ratio = math.log(4.0 * costs.size * episodes) + 2.0 * math.log(B_star) - math.log(c_min)
    # A small B* makes beta exceed 2 and the logarithm negative. No run is longer than the largest number.
    return float(math.ceil(min(max(4.0 * B_star / c_min * log_ratio + 1.0, 1.0), LARGEST_NUMBER)))


@kernel
def iota(logarithm: float, B: float, n: float) -> float:
    """Return line 7; `logarithm` is ln(4 S A / delta)."""
    total = logarithm + 8.0 * math.log(B) + 5.0 * math.log(n)
    cube = total * total * total
    return float(256.0 * cube * cube)


@kernel
def update(state: int, action: int, successor: int, memory: Memory) -> None:
    """Lines 3 to 13."""
    V = memory.V
    sums = memory.sums[state, action]
    value = V[successor]
    reference = memory.V_ref[successor]
    advantage = value - reference
    visits = memory.visits[state, action] + 1
    stage_visits = memory.stage_visits[state, action] + 1
    played = memory.state_visits[state] + 1
    memory.visits[state, action] = visits
    memory.stage_visits[state, action] = stage_visits
    memory.state_visits[state] = played
    sums[REFERENCE] += reference
    sums[SQUARES] += reference * reference
    sums[STAGE] += value
    sums[ADVANTAGE] += advantage
    sums[ADVANTAGE_SQUARES] += advantage * advantage
    if stage_visits >= memory.stage_length[state, action]:
        n = float(visits)
        m = float(stage_visits)
        B = memory.B[0]
        log_term = iota(memory.logarithm, B, n)
        mean_reference = sums[REFERENCE] / n
        mean_advantage = sums[ADVANTAGE] / m
        spread = max(sums[SQUARES] / n - mean_reference * mean_reference, 0.0)
        spread_advantage = max(sums[ADVANTAGE_SQUARES] / m - mean_advantage * mean_advantage, 0.0)
        plain = 2.0 * B * np.sqrt(log_term / m) + log_term / n
        refined = FACTOR * (np.sqrt(spread * log_term / n) + np.sqrt(spread_advantage * log_term / m))
        refined += (4.0 * B / n + 3.0 * B / m) * log_term
        cost = memory.costs[state, action]
        first = cost + sums[STAGE] / m - memory.scale * plain
        second = cost + mean_reference + mean_advantage - memory.scale * refined
        memory.Q[state, action] = max(memory.Q[state, action], first, second)
        V[state] = np.inf
        for other in range(memory.Q.shape[1]):
            V[state] = min(V[state], memory.Q[state, other])
        if V[state] > B:
            memory.B[0] = 2.0 * V[state]
        memory.stage_visits[state, action] = 0
        memory.stage_length[state, action] = int((1.0 + 1.0 / memory.horizon) * memory.stage_length[state, action])
        for part in range(STAGE, ADVANTAGE_SQUARES + 1):
            sums[part] = 0.0
    if played & (played - 1) == 0:
        memory.V_ref[state] = V[state]


@kernel
def roll_out(model: Dynamics, walk: Walk, chance_factor: float, order: Int64s, memory: Memory) -> None:
    """Act and learn while there is room."""
    cursor = walk.cursor
    while has_room(cursor):
        state = cursor[STATE]
        action = pick(memory.Q, state, order, chance_factor * walk.choices[cursor[CHOSEN]])
        cursor[CHOSEN] += 1
        update(state, action, take_step(model, walk, action), memory)
