"""Stretches: what an agent with a compiled epoch loop does between two visits to Python.

Some agents make a plan for nearly every episode. Python would then take longer than planning and acting together. Such
an agent brings `advance`, which plans, acts and learns, compiled, until the uniform numbers of a stretch are used up.
`plan` and `observe` remain what the algorithm is: `advance` must do the same to the bit, and a test holds it to that.
The loop uses `advance` on a known model where nobody asks for the plans.

What ends an epoch is said in flags; `goalward.acting.rollout` defines each of them.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import IntFlag
from typing import NamedTuple

import numpy as np

from goalward.acting.next_state import Dynamics, draw_action, draw_successor, dynamics
from goalward.acting.task import Steps, Task
from goalward.agents.base import Agent
from goalward.arrays import Floats, Int64s
from goalward.beliefs.counts import Counts, RowCounts, enter
from goalward.jit import exercise, kernel
from goalward.ssp.model import SSP

__all__ = ["DONE", "PLAN_OVER", "ROW_FULL", "STEPS_DONE", "Ended", "SelfActing", "Stretch", "is_over", "pursue"]


class Ended(IntFlag):
    """What ended a plan; EPISODES, MAX_STEPS, STOPPED and DEAD_END also end the run."""

    AFTER_VISITS = 1
    BEFORE_VISITS = 2
    GOALS = 4
    STEPS = 8
    EPISODES = 16
    MAX_STEPS = 32
    STOPPED = 64
    DEAD_END = 128
    CUT = 256
    INFORMATION = 512


GOALS, STEPS, EPISODES = int(Ended.GOALS), int(Ended.STEPS), int(Ended.EPISODES)
# Why a kernel returns: the stretch is over, a row of the counts is full, a plan is over. Agents add their own reasons.
DONE, ROW_FULL, PLAN_OVER = range(3)
# Places in the cursor, the integers that kernels read and write.
STATE, GOALS_LEFT, STEPS_DONE, CHOICES_USED, EPOCHS_ENDED = range(5)


class Stretch(NamedTuple):
    """What there is to act with, and room for what happens.

    Attributes
    ----------
    luck, choices
        Uniform numbers: one of `luck` for each successor, one of `choices` for each action left to chance.
    steps
        Room for as many steps as there is luck.
    ends, ended
        Room for the epochs that end: after which step of the stretch, and why.
    cursor
        The state, the goals to go, the steps done, the choices used and the epochs ended.
    """

    luck: Floats
    choices: Floats
    steps: Steps
    ends: Int64s
    ended: Int64s
    cursor: Int64s

    @classmethod
    def begin(
        cls, state: int, goals: int, luck: Floats, choices: Floats, steps: Steps, ends: Int64s, ended: Int64s
    ) -> Stretch:
        """Return a stretch in which nothing has happened, from a state on and for so many goals."""
        return cls(luck, choices, steps, ends, ended, np.array([state, goals, 0, 0, 0]))


class SelfActing(Agent):
    """An agent with a compiled epoch loop. A subclass that changes the algorithm falls back on `plan` and `observe`."""

    @abstractmethod
    def advance(self, world: Dynamics, stretch: Stretch) -> None:
        """Plan, act and learn until the luck or the choices are used up or all goals are reached."""

    @property
    def acts_itself(self) -> bool:
        """Whether `advance` is that of this very class, not of one whose methods this class may have changed."""
        return "advance" in vars(type(self))


@kernel
def is_over(stretch: Stretch) -> bool:
    """Return whether the stretch has no more luck or choices, or no more goals to reach."""
    cursor = stretch.cursor
    return bool(
        cursor[STEPS_DONE] >= stretch.luck.size
        or cursor[CHOICES_USED] >= stretch.choices.size
        or cursor[GOALS_LEFT] <= 0
    )


@kernel
def pursue(
    world: Dynamics, stretch: Stretch, counts: RowCounts, actions: Int64s, chances: Floats, taken: int, limit: int
) -> tuple[int, int]:  # fmt: skip
    """Follow a plan of which some steps were taken, until the goal or for `limit` steps, and count what happens.

    The plan is ``actions[h, s]``, the last row from then on, or if there are none ``chances[s, a]`` cumulated over the
    actions. Returns why it stopped, PLAN_OVER if it is done, and how many steps of it are taken now.
    """
    indptr, successors, cumulative, costs, initial_state = world
    luck, choices, (states, played, paid, next_states), ends, why, cursor = stretch
    S, A = costs.shape
    mixed = len(actions) == 0
    state, i, choice = cursor[STATE], cursor[STEPS_DONE], cursor[CHOICES_USED]
    reason = DONE
    while reason == DONE and i < luck.size and choice < choices.size:
        step = min(taken, len(actions) - 1)
        action = draw_action(chances, state, choices[choice]) if mixed else actions[step, state]
        row = state * A + action
        next_states[i] = draw_successor(indptr, successors, cumulative, row, luck[i])
        # Read back, it is a 64-bit integer like all states that the other kernels see: one specialisation of each.
        successor = next_states[i]
        if not enter(row, successor, counts.size, counts.successors, counts.counts):
            reason = ROW_FULL
            break
        counts.visits[row] += 1
        choice += mixed
        states[i] = state
        played[i] = action
        paid[i] = costs[state, action]
        state = successor
        i += 1
        taken += 1
        ended = 0
        if state == S:
            state = initial_state
            cursor[GOALS_LEFT] -= 1
            ended = GOALS + (EPISODES if cursor[GOALS_LEFT] == 0 else 0)
        if taken == limit:
            ended += STEPS
        if ended > 0:
            ends[cursor[EPOCHS_ENDED]] = i
            why[cursor[EPOCHS_ENDED]] = ended
            cursor[EPOCHS_ENDED] += 1
            reason = PLAN_OVER
    cursor[STATE], cursor[STEPS_DONE], cursor[CHOICES_USED] = state, i, choice
    return reason, taken


@exercise
def exercise_stretches() -> None:
    """Take one step."""
    ssp = SSP.from_rows([0, 1], [1], [1.0], [[1.0]])
    room = [np.zeros(1, dtype=np.int64) for _ in range(2)]
    stretch = Stretch.begin(0, 1, np.zeros(1), np.zeros(1), Steps.empty(1), *room)
    if not is_over(stretch):
        actions, counts = np.zeros((1, 1), dtype=np.int64), Counts(Task.of(ssp, 1))
        pursue(dynamics(ssp), stretch, counts.rows, actions, np.ones((1, 1)), 0, 1)
