"""The same acting, step by step through a Gymnasium-style environment.

An environment has ``reset(seed=...) -> (state, info)`` and ``step(action) -> (state, reward, terminated, truncated,
info)``; states and actions are integers, the cost of a step is minus its reward, and `terminated` is the goal, whatever
state comes with it. `truncated` breaks the episode off: the step is learnt with the state it led to, never as a visit
to the goal, and the environment is reset.

A plan means here exactly what it means in `rollout`. An environment that draws one uniform number for each step from
the generator that ``reset(seed=...)`` made, and takes the successor as `acting.draw_successor` does, gives the same
trajectory bit for bit.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from goalward.agents.base import NEVER, Plan, StepAgent, Steps, Task
from goalward.errors import PolicyError, StateError
from goalward.learning.rollout import BLOCK, Ended, Luck, prepare_policy, visit_limits
from goalward.model.dynamics import draw_action

__all__ = ["Environment", "Stepwise"]


class Environment(Protocol):
    """What is asked of an environment."""

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; with a seed, start the environment's generator too."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play an action."""


class Stepwise:
    """An environment in which plans are followed; `state` is where the agent is."""

    def __init__(self, environment: Environment, task: Task, stream: int, acting: int):
        self.environment, self.task = environment, task
        self.acting = Luck(acting)
        self.cut = False
        self.visits = np.zeros(task.costs.shape, dtype=np.int64)
        self.never = np.full(task.costs.shape, NEVER)
        self.state = self.read_state(environment.reset(seed=stream)[0])

    def begin(self, plan: Plan) -> None:
        """Take up a plan."""
        self.stop_after = visit_limits(plan.stop_after_visits, self.never)
        self.stop_before = visit_limits(plan.stop_before_visits, self.never)
        self.policy, self.chances = prepare_policy(plan, self.task.states, self.task.actions)
        self.visits.fill(0)
        self.step = 0
        self.stop_when_cut = plan.stop_when_cut
        self.plan_goals = NEVER if plan.stop_after_goals is None else plan.stop_after_goals
        self.plan_steps = NEVER if plan.stop_after_steps is None else plan.stop_after_steps

    def advance(self, episodes: int, steps: int) -> tuple[Steps, int]:
        """Follow the plan for a while: at most so many episodes and steps; return the steps and what ended the plan."""
        happened: list[tuple[int, int, float, int]] = []
        ended = 0
        self.cut = False
        while not ended and not self.cut and len(happened) < min(steps, BLOCK):
            state = self.state
            if not self.task.available[state].any():
                ended = int(Ended.DEAD_END)
                break
            action = self.choose()
            if self.step > 0 and self.visits[state, action] >= self.stop_before[state, action]:
                ended = int(Ended.BEFORE_VISITS)
                break
            happened.append(self.play(action))
            self.step += 1
            self.visits[state, action] += 1
            if self.visits[state, action] >= self.stop_after[state, action]:
                ended += Ended.AFTER_VISITS
            if happened[-1][3] == self.task.goal:
                self.plan_goals -= 1
                ended += Ended.GOALS if self.plan_goals <= 0 else 0
                episodes -= 1
                ended += Ended.EPISODES if episodes == 0 else 0
            if self.step >= self.plan_steps:
                ended += Ended.STEPS
            if self.cut and self.stop_when_cut:
                ended += Ended.CUT
        return as_steps(happened), int(ended)

    def advance_with(self, agent: StepAgent, episodes: int, steps: int) -> tuple[Steps, int]:
        """Let an agent choose and learn step by step for a while."""
        happened: list[tuple[int, int, float, int]] = []
        self.cut = False
        while episodes and not self.cut and len(happened) < min(steps, BLOCK):
            happened.append(self.play(self.checked(agent.choose(self.state, self.chance()))))
            agent.observe(as_steps(happened[-1:]))
            episodes -= happened[-1][3] == self.task.goal
        return as_steps(happened), 0 if episodes else int(Ended.EPISODES)

    def choose(self) -> int:
        """Return the action that the plan says, drawing it if need be."""
        if len(self.chances):
            return self.checked(int(draw_action(self.chances, self.state, self.chance())))
        return self.checked(int(self.policy[min(self.step, len(self.policy) - 1), self.state]))

    def chance(self) -> float:
        """Return the next number of the acting stream."""
        self.acting.refill()
        self.acting.used += 1
        return float(self.acting.block[self.acting.used - 1])

    def checked(self, action: int) -> int:
        """Return an action that is available, or say that it is not."""
        if not (0 <= action < self.task.actions and self.task.available[self.state, action]):
            raise PolicyError(
                f"the policy plays action {action} in state {self.state}, which is not available there;"
                " see task.available"
            )
        return action

    def play(self, action: int) -> tuple[int, int, float, int]:
        """Play an action, and start the next episode if this one is over."""
        state = self.state
        reached, reward, terminated, truncated, _ = self.environment.step(action)
        successor = self.task.goal if terminated else self.read_state(reached)
        self.cut = bool(truncated) and not terminated
        self.state = self.read_state(self.environment.reset()[0]) if terminated or truncated else successor
        return state, action, -float(reward), successor

    def read_state(self, given: Any) -> int:
        """Return the number of a non-goal state."""
        state = int(given)
        if not 0 <= state < self.task.states:
            raise StateError(
                f"the environment gave state {given!r}; an episode that is not over is in a state of"
                f" 0..{self.task.states - 1}, and the goal is announced by terminated=True"
            )
        return state


def as_steps(happened: list[tuple[int, int, float, int]]) -> Steps:
    """Return a list of steps as arrays."""
    steps = Steps.empty(len(happened))
    for i, (state, action, cost, successor) in enumerate(happened):
        steps.states[i], steps.actions[i], steps.costs[i], steps.next_states[i] = state, action, cost, successor
    return steps
