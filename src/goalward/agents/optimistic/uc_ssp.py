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
    `plan` is lines 5, 6 and 10 to 15, `observe` line 8, line 7 is ``stop_after_goals=1, stop_after_steps=H``. With a
    cost of zero somewhere, phase 1 plans with c + k^(-1/3) and eps = c_max / t_0.
    `advance` does the same compiled, in stretches. The optimistic operators of lines 12 to 15 are in `l1_balls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from goalward.acting.compiled_stretches import (
    DONE,
    PLAN_OVER,
    ROW_FULL,
    STEPS_DONE,
    SelfActing,
    Stretch,
    is_over,
    pursue,
)
from goalward.acting.next_state import Dynamics
from goalward.agents.base import Plan, Steps, Task, register
from goalward.agents.optimistic.common import Optimist
from goalward.agents.optimistic.l1_balls import (
    Ball,
    empirical,
    extended_value_iteration,
    pivot_horizon,
    radius,
    write_radii,
)
from goalward.agents.smallest_tasks import act_and_plan
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import RowCounts
from goalward.jit import exercise, kernel
from goalward.settings import checked_integer

__all__ = ["UCSSP", "cost_offset"]

TIES_USED_UP, UNSETTLED = 3, 4  # why the compiled loop returns to Python, beside the reasons of `compiled_stretches`
TIES = 1024  # for how many plans the numbers that break ties are drawn at once
# Places in the progress of the compiled loop: the variables of the pseudo-code, the steps taken of H, and so on.
TIME, EPISODE, FAILED, AT_GOAL, EPOCH, LARGEST, CAPPED, TAKEN, HORIZON, TIES_USED = range(10)


class Room(NamedTuple):
    """Arrays that the compiled loop works in."""

    kept: Int64s
    near: Int32s
    mass: Floats
    beta: Floats
    costs: Floats
    values: Floats
    following: Floats
    weight: Floats
    Q: Floats
    policy: Int64s
    plan: Int64s
    ties: Floats


@register("uc-ssp")
@dataclass(eq=False, kw_only=True)
class UCSSP(Optimist, SelfActing):
    """Optimism in L1 balls; it is told the costs and needs neither B*, T* nor K."""

    max_horizon: int = 10_000_000
    """Where the search for the pivot horizon of line 15 ends; how often it did is in the notes of the run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_integer("max_horizon", self.max_horizon, 2)

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.t = 1
        self.k = 0
        self.G = 0
        self.at_goal = True
        self._c_min, self._c_max = float(self._costs.min()), float(self._costs[task.available].max())
        self._unit_costs = np.where(task.available, 1.0, np.inf)
        self.largest_horizon = 0
        self.capped_horizons = 0
        self._values, self._following, self._weight = (np.zeros(task.states) for _ in range(3))
        self._ball = Ball(task.costs.size, self.counts.width)
        self._beta, self._phase_costs = np.empty(task.costs.size), np.empty(task.costs.shape)
        self._attempt = [0, 0, 0]
        self._ties: Floats = np.empty(0)

    def plan(self, state: int) -> Plan:
        """Lines 5 and 6: phase 1 at the start of an episode, phase 2 where the last attempt has failed."""
        self.epoch += 1
        if self.at_goal:
            self.k += 1
            gamma = 1.0 / np.sqrt(self.k)
            if self._c_min > 0.0:
                policy, H = self.evi(self._costs, self._c_min / (2.0 * self.t), gamma)
            else:
                policy, H = self.evi(self._costs + cost_offset(self.k), self._c_max / self.t, gamma)
        else:
            self.G += 1
            policy, H = self.evi(self._unit_costs, 1.0 / (2.0 * self.t), 1.0 / np.sqrt(self.G))
        self.at_goal = False
        values = self._unit * self._values
        return Plan(policy, stop_after_goals=1, stop_after_steps=H, stop_when_cut=True, values=values)

    def evi(self, costs: Floats, eps: float, gamma: float) -> tuple[Int64s, int]:
        """Lines 12 to 15."""
        ball = self.ball()
        beta = self.scale * radius(self.counts.visits, self.delta)
        rows = (beta, ball.kept, ball.near, ball.mass)
        work = (self._values, self._following, self.Q)
        sweeps, change = extended_value_iteration(*rows, costs, eps, self.max_sweeps, *work)
        self.check_settled(change, eps, sweeps)
        policy = self.greedy(self.Q)
        H = pivot_horizon(policy, costs.shape[1], *rows, gamma, self.max_horizon, self._following, self._weight)
        self.largest_horizon = max(self.largest_horizon, H)
        self.capped_horizons += int(self.max_horizon == H)
        return policy, H

    def ball(self) -> Ball:
        """Return the empirical rows, from which extended value iteration starts."""
        counts = self.counts
        if self._ball.width < counts.width:
            self._ball = Ball(counts.visits.size, counts.width)
        empirical(counts.goal, *counts.rows, self._ball.kept, self._ball.near, self._ball.mass)
        return self._ball

    def observe(self, steps: Steps) -> None:
        """Line 8."""
        super().observe(steps)
        self.t += len(steps.states)
        self.at_goal = bool(steps.next_states[-1] == self.task.goal)

    def restart(self) -> None:
        """Line 3: an episode starts in phase 1."""
        self.at_goal = True
        # A run that goes on draws from a generator of its own.
        self._attempt, self._ties = [0, 0, 0], np.empty(0)

    def advance(self, world: Dynamics, stretch: Stretch) -> None:
        """Carry lines 4 to 9 out, compiled; Python makes room in the counts and draws what breaks ties."""
        own = (self.t, self.k, self.G, self.at_goal, self.epoch, self.largest_horizon, self.capped_horizons)
        progress = np.array([*own, *self._attempt], dtype=np.int64)
        limits = (self._c_min, self._c_max, self.delta, self.scale, self.max_sweeps, self.max_horizon)
        outcome = np.empty(3)
        while True:
            counts, room = self.counts.rows, self.room()
            reason = live(
                world, stretch, counts, self._costs, self._unit_costs, *limits, self._order, progress, outcome, room
            )
            if reason == DONE:
                break
            if reason == ROW_FULL:
                self.counts.widen()
            elif reason == TIES_USED_UP:
                self.draw_ties()
                progress[TIES_USED] = 0
            else:
                self.epoch = int(progress[EPOCH])
                self.check_settled(*outcome)
        self.t, self.k, self.G, at_goal, self.epoch, *others = progress.tolist()
        self.largest_horizon, self.capped_horizons, *self._attempt = others
        self.at_goal = bool(at_goal)

    def draw_ties(self) -> None:
        """Draw the numbers that `greedy` would draw, for many plans at once."""
        if self.ties == "random":
            self._ties = self.rng.random(TIES * self.task.states)
        else:
            self._ties = np.zeros(TIES * self.task.states)

    def room(self) -> Room:
        """Return the arrays for the compiled loop."""
        counts = self.counts
        if self._ball.width < counts.width:
            self._ball = Ball(counts.visits.size, counts.width)
        ball = self._ball
        vectors = (self._values, self._following, self._weight, self.Q, self._policy, self._policy.reshape(1, -1))
        return Room(ball.kept, ball.near, ball.mass, self._beta, self._phase_costs, *vectors, self._ties)

    def notes(self) -> dict[str, int | float | str]:
        """Return what was cut off, beside the scale and the rule for ties."""
        horizons = {"largest_horizon": self.largest_horizon, "capped_horizons": self.capped_horizons}
        return super().notes() | {"phase_2_attempts": self.G} | horizons


def cost_offset(k: int) -> float:
    """Return eta_k = k^(-1/3), added to all costs in phase 1 of episode k where some cost is zero."""
    return float(k ** (-1.0 / 3.0))


@kernel
def live(
    world: Dynamics, stretch: Stretch, counts: RowCounts, costs: Floats, unit_costs: Floats,
    lowest: float, highest: float, delta: float, scale: float, max_sweeps: int, max_horizon: int,
    order: Int64s, progress: Int64s, outcome: Floats, room: Room,
) -> int:  # fmt: skip
    """Plan, act and count until the stretch is over; return why Python is needed."""
    S, A = costs.shape
    while not is_over(stretch):
        if progress[HORIZON] == 0:
            if progress[TIES_USED] + S > room.ties.size:
                return TIES_USED_UP
            eps, gamma = begin_attempt(costs, unit_costs, lowest, highest, progress, room.costs)
            kept, near, mass, beta = room.kept, room.near, room.mass, room.beta
            empirical(S, counts.size, counts.successors, counts.counts, counts.visits, kept, near, mass)
            write_radii(counts.visits, S, A, delta, scale, beta)
            sweeps, change = extended_value_iteration(
                beta, kept, near, mass, room.costs, eps, max_sweeps, room.values, room.following, room.Q
            )
            if not change <= eps:
                outcome[0], outcome[1], outcome[2] = change, eps, sweeps
                return UNSETTLED
            for state in range(S):
                room.policy[state] = pick(room.Q, state, order, room.ties[progress[TIES_USED] + state])
            progress[TIES_USED] += S
            H = pivot_horizon(room.policy, A, beta, kept, near, mass, gamma, max_horizon, room.following, room.weight)
            progress[LARGEST] = max(progress[LARGEST], H)
            progress[CAPPED] += max_horizon == H
            progress[TAKEN], progress[HORIZON] = 0, H
        reason, taken = pursue(world, stretch, counts, room.plan, room.costs, progress[TAKEN], progress[HORIZON])
        progress[TIME] += taken - progress[TAKEN]
        progress[TAKEN] = taken
        if reason == PLAN_OVER:
            progress[HORIZON] = 0
            progress[AT_GOAL] = stretch.steps.next_states[stretch.cursor[STEPS_DONE] - 1] == S
        elif reason == ROW_FULL:
            return ROW_FULL
    return DONE


@kernel
def begin_attempt(
    costs: Floats, unit_costs: Floats, lowest: float, highest: float, progress: Int64s, planned: Floats
) -> tuple[float, float]:
    """Carry lines 5, 10 and 11 out; write the costs to plan with, and return eps and gamma."""
    S, A = costs.shape
    progress[EPOCH] += 1
    t = progress[TIME]
    if progress[AT_GOAL] > 0:
        progress[EPISODE] += 1
        gamma = 1.0 / np.sqrt(progress[EPISODE])
        eps = lowest / (2.0 * t) if lowest > 0.0 else highest / t
        more = 0.0 if lowest > 0.0 else float(progress[EPISODE]) ** (-1.0 / 3.0)
    else:
        progress[FAILED] += 1
        gamma = 1.0 / np.sqrt(progress[FAILED])
        eps = 1.0 / (2.0 * t)
        more = 0.0
    for state in range(S):
        for action in range(A):
            planned[state, action] = costs[state, action] + more if progress[AT_GOAL] > 0 else unit_costs[state, action]
    progress[AT_GOAL] = 0
    return eps, gamma


@exercise
def exercise_uc_ssp() -> None:
    """Act once, and plan once."""
    act_and_plan(UCSSP())
