"""UC-SSP: optimism over L1 balls of kernels, with a horizon for every attempt to reach the goal.

Reference
    Tarbouriech, Garcelon, Valko, Pirotta, Lazaric: No-Regret Exploration in Goal-Oriented Reinforcement Learning
    (ICML 2020), Algorithms 1 and 2. If some cost is zero, we use the variant UC-SSP-L_eta from the appendix.

Pseudo-code
     1  t <- 1, G <- 0
     2  for episodes k = 1, ..., K:
     3      s <- s_init, j <- 0
     4      while s is not the goal:
     5          t_0 <- t; if j > 0: G <- G + 1
     6          (pi, H) <- EVI-SSP(k, j, t_0, G)
     7          play pi until the goal is reached or H steps are done
     8          add the visits of this attempt to the counts
     9          if s is not the goal: j <- j + 1

    EVI-SSP
    10      if j = 0: eps <- c_min / (2 t_0), gamma <- 1 / sqrt(k), plan with the costs          (phase 1)
    11      else:     eps <- 1 / (2 t_0), gamma <- 1 / sqrt(G), plan with all costs 1            (phase 2)
    12      beta(s, a) <- sqrt(8 S log(2 A N⁺(s, a) / delta) / N⁺(s, a))
    13      v <- extended value iteration over the balls |p~ - p^|_1 <= beta, from 0, until a sweep changes at most eps
    14      pi <- greedy at v; Q~ <- its minimising transitions between non-goal states
    15      H <- min { n > 1 : |Q~^(n-1)|_inf <= gamma }

Implementation
    This is an online agent. If no attempt is in progress, `act` calls `plan_attempt` for lines 5, 6 and 10 to 15. The
    method `learn` executes lines 8 and 9. `rollout` does the work of `act` and `learn` in one kernel, because every
    episode needs a new plan. If some cost is zero, phase 1 plans with the costs c + k^(-1/3) and eps = c_max / t_0.

Extended value iteration
    Line 13 needs min { sum_y p~(y) v(y) : |p~ - p^|_1 <= beta }. The value of the goal is 0, the smallest value. So the
    minimiser moves probability beta/2 from the successors of largest value to the goal (Jaksch, Ortner and Auer 2010,
    section 3.1.2, with costs instead of rewards). Before the first visit of a pair, its row leads to the goal with
    probability 1, even if a small `scale` makes beta < 2. Because v_0 = 0, all iterates lie below the fixed point.
    In line 15, |Q~^(n-1)|_inf is the largest entry of the vector Q~^(n-1) 1, where 1 is the vector of ones. So each n
    takes one matrix-vector product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from goalward.acting.contract import Plan, Task
from goalward.acting.model_world import STATE, Dynamics, Walk, end_epoch, has_room, take_step
from goalward.acting.stop_conditions import TableStop
from goalward.agents.base import register
from goalward.agents.optimistic.attempts import HORIZON, IN_PROGRESS, MISSED, TAKEN, Attempts, count_step
from goalward.agents.optimistic.common import MAX_SWEEPS, ROW_FULL
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import RowCounts
from goalward.jit import kernel

MAX_HORIZON = 10_000_000
"""The limit on the horizon in line 15. The notes of a run count the plans that reach this limit."""

DONE, UNSETTLED = range(2)  # the reasons why the rollout returns to Python, besides ROW_FULL
# Positions in `progress`: k, G, the largest horizon, the number of capped horizons.
EPISODE, FAILED, LARGEST, CAPPED = range(4)


class Balls(NamedTuple):
    """The L1 balls. Each row has a radius `beta`, and `size` empirical entries without the goal."""

    beta: Floats
    size: Int64s
    successors: Int32s
    mass: Floats

    @classmethod
    def empty(cls, rows: int, width: int) -> Balls:
        """Return empty balls with room for `width` successors per row."""
        size = np.zeros(rows, dtype=np.int64)
        return cls(np.zeros(rows), size, np.zeros((rows, width), dtype=np.int32), np.zeros((rows, width)))


class Memory(NamedTuple):
    """The data of the kernels. `outcome` holds the last change, the accuracy and the number of sweeps of line 13."""

    counts: RowCounts
    balls: Balls
    costs: Floats
    unit_costs: Floats
    values: Floats
    following: Floats
    weight: Floats
    Q: Floats
    policy: Int64s
    order: Int64s
    progress: Int64s
    attempt: Int64s
    outcome: Floats
    accuracy: float
    zero_costs: bool
    delta: float
    scale: float
    max_sweeps: int
    max_horizon: int
    drawn: bool


@register("uc-ssp")
class UCSSP(Attempts):
    """Optimism over L1 balls of kernels. Needs known costs, but none of B*, T* and K."""

    bound = "O~(D S sqrt(A D K / c_min))"
    assumes = "c >= c_min > 0, D finite"

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` (line 1 of the algorithm)."""
        super().begin(task, rng)
        self.progress: Int64s = np.zeros(4, dtype=np.int64)
        # The product t_0 eps in phase 1. It is larger if some cost is zero, as in UC-SSP-L_eta.
        self._zero_costs = not self._costs.min() > 0.0
        self._accuracy = float(self._c_max if self._zero_costs else 0.5 * self._costs.min())
        self._unit_costs = np.where(task.available, 1.0, np.inf)
        self._policy: Int64s = np.zeros(task.states, dtype=np.int64)
        self._values, self._following, self._weight = np.zeros((3, task.states))
        self._balls = Balls.empty(task.costs.size, self.counts.width)
        self._outcome = np.zeros(3)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Return the action for `state` (line 7). If no attempt is in progress, plan a new attempt first."""
        if self._attempt[IN_PROGRESS] == 0 and not plan_attempt(self.rng, self.memory()):
            self.refuse()
        return self._policy.item(state)

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn in compiled code. If a row of the counts is full, Python code makes more room."""
        while (reason := roll_out(self.rng, model, walk, self.memory())) != DONE:
            if reason == UNSETTLED:
                self.refuse()
            self.counts.widen()

    def refuse(self) -> None:
        """Raise ConvergenceError, because extended value iteration did not converge."""
        self.epoch = int(self.progress[EPISODE] + self.progress[FAILED])
        self.check_settled(*self._outcome)

    def memory(self) -> Memory:
        """Return the data that the kernels read and change."""
        if self._balls.mass.shape != self.counts.counts.shape:
            self._balls = Balls.empty(*self.counts.counts.shape)
        return Memory(
            self.counts.rows, self._balls, self._costs, self._unit_costs, self._values, self._following, self._weight,
            self.Q, self._policy, self._order, self.progress, self._attempt, self._outcome, self._accuracy,
            self._zero_costs, self.delta, self.scale, MAX_SWEEPS, MAX_HORIZON, self.ties == "random",
        )  # fmt: skip

    def values(self) -> Floats:
        return self._unit * self._values

    def current_plan(self) -> Plan:
        H = int(self._attempt[HORIZON])
        policy, values = self._policy.copy(), self.values()
        return Plan(policy, stop_after_goals=1, stop_after_steps=H, stop_when_truncated=True, values=values)

    def notes(self) -> dict[str, int | float | str]:
        _, G, largest, capped = self.progress.tolist()
        return super().notes() | {"phase_2_attempts": G, "largest_horizon": largest, "capped_horizons": capped}


@kernel
def plan_attempt(rng: np.random.Generator, memory: Memory) -> bool:
    """Plan an attempt (lines 5, 6 and 10 to 15). Return False if extended value iteration did not converge."""
    progress, attempt, balls, Q = memory.progress, memory.attempt, memory.balls, memory.Q
    t = 1
    for row in range(memory.counts.visits.size):
        t += memory.counts.visits[row]
    costs = memory.costs
    offset = 0.0  # UC-SSP-L_eta adds it to all costs in phase 1 if some cost is zero
    if attempt[MISSED] == 0:
        progress[EPISODE] += 1
        gamma, eps = 1.0 / np.sqrt(progress[EPISODE]), memory.accuracy / t
        if memory.zero_costs:
            offset = float(progress[EPISODE]) ** (-1.0 / 3.0)
    else:
        progress[FAILED] += 1
        gamma, eps = 1.0 / np.sqrt(progress[FAILED]), 0.5 / t
        costs = memory.unit_costs
    S, A = costs.shape
    write_balls(memory.counts, S, A, memory.delta, memory.scale, balls)
    sweeps, change = extended_value_iteration(
        balls, costs, offset, eps, memory.max_sweeps, memory.values, memory.following, Q
    )
    memory.outcome[0], memory.outcome[1], memory.outcome[2] = change, eps, sweeps
    if not change <= eps:
        return False
    for state in range(S):
        memory.policy[state] = pick(Q, state, memory.order, rng.random() if memory.drawn else 0.0)
    H = pivot_horizon(memory.policy, A, balls, gamma, memory.max_horizon, memory.following, memory.weight)
    progress[LARGEST] = max(progress[LARGEST], H)
    progress[CAPPED] += memory.max_horizon == H
    attempt[TAKEN], attempt[HORIZON], attempt[IN_PROGRESS] = 0, H, 1
    return True


@kernel
def roll_out(rng: np.random.Generator, model: Dynamics, walk: Walk, memory: Memory) -> int:
    """Plan, act and count until `walk` is full. Return the reason for the end: DONE, UNSETTLED or ROW_FULL."""
    S, A = memory.costs.shape
    size, successors, counts, visits = memory.counts
    policy, attempt, cursor = memory.policy, memory.attempt, walk.cursor
    width = counts.shape[1]
    while has_room(cursor):
        if attempt[IN_PROGRESS] == 0 and not plan_attempt(rng, memory):
            return UNSETTLED
        action = policy[cursor[STATE]]
        row = cursor[STATE] * A + action
        if size[row] == width and width <= S:
            return ROW_FULL
        ended = count_step(row, take_step(model, walk, action), S, size, successors, counts, visits, attempt)
        if ended > 0:
            end_epoch(walk, ended)
    return DONE


@kernel
def radius(n: int, S: int, A: int, delta: float) -> float:
    """Return beta of line 12 after `n` visits. The formula was checked against the paper."""
    N = float(max(n, 1))
    return math.sqrt(8.0 * S * math.log(2.0 * A * N / delta) / N)


@kernel
def write_balls(rows: RowCounts, S: int, A: int, delta: float, scale: float, balls: Balls) -> None:
    """Write the radius beta and the empirical row of each pair to `balls`, without entries for the goal."""
    seen, successors, counts, visits = rows
    beta, size, near, mass = balls
    for row in range(S * A):
        beta[row] = scale * radius(visits[row], S, A, delta)
        end = 0
        for entry in range(seen[row]):
            if successors[row, entry] != S:
                near[row, end] = successors[row, entry]
                mass[row, end] = counts[row, entry] / visits[row]
                end += 1
        size[row] = end


@kernel
def sort_row(row: int, end: int, successors: Int32s, mass: Floats, values: Floats) -> None:
    """Sort a row by decreasing value. Insertion sort is fast, because the last sweep left the row nearly sorted."""
    for entry in range(1, end):
        state = successors[row, entry]
        share = mass[row, entry]
        position = entry
        while position > 0 and values[successors[row, position - 1]] < values[state]:
            successors[row, position] = successors[row, position - 1]
            mass[row, position] = mass[row, position - 1]
            position -= 1
        successors[row, position] = state
        mass[row, position] = share


@kernel
def minimise(row: int, beta: float, size: Int64s, successors: Int32s, mass: Floats, values: Floats) -> float:
    """Sort a row by decreasing value, and return the minimum of Σ p~ V over all p~ in the ball of the row."""
    if beta >= 2.0:
        return 0.0
    end = size[row]
    sort_row(row, end, successors, mass, values)
    excess = 0.5 * beta
    total = 0.0
    for entry in range(end):
        share = mass[row, entry]
        if excess >= share:
            excess -= share
        else:
            total += (share - excess) * values[successors[row, entry]]
            excess = 0.0
    return total


@kernel
def extended_value_iteration(
    balls: Balls, costs: Floats, offset: float, accuracy: float, max_sweeps: int,
    values: Floats, following: Floats, Q: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Iterate from zero with the costs `costs` + `offset`. Return the number of sweeps and the last change.

    At the end, `values` and `following` hold the last two iterates, and `Q` holds the action values computed from
    `values`. The rows are sorted by decreasing `values`, as `pivot_horizon` requires.
    """
    S, A = costs.shape
    beta, size, successors, mass = balls
    for state in range(S):
        following[state] = 0.0
    change = np.inf
    sweeps = 0
    while change > accuracy and sweeps < max_sweeps:
        sweeps += 1
        for state in range(S):
            values[state] = following[state]
        change = 0.0
        for state in range(S):
            best = np.inf
            for action in range(A):
                row = state * A + action
                least = minimise(row, beta[row], size, successors, mass, values)
                Q[state, action] = costs[state, action] + offset + least
                best = min(best, Q[state, action])
            following[state] = best
            change = max(change, abs(best - values[state]))
    return sweeps, change


@kernel
def pivot_horizon(
    policy: Int64s, A: int, balls: Balls, target: float, limit: int, weight: Floats, following: Floats
) -> int:
    """Return the first n > 1 with |Q~^{n-1}|_inf <= `target`, but at most `limit`.

    Call this after `extended_value_iteration`. In `balls`, the minimising rows replace the rows of `policy`.
    """
    beta, size, successors, mass = balls
    for state in range(policy.size):
        weight[state] = 1.0
        row = state * A + policy[state]
        excess = 0.5 * beta[row] if beta[row] < 2.0 else np.inf
        for entry in range(size[row]):
            taken = min(excess, mass[row, entry])
            mass[row, entry] -= taken
            excess -= taken
    horizon = 1
    largest = np.inf
    while largest > target and horizon < limit:
        horizon += 1
        largest = 0.0
        for state in range(policy.size):
            row = state * A + policy[state]
            total = 0.0
            for entry in range(size[row]):
                total += mass[row, entry] * weight[successors[row, entry]]
            following[state] = total
            largest = max(largest, total)
        for state in range(policy.size):
            weight[state] = following[state]
    return horizon
