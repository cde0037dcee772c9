"""An environment as a world: what an agent may know of it, and what its steps mean.

An environment has ``reset(seed=...) -> (observation, info)`` and ``step(action) -> (observation, reward, terminated,
truncated, info)``, as in Gymnasium. Rules say which steps reach the goal and what they cost
(`goalward.environments.rules`). An episode that ends away from the goal is never learnt as one that reached it: it
leads to a state in which the agent can only give up. If it may not give up, the run ends there, with an error unless
the run has a limit of steps. `truncated` breaks the episode off: the step is learnt with the state it led to, and the
environment is reset.

An environment made from a model carries it as ``environment.unwrapped.ssp``. In any other, the costs that the agent may
know come from, in this order,

* the `task` that is given: every cost paid must then be the one that it states;
* the table of transitions, where the environment shows one and no wrapper may change its steps; the agent knows the
  mean cost of each pair from it and nothing else;
* the rule for costs: the fixed cost if it has one, 1 otherwise, and every cost paid must be that.

With ``give_up_cost`` the agent has one more action, the last one: it resets the environment, at that cost. An episode
that ends away from the goal then leads to one more state, the last one, in which giving up is all that can be done.
Where episodes start in one known state, the agent knows that giving up leads there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from goalward.acting.contract import Plan, Policy, Step, Task
from goalward.acting.rollout import policy_of
from goalward.acting.stepping import SteppingStage
from goalward.acting.stop import TableStop
from goalward.arrays import Floats, Int64s
from goalward.environments.rules import GoalRule, Outcome, cost_rule, goal_rule, known_goal, name_of
from goalward.environments.spaces import StateNumbers, action_space, check_environment, first_observation
from goalward.environments.tables import has_table, mean_costs, start_states, table_model
from goalward.environments.wrappers import changing_wrapper
from goalward.errors import CostError, EndlessRunError, PolicyError, SettingError
from goalward.seeds import streams
from goalward.settings import checked_number
from goalward.ssp.checks import checked_costs, checked_state
from goalward.ssp.model import SSP

__all__ = ["PATIENCE", "Environment", "model_of"]

PATIENCE = 1_000_000
"""Steps after which a run without a limit that has never seen the goal is an error."""


class Environment:
    """An environment as a world.

    Parameters
    ----------
    environment
        An environment whose observations and actions are finitely many.
    goal, cost
        Which steps reach the goal, and what they cost: see `goalward.environments.rules`.
    give_up_cost
        Let the agent give up: one more action, the last one, resets the environment at this cost. An episode that ends
        away from the goal is then a restart at this cost. Regret is measured against the best policy that may give up.
    task
        What the agent may know, if the environment does not say it itself.
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
        self.numbers = StateNumbers(environment)
        self.first_action = 0
        self.ended: int | None = None  # the state that stands for the end of an episode away from the goal
        self.give_up = -1  # the action that resets the environment
        self.model = model_of(environment)
        if self.model is not None:
            self.read_model(self.model, goal, cost, give_up_cost, task)
        else:
            self.survey(goal, cost, give_up_cost, task)

    def read_model(self, model: SSP, goal: Any, cost: Any, give_up_cost: float | None, task: Task | None) -> None:
        """Read an environment that carries its model: the cost is minus the reward."""
        if give_up_cost is not None:
            self.model = model = model.with_give_up(give_up_cost)
            self.give_up = model.actions - 1
        self.graph: SSP | None = model
        self.known = Task.of(model, 1) if task is None else checked_task(task)
        if not np.array_equal(self.known.available, model.available):
            raise SettingError(
                f"the task has {self.known.states} states and {self.known.actions} actions, the model {model.states}"
                f" and {model.actions}; sizes and available actions must be the same"
            )
        self.goal = (
            goal_rule(goal, self.environment) if goal is not None else known_goal(self.environment) or GoalRule()
        )
        self.cost = cost_rule("reward" if cost is None else cost)
        self.costs_stated = cost is None
        self.goes_on = True  # it can be stepped on after the end of an episode, so an end need not be the goal

    def survey(self, goal: Any, cost: Any, give_up_cost: float | None, task: Task | None) -> None:
        """Find out what an agent may know of an environment without a model."""
        environment, numbers, actions = self.environment, self.numbers, action_space(self.environment)
        if task is not None:
            known = checked_task(task)
            if actions is not None and actions[0] != known.actions:
                raise SettingError(
                    f"the task has {known.actions} actions, the environment {actions[0]}; they must agree"
                )
        elif numbers.count is None or actions is None:
            raise SettingError(
                "the environment carries no model; say what is known with"
                " Environment(environment, task=Task(costs, initial_state, episodes))"
            )
        else:
            shape = numbers.count, actions[0]
        # An environment without spaces keeps to the plain contract: terminated is the goal.
        plain = goal is None and known_goal(environment) is None and numbers.count is None
        self.goal = GoalRule() if plain else goal_rule(goal, environment)
        given = "reward" if task is not None and cost is None and known_goal(environment) is None else cost
        self.cost = cost_rule(given)
        table = has_table(environment)
        self.graph = table_model(environment, self.goal, self.cost) if table and give_up_cost is None else None
        if task is None:
            stated = 1.0 if self.cost.fixed is None else self.cost.fixed
            costs = mean_costs(environment, self.cost) if table else np.full(shape, stated)
            known = Task(costs, first_state(environment, numbers, len(costs)), 1)
        self.costs_stated = task is not None or not table
        self.goes_on = False
        if actions is not None:
            self.first_action = actions[1]
        if give_up_cost is not None:
            self.ended, self.give_up = known.states, known.actions
            known = with_restarts(known, give_up_cost, known_start=has_one_start(environment))
        self.known = known

    def task(self, episodes: int) -> Task:
        """Return what an agent may know."""
        return replace(self.known, episodes=episodes)

    def stage(self, seed: int, *, limited: bool = False, costs_known: bool = True) -> SteppingStage[int, Plan]:
        """Return a stage at the start of an episode."""
        environment, _, acting = streams(seed)
        simulator = EnvironmentSimulator(self, environment, limited, costs_known)
        return SteppingStage(simulator, acting, self.read_plan, integers)

    def read_plan(self, plan: Plan) -> tuple[Policy[int], TableStop]:
        """Return the policy and the conditions of a plan."""
        return policy_of(plan, *self.known.costs.shape), TableStop(plan, self.known.costs.shape)

    def __repr__(self) -> str:
        return f"Environment({name_of(self.environment)}, goal: {self.goal})"


class EnvironmentSimulator:
    """An environment in progress."""

    def __init__(self, world: Environment, stream: int, limited: bool, costs_known: bool):
        self.world, self.environment = world, world.environment
        self.patience = None if limited else PATIENCE
        self.limited, self.check_costs = limited, world.costs_stated and costs_known
        task = world.known
        self.actions, self.goal = task.actions, task.goal
        # Lists, because single entries of arrays are slow to read.
        self.costs: list[float] = task.costs.ravel().tolist()
        self.idle = [not any(row) for row in task.available.tolist()]
        # The last state may be one that only giving up leaves.
        self.states = task.states if world.ended is None else world.ended
        self.observed: Any = None
        self.state = self.restart(seed=stream)
        self.stuck = self.idle[self.state]

    def check(self, action: int) -> None:
        """Raise PolicyError if an action is not available."""
        if not (0 <= action < self.actions and self.costs[self.state * self.actions + action] != np.inf):
            raise PolicyError(
                f"the policy plays action {action} in state {self.state}, which is not available there;"
                " see task.available"
            )

    def step(self, action: int) -> Step[int]:
        """Play an action, and start the next episode if this one is over."""
        world, state = self.world, self.state
        stated = self.costs[state * self.actions + action]
        if action == world.give_up:
            self.move(self.restart())
            return self.counted(Step(state, action, stated, self.state, False))
        named = action + world.first_action
        result = self.environment.step(named)
        try:
            observed, reward, terminated, truncated, info = result
        except (TypeError, ValueError):
            raise SettingError(
                f"{name_of(self.environment)}.step returned {result!r:.80}; it must return (observation, reward,"
                " terminated, truncated, info)"
            ) from None
        goal, pays = world.goal, world.cost
        if goal.predicate is None and goal.threshold is None and pays.fixed is not None:
            cost, reached = pays.fixed, bool(terminated)
        else:
            outcome = Outcome(self.observed, named, observed, reward, terminated, info)
            cost, reached = pays.cost(outcome), goal.reached(outcome)
        cut = bool(truncated) and not terminated and not reached
        lost = bool(terminated) and not reached and not world.goes_on
        if reached:
            successor = self.goal
        elif lost and world.ended is not None:
            successor = world.ended
        else:
            if lost and not self.limited:
                self.refuse_end(named, reward)
            successor = world.numbers.read(observed, self.states)
        if self.check_costs and cost != stated and not abs(cost - stated) <= 1e-9 * stated:
            self.refuse_cost(named, cost, stated)
        if reached or cut:
            self.move(self.restart())
        else:
            self.observed = observed
            self.move(successor)
            if lost and world.ended is None:
                self.stuck = True
        return self.counted(Step(state, action, cost, successor, reached, cut))

    def move(self, state: int) -> None:
        """Take a state for the current one."""
        self.state, self.stuck = state, self.idle[state]

    def restart(self, **seed: int) -> int:
        """Reset the environment; return the state in which it starts."""
        self.observed = first_observation(self.environment, **seed)
        return self.world.numbers.read(self.observed, self.states)

    def counted(self, step: Step[int]) -> Step[int]:
        """Return the step; raises EndlessRunError if the goal has not been seen for far too long."""
        if self.patience is not None:
            self.patience = None if step.reached else self.patience - 1
            if self.patience == 0:
                raise EndlessRunError(
                    f"{name_of(self.environment)} has not reached the goal in {PATIENCE:,} steps; the goal is"
                    f" {self.world.goal}: choose another rule with Environment(environment, goal=...), or pass"
                    " max_steps=..., which ends the run"
                )
        return step

    def refuse_end(self, action: int, reward: Any) -> None:
        """Raise EndlessRunError: an episode ended away from the goal."""
        raise EndlessRunError(
            f"{name_of(self.environment)} ended an episode away from the goal: action {action} in state"
            f" {self.observed!r}, reward {reward}; the goal is {self.world.goal}. Use Environment(environment,"
            " give_up_cost=...), which makes such an end a restart at that cost, or another rule as goal=..."
        )

    def refuse_cost(self, action: int, cost: float, stated: float) -> None:
        """Raise CostError: what was paid is not what the agent knows."""
        wrapper = changing_wrapper(self.environment)
        hidden = hasattr(getattr(self.environment, "unwrapped", None), "P") and wrapper is not None
        why = f", because the wrapper {wrapper} may change what the table of transitions says" if hidden else ""
        raise CostError(
            f"action {action} in state {self.observed!r} cost {cost:g}, and the agent was told {stated:g}{why}; use"
            " Environment(environment, task=Task(costs, initial_state, episodes)) with the true costs, or cost=1.0 to"
            " count steps"
        )


def integers(states: list[int]) -> Int64s:
    """Return states as a column."""
    return np.array(states, dtype=np.int64)


def checked_task(task: Task) -> Task:
    """Return a task that was given, checked."""
    costs = checked_costs(task.costs, np.asarray(task.costs) != np.inf)
    costs.flags.writeable = False
    return Task(costs, checked_state(task.initial_state, len(costs)), 1, task.give_up)


def first_state(environment: Any, numbers: StateNumbers, states: int) -> int:
    """Return a state in which episodes start, the same in every run."""
    starts = start_states(environment)
    if starts is not None:
        return int(np.argmax(starts))
    return numbers.read(first_observation(environment, seed=0), states)


def has_one_start(environment: Any) -> bool:
    starts = start_states(environment)
    return starts is not None and np.count_nonzero(starts) == 1


def with_restarts(task: Task, cost: float, known_start: bool) -> Task:
    """Return the task with one more action, to give up, and one more state, in which nothing else can be done."""
    price = checked_number("give_up_cost", cost, open=True, note=", what starting again costs")
    S, A = task.costs.shape
    costs: Floats = np.full((S + 1, A + 1), np.inf)
    costs[:S, :A] = task.costs
    costs[:, A] = price
    if known_start:
        costs[task.initial_state, A] = np.inf
    return Task(costs, task.initial_state, task.episodes, A if known_start else None)


def model_of(environment: Any) -> SSP | None:
    """Return the model that an environment carries, unless a wrapper may change what its steps return."""
    model = getattr(getattr(environment, "unwrapped", environment), "ssp", None)
    return model if isinstance(model, SSP) and not changing_wrapper(environment) else None
