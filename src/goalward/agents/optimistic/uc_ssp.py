"""UC-SSP: optimism in L1 balls, in two phases, with a horizon for every attempt.

Reference
    Tarbouriech, Garcelon, Valko, Pirotta, Lazaric: No-Regret Exploration in Goal-Oriented Reinforcement Learning
    (ICML 2020), Algorithms 1 and 2; for zero costs the variant of its appendix, UC-SSP-L_eta.

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

How it maps
    An online policy: `act` carries out lines 5, 6 and 10 to 15 when no attempt is in progress (`plan_attempt`), `learn`
    lines 8 and 9 (`count_step`), and `rollout` both in one kernel, because nearly every episode has a plan of its own.
    With a cost of zero somewhere, phase 1 plans with c + k^(-1/3) and eps = c_max / t_0. The optimistic operators of
    lines 12 to 15 are in `l1_balls.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge

from goalward.acting.contract import Plan, Step, Task
from goalward.acting.rollout import STATE, Dynamics, Walk, end_epoch, has_room, take_step
from goalward.acting.stop import CUT, GOALS, STEPS, TableStop
from goalward.agents.base import OnlineAgent, register
from goalward.agents.optimistic.common import Optimist
from goalward.agents.optimistic.l1_balls import Ball, empirical, extended_value_iteration, pivot_horizon, write_radii
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import RowCounts, enter
from goalward.jit import kernel

__all__ = ["UCSSP"]

DONE, ROW_FULL, TIES_USED_UP, UNSETTLED = range(4)  # why the rollout returns to Python
PLANS = 1024  # for how many plans the numbers that break ties are drawn at once
# Places in the progress: t, k, G, whether the last attempt missed the goal, the number of plans, the largest horizon,
# how many horizons were capped.
TIME, EPISODE, FAILED, MISSED, PLANNED, LARGEST, CAPPED = range(7)
# Places in the attempt: the steps taken, its horizon, whether it is in progress, the numbers used to break ties.
TAKEN, HORIZON, IN_PROGRESS, TIES_USED = range(4)


class Memory(NamedTuple):
    """What the kernels read and change; `outcome` is the last change, the accuracy and the sweeps of line 13."""

    counts: RowCounts
    costs: Floats
    unit_costs: Floats
    kept: Int64s
    near: Int32s
    mass: Floats
    beta: Floats
    planned: Floats
    values: Floats
    following: Floats
    weight: Floats
    Q: Floats
    policy: Int64s
    order: Int64s
    ties: Floats
    progress: Int64s
    attempt: Int64s
    outcome: Floats
    lowest: float
    highest: float
    delta: float
    scale: float
    max_sweeps: int
    max_horizon: int


@register("uc-ssp")
class UCSSP(OnlineAgent, Optimist, kw_only=True):
    """Optimism in L1 balls; it knows the costs and needs neither B*, T* nor K."""

    max_horizon: Annotated[int, Ge(2)] = 10_000_000
    """Where the search for the pivot horizon of line 15 ends; how often it did is in the notes of the run."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.progress: Int64s = np.array([1, 0, 0, 0, 0, 0, 0])
        self._attempt: Int64s = np.zeros(4, dtype=np.int64)
        self._ties, self._ties_from = np.empty(0), rng
        self._lowest, self._highest = float(self._costs.min()), float(self._costs[task.available].max())
        self._unit_costs = np.where(task.available, 1.0, np.inf)
        self._values, self._following, self._weight = (np.zeros(task.states) for _ in range(3))
        self._ball = Ball(task.costs.size, self.counts.width)
        self._beta, self._planned, self._outcome = np.empty(task.costs.size), np.empty(task.costs.shape), np.zeros(3)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Lines 5 and 6 if no attempt is in progress, then line 7."""
        if self._attempt[IN_PROGRESS] == 0:
            self.draw_ties()
            if not plan_attempt(self.memory()):
                self.refuse()
        return self._policy.item(state)

    def learn(self, step: Step[int]) -> int:
        """Lines 8 and 9; a truncated episode ends the attempt."""
        while (ended := count_step(step.state, step.action, step.next_state, self.memory())) < 0:
            self.counts.widen()
        return ended + CUT if step.truncated else ended

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, compiled; Python makes room in the counts and draws what breaks ties."""
        while (reason := roll_out(model, walk, self.memory())) != DONE:
            if reason == ROW_FULL:
                self.counts.widen()
            elif reason == TIES_USED_UP:
                self.draw_ties()
            else:
                self.refuse()

    def restart(self) -> None:
        """Line 3: an episode starts in phase 1."""
        self.progress[MISSED] = self._attempt[IN_PROGRESS] = 0
        if self._ties_from is not self.rng:
            self._ties = np.empty(0)

    def draw_ties(self) -> None:
        """Draw the numbers that break ties, for many plans at once."""
        S = self.task.states
        if self._attempt[TIES_USED] + S > len(self._ties):
            self._ties = self.rng.random(PLANS * S) if self.ties == "random" else np.zeros(PLANS * S)
            self._ties_from = self.rng
            self._attempt[TIES_USED] = 0

    def refuse(self) -> None:
        """Raise ConvergenceError: extended value iteration did not settle."""
        self.epoch = int(self.progress[PLANNED])
        self.check_settled(*self._outcome)

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        counts, costs = self.counts, self._costs
        if self._ball.width < counts.width:
            self._ball = Ball(counts.visits.size, counts.width)
        ball = self._ball
        return Memory(
            counts.rows, costs, self._unit_costs, ball.kept, ball.near, ball.mass, self._beta, self._planned,
            self._values, self._following, self._weight, self.Q, self._policy, self._order, self._ties, self.progress,
            self._attempt, self._outcome, self._lowest, self._highest, self.delta, self.scale, self.max_sweeps,
            self.max_horizon,
        )  # fmt: skip

    def values(self) -> Floats:
        """Return the optimistic values of the last plan."""
        return self._unit * self._values

    def current_plan(self) -> Plan:
        """Return the last plan, to look at."""
        H = int(self._attempt[HORIZON])
        policy, values = self._policy.copy(), self.values()
        return Plan(policy, stop_after_goals=1, stop_after_steps=H, stop_when_cut=True, values=values)

    def notes(self) -> dict[str, int | float | str]:
        """Return what was cut off, beside the scale and the rule for ties."""
        _, _, G, _, _, largest, capped = self.progress.tolist()
        return super().notes() | {"phase_2_attempts": G, "largest_horizon": largest, "capped_horizons": capped}


@kernel
def plan_attempt(memory: Memory) -> bool:
    """Carry out lines 5, 6 and 10 to 15; False if extended value iteration did not settle."""
    S, A = memory.costs.shape
    progress, attempt, rows, Q = memory.progress, memory.attempt, memory.counts, memory.Q
    beta, kept, near, mass = memory.beta, memory.kept, memory.near, memory.mass
    progress[PLANNED] += 1
    t = progress[TIME]
    offset = 0.0  # UC-SSP-L_eta: added to all costs in phase 1 where some cost is zero
    if progress[MISSED] == 0:
        progress[EPISODE] += 1
        gamma = 1.0 / np.sqrt(progress[EPISODE])
        eps = memory.lowest / (2.0 * t)
        if memory.lowest <= 0.0:
            eps = memory.highest / t
            offset = float(progress[EPISODE]) ** (-1.0 / 3.0)
    else:
        progress[FAILED] += 1
        gamma = 1.0 / np.sqrt(progress[FAILED])
        eps = 1.0 / (2.0 * t)
    for state in range(S):
        for action in range(A):
            if progress[MISSED] == 0:
                memory.planned[state, action] = memory.costs[state, action] + offset
            else:
                memory.planned[state, action] = memory.unit_costs[state, action]
    empirical(S, rows.size, rows.successors, rows.counts, rows.visits, kept, near, mass)
    write_radii(rows.visits, S, A, memory.delta, memory.scale, beta)
    sweeps, change = extended_value_iteration(
        beta, kept, near, mass, memory.planned, eps, memory.max_sweeps, memory.values, memory.following, Q
    )
    memory.outcome[0], memory.outcome[1], memory.outcome[2] = change, eps, sweeps
    if not change <= eps:
        return False
    for state in range(S):
        memory.policy[state] = pick(Q, state, memory.order, memory.ties[attempt[TIES_USED] + state])
    attempt[TIES_USED] += S
    H = pivot_horizon(
        memory.policy, A, beta, kept, near, mass, gamma, memory.max_horizon, memory.following, memory.weight
    )
    progress[LARGEST] = max(progress[LARGEST], H)
    progress[CAPPED] += memory.max_horizon == H
    attempt[TAKEN], attempt[HORIZON], attempt[IN_PROGRESS] = 0, H, 1
    # Until it reaches the goal, the attempt has missed it.
    progress[MISSED] = 1
    return True


@kernel
def count_step(state: int, action: int, successor: int, memory: Memory) -> int:
    """Carry out lines 8 and 9; return flags if the attempt is over, -1 if the row of the pair is full."""
    S, A = memory.costs.shape
    progress, attempt, rows = memory.progress, memory.attempt, memory.counts
    row = state * A + action
    if not enter(row, successor, rows.size, rows.successors, rows.counts):
        return -1
    rows.visits[row] += 1
    progress[TIME] += 1
    attempt[TAKEN] += 1
    ended = 0
    if successor == S:
        ended += GOALS
        progress[MISSED] = 0
    if attempt[TAKEN] == attempt[HORIZON]:
        ended += STEPS
    if ended > 0:
        attempt[IN_PROGRESS] = 0
    return ended


@kernel
def roll_out(model: Dynamics, walk: Walk, memory: Memory) -> int:
    """Plan, act and count while there is room; return why Python is needed."""
    S, A = memory.costs.shape
    rows, attempt = memory.counts, memory.attempt
    width = rows.counts.shape[1]
    while has_room(walk.cursor):
        if attempt[IN_PROGRESS] == 0:
            if attempt[TIES_USED] + S > memory.ties.size:
                return TIES_USED_UP
            if not plan_attempt(memory):
                return UNSETTLED
        state = walk.cursor[STATE]
        action = memory.policy[state]
        if rows.size[state * A + action] == width and width <= S:
            return ROW_FULL
        ended = count_step(state, action, take_step(model, walk, action), memory)
        if ended > 0:
            end_epoch(walk, ended)
    return DONE
