"""The base class of UC-SSP and ULCVI, which make a plan for every attempt.

An attempt starts with a plan. The attempt ends at the goal or after a number of steps, which is called the horizon. So
every episode needs a new plan. For speed, these agents are online agents, which plan inside `act`.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.stop_conditions import GOALS, STEPS, TRUNCATED
from goalward.agents.base import OnlineAgent
from goalward.agents.optimistic.common import ROW_FULL, Optimist
from goalward.arrays import Int32s, Int64s
from goalward.beliefs.counts import enter
from goalward.jit import kernel

# Positions in `_attempt`: the steps so far, the horizon, whether an attempt is in progress, whether the last attempt
# failed, and the number of final steps whose policies differ, for agents with one policy per step.
TAKEN, HORIZON, IN_PROGRESS, MISSED, DISTINCT = range(5)


class Attempts(OnlineAgent, Optimist):
    """An optimistic agent that plans once per attempt. An attempt ends at the goal or after `HORIZON` steps."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self._attempt: Int64s = np.zeros(5, dtype=np.int64)

    def learn(self, step: Step[int]) -> int:
        """Count `step`, and return stop flags if the attempt ends. A truncated episode also ends the attempt."""
        row, goal = step.state * self.task.actions + step.action, self.task.goal
        while (ended := count_step(row, step.next_state, goal, *self.counts.rows, self._attempt)) == ROW_FULL:
            self.counts.widen()
        return ended + TRUNCATED if step.truncated else ended

    def restart(self) -> None:
        self._attempt[IN_PROGRESS] = self._attempt[MISSED] = 0


@kernel
def count_step(
    row: int, successor: int, goal: int,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, attempt: Int64s,
) -> int:  # fmt: skip
    """Count a step. Return stop flags, 0 if the attempt continues, or ROW_FULL if the row has no room for the step."""
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
