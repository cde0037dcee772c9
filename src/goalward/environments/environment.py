"""An environment as a world: what an agent may know of it, and what its steps mean.

An environment has ``reset(seed=...) -> (observation, info)`` and ``step(action) -> (observation, reward, terminated,
truncated, info)``, as in Gymnasium. Rules say which steps reach the goal and what they cost
(`goalward.environments.rules`). An episode that ends away from the goal is never learnt as one that reached it: it
leads to a state in which the agent can only give up. If it may not give up, the run ends there, with an error unless
the run has a limit of steps. `truncated` breaks the episode off: the step is learnt with the state it led to, and the
environment is reset.

An environment made from a model carries it as ``environment.unwrapped.ssp``. In any other, the costs that the agent may
know come from, in this order,

* the `task` passed to `Environment`: every cost paid must then be the one that it states;
* the table of transitions, where the environment shows one and no wrapper may change its steps; the agent knows the
  mean cost of each pair from it and nothing else;
* the rule for costs: the fixed cost if it has one, 1 otherwise, and every cost paid must be that.

With ``give_up_cost`` the agent has one more action, the last one: it resets the environment, at that cost. An episode
that ends away from the goal then leads to one more state, the last one, in which giving up is the only action. Where
episodes start in one known state, the agent knows that giving up leads there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from goalward.acting.contract import Plan, Step, Task, World
from goalward.acting.model_world import policy_of, unavailable
from goalward.acting.stepping import SteppingStage
from goalward.acting.stop import TableStop
from goalward.arrays import Floats
from goalward.environments.rules import ENDS, Outcome, changing_wrapper, cost_rule, goal_rule, known_goal, name_of
from goalward.environments.spaces import StateEncoding, action_space, check_environment, first_observation
from goalward.environments.tables import has_table, mean_costs, start_probabilities, table_model
from goalward.errors import CostError, EndlessRunError, SettingError
from goalward.settings import checked_number
from goalward.ssp.checks import checked_costs, checked_state
from goalward.ssp.model import SSP

__all__ = ["PATIENCE", "Environment", "model_of"]

PATIENCE = 1_000_000
"""Steps after which a run without a limit that has never reached the goal is an error."""


class Environment(World[Task, Plan]):
    """An environment as a world.

    Parameters
    ----------
    environment
        An environment with finitely many observations and actions.
    goal, cost
        Which steps reach the goal, and what they cost: see `goalward.environments.rules`.
    give_up_cost
        Let the agent give up: one more action, the last one, resets the environment at this cost. An episode that ends
        away from the goal is then a restart at this cost. Regret is measured against the best policy that may give up.
    task
        What the agent may know, if the environment does not tell.

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
        task: Task | None = None,
    ):
        check_environment(environment)
        self.environment = environment
        self.encoding = StateEncoding(environment)
        self.first_action = 0
        self.give_up = -1  # the action that resets the environment
        self.ended: int | None = None  # the state that stands for the end of an episode away from the goal
        self.model = model_of(environment)
        if self.model is not None:
            self.read_model(self.model, goal, cost, give_up_cost, task)
        else:
            self.survey(goal, cost, give_up_cost, task)

    def read_model(self, model: SSP, goal: Any, cost: Any, give_up_cost: float | None, task: Task | None) -> None:
        """Set up an environment that carries its model: the cost is minus the reward."""
        if give_up_cost is not None:
            model = model.with_give_up(give_up_cost)
            self.give_up = model.actions - 1
        self.model = model
        self.graph = model
        self.known = Task.of(model, 1) if task is None else checked_task(task)
        if not np.array_equal(self.known.available, model.available):
            raise SettingError(
                f"the task has {self.known.states} states and {self.known.actions} actions, the model {model.states}"
                f" and {model.actions}; sizes and available actions must be the same"
            )
        self.goal = goal_rule(goal, self.environment)
        self.cost = cost_rule("reward" if cost is None else cost)
        self.checks_costs = cost is None
        self.goes_on = True  # it can be stepped after the end of an episode, so an end need not be the goal

    def survey(self, goal: Any, cost: Any, give_up_cost: float | None, task: Task | None) -> None:
        """Find out what an agent may know of an environment without a model."""
        environment, encoding, actions = self.environment, self.encoding, action_space(self.environment)
        if actions is not None:
            self.first_action = actions[1]
        # An environment without spaces follows the plain contract: terminated is the goal.
        plain = goal is None and known_goal(environment) is None and encoding.count is None
        self.goal = ENDS if plain else goal_rule(goal, environment)
        pays_reward = task is not None and cost is None and known_goal(environment) is None
        self.cost = cost_rule("reward" if pays_reward else cost)
        table = has_table(environment)
        self.graph = table_model(environment, self.goal, self.cost) if table and give_up_cost is None else None
        if task is not None:
            known = checked_task(task)
            if actions is not None and actions[0] != known.actions:
                raise SettingError(
                    f"the task has {known.actions} actions, the environment {actions[0]}; they must agree"
                )
        elif encoding.count is None or actions is None:
            raise SettingError(
                "the environment carries no model; say what is known with"
                " Environment(environment, task=Task(costs, initial_state, episodes))"
            )
        else:
            stated = 1.0 if self.cost.fixed is None else self.cost.fixed
            shape = encoding.count, actions[0]
            costs = mean_costs(environment, self.cost) if table else np.full(shape, stated)
            starts, _ = start_probabilities(environment, len(costs))
            known = Task(costs, int(np.argmax(starts)), 1)
        self.checks_costs = task is not None or not table
        self.goes_on = False
        if give_up_cost is not None:
            self.ended, self.give_up = known.states, known.actions
            starts, from_table = start_probabilities(environment, known.states)
            known = with_restarts(known, give_up_cost, from_table and np.count_nonzero(starts) == 1)
        self.known = known

    def task(self, episodes: int) -> Task:
        """Return what an agent may know."""
        return replace(self.known, episodes=episodes)

    def stage(self, seed: int, *, limited: bool = False, costs_known: bool = True) -> SteppingStage[int, Plan]:
        """Return a stage at the start of an episode."""
        shape = self.known.costs.shape
        return SteppingStage(
            lambda stream: EnvironmentSimulator(self, stream, limited, costs_known),
            lambda plan: (policy_of(plan, *shape), TableStop(plan, shape)),
            seed,
        )

    def __repr__(self) -> str:
        return f"Environment({name_of(self.environment)}, goal: {self.goal})"


class EnvironmentSimulator:
    """An environment in progress."""

    def __init__(self, world: Environment, stream: int, limited: bool, costs_known: bool):
        self.world, self.environment = world, world.environment
        self.patience = None if limited else PATIENCE
        self.state, self.stuck = -1, False
        self.observation: Any = None
        self.limited, self.checks_costs = limited, world.checks_costs and costs_known
        task = world.known
        self.actions, self.goal = task.actions, task.goal
        # Lists, because single entries of arrays are slow to read.
        self.costs: list[float] = task.costs.ravel().tolist()
        self.idle = [not any(row) for row in task.available.tolist()]
        # The last state may be the one that only giving up leaves.
        self.states = task.states if world.ended is None else world.ended
        self.reset(seed=stream)

    def check(self, action: int) -> None:
        """Raise PolicyError if an action is not available."""
        if not (0 <= action < self.actions and self.costs[self.state * self.actions + action] != np.inf):
            raise unavailable(self.state, action)

    def step(self, action: int) -> Step[int]:
        """Play an action, and start the next episode if this one is over."""
        world, state = self.world, self.state
        stated = self.costs[state * self.actions + action]
        if action == world.give_up:
            self.reset()
            return self.counted(Step(state, action, stated, self.state, False))
        raw_action = action + world.first_action
        result = self.environment.step(raw_action)
        try:
            observation, reward, terminated, truncated, info = result
        except (TypeError, ValueError):
            raise SettingError(
                f"{name_of(self.environment)}.step returned {result!r:.80}; it must return (observation, reward,"
                " terminated, truncated, info)"
            ) from None
        outcome = Outcome(self.observation, raw_action, observation, reward, terminated, info)
        cost, reached = world.cost.cost(outcome), bool(world.goal.reached(outcome))
        cut = bool(truncated) and not terminated and not reached
        lost = bool(terminated) and not reached and not world.goes_on
        if reached:
            successor = self.goal
        elif lost and world.ended is not None:
            successor = world.ended
        else:
            if lost and not self.limited:
                self.refuse_end(outcome)
            successor = world.encoding.state(observation, self.states)
        if self.checks_costs and cost != stated and not abs(cost - stated) <= 1e-9 * stated:
            self.refuse_cost(outcome, cost, stated)
        if reached or cut:
            self.reset()
        else:
            self.observation, self.state = observation, successor
            self.stuck = self.idle[successor] or (lost and world.ended is None)
        return self.counted(Step(state, action, cost, successor, reached, cut))

    def reset(self, **seed: int) -> None:
        """Start an episode."""
        self.observation = first_observation(self.environment, **seed)
        self.state = self.world.encoding.state(self.observation, self.states)
        self.stuck = self.idle[self.state]

    def counted(self, step: Step[int]) -> Step[int]:
        """Return the step; raises EndlessRunError if the goal has not been reached for too long."""
        if self.patience is not None:
            self.patience = None if step.reached else self.patience - 1
            if self.patience == 0:
                raise EndlessRunError(
                    f"{name_of(self.environment)} has not reached the goal in {PATIENCE:,} steps; the goal is"
                    f" {self.world.goal}: choose another rule with Environment(environment, goal=...), or pass"
                    " max_steps=..., which ends the run"
                )
        return step

    def refuse_end(self, outcome: Outcome) -> None:
        """Raise EndlessRunError: an episode ended away from the goal."""
        raise EndlessRunError(
            f"{name_of(self.environment)} ended an episode away from the goal: action {outcome.action} in state"
            f" {outcome.state!r}, reward {outcome.reward}; the goal is {self.world.goal}. Use Environment(environment,"
            " give_up_cost=...), which makes such an end a restart at that cost, or another rule as goal=..."
        )

    def refuse_cost(self, outcome: Outcome, cost: float, stated: float) -> None:
        """Raise CostError: what was paid is not what the agent knows."""
        wrapper = changing_wrapper(self.environment)
        hidden = hasattr(getattr(self.environment, "unwrapped", None), "P") and wrapper is not None
        why = f", because the wrapper {wrapper} may change what the table of transitions says" if hidden else ""
        raise CostError(
            f"action {outcome.action} in state {outcome.state!r} cost {cost:g}, but the task says {stated:g}{why}; use"
            " Environment(environment, task=Task(costs, initial_state, episodes)) with the true costs, or cost=1.0 to"
            " count steps"
        )


def checked_task(task: Task) -> Task:
    """Return a user's task, checked."""
    costs = checked_costs(task.costs, np.asarray(task.costs) != np.inf)
    return Task(costs, checked_state(task.initial_state, len(costs)), 1, task.give_up)


def with_restarts(task: Task, cost: float, known_start: bool) -> Task:
    """Return the task with one more action, to give up, and one more state, in which it is the only action."""
    S, A = task.costs.shape
    costs: Floats = np.full((S + 1, A + 1), np.inf)
    costs[:S, :A] = task.costs
    costs[:, A] = checked_number("give_up_cost", cost, open=True, note=", what starting again costs")
    if known_start:
        costs[task.initial_state, A] = np.inf
    return Task(costs, task.initial_state, task.episodes, A if known_start else None)


def model_of(environment: Any) -> SSP | None:
    """Return the model that an environment carries, unless a wrapper may change what its steps return."""
    model = getattr(getattr(environment, "unwrapped", environment), "ssp", None)
    return model if isinstance(model, SSP) and not changing_wrapper(environment) else None
