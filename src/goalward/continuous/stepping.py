"""Acting in a goal task with continuous states, step by step.

What ends a plan is tested after each step, as in `rollout`::

    INFORMATION     the plan has seen enough
    GOALS           the goal was reached, for the stop_after_goals-th time in this plan
    EPISODES        the goal was reached and the run has had all its episodes

The environment's stream decides starts and random moves, the acting stream what the plan leaves to chance.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.rollout import BLOCK, Ended, Luck
from goalward.agents.base import NEVER
from goalward.arrays import Floats
from goalward.continuous.base import BoxPlan
from goalward.continuous.box_task import BoxSteps
from goalward.continuous.task import GoalTask
from goalward.errors import PolicyError

__all__ = ["BoxStage"]


class BoxStage:
    """A goal task in which plans are followed; `state` is where the agent is."""

    def __init__(self, task: GoalTask, environment: int, acting: int):
        self.task = task.known
        self.acting = Luck(acting)
        self.play = task.begin(environment)
        self.cut = False

    @property
    def state(self) -> Floats:
        """Where the agent is."""
        return self.play.state

    def begin(self, plan: BoxPlan) -> None:
        """Take up a plan."""
        self.plan = plan
        self.plan_goals = NEVER if plan.stop_after_goals is None else plan.stop_after_goals

    def advance(self, episodes: int, steps: int) -> tuple[BoxSteps, int]:
        """Follow the plan for a while: at most so many episodes and steps; return the steps and what ended the plan."""
        states: list[Floats] = []
        actions: list[int] = []
        next_states: list[Floats] = []
        reached: list[bool] = []
        ended = 0
        self.cut = False
        while not ended and not self.cut and len(actions) < min(steps, BLOCK):
            state = self.play.state
            action = self.plan.choose(state, self.acting.draw())
            if not 0 <= action < self.task.actions:
                raise PolicyError(
                    f"the plan plays action {action}; the task has the actions 0..{self.task.actions - 1}"
                )
            moved = self.play.step(action)
            self.cut = moved.cut
            states.append(state)
            actions.append(action)
            next_states.append(moved.state)
            reached.append(moved.reached)
            if self.plan.seen_enough(state, action):
                ended += Ended.INFORMATION
            if moved.reached:
                self.plan_goals -= 1
                ended += Ended.GOALS if self.plan_goals <= 0 else 0
                episodes -= 1
                ended += Ended.EPISODES if episodes == 0 else 0
        return self.as_steps(states, actions, next_states, reached), int(ended)

    def as_steps(
        self, states: list[Floats], actions: list[int], next_states: list[Floats], reached: list[bool]
    ) -> BoxSteps:
        """Return lists as arrays, with the costs."""
        shape = (len(actions), self.task.dimensions)
        points, chosen = np.array(states).reshape(shape), np.array(actions, dtype=np.int64)
        costs = self.task.cost(points)[np.arange(len(chosen)), chosen]
        ends = np.array(next_states).reshape(shape)
        return BoxSteps(points, chosen, np.array(costs), ends, np.array(reached, dtype=np.bool_))
