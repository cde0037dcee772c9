"""Worlds that are made from environments.

An environment has ``reset(seed=...) -> (observation, info)`` and ``step(action) -> (observation, reward, terminated,
truncated, info)``, as in Gymnasium. The agent learns from the results of the outermost wrapper.
`goalward.acting.encoding` assigns numbers to observations and actions. The rules in
`goalward.environments.goal_and_cost_rules` decide which steps reach the goal and what a step costs.

Ends of episodes
    An episode may terminate away from the goal. With ``give_up_cost``, its last step leads to an additional state,
    whose only action is to give up. Without ``give_up_cost``, the run ends; if the run has no limit of steps, it raises
    an error. The agent learns from a `truncated` step as from any other step. Then the environment is reset.

Giving up
    With ``give_up_cost``, the agent has an additional last action, which resets the environment at this cost. The agent
    knows where this action leads. If all episodes start in one state, the action leads to that state. Otherwise, it
    leads to an additional state called "start", whose only action is free and draws the first observation.

Costs
    The agent knows the costs if `cost` is a fixed number. The agent also knows the costs if the environment has a table
    of transitions (``env.unwrapped.P``) that no wrapper changes. Otherwise, the agent learns the costs.

If an environment was made from a model, the agent learns in this model, which is ``environment.unwrapped.ssp``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from goalward.acting.contract import Plan, Step, Task, World
from goalward.acting.encoding import MAX_STATES
from goalward.acting.model_world import policy_of, unavailable
from goalward.acting.stepping import SteppingStage
from goalward.acting.stop_conditions import TableStop
from goalward.arrays import Floats
from goalward.environments import goal_and_cost_rules as rules
from goalward.environments.goal_and_cost_rules import Outcome, name_of
from goalward.environments.spaces import check_environment, checked_step, encoding_of, first_observation
from goalward.environments.tables import costs_of, has_table, read_table, start_states, table_model
from goalward.errors import CostError, EndlessRunError, SettingError
from goalward.settings import Positive, check
from goalward.ssp.model import SSP

PATIENCE = 1_000_000
"""A run without a limit of steps raises an error if it has not reached the goal after this many steps."""
FIRST_EPISODES = 10
"""The number of episodes at the start of a run that are checked for signs that the task has no goal."""
RESETS = 10
"""All episodes are assumed to start in one state if this many resets with different seeds lead to the same state."""
new: Any = tuple.__new__
"""Makes named tuples in a third of the time that their own constructors take; see `benchmarks/gymnasium_steps.py`."""


class Environment(World[Task, Plan]):
    """A world that is made from an environment.

    Parameters
    ----------
    environment
        A Gymnasium environment, or an object with `reset` and `step`, with finitely many actions.
    goal, cost
        The rules that decide which steps reach the goal and what a step costs; see `environments.goal_and_cost_rules`.
        By default, a step with a negative reward costs minus that reward, and any other step costs 1.
    give_up_cost
        Adds a last action that lets the agent give up, which resets the environment at this cost. An episode that ends
        away from the goal is also reset at this cost. Regret is measured against the best policy that may give up.
    key, max_states
        Observations with the same ``key(observation)`` are one state. Without a key, each value of a finite observation
        space is a state. Otherwise, each new observation is a new state. At most `max_states` states may appear.
    cost_range
        The smallest and the largest possible cost of a step. It matters only if the agent must learn the costs.

    Examples
    --------
    >>> import goalward as gw, gymnasium
    >>> lake = gw.Environment(gymnasium.make("FrozenLake-v1", is_slippery=False), give_up_cost=10.0)
    >>> run = gw.learn(gw.agents.PSRL(), lake, episodes=60, seed=2)
    >>> float(run.costs[-1])
    6.0
    """

    def __init__(
        self,
        environment: Any,
        *,
        goal: str | float | Callable[[Outcome], object] | None = None,
        cost: str | float | Callable[[Outcome], float] | None = None,
        give_up_cost: float | None = None,
        key: Callable[[Any], Hashable] | None = None,
        max_states: int = MAX_STATES,
        cost_range: tuple[float, float] | None = None,
    ):
        check_environment(environment)
        self.environment, self.key = environment, key
        self.goal = rules.goal_rule(goal, environment)
        carried = getattr(getattr(environment, "unwrapped", environment), "ssp", None)
        bare = key is None and goal is None and cost is None and not rules.changing_wrapper(environment)
        model = carried if isinstance(carried, SSP) and bare else None
        self.numbered = encoding_of(environment, key, max_states, None if model is None else model.costs.shape)
        self.cost = rules.cost_rule(cost if model is None else "reward")
        self.counts_steps = cost is None and model is None  # rewarded steps cost 1 by default
        self.ended: int | None = None  # the state that stands for the end of an episode away from the goal
        self.start: int | None = None  # the state "start", if episodes start in different states
        if model is not None:
            self.model = self.graph = model if give_up_cost is None else model.with_give_up(give_up_cost)
            known = Task.of(self.model, 1)
        else:
            known = self.survey(give_up_cost)
        self.give_up = -1 if give_up_cost is None else self.numbered.actions
        self.numbered.give_up = give_up_cost is not None
        self.known = replace(known, cost_range=cost_range)
        self.encoding = deepcopy(self.numbered)

    def survey(self, give_up_cost: float | None) -> Task:
        """Return the facts that an agent may know about an environment that was not made from a model."""
        environment, encoding = self.environment, self.numbered
        costs = np.full((encoding.states, encoding.actions), np.nan if self.cost.fixed is None else self.cost.fixed)
        if has_table(environment, encoding):
            costs = costs_of(read_table(environment), self.cost)
            if give_up_cost is None:
                self.graph = table_model(environment, self.goal, self.cost)
        starts = start_states(environment, encoding, RESETS if give_up_cost is not None else 1)
        known = Task(costs, starts[0], 1)
        if give_up_cost is None:
            return known
        self.ended = encoding.states
        if len(starts) > 1:
            self.start = encoding.states + 1
        return with_restarts(known, give_up_cost, self.start)

    def task(self, episodes: int, resumed: Task | None = None) -> Task:
        self.encoding = deepcopy(self.numbered if resumed is None or resumed.encoding is None else resumed.encoding)
        self.encoding.key = self.key
        return replace(self.known, episodes=episodes, encoding=self.encoding)

    def stage(self, seed: int, *, limited: bool = False) -> SteppingStage[int, Plan]:
        shape = self.known.costs.shape
        return SteppingStage(
            lambda stream: EnvironmentSimulator(self, stream, limited),
            lambda plan: (policy_of(plan, *shape), TableStop(plan, shape)),
            seed,
        )

    def __repr__(self) -> str:
        return f"Environment({name_of(self.environment)}, goal: {self.goal})"


class EnvironmentSimulator:
    """Plays actions in the environment during a run, and turns the results into steps between numbered states."""

    def __init__(self, world: Environment, stream: int, limited: bool):
        self.world, self.environment, self.encoding = world, world.environment, world.encoding
        self.limited = limited
        self.patience: Any = None if limited else PATIENCE  # steps left before the first goal
        self.state, self.stuck = -1, False
        self.observation: Any = None
        self.first_episodes: FirstEpisodes | None = FirstEpisodes(world)
        task = world.known
        self.actions, self.goal = task.actions, task.goal
        self.raw_actions = [self.encoding.action(number) for number in range(self.encoding.actions)]
        # Lists, because single entries of arrays are slow to read.
        self.costs: list[float] = task.costs.ravel().tolist()
        self.idle = [not any(row) for row in task.available.tolist()]
        self.low, self.high = (0.0, np.inf) if task.cost_range is None else task.cost_range
        self.reset(seed=stream)

    def check(self, action: int) -> None:
        if not (0 <= action < self.actions and self.costs[self.state * self.actions + action] != np.inf):
            raise unavailable(self.state, action)

    def step(self, action: int) -> Step[int]:
        world, state = self.world, self.state
        stated = self.costs[state * self.actions + action]
        if self.patience is not None:
            self.wait()
        if action == world.give_up:
            self.reset()
            return Step(state, action, stated, self.state, False)
        if state == world.start:
            self.state = self.encoding.state(self.observation)
            return Step(state, action, stated, self.state, False)
        raw_action = self.raw_actions[action]
        result = self.environment.step(raw_action)
        observation, reward, terminated, truncated, info = checked_step(self.environment, result)
        outcome = new(Outcome, (self.observation, raw_action, observation, reward, terminated, info))
        cost, reached = world.cost.cost(outcome), bool(world.goal.reached(outcome))
        cut = bool(truncated) and not terminated and not reached
        lost = bool(terminated) and not reached and world.model is None
        if self.first_episodes is not None and self.first_episodes.show_goal(outcome, reached, terminated or truncated):
            self.first_episodes = None
        if reached:
            successor, self.patience = self.goal, None
        elif lost and world.ended is not None:
            successor = world.ended
        else:
            if lost and not self.limited:
                self.refuse_end(outcome)
            successor = self.encoding.state(observation)
        if stated != stated and not self.low <= cost <= self.high:  # the cost is unknown, which is NaN
            raise CostError(
                f"the cost of action {outcome.action} in state {outcome.state!r} was {cost:g}, but cost_range is"
                f" {self.low:g} to {self.high:g}; pass a wider cost_range, or omit cost_range"
            )
        self.observation, self.state = observation, successor
        self.stuck = not reached and (self.idle[successor] or (lost and world.ended is None))
        step: Step[int] = new(Step, (state, action, cost, successor, reached, cut))
        return step

    def reset(self, **seed: int) -> None:
        self.observation = first_observation(self.environment, **seed)
        start = self.world.start
        self.state = self.encoding.state(self.observation) if start is None else start
        self.stuck = self.idle[self.state]

    def wait(self) -> None:
        """Count a step before the goal is first reached; raises EndlessRunError after too many steps."""
        self.patience -= 1
        if self.patience < 0:
            raise EndlessRunError(
                f"{name_of(self.environment)} has not reached the goal in {PATIENCE:,} steps; the goal is"
                f" {self.world.goal}: choose another rule with Environment(environment, goal=...), extend the time"
                " limit, or pass max_steps=..., which ends the run"
            )

    def refuse_end(self, outcome: Outcome) -> None:
        raise EndlessRunError(
            f"{name_of(self.environment)} ended an episode away from the goal: action {outcome.action} in state"
            f" {outcome.state!r}, reward {outcome.reward}; the goal is {self.world.goal}. Use Environment(environment,"
            " give_up_cost=...) to restart at a cost after such an end, or pass another rule as goal=..."
        )


class FirstEpisodes:
    """Checks during the first episodes of a run whether the task seems to have a goal."""

    def __init__(self, world: Environment):
        self.world, self.left = world, FIRST_EPISODES
        self.always_reached, self.always_rewarded = True, world.counts_steps

    def show_goal(self, outcome: Outcome, reached: bool, over: bool) -> bool:
        """Return True once the task seems to have a goal; raises SettingError if the task seems to have no goal."""
        self.always_reached = self.always_reached and reached and not outcome.terminated
        self.always_rewarded = self.always_rewarded and outcome.gain > 0.0
        self.left -= reached or over
        if self.left and (self.always_reached or self.always_rewarded):
            return False
        name, goal = name_of(self.world.environment), self.world.goal
        if self.always_reached:
            raise SettingError(
                f"each of the first {FIRST_EPISODES} steps of {name} reached the goal, which is {goal}, but the episode"
                " continued; pass a rule that is true only when the task is done, such as"
                ' goal=lambda step: step.info["is_success"]'
            )
        if self.always_rewarded:
            raise SettingError(
                f"{name} rewarded every step of its first {FIRST_EPISODES} episodes. {rules.NO_GOAL}. If the goal"
                f" really is {goal}, pass cost=1.0 to learn the shortest path"
            )
        return True


def with_restarts(task: Task, cost: float, start: int | None) -> Task:
    """Return `task` with an additional action to give up, and an additional state with only this action.

    If `start` is a number, it is a new initial state, whose only action is free and draws the first observation.
    """
    S, A = task.costs.shape
    costs: Floats = np.full((S + (1 if start is None else 2), A + 1), np.inf)
    costs[:S, :A] = task.costs
    costs[: S + 1, A] = check("give_up_cost", cost, Positive, ", the cost of starting again")
    if start is None:
        costs[task.initial_state, A] = np.inf  # giving up there changes nothing
        return replace(task, costs=costs, give_up=A)
    costs[start, 0] = 0.0
    return replace(task, costs=costs, initial_state=start, give_up=A)
