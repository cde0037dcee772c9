"""Optimistic agents that plan for attempts: UC-SSP, ULCVI and MVP+.

An attempt starts with a plan, and ends at the goal or after a number of steps, its horizon. So nearly every episode has
a plan of its own, and these agents are online policies: they plan inside `act` when no attempt is in progress. ULCVI
and MVP+ reduce the problem to one of finite horizon H: their plans have a policy for each step.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from goalward.acting.contract import Plan, Step, Task
from goalward.acting.model_world import CHOSEN, STATE, Dynamics, Walk, end_epoch, has_room, take_step
from goalward.acting.stop import CUT, GOALS, STEPS
from goalward.agents.optimistic.common import ROW_FULL, Fact, StepOptimist
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import enter
from goalward.errors import SettingError
from goalward.jit import kernel

__all__ = [
    "DISTINCT", "HORIZON", "IN_PROGRESS", "MISSED", "TAKEN", "Attempts", "HorizonOptimist", "count_step", "horizon",
    "play_interval",
]  # fmt: skip

LARGEST_PLAN = 1 << 28
# Positions in an attempt: its steps so far, its horizon, whether it is in progress, whether the last one failed, and
# for agents with a policy for each step the number of last steps whose policies differ.
TAKEN, HORIZON, IN_PROGRESS, MISSED, DISTINCT = range(5)


class Attempts(StepOptimist):
    """An optimist that plans for one attempt to reach the goal, which ends after `HORIZON` steps at the latest."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self._attempt: Int64s = np.zeros(5, dtype=np.int64)

    def learn(self, step: Step[int]) -> int:
        """Count a step; a truncated episode ends the attempt."""
        self.learn_cost(step)
        row, goal = step.state * self.task.actions + step.action, self.task.goal
        while (ended := count_step(row, step.next_state, goal, *self.counts.rows, self._attempt)) == ROW_FULL:
            self.counts.widen()
        return ended + CUT if step.truncated else ended

    def restart(self) -> None:
        """Start an episode, with an attempt of its own."""
        self._attempt[IN_PROGRESS] = self._attempt[MISSED] = 0


class HorizonOptimist(Attempts, kw_only=True):
    """An optimist with a policy for each of the H steps of an attempt; it must be told B* and T*.

    `plan_interval` writes ``Q[h, s, a]`` for the last `DISTINCT` steps; all steps before them are alike. Ties are
    broken at every step.
    """

    B_star: Fact
    """B*, the largest optimal value."""

    T_star: Fact
    """T*, the largest expected number of steps of the optimal policy."""

    needs: ClassVar[tuple[str, ...]] = ("B_star", "T_star")

    factor: ClassVar[float]
    """x in H = ceil(x T* ln(x K))."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        H, pairs = horizon(self.factor, self.T_star, task.episodes), task.costs.size
        if H * pairs > LARGEST_PLAN:
            raise SettingError(
                f"the horizon {self.factor:g} T* ln({self.factor:g} K) is {H}; its plans of {H} steps by {pairs} pairs"
                " do not fit into memory: a smaller T_star is needed"
            )
        self._Q, self._V = np.zeros((H, *task.costs.shape)), np.zeros(task.states + 1)

    @abstractmethod
    def plan_interval(self) -> None:
        """Plan an attempt."""

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Plan if no attempt is in progress, then play one of the best actions of the step."""
        if self._attempt[IN_PROGRESS] == 0:
            self.plan_interval()
        h = max(self._attempt[TAKEN], len(self._Q) - self._attempt[DISTINCT])
        return int(pick(self._Q[h], state, self._order, draw() * self.chance_factor))

    def values(self) -> Floats:
        """Return the optimistic values of the last plan."""
        return self._unit * self._V[:-1]

    def current_plan(self) -> Plan:
        """Return the last plan, to look at; its policy is that of the first steps."""
        policy, values = self.mixture(self._Q[-self._attempt[DISTINCT]]), self.values()
        return Plan(policy, stop_after_goals=1, stop_after_steps=len(self._Q), stop_when_cut=True, values=values)

    def notes(self) -> dict[str, int | float | str]:
        """Return the horizon, beside the scale and the rule for ties."""
        return super().notes() | {"horizon": len(self._Q)}


def horizon(factor: float, T_star: float, episodes: int) -> int:
    """Return H = ceil(x T* ln(x K))."""
    return math.ceil(factor * T_star * math.log(factor * episodes))


@kernel
def count_step(
    row: int, successor: int, goal: int,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, attempt: Int64s,
) -> int:  # fmt: skip
    """Count a step of an attempt; return flags if it ends the attempt, or ROW_FULL with nothing changed."""
    if not enter(row, successor, size, successors, counts):
        return ROW_FULL
    visits[row] += 1
    attempt[TAKEN] += 1
    ended = 0
    if successor == goal:
        ended += GOALS
    if attempt[TAKEN] == attempt[HORIZON]:
        ended += STEPS
    if ended > 0:
        attempt[IN_PROGRESS] = 0
        attempt[MISSED] = successor != goal
    return ended


@kernel
def play_interval(
    model: Dynamics, walk: Walk, Q: Floats, order: Int64s, chance_factor: float,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, attempt: Int64s,
) -> bool:  # fmt: skip
    """Act and count to the end of the attempt, or while there is room; False before a step whose row is full."""
    cursor, choices = walk.cursor, walk.choices
    H, S, A = Q.shape
    width = counts.shape[1]
    while attempt[IN_PROGRESS] > 0 and has_room(cursor):
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
