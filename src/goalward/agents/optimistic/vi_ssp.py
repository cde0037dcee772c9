"""VI-SSP: one optimistic backup per step, and nothing to be told.

Reference
    Dann, Wei, Zimmert: A Unified Algorithm for Stochastic Path Problems (ALT 2023), the algorithm for costs. The paper
    leaves the constants c_1 and c_2 open but for 2 c_1² <= c_2; 6 and 72 are those of Cai, Ma, Du (ICML 2022).

Pseudo-code
     1  B <- 1; Q, V <- 0; n <- 0
     2  in every step, in state s:
     3      play a = argmin Q(s, .), observe s'; n(s, a) <- n(s, a) + 1, n(s, a, s') <- n(s, a, s') + 1
     4      p^ <- n(s, a, .) / n(s, a)
     5      iota <- ln(S A / delta) + ln ln(B n(s, a))
     6      b <- max { c_1 sqrt(Var(p^, V) iota / n(s, a)), c_2 B iota / n(s, a) }
     7      q <- max { c(s, a) + p^ V - b, Q(s, a) }
     8      if q > B: B <- 2 B and again from line 5
     9      Q(s, a) <- q; V(s) <- min_a Q(s, a)

How it maps
    `choose` is the argmin of line 3, `observe` lines 3 to 9, `advance` both in one kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward.acting.next_state import Dynamics, draw_successor
from goalward.agents.base import Steps, Task, register
from goalward.agents.optimistic.common import StepOptimist
from goalward.agents.smallest_tasks import act_and_learn
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import enter, mean, variance
from goalward.jit import exercise, kernel

__all__ = ["C1", "C2", "VISSP", "iota"]

C1, C2 = 6.0, 72.0
"""The constants of line 6, chosen: the paper only asks for 2 c_1² <= c_2 and both large enough."""


@register("vi-ssp")
@dataclass(eq=False, kw_only=True)
class VISSP(StepOptimist):
    """Optimism by bonuses, updated at every step; it needs no parameter but delta."""

    @property
    def leaves_free_loops(self) -> bool:
        """False: where staying is free, line 7 never raises Q above 0."""
        return False

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self._mass = np.zeros(self.counts.counts.shape)

    def observe(self, steps: Steps) -> None:
        """Lines 3 to 9, for each step."""
        for state, action, successor in zip(
            steps.states.tolist(), steps.actions.tolist(), steps.next_states.tolist(), strict=True
        ):
            self.make_room(state * self.task.actions + action)
            learn_step(state, action, successor, *self.learnt())

    def advance(self, world: Dynamics, state: int, goals: int, luck: Floats, chances: Floats, steps: Steps) -> int:
        """Act and learn, compiled; Python only makes room where a row of the counts is full."""
        cursor = np.array([state, goals, 0])
        while True:
            full = live(*world, cursor, luck, chances, self.chance_factor, *steps, self._order, *self.learnt())
            if full < 0:
                return int(cursor[2])
            self.make_room(full)

    def make_room(self, row: int) -> None:
        """See to it that a row can take one more successor."""
        counts = self.counts
        if counts.size[row] == counts.width <= counts.goal:
            counts.widen()

    def learnt(self) -> tuple[Any, ...]:
        """Return what the kernels read and change."""
        # Rows grow here, and where counts are read from a file.
        if self._mass.shape != self.counts.counts.shape:
            self._mass = np.zeros(self.counts.counts.shape)
        logarithm = math.log(self.task.costs.size / self.delta)
        return self._costs, *self.counts.rows, self._mass, self.Q, self.V, self.B, logarithm, self.scale


@kernel
def iota(logarithm: float, B: float, n: float) -> float:
    """Return line 5, ln(S A / delta) + ln ln(B n), the second term from B n = e on; `logarithm` is the first."""
    return float(logarithm + math.log(max(math.log(B * n), 1.0)))


@kernel
def learn_step(
    state: int, action: int, successor: int, costs: Floats,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, mass: Floats,
    Q: Floats, V: Floats, B: Floats, logarithm: float, scale: float,
) -> None:  # fmt: skip
    """Carry lines 3 to 9 out for one step, for which its row has room."""
    A = costs.shape[1]
    row = state * A + action
    enter(row, successor, size, successors, counts)
    visits[row] += 1
    n = float(visits[row])
    for entry in range(size[row]):
        mass[row, entry] = counts[row, entry] / n
    m = mean(row, size, successors, mass, V)
    v = variance(row, size, successors, mass, 0.0, V, m)
    while True:
        log_term = iota(logarithm, B[0], n)
        bonus = max(C1 * np.sqrt(v * log_term / n), C2 * B[0] * log_term / n)
        q = max(costs[state, action] + m - scale * bonus, Q[state, action])
        if q <= B[0]:
            break
        B[0] *= 2.0
    Q[state, action] = q
    V[state] = np.inf
    for other in range(A):
        V[state] = min(V[state], Q[state, other])


@kernel
def live(
    indptr: Int64s, world_successors: Int32s, cumulative: Floats, world_costs: Floats, initial_state: int,
    cursor: Int64s, luck: Floats, chances: Floats, chance_factor: float,
    states: Int64s, actions: Int64s, paid: Floats, next_states: Int64s, order: Int64s, costs: Floats,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, mass: Floats,
    Q: Floats, V: Floats, B: Floats, logarithm: float, scale: float,
) -> int:  # fmt: skip
    """Act and learn from (state, goals to go, steps done) in `cursor` on; return a row that is full, -1 at the end."""
    S, A = costs.shape
    while cursor[2] < luck.size and cursor[1] > 0:
        i = cursor[2]
        state = cursor[0]
        action = pick(Q, state, order, chance_factor * chances[i])
        row = state * A + action
        if size[row] == counts.shape[1] and size[row] <= S:
            return int(row)
        states[i] = state
        actions[i] = action
        paid[i] = world_costs[state, action]
        next_states[i] = draw_successor(indptr, world_successors, cumulative, row, luck[i])
        # Read back, it is a 64-bit integer like all states that the other kernels see: one specialisation of each.
        successor = next_states[i]
        learn_step(
            state, action, successor, costs, size, successors, counts, visits, mass, Q, V, B, logarithm, scale
        )  # fmt: skip
        cursor[2] += 1
        if successor == S:
            cursor[0] = initial_state
            cursor[1] -= 1
        else:
            cursor[0] = successor
    return -1


@exercise
def exercise_vi_ssp() -> None:
    """Act once and learn once."""
    act_and_learn(VISSP())
