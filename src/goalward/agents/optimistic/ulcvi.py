"""ULCVI: a reduction to a finite horizon, with lower and upper confidence bounds on the values.

Reference
    Cohen, Efroni, Mansour, Rosenberg: Minimax Regret for Stochastic Shortest Path (NeurIPS 2021), Algorithms 1 and 2.
    The text was not available. The form of the reduction was checked against a paper by Chen, Jain and Luo (2022).
    The constants and the bonuses were written from memory (see docs/reference/agents-optimistic.md).

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
                     + sqrt(2 Var(c^) L/n⁺) + 5 L/n⁺        only if c is unknown; line 12 then uses c^ instead of c
    12          Q_lo <- max { c - b + p^ J_lo, 0 }; Q_up <- c + b + p^ J_up
    13          pi_h(s) <- argmin_a Q_lo; J_lo(s) <- Q_lo(s, pi_h(s)); J_up(s) <- min { Q_up(s, pi_h(s)), H + 8 B* }

Implementation
    This is an online agent. If no interval is in progress, `act` calls `plan_interval` for lines 5, 6 and 8 to 13. Then
    `act` plays an action of line 7, and `learn` counts the step. `rollout` does the work of `act` and `learn` in one
    kernel, because every episode needs a new plan. The backups of lines 10 to 13 are in `backup.py`. The loop of line
    10 ends when a backup changes neither J_lo nor J_up, because further backups would change nothing. Ties are broken
    at every step. c^ is the mean cost so far, and 0 before the first visit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from goalward.acting.contract import Plan, Step, Task
from goalward.acting.model_world import CHOSEN, STATE, Dynamics, Walk, end_epoch, has_room, take_step
from goalward.acting.stop_conditions import TableStop
from goalward.agents.base import register
from goalward.agents.optimistic.attempts import DISTINCT, HORIZON, IN_PROGRESS, TAKEN, Attempts, count_step
from goalward.agents.optimistic.backup import Bonus, Estimates, back_up_horizon
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int64s
from goalward.beliefs.costs import add_costs
from goalward.beliefs.counts import RowCounts, estimate
from goalward.errors import SettingError
from goalward.jit import kernel
from goalward.settings import Positive

LARGEST_PLAN = 1 << 28


class Memory(NamedTuple):
    """The data that `plan_interval` reads and changes.

    `constant` is 62 H³ S', and `J` holds J_lo and J_up of two steps. `cost_unknown` is 1 for rows with unknown costs
    and 0 for other rows. `cost_spread` is Var(c^) for unknown costs and 0 for known costs.
    """

    counts: RowCounts
    rows: Estimates
    bonus: Bonus
    costs: Floats
    J: Floats
    Q: Floats
    Q_up: Floats
    attempt: Int64s
    m: Int64s
    cost_unknown: Floats
    cost_spread: Floats
    c_f: float
    constant: float
    B: float
    delta: float


@register("ulcvi")
class ULCVI(Attempts, kw_only=True):
    """Optimism by exploration bonuses over a finite horizon. Needs B* and T*."""

    bound = "O~(sqrt((B*² + B*) S A K))"
    assumes = "B* and T* known"

    B_star: Positive
    """B*, the largest optimal value."""

    T_star: Positive
    """T*, the largest expected number of steps of the optimal policy."""

    needs: ClassVar[tuple[str, ...]] = ("B_star", "T_star")
    unknown_costs_covered: ClassVar[bool] = True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` (line 1 of the algorithm)."""
        super().begin(task, rng)
        H, pairs = horizon(self.T_star, task.episodes), task.costs.size
        if H * pairs > LARGEST_PLAN:
            raise SettingError(
                f"plans of 8 T* ln(8 K) = {H} steps for {pairs} state-action pairs do not fit into memory; use a"
                " smaller T_star, or an agent without a horizon, such as eb-ssp"
            )
        self._chance_factor = float(self.ties == "random")  # with 0, `pick` takes the first of the tied actions
        self._Q = np.zeros((H, *task.costs.shape))
        self.m: Int64s = np.zeros(1, dtype=np.int64)
        c_f, B = 8.0 * self.B_star / self._unit, 9.0 * self.B_star / self._unit
        spread, floor, extra = np.zeros((3, task.costs.size))
        self._bonus = Bonus(spread, floor, extra, self.scale, B / (16.0 * H * H), H + c_f)
        self._numbers = (c_f, 62.0 * float(H) ** 3 * (task.states + 1), B, self.delta / 4.0)
        self._mass, self._rest = np.empty(self.counts.counts.shape), np.empty(task.costs.size)
        self._Q_up, self._J = np.zeros(task.costs.shape), np.zeros((4, task.states + 1))
        self._V: Floats = self._J[2]
        self._cost_unknown = self.paid.unknown.ravel().astype(np.float64)
        self._cost_spread = np.zeros(task.costs.size)

    @property
    def has_kernel(self) -> bool:
        """Whether all costs are known. Kernels cannot estimate unknown costs."""
        return not self.task.costs_unknown

    def learn(self, step: Step[int]) -> int:
        """Count `step`, and update the estimate of its cost if the cost is unknown."""
        if self.task.costs_unknown:
            paid = self.paid
            columns = np.array([step.state]), np.array([step.action]), np.array([step.cost])
            add_costs(*columns, paid.unknown, paid.visits, paid.means, paid.squares, paid.seen)
            self.estimate_costs((step.state, step.action))
        return super().learn(step)

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self.task.costs_unknown:
            self.estimate_costs()

    def estimate_costs(self, pairs: Any = ...) -> None:
        """Compute c^ and Var(c^) for the pairs with the index `pairs`, by default for all pairs."""
        paid, spread = self.paid, self._cost_spread.reshape(self.task.costs.shape)
        mean = paid.means[pairs] / self._unit
        self._costs[pairs] = np.where(paid.unknown[pairs], mean, self._costs[pairs])
        spread[pairs] = paid.squares[pairs] / np.maximum(paid.visits[pairs], 1) / self._unit**2

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Return the action for `state` (line 7). If no interval is in progress, plan a new interval first."""
        if self._attempt[IN_PROGRESS] == 0:
            plan_interval(self.memory())
        h = max(self._attempt[TAKEN], len(self._Q) - self._attempt[DISTINCT])
        return int(pick(self._Q[h], state, self._order, draw() * self._chance_factor))

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        while not roll_out(model, walk, self._order, self._chance_factor, self.memory()):
            self.counts.widen()

    def values(self) -> Floats:
        return self._unit * self._V[:-1]

    def current_plan(self) -> Plan:
        """Return the last plan for display, with the policy for the first steps of the interval."""
        policy, values = self.mixture(self._Q[-self._attempt[DISTINCT]]), self.values()
        return Plan(policy, stop_after_goals=1, stop_after_steps=len(self._Q), stop_when_truncated=True, values=values)

    def notes(self) -> dict[str, int | float | str]:
        return super().notes() | {"horizon": len(self._Q)}

    def memory(self) -> Memory:
        """Return the data that the kernels read and change."""
        counts = self.counts.rows
        if self._mass.shape != counts.counts.shape:
            self._mass = np.empty(counts.counts.shape)
        rows = Estimates(counts.size, counts.successors, self._mass, self._rest)
        arrays = (self._costs, self._J, self._Q, self._Q_up, self._attempt, self.m)
        return Memory(counts, rows, self._bonus, *arrays, self._cost_unknown, self._cost_spread, *self._numbers)


def horizon(T_star: float, episodes: int) -> int:
    """Return the horizon H of line 1."""
    return math.ceil(8.0 * T_star * math.log(8.0 * episodes))


@kernel
def log_term(S: int, A: int, H: int, m: int, delta: float) -> float:
    """Return L of line 8. The formula was written from memory."""
    return 3.0 * math.log(3.0 * (S + 1) * A * H * m / delta)


@kernel
def plan_interval(memory: Memory) -> None:
    """Start an interval and compute its policies (lines 5, 6 and 8 to 13 of the algorithm)."""
    counts, rows, bonus, attempt, J = memory.counts, memory.rows, memory.bonus, memory.attempt, memory.J
    H, S, A = memory.Q.shape
    memory.m[0] += 1
    estimate(0.0, counts.size, counts.counts, counts.visits, rows.mass, rows.rest)
    L = log_term(S, A, H, memory.m[0], memory.delta)
    for row in range(S * A):
        n = float(max(counts.visits[row], 1))
        bonus.spread[row] = 2.0 * L / n
        bonus.extra[row] = memory.constant * L / (memory.B * n)
        bonus.extra[row] += memory.cost_unknown[row] * (math.sqrt(2.0 * memory.cost_spread[row] * L / n) + 5.0 * L / n)
    for state in range(S):
        J[0, state] = J[1, state] = memory.c_f
    steps = back_up_horizon(rows, memory.costs, bonus, J[0], J[1], memory.Q, memory.Q_up, J[2], J[3])
    attempt[TAKEN], attempt[HORIZON], attempt[IN_PROGRESS], attempt[DISTINCT] = 0, H, 1, steps


@kernel
def roll_out(model: Dynamics, walk: Walk, order: Int64s, chance_factor: float, memory: Memory) -> bool:
    """Plan, act and count until `walk` is full (return True) or a row of the counts is full (return False)."""
    cursor, choices, attempt, Q = walk.cursor, walk.choices, memory.attempt, memory.Q
    size, successors, counts, visits = memory.counts
    H, S, A = Q.shape
    width = counts.shape[1]
    while has_room(cursor):
        if attempt[IN_PROGRESS] == 0:
            plan_interval(memory)
        state = cursor[STATE]
        h = max(attempt[TAKEN], H - attempt[DISTINCT])
        action = pick(Q[h], state, order, chance_factor * choices[cursor[CHOSEN]])
        row = state * A + action
        if size[row] == width and width <= S:
            return False
        cursor[CHOSEN] += 1
        ended = count_step(row, take_step(model, walk, action), S, size, successors, counts, visits, attempt)
        if ended > 0:
            end_epoch(walk, ended)
    return True
