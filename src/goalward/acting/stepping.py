"""The same acting, step by step through a Gymnasium-style environment.

An environment has ``reset(seed=...) -> (state, info)`` and ``step(action) -> (state, reward, terminated, truncated,
info)``. Rules say what the reward means and which steps reach the goal (`goal_and_cost_rules.py`). An episode that
ends away from the goal is never learnt as one that reached it: it leads to a state in which the agent can only give up.
If it may not, the run ends there, with an error unless the run has a limit of steps. `truncated` breaks the episode
off: the step is learnt with the state it led to, never as a visit to the goal, and the environment is reset.

A plan means here exactly what it means in `rollout`. An environment that draws one uniform number for each step from
the generator that ``reset(seed=...)`` made, and takes the successor as
`goalward.acting.next_state.draw_successor` does, gives the same trajectory bit for bit.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from goalward.acting.next_state import draw_action
from goalward.acting.rollout import BLOCK, Ended, Luck, prepare_policy, visit_limits
from goalward.agents.base import NEVER, Plan, StepAgent, Steps, Task
from goalward.environments.environment import Reading
from goalward.environments.rules import CostRule, GoalRule, Outcome, name_of
from goalward.environments.spaces import StateNumbers, first_observation
from goalward.environments.wrappers import changing_wrapper
from goalward.errors import CostError, EndlessRunError, PolicyError, SettingError

__all__ = ["PATIENCE", "Environment", "Stepwise"]

PATIENCE = 1_000_000
"""Steps after which a run without a limit that has never seen the goal is an error."""

Happened = list[tuple[int, int, float, int]]


class Environment(Protocol):
    """What is asked of an environment."""

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; with a seed, start the environment's generator too."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play an action."""


class Stepwise:
    """An environment in which plans are followed; `state` is where the agent is.

    `patience` is the number of steps without a goal after which the run is an error; None if the run has a limit.
    """

    def __init__(
        self,
        environment: Environment,
        task: Task,
        stream: int,
        acting: int,
        reading: Reading | None = None,
        patience: int | None = None,
    ):
        self.environment, self.task = environment, task
        self.reading = reading or Reading(StateNumbers(environment), GoalRule(), CostRule())
        self.acting = Luck(acting)
        self.cut = False
        self.patience, self.limited = patience, patience is None
        self.stuck = False  # the environment ended an episode away from the goal, and the agent may not give up
        self.never = np.full(task.costs.shape, NEVER)
        # Lists, because single entries of arrays are slow to read.
        self.costs: list[float] = task.costs.ravel().tolist()
        self.idle = [not any(row) for row in task.available.tolist()]
        # The last state may be one that only giving up leaves.
        self.states = task.states if self.reading.ended is None else self.reading.ended
        self.observed: Any = None
        self.state = self.restart(seed=stream)

    def begin(self, plan: Plan) -> None:
        """Take up a plan."""
        self.stop_after = limits(plan.stop_after_visits, self.never)
        self.stop_before = limits(plan.stop_before_visits, self.never)
        self.policy, self.chances = prepare_policy(plan, self.task.states, self.task.actions)
        self.rows = len(self.policy)
        self.visits = [0] * self.task.costs.size
        self.step = 0
        self.stop_when_cut = plan.stop_when_cut
        self.plan_goals = NEVER if plan.stop_after_goals is None else plan.stop_after_goals
        self.plan_steps = NEVER if plan.stop_after_steps is None else plan.stop_after_steps

    def advance(self, episodes: int, steps: int) -> tuple[Steps, int]:
        """Follow the plan for a while: at most so many episodes and steps; return the steps and what ended the plan."""
        happened: Happened = []
        ended = 0
        self.cut = False
        room = min(steps, BLOCK)
        visits, stop_after, stop_before = self.visits, self.stop_after, self.stop_before
        A, goal = self.task.actions, self.task.goal
        while not ended and not self.cut and len(happened) < room:
            state = self.state
            if self.stuck or self.idle[state]:
                ended = int(Ended.DEAD_END)
                break
            action = self.choose()
            pair = state * A + action
            if stop_before is not None and self.step > 0 and visits[pair] >= stop_before[pair]:
                ended = int(Ended.BEFORE_VISITS)
                break
            step = self.play(action)
            happened.append(step)
            self.step += 1
            visits[pair] += 1
            if stop_after is not None and visits[pair] >= stop_after[pair]:
                ended += 1  # AFTER_VISITS, as a plain number: flags are slow
            if step[3] == goal:
                self.plan_goals -= 1
                ended += Ended.GOALS if self.plan_goals <= 0 else 0
                episodes -= 1
                ended += Ended.EPISODES if episodes == 0 else 0
            if self.step >= self.plan_steps:
                ended += Ended.STEPS
            if self.cut and self.stop_when_cut:
                ended += Ended.CUT
        return self.finished(happened), int(ended)

    def advance_with(self, agent: StepAgent, episodes: int, steps: int) -> tuple[Steps, int]:
        """Let an agent choose and learn step by step for a while."""
        happened: Happened = []
        self.cut = False
        while episodes and not self.cut and not self.stuck and len(happened) < min(steps, BLOCK):
            happened.append(self.play(self.checked(agent.choose(self.state, self.acting.draw()))))
            agent.observe(as_steps(happened[-1:]))
            episodes -= happened[-1][3] == self.task.goal
        ended = Ended.DEAD_END if self.stuck else 0 if episodes else Ended.EPISODES
        return self.finished(happened), int(ended)

    def finished(self, happened: Happened) -> Steps:
        """Return what happened as arrays; raises EndlessRunError if the goal has not been seen for far too long."""
        steps = as_steps(happened)
        if self.patience is not None:
            self.patience -= len(happened)
            if (steps.next_states == self.task.goal).any():
                self.patience = None
            elif self.patience <= 0:
                raise EndlessRunError(
                    f"{name_of(self.environment)} has not reached the goal in {PATIENCE:,} steps; the goal is"
                    f" {self.reading.goal}: pass another rule as goal=..., or max_steps=..., which ends the run"
                )
        return steps

    def choose(self) -> int:
        """Return the action that the plan says, drawing it if need be."""
        if len(self.chances):
            return self.checked(int(draw_action(self.chances, self.state, self.acting.draw())))
        return self.checked(self.policy.item(min(self.step, self.rows - 1), self.state))

    def checked(self, action: int) -> int:
        """Return an action that is available, or say that it is not."""
        A = self.task.actions
        if not (0 <= action < A and self.costs[self.state * A + action] != np.inf):
            raise PolicyError(
                f"the policy plays action {action} in state {self.state}, which is not available there;"
                " see task.available"
            )
        return action

    def play(self, action: int) -> tuple[int, int, float, int]:
        """Play an action, and start the next episode if this one is over."""
        state = self.state
        told = self.costs[state * self.task.actions + action]
        reading = self.reading
        if action == reading.give_up:
            self.state = self.restart()
            return state, action, told, self.state
        named = action + reading.first_action
        result = self.environment.step(named)
        try:
            observed, reward, terminated, truncated, info = result
        except (TypeError, ValueError):
            raise SettingError(
                f"{name_of(self.environment)}.step returned {result!r:.80}; it must return (observation, reward,"
                " terminated, truncated, info)"
            ) from None
        goal, pays = reading.goal, reading.cost
        if goal.predicate is None and goal.threshold is None and pays.fixed is not None:
            cost, reached = pays.fixed, terminated
        else:
            outcome = Outcome(self.observed, named, observed, reward, terminated, info)
            cost, reached = pays.cost(outcome), goal.reached(outcome)
        self.cut = bool(truncated) and not terminated and not reached
        if reached:
            successor = self.task.goal
        elif terminated and not reading.goes_on:
            successor = self.ended_elsewhere(named, observed, reward)
        else:
            successor = reading.numbers.read(observed, self.states)
        if reading.known_costs and cost != told and not abs(cost - told) <= 1e-9 * told:
            self.refuse_cost(named, cost, told)
        if reached or self.cut:
            self.state = self.restart()
        else:
            self.observed = observed
            self.state = successor
        return state, action, cost, successor

    def restart(self, **seed: int) -> int:
        """Reset the environment; return the state in which it starts."""
        self.observed = first_observation(self.environment, **seed)
        return self.reading.numbers.read(self.observed, self.states)

    def ended_elsewhere(self, action: int, observed: Any, reward: Any) -> int:
        """Return the state to which the end of an episode away from the goal leads."""
        if self.reading.ended is None:
            if self.limited:
                self.stuck = True
                return self.reading.numbers.read(observed, self.states)
            raise EndlessRunError(
                f"{name_of(self.environment)} ended an episode away from the goal: action {action} in state"
                f" {self.observed!r}, reward {reward}; the goal is {self.reading.goal}. Pass give_up_cost=..., which"
                " makes such an end a restart at that cost, or another rule as goal=..."
            )
        return self.reading.ended

    def refuse_cost(self, action: int, cost: float, told: float) -> None:
        """Raise CostError: what was paid is not what the agent was told."""
        wrapper = changing_wrapper(self.environment)
        hidden = hasattr(getattr(self.environment, "unwrapped", None), "P") and wrapper is not None
        why = f", because the wrapper {wrapper} may change what the table of transitions says" if hidden else ""
        raise CostError(
            f"action {action} in state {self.observed!r} cost {cost:g}, and the agent was told {told:g}{why}; pass"
            " task=Task(costs, initial_state, episodes) with the true costs, or cost=1.0 to count steps"
        )


def limits(given: Any, never: Any) -> list[int] | None:
    """Return a table of visit limits as a list, None if it limits nothing."""
    return None if given is None else visit_limits(given, never).ravel().tolist()


def as_steps(happened: Happened) -> Steps:
    """Return a list of steps as arrays."""
    if not happened:
        return Steps.empty(0)
    states, actions, costs, successors = zip(*happened, strict=True)
    return Steps(
        np.array(states, dtype=np.int64),
        np.array(actions, dtype=np.int64),
        np.array(costs),
        np.array(successors, dtype=np.int64),
    )
