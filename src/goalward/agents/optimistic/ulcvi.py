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
    An online policy: `act` carries out lines 5, 6 and 8 to 13 when no interval is in progress (`plan_interval`), then
    line 7; `learn` counts (`count_step`); `rollout` does both in one kernel, because nearly every episode has a plan of
    its own. Counts are shared by all steps, so once J_lo and J_up do not change from one step to the one before, no
    earlier step changes either, and the induction of line 10 stops there: exact, and hundreds of steps shorter. The
    costs are known, so there is no bonus for them. Each step of a plan is played at most once, so ties drawn for every
    step and state are ties broken anew at every step. Where the best actions are the same at all steps, as they mostly
    are, they are drawn while acting (`decide_alike`), otherwise when the plan is made (`decide`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.acting.contract import Plan, Step, Task
from goalward.acting.rollout import CHOSEN, STATE, Dynamics, Walk, draw_action, end_epoch, has_room, take_step
from goalward.acting.stop import CUT, GOALS, STEPS, TableStop
from goalward.agents.base import OnlineAgent, register
from goalward.agents.optimistic.backup import (
    blend,
    constant_factor,
    horizon,
    log_term,
    terminal_cost,
    upper_lower,
    value_bound,
    write_factors,
)
from goalward.agents.optimistic.common import HorizonOptimist
from goalward.agents.ties import break_ties
from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.counts import RowCounts, enter, estimate
from goalward.jit import kernel

__all__ = ["ULCVI"]

DONE, ROW_FULL, UNDECIDED = range(3)  # why the rollout returns to Python; UNDECIDED: ties differ between steps
# Places in the interval: m, the steps taken, whether it is in progress, how it is played, what `upper_lower` returned.
NUMBER, TAKEN, IN_PROGRESS, PLAYED, DISTINCT, SEVERAL = range(6)
ACTIONS, ACTIONS_BY_STEP, CHANCES = range(3)


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


class Memory(NamedTuple):
    """What the kernels read and change; see `upper_lower`."""

    facts: Facts
    counts: RowCounts
    costs: Floats
    order: Int64s
    interval: Int64s
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
    by_step: Int64s
    chances: Floats


@register("ulcvi")
class ULCVI(OnlineAgent, HorizonOptimist):
    """Optimism by bonuses over a finite horizon; it needs B* and T*."""

    # The term with H³ is above 1e10 where the others are of the size of the values.
    scales: ClassVar[tuple[float, ...]] = (1.0, *(10.0 ** (-step / 4) for step in range(32, 53)))

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.check_horizon("8 T* ln(8 K)", self.H)
        B_star = self.B_star / self._unit
        B, fixed = value_bound(B_star), constant_factor(task.states, self.H)
        numbers = (self.H, terminal_cost(B_star), B, self.delta / 4.0, self.scale, fixed, blend(self.H, B))
        self._facts = Facts(*numbers, self.ties == "random")
        self._interval = np.zeros(6, dtype=np.int64)
        self._mass, self._rows = np.empty(self.counts.counts.shape), np.empty((3, task.costs.size))
        self._ends, self._Q = np.zeros((4, task.states + 1)), np.zeros((2, *task.costs.shape))
        self._tied = np.zeros((self.H, *task.costs.shape), dtype=np.bool_)
        self._by_step, self._chances = np.zeros((0, task.states), dtype=np.int64), np.zeros(task.costs.shape)

    @property
    def H(self) -> int:
        """The horizon of a plan."""
        return horizon(self.T_star, self.task.episodes)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Lines 5 and 6 if no interval is in progress, then line 7."""
        interval = self._interval
        if interval[IN_PROGRESS] == 0:
            interval[NUMBER] = self.epoch
            memory = self.memory()
            plan_interval(memory)
            if not decide_alike(memory):
                self.decide_by_step()
            self.epoch = int(interval[NUMBER])
        if interval[PLAYED] == CHANCES:
            return int(draw_action(self._chances, state, draw()))
        return self._policy.item(state) if interval[PLAYED] == ACTIONS else self._by_step.item(interval[TAKEN], state)

    def learn(self, step: Step[int]) -> int:
        """Count a step; a truncated episode ends the interval."""
        while (ended := count_step(step.state, step.action, step.next_state, *self.counted())) < 0:
            self.counts.widen()
        return ended + CUT if step.truncated else ended

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, compiled; Python makes room in the counts and decides where ties differ between steps."""
        self._interval[NUMBER] = self.epoch
        while (reason := roll_out(model, walk, self.memory())) != DONE:
            if reason == ROW_FULL:
                self.counts.widen()
            else:
                self.decide_by_step()
        self.epoch = int(self._interval[NUMBER])

    def restart(self) -> None:
        """Line 3: an episode starts with a plan of its own."""
        self._interval[IN_PROGRESS] = 0

    def decide_by_step(self) -> None:
        """Break the ties of an interval in which they differ between steps."""
        self._by_step = self.decide(self._tied[-self._interval[DISTINCT] :], bool(self._interval[SEVERAL]))
        self._interval[PLAYED] = ACTIONS_BY_STEP

    def decide(self, tied: Bools, several: bool) -> Int64s:
        """Break the ties of the last steps, the first of which stands for all before it; return actions by step."""
        early = tied[0]
        drawn = several and self.ties == "random"
        before = self.H - len(tied)
        policy = np.empty((self.H, len(early)), dtype=np.int64)
        policy[before:] = break_ties(tied, self._order, self.rng.random(tied.shape[:2]) if drawn else None)
        policy[:before] = policy[before]
        again = np.flatnonzero(early.sum(axis=1) > 1) if drawn else ()
        if len(again):
            policy[:before, again] = break_ties(early[again], self._order, self.rng.random((before, len(again))))
        return policy

    def counted(self) -> tuple[RowCounts, Int64s, int, int]:
        """Return what `count_step` needs."""
        return self.counts.rows, self._interval, self.task.actions, self.H

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        if self._mass.shape != self.counts.counts.shape:
            self._mass = np.empty(self.counts.counts.shape)
        rest, spread, constant = self._rows
        lower, upper, next_lower, next_upper = self._ends
        return Memory(
            self._facts, self.counts.rows, self._costs, self._order, self._interval, self._mass, rest, spread, constant,
            lower, upper, next_lower, next_upper, self._Q, self._tied, self._policy, self._by_step, self._chances,
        )  # fmt: skip

    def values(self) -> Floats:
        """Return J_lo of the last plan."""
        return np.asarray(self._unit * self._ends[0, :-1])

    def current_plan(self) -> Plan:
        """Return the last plan, to look at."""
        early = self._tied[-self._interval[DISTINCT]]
        policies = {
            ACTIONS: self._policy.copy(), ACTIONS_BY_STEP: self._by_step,
            CHANCES: early / np.maximum(early.sum(axis=1, keepdims=True), 1),
        }  # fmt: skip
        policy: NDArray[Any] = policies[int(self._interval[PLAYED])]
        return Plan(policy, stop_after_goals=1, stop_after_steps=self.H, stop_when_cut=True, values=self.values())

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": self.H}


@kernel
def plan_interval(memory: Memory) -> None:
    """Carry out lines 5 and 8 to 13; what `upper_lower` returns goes to the interval."""
    facts, counts, interval = memory.facts, memory.counts, memory.interval
    S, A = memory.costs.shape
    interval[NUMBER] += 1
    interval[TAKEN], interval[IN_PROGRESS] = 0, 1
    L = log_term(S, A, facts.H, interval[NUMBER], facts.delta)
    write_factors(counts.visits, L, facts.B, facts.constant, memory.spread, memory.constant)
    for state in range(S):
        memory.next_lower[state] = memory.next_upper[state] = facts.c_f
    estimate(0.0, counts.size, counts.counts, counts.visits, memory.mass, memory.rest)
    distinct, several = upper_lower(
        counts.size, counts.successors, memory.mass, memory.rest, memory.costs, memory.spread, memory.constant,
        facts.blend, facts.scale, facts.H + facts.c_f, memory.lower, memory.upper, memory.next_lower, memory.next_upper,
        memory.Q, memory.tied,
    )  # fmt: skip
    interval[DISTINCT] = distinct
    interval[SEVERAL] = several


@kernel
def decide_alike(memory: Memory) -> bool:
    """Break ties where the best actions are the same at all steps; False where they are not."""
    H, S, A = memory.tied.shape
    interval, tied, order = memory.interval, memory.tied, memory.order
    first = H - interval[DISTINCT]
    for h in range(first + 1, H):
        for state in range(S):
            for action in range(A):
                if tied[h, state, action] != tied[first, state, action]:
                    return False
    if memory.facts.drawn and interval[SEVERAL] > 0:
        interval[PLAYED] = CHANCES
        for state in range(S):
            number = 0
            for action in range(A):
                number += tied[first, state, action]
            total = 0.0
            for action in range(A):
                total += tied[first, state, action] / number
                memory.chances[state, action] = total
    else:
        interval[PLAYED] = ACTIONS
        for state in range(S):
            for place in range(A - 1, -1, -1):
                if tied[first, state, order[place]]:
                    memory.actions[state] = order[place]
    return True


@kernel
def count_step(state: int, action: int, successor: int, rows: RowCounts, interval: Int64s, A: int, H: int) -> int:
    """Count a step; return flags if the interval is over, -1 if the row of the pair is full."""
    row = state * A + action
    if not enter(row, successor, rows.size, rows.successors, rows.counts):
        return -1
    rows.visits[row] += 1
    interval[TAKEN] += 1
    ended = 0
    if successor == rows.size.size // A:
        ended += GOALS
    if interval[TAKEN] == H:
        ended += STEPS
    if ended > 0:
        interval[IN_PROGRESS] = 0
    return ended


@kernel
def roll_out(model: Dynamics, walk: Walk, memory: Memory) -> int:
    """Plan, act and count while there is room; return why Python is needed."""
    S, A = memory.costs.shape
    # Local variables: reading them from the memory at every step takes as long as the rest.
    rows, interval, cursor, H = memory.counts, memory.interval, walk.cursor, memory.facts.H
    actions, by_step, chances, choices = memory.actions, memory.by_step, memory.chances, walk.choices
    width = rows.counts.shape[1]
    while has_room(cursor):
        if interval[IN_PROGRESS] == 0:
            plan_interval(memory)
            if not decide_alike(memory):
                return UNDECIDED
        state = cursor[STATE]
        played = interval[PLAYED]
        if played == CHANCES:
            action = draw_action(chances, state, choices[cursor[CHOSEN]])
        elif played == ACTIONS:
            action = actions[state]
        else:
            action = by_step[interval[TAKEN], state]
        if rows.size[state * A + action] == width and width <= S:
            return ROW_FULL
        cursor[CHOSEN] += played == CHANCES
        ended = count_step(state, action, take_step(model, walk, action), rows, interval, A, H)
        if ended > 0:
            end_epoch(walk, ended)
    return DONE
