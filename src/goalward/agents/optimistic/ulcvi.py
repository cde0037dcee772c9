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
    `plan` is lines 5, 6 and 8 to 13, `observe` the counting, line 7 is ``stop_after_goals=1, stop_after_steps=H`` with
    a policy indexed by the step. Counts are shared by all steps, so once J_lo and J_up do not change from one step to
    the one before, no earlier step changes either, and the induction of line 10 stops there: exact, and hundreds of
    steps shorter. The costs are known, so there is no bonus for them. Each step of a plan is played at
    most once, so ties drawn for every step and state are ties broken anew at every step. `advance` does the same
    compiled, in stretches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.acting.compiled_stretches import DONE, PLAN_OVER, ROW_FULL, SelfActing, Stretch, is_over, pursue
from goalward.acting.next_state import Dynamics
from goalward.agents.base import Plan, Task, register
from goalward.agents.optimistic.backup import (
    blend,
    constant,
    constant_factor,
    horizon,
    log_term,
    spread,
    terminal_cost,
    upper_lower,
    value_bound,
)  # fmt: skip
from goalward.agents.optimistic.common import HorizonOptimist
from goalward.agents.smallest_tasks import act_and_plan
from goalward.agents.ties import break_ties
from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.counts import RowCounts, estimate
from goalward.jit import exercise, kernel

__all__ = ["ULCVI"]

# Why the compiled loop returns to Python, beside the reasons of `compiled_stretches`: ties differ between steps.
UNDECIDED = 3
# Places in the progress of the compiled loop: m, the step of the plan, how it is played, and what `upper_lower` found.
INTERVAL, STEP, PLAYED, DISTINCT, SEVERAL = range(5)
NOTHING, ACTIONS, ACTIONS_BY_STEP, CHANCES = range(4)


class Facts(NamedTuple):
    """The numbers of line 1 and of the bonuses, and whether ties are broken at random."""

    H: int
    c_f: float
    B: float
    delta: float
    scale: float
    constant: float
    blend: float
    drawn: bool


class Room(NamedTuple):
    """Arrays that the compiled loop works in; see `upper_lower`."""

    mass: Floats
    rest: Floats
    spread: Floats
    constant: Floats
    lower: Floats
    upper: Floats
    next_lower: Floats
    next_upper: Floats
    Q: Floats
    tied: Bools
    actions: Int64s
    none: Int64s
    chances: Floats


@register("ulcvi")
@dataclass(eq=False, kw_only=True)
class ULCVI(HorizonOptimist, SelfActing):
    """Optimism by bonuses over a finite horizon; it must be told B* and T*."""

    # The term with H³ is above 1e10 where the others are of the size of the values.
    scales: ClassVar[tuple[float, ...]] = (1.0, *(10.0 ** (-step / 4) for step in range(32, 53)))

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.check_horizon("8 T* ln(8 K)", self.H)
        self._Q = np.zeros((2, *task.costs.shape))
        self._ends = [np.zeros(task.states + 1) for _ in range(4)]
        self._tied = np.zeros((self.H, *task.costs.shape), dtype=np.bool_)
        self._progress = np.zeros(5, dtype=np.int64)
        self._by_step = np.zeros((0, task.states), dtype=np.int64)
        self._chances = np.zeros(task.costs.shape)

    @property
    def H(self) -> int:
        """The horizon of a plan."""
        return horizon(self.T_star, self.task.episodes)

    def plan(self, state: int) -> Plan:
        """Lines 5 and 6."""
        self.epoch += 1  # m
        distinct, several = self.ulcvi(self.epoch)
        policy = self.decide(self._tied[-distinct:], several)
        values = self._unit * self._ends[0][:-1]
        return Plan(policy, stop_after_goals=1, stop_after_steps=self.H, stop_when_cut=True, values=values)

    def ulcvi(self, m: int) -> tuple[int, bool]:
        """Lines 8 to 13; return at how many of the last steps the best actions may differ, and whether any tie."""
        visits, B_star = self.counts.visits, self.B_star / self._unit
        B = value_bound(B_star)
        L = log_term(visits, self.H, m, self.delta / 4.0)
        c_f = terminal_cost(B_star)
        _, _, next_lower, next_upper = self._ends
        next_lower[:-1] = next_upper[:-1] = c_f
        parts = (spread(visits, L), constant(visits, self.H, B, L), blend(self.H, B))
        work = (*self._ends, self._Q, self._tied)
        return upper_lower(*self.counts.estimates(0.0), self._costs, *parts, self.scale, self.H + c_f, *work)

    def decide(self, tied: Bools, several: bool) -> NDArray[Any]:
        """Break the ties of the last steps, the first of which stands for all before it."""
        early = tied[0]
        drawn = several and self.ties == "random"
        if (tied == early).all():
            return np.asarray(early / early.sum(axis=1, keepdims=True)) if drawn else break_ties(early, self._order)
        before = self.H - len(tied)
        policy = np.empty((self.H, len(early)), dtype=np.int64)
        policy[before:] = break_ties(tied, self._order, self.rng.random(tied.shape[:2]) if drawn else None)
        policy[:before] = policy[before]
        again = np.flatnonzero(early.sum(axis=1) > 1) if drawn else ()
        if len(again):
            policy[:before, again] = break_ties(early[again], self._order, self.rng.random((before, len(again))))
        return policy

    def restart(self) -> None:
        """Line 3: an episode starts with a plan of its own."""
        self._progress[PLAYED] = NOTHING

    def advance(self, world: Dynamics, stretch: Stretch) -> None:
        """Carry lines 4 to 13 out, compiled; Python makes room in the counts and decides where ties differ by step."""
        B_star = self.B_star / self._unit
        B, fixed = value_bound(B_star), constant_factor(self.task.states, self.H)
        numbers = (self.H, terminal_cost(B_star), B, self.delta / 4.0, self.scale, fixed, blend(self.H, B))
        facts = Facts(*numbers, self.ties == "random")
        progress = self._progress
        progress[INTERVAL] = self.epoch
        while True:
            counts = self.counts.rows
            reason = live(world, stretch, counts, self._costs, facts, self._order, progress, self._by_step, self.room())
            if reason == DONE:
                break
            if reason == ROW_FULL:
                self.counts.widen()
            else:
                self._by_step = self.decide(self._tied[-progress[DISTINCT] :], bool(progress[SEVERAL]))
                progress[PLAYED] = ACTIONS_BY_STEP
        self.epoch = int(progress[INTERVAL])

    def room(self) -> Room:
        """Return the arrays for the compiled loop."""
        lower, upper, next_lower, next_upper = self._ends
        rest, spreads, constants = np.empty((3, self.task.costs.size))
        return Room(
            np.empty(self.counts.counts.shape), rest, spreads, constants, lower, upper, next_lower, next_upper,
            self._Q, self._tied, self._policy.reshape(1, -1),
            np.empty((0, self.task.states), dtype=np.int64), self._chances,
        )  # fmt: skip

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": self.H}


@kernel
def live(
    world: Dynamics, stretch: Stretch, counts: RowCounts, costs: Floats, facts: Facts, order: Int64s,
    progress: Int64s, by_step: Int64s, room: Room,
) -> int:  # fmt: skip
    """Plan, act and count until the stretch is over; return why Python is needed."""
    while not is_over(stretch):
        if progress[PLAYED] == NOTHING:
            progress[INTERVAL] += 1
            progress[STEP] = 0
            plan_interval(counts, costs, facts, progress, room)
            if not decide_alike(facts, order, progress, room):
                return UNDECIDED
        actions = room.none if progress[PLAYED] == CHANCES else room.actions
        if progress[PLAYED] == ACTIONS_BY_STEP:
            actions = by_step
        reason, taken = pursue(world, stretch, counts, actions, room.chances, progress[STEP], facts.H)
        progress[STEP] = taken
        if reason == PLAN_OVER:
            progress[PLAYED] = NOTHING
        elif reason == ROW_FULL:
            return ROW_FULL
    return DONE


@kernel
def plan_interval(counts: RowCounts, costs: Floats, facts: Facts, progress: Int64s, room: Room) -> None:
    """Carry lines 8 to 13 out; what `upper_lower` returns goes to `progress`."""
    S, A = costs.shape
    L = 3.0 * math.log(3.0 * (S + 1) * A * facts.H * progress[INTERVAL] / facts.delta)
    for row in range(counts.size.size):
        n = float(max(counts.visits[row], 1))
        room.spread[row] = 2.0 * L / n
        room.constant[row] = facts.constant * L / (facts.B * n)
    for state in range(S):
        room.next_lower[state] = room.next_upper[state] = facts.c_f
    estimate(0.0, counts.size, counts.counts, counts.visits, room.mass, room.rest)
    distinct, several = upper_lower(
        counts.size, counts.successors, room.mass, room.rest, costs, room.spread, room.constant, facts.blend,
        facts.scale, facts.H + facts.c_f, room.lower, room.upper, room.next_lower, room.next_upper, room.Q, room.tied,
    )  # fmt: skip
    progress[DISTINCT] = distinct
    progress[SEVERAL] = several


@kernel
def decide_alike(facts: Facts, order: Int64s, progress: Int64s, room: Room) -> bool:
    """Break ties where the best actions are the same at all steps, as `decide` does; False where they are not."""
    H, S, A = room.tied.shape
    first = H - progress[DISTINCT]
    for h in range(first + 1, H):
        for state in range(S):
            for action in range(A):
                if room.tied[h, state, action] != room.tied[first, state, action]:
                    return False
    if facts.drawn and progress[SEVERAL] > 0:
        progress[PLAYED] = CHANCES
        for state in range(S):
            number = 0
            for action in range(A):
                number += room.tied[first, state, action]
            total = 0.0
            for action in range(A):
                total += room.tied[first, state, action] / number
                room.chances[state, action] = total
    else:
        progress[PLAYED] = ACTIONS
        for state in range(S):
            for place in range(A - 1, -1, -1):
                if room.tied[first, state, order[place]]:
                    room.actions[0, state] = order[place]
    return True


@exercise
def exercise_ulcvi() -> None:
    """Act once, and plan once."""
    act_and_plan(ULCVI(B_star=2.0, T_star=2.0))
