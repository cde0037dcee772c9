"""What an agent is told of an environment before its first step, and how the steps are read.

A model says all there is to know. Other environments say how many states and actions they have, and rules say what
their rewards mean (`goalward.environments.rules`). The costs that the agent is told come from, in this order,

* the `task` that was given: every cost paid must then be the one that it states;
* the table of transitions, where the environment shows one and no wrapper may change its steps; the agent is told the
  mean cost of each pair from it and nothing else;
* the rule for costs: the fixed cost if it has one, 1 otherwise, and every cost paid must be that.

With ``give_up_cost`` the agent has one more action, the last one: it resets the environment, at that cost. An episode
that ends away from the goal then leads to one more state, the last one, in which giving up is all that can be done.
Where episodes start in one known state, the agent knows that giving up leads there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward.acting.task import Task
from goalward.agents.base import Learner
from goalward.arrays import Floats
from goalward.environments.rules import CostRule, GoalRule, cost_rule, goal_rule, known_goal
from goalward.environments.spaces import StateNumbers, action_space, check_environment, first_observation
from goalward.environments.tables import has_table, mean_costs, start_states, table_model
from goalward.environments.wrappers import changing_wrapper
from goalward.errors import SettingError
from goalward.learning.termination import check_end
from goalward.settings import checked_number
from goalward.ssp.checks import checked_costs, checked_state
from goalward.ssp.model import SSP

__all__ = ["Reading", "model_of", "read_model_environment", "survey", "told_by"]


@dataclass(frozen=True, eq=False)
class Reading:
    """How the steps of an environment are read.

    Attributes
    ----------
    numbers
        The numbers of the states.
    goal, cost
        The rules.
    first_action
        What the environment calls action 0.
    known_costs
        Whether every cost paid must be the one that the agent was told.
    ended
        The state that stands for the end of an episode away from the goal; None if there is none.
    goes_on
        Whether the environment can be stepped on after such an end, as one with a model can.
    give_up
        The action that resets the environment, -1 if there is none.
    """

    numbers: StateNumbers
    goal: GoalRule
    cost: CostRule
    first_action: int = 0
    known_costs: bool = False
    ended: int | None = None
    goes_on: bool = False
    give_up: int = -1


def read_model_environment(environment: Any, agent: Learner, goal: Any, cost: Any, give_up: int = -1) -> Reading:
    """Return how to read an environment that carries its model: the cost is minus the reward."""
    check_environment(environment)
    return Reading(
        StateNumbers(environment),
        goal_rule(goal, environment) if goal is not None else known_goal(environment) or GoalRule(),
        cost_rule("reward" if cost is None else cost),
        known_costs=cost is None and getattr(agent, "known_costs", True),
        goes_on=True,
        give_up=give_up,
    )


def told_by(task: Task, episodes: int) -> Task:
    """Return a task that was given, checked."""
    costs = checked_costs(task.costs, np.asarray(task.costs) != np.inf)
    costs.flags.writeable = False
    return Task(costs, checked_state(task.initial_state, len(costs)), episodes, task.give_up)


def survey(
    environment: Any,
    agent: Learner,
    episodes: int,
    task: Task | None,
    goal: Any,
    cost: Any,
    give_up_cost: float | None,
    limited: bool,
) -> tuple[Task, Reading]:
    """Return what an agent is told of an environment without a model, and how its steps are read."""
    check_environment(environment)
    numbers, actions = StateNumbers(environment), action_space(environment)
    if task is not None:
        told = told_by(task, episodes)
        if actions is not None and actions[0] != told.actions:
            raise SettingError(f"the task has {told.actions} actions, the environment {actions[0]}; they must agree")
    elif numbers.count is None or actions is None:
        raise SettingError(
            "the environment carries no model; pass task=Task(costs, initial_state, episodes) to say what is known"
        )
    else:
        shape = numbers.count, actions[0]
    # An environment without spaces keeps to the plain contract: terminated is the goal.
    plain = goal is None and known_goal(environment) is None and numbers.count is None
    rule = GoalRule() if plain else goal_rule(goal, environment)
    pays = cost_rule("reward" if task is not None and cost is None and known_goal(environment) is None else cost)
    table = has_table(environment)
    if table and give_up_cost is None:
        check_end(table_model(environment, rule, pays), agent, limited)
    if task is None:
        known = 1.0 if pays.fixed is None else pays.fixed
        costs = mean_costs(environment, pays) if table else np.full(shape, known)
        told = Task(costs, first_state(environment, numbers, len(costs)), episodes)
    reading = Reading(
        numbers,
        rule,
        pays,
        first_action=0 if actions is None else actions[1],
        known_costs=(task is not None or not table) and getattr(agent, "known_costs", True),
        ended=None if give_up_cost is None else told.states,
        give_up=-1 if give_up_cost is None else told.actions,
    )
    if give_up_cost is not None:
        told = with_restarts(told, give_up_cost, known_start=has_one_start(environment))
    return told, reading


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


def model_of(world: Any) -> SSP | None:
    """Return the model that an environment carries, unless a wrapper may change what its steps return."""
    model = getattr(getattr(world, "unwrapped", world), "ssp", None)
    return model if isinstance(model, SSP) and not changing_wrapper(world) else None
