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
    `act` is the argmin of line 3, `learn` lines 3 to 9, `rollout` both in one kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.model_world import CHOSEN, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop_conditions import TableStop
from goalward.agents.base import register
from goalward.agents.optimistic.common import StepOptimist
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import enter
from goalward.jit import kernel

C1, C2 = 6.0, 72.0
"""The constants of line 6, chosen: the paper only asks for 2 c_1² <= c_2 and both large enough."""


@register("vi-ssp")
class VISSP(StepOptimist):
    """Optimism by bonuses, updated at every step; it needs no parameter but delta."""

    bound = "O~(sqrt(V* B* S A K) + B* S² A)"
    assumes = "nothing else"

    @property
    def leaves_free_loops(self) -> bool:
        """False: where staying is free, line 7 never raises Q above 0."""
        return False

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.V = np.zeros(task.states + 1)
        self.B = np.ones(1)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Line 3: the argmin."""
        return int(pick(self.Q, state, self._order, draw() * self.chance_factor))

    def values(self) -> Floats:
        return self._unit * self.V[:-1]

    def notes(self) -> dict[str, int | float | str]:
        return super().notes() | {"B": self._unit * float(self.B[0])}

    def learn(self, step: Step[int]) -> int:
        """Lines 3 to 9."""
        self.learn_cost(step)
        while not update(step.state, step.action, step.next_state, *self.memory()):
            self.counts.widen()
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        while not roll_out(model, walk, self.chance_factor, self._order, *self.memory()):
            self.counts.widen()

    def memory(self) -> tuple[Any, ...]:
        """Return what the kernels read and change."""
        logarithm = math.log(self.task.costs.size / self.delta)
        return self._costs, *self.counts.rows, self.Q, self.V, self.B, logarithm, self.scale


@kernel
def iota(logarithm: float, B: float, n: float) -> float:
    """Return line 5, ln(S A / delta) + ln ln(B n), the second term from B n = e on; `logarithm` is the first."""
    return float(logarithm + math.log(max(math.log(B * n), 1.0)))


@kernel
def moments(row: int, size: Int64s, successors: Int32s, counts: Int64s, n: float, V: Floats) -> tuple[float, float]:
    """Return the mean and the variance of V(s') under p^ = counts / n of one row."""
    m = 0.0
    for entry in range(size[row]):
        m += counts[row, entry] / n * V[successors[row, entry]]
    v = 0.0
    for entry in range(size[row]):
        away = V[successors[row, entry]] - m
        v += counts[row, entry] / n * away * away
    return m, v


@kernel
def update(
    state: int, action: int, successor: int,
    costs: Floats, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, Q: Floats, V: Floats, B: Floats,
    logarithm: float, scale: float,
) -> bool:  # fmt: skip
    """Lines 3 to 9; False, with nothing changed, if the row of the pair has no room for the successor."""
    row = state * Q.shape[1] + action
    if not enter(row, successor, size, successors, counts):
        return False
    visits[row] += 1
    n = float(visits[row])
    m, v = moments(row, size, successors, counts, n, V)
    while True:
        log_term = iota(logarithm, B[0], n)
        bonus = max(C1 * np.sqrt(v * log_term / n), C2 * B[0] * log_term / n)
        q = max(costs[state, action] + m - scale * bonus, Q[state, action])
        if q <= B[0]:
            break
        B[0] *= 2.0
    Q[state, action] = q
    V[state] = np.inf
    for other in range(Q.shape[1]):
        V[state] = min(V[state], Q[state, other])
    return True


@kernel
def roll_out(
    model: Dynamics, walk: Walk, chance_factor: float, order: Int64s,
    costs: Floats, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, Q: Floats, V: Floats, B: Floats,
    logarithm: float, scale: float,
) -> bool:  # fmt: skip
    """Act and learn while the walk has room; False before a step whose row cannot take a new successor."""
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
        update(state, action, successor, costs, size, successors, counts, visits, Q, V, B, logarithm, scale)
    return True
