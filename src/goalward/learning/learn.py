"""`learn`: from an agent, a world, a number of episodes and a seed to a Run.

A run is a pure function of these four. Here they are checked, the agent is told what it may know of the world, and a
copy of it is prepared to learn; `goalward.learning.loop` does the rest.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from goalward.acting.rollout import Rollout
from goalward.acting.stepping import PATIENCE, Environment, Stepwise
from goalward.agents.base import Agent, Learner, StepAgent, Task
from goalward.beliefs.base import LARGEST_NUMBER, Prior
from goalward.continuous.base import ContinuousAgent
from goalward.continuous.box_task import BoxTask
from goalward.continuous.stepping import BoxStage
from goalward.continuous.task import GoalTask
from goalward.environments.environment import model_of, read_model_environment, survey, told_by
from goalward.environments.rules import Outcome
from goalward.errors import SettingError
from goalward.learning.ledger import Ledger
from goalward.learning.loop import AnyAgent, Loop, Watch
from goalward.learning.regret import known_optimum, unknown
from goalward.learning.replay import Observer, Recorder
from goalward.learning.run import Run
from goalward.learning.termination import check_end
from goalward.seeds import checked_seed, generator, streams
from goalward.settings import checked_integer
from goalward.ssp.model import SSP, check_model

__all__ = ["learn"]

UNLIMITED = int(np.iinfo(np.int64).max)


def learn(
    agent: Learner,
    world: SSP | GoalTask | Environment,
    episodes: int,
    seed: int = 0,
    *,
    max_steps: int | None = None,
    give_up_cost: float | None = None,
    goal: str | float | Callable[[Outcome], object] | None = None,
    cost: str | float | Callable[[Outcome], float] | None = None,
    task: Task | None = None,
    resume: bool = False,
    keep_plans: bool = False,
    keep_steps: bool = False,
    keep_replay: bool = False,
    watch: Watch | None = None,
    observer: Observer | None = None,
) -> Run:
    """Let an agent learn in a world.

    Parameters
    ----------
    agent
        The agent; it is not changed. ``run.agent`` is the one that learnt.
    world
        A model, a Gymnasium environment whose actions and observations are finitely many, or a goal task with
        continuous states for the agents that learn in one. An environment made from a model carries it as
        ``environment.unwrapped.ssp``. Of any other and of a goal task the regret is not
        known.
    episodes
        How many episodes to run, K.
    seed
        Decides every random draw. Agents run with the same seed face the same luck.
    max_steps
        End the run after this many steps, even in the middle of an episode, or where no further step can be made.
    give_up_cost
        Let the agent give up: one more action, the last one, leads from every state to the start at this cost (see
        `SSP.with_give_up`). Regret is measured against the best policy that may give up too. In an environment without
        a model, an episode that ends away from the goal is a restart at this cost.
    goal, cost
        What the steps of an environment mean: which of them reach the goal, and what they cost. See
        `goalward.environments.rules`.
    task
        What the agent is told of an environment without a model, if the environment does not say it itself.
    resume
        Go on with what the agent learnt in an earlier run instead of starting from scratch.
    keep_plans, keep_steps
        Keep the plans with their models, and all steps, in the Run.
    keep_replay
        Keep what `goalward.watch` shows in the Run; in a goal task these are the plans and the steps.
    watch
        Called now and then with the number of episodes and steps done; the run ends there if it returns False.
    observer
        Told of every plan, its steps and its end while the run goes on; it does not change the run.

    Raises
    ------
    EndlessRunError
        If the run might never end: a dead end can be reached from the start, or a loop costs nothing.
        `goalward.learning.termination` says what to do. Also if an environment ends an episode away from the goal
        and the agent may not give up, unless `max_steps` limits the run.
    UnreachableGoalError
        If no policy reaches the goal surely from the start.
    """
    checked_integer("episodes", episodes, 1, LARGEST_NUMBER)
    limit = UNLIMITED if max_steps is None else checked_integer("max_steps", max_steps, 1)
    given = checked_agent(agent, world)
    environment, planning, acting = streams(seed)
    stage: Rollout | Stepwise | BoxStage
    if isinstance(world, GoalTask):
        check_box_options(task=task, goal=goal, cost=cost, give_up_cost=give_up_cost, observer=observer)
        best = unknown((1, world.actions))
        learner = prepare(given, world.told(episodes), generator(planning), resume)
        stage = BoxStage(world, environment, acting)
        kept = keep_plans or keep_replay, keep_steps or keep_replay
        loop = Loop(learner, stage, Ledger(episodes, best.gaps), limit, *kept, watch, None)
        return loop.run(checked_seed(seed), best, loop.go(), None)
    model = checked_model(world, give_up_cost, goal, cost)
    reading = None
    if model is None:
        told, reading = survey(world, given, episodes, task, goal, cost, give_up_cost, max_steps is not None)
    else:
        told = tell(model, task, episodes)
        check_end(model, given, limited=max_steps is not None)
        if not isinstance(world, SSP):
            give_up = -1 if give_up_cost is None else model.actions - 1
            reading = read_model_environment(world, given, goal, cost, give_up)
    best = unknown(told.costs.shape) if model is None else known_optimum(model)
    learner = prepare(given, told, generator(planning), resume)
    if isinstance(world, SSP):
        stage = Rollout(cast("SSP", model), environment, acting)
    else:
        stage = Stepwise(world, told, environment, acting, reading, PATIENCE if max_steps is None else None)
    if isinstance(learner, StepAgent) and not told.available.any(axis=1).all():
        state = int(np.argmin(told.available.any(axis=1)))
        raise SettingError(f"in state {state} no action is available; {learner.name} cannot learn in such a world")

    if keep_replay and observer is None:
        observer = Recorder()
    if observer is not None:
        observer.begin(learner, told, best.gaps, best.value)
    loop = Loop(learner, stage, Ledger(episodes, best.gaps), limit, keep_plans, keep_steps, watch, observer)
    ended = loop.go()
    return loop.run(checked_seed(seed), best, ended, None if resume else model)


def checked_model(world: SSP | Environment, give_up_cost: float | None, goal: object, cost: object) -> SSP | None:
    """Return the model of a world, in which the agent may give up if that has a cost; None if it has none."""
    if isinstance(world, SSP) and (goal is not None or cost is not None):
        raise SettingError(
            f"{'cost' if goal is None else 'goal'} says what the steps of an environment mean; a model knows its goal"
            " and costs: leave it out, or use world.with_costs"
        )
    model = world if isinstance(world, SSP) else model_of(world)
    return model if model is None or give_up_cost is None else model.with_give_up(give_up_cost)


def tell(model: SSP, task: Task | None, episodes: int) -> Task:
    """Return what the agent is told about a model."""
    if task is None:
        return Task.of(model, episodes)
    told = told_by(task, episodes)
    if not np.array_equal(told.available, model.available):
        raise SettingError(
            f"the task has {told.states} states and {told.actions} actions, the model {model.states} and"
            f" {model.actions}; sizes and available actions must be the same"
        )
    return told


def checked_agent(agent: Learner, world: object) -> AnyAgent:
    """Return the agent; raises SettingError if one of the two is something else, or if they do not fit."""
    if isinstance(world, Learner):
        raise SettingError("agent and world have changed places; write learn(agent, world, episodes)")
    if isinstance(world, str):
        check_model(world)
    if not isinstance(agent, Agent | StepAgent | ContinuousAgent):
        raise SettingError(
            f"agent is {agent!r}; it must be an Agent or a StepAgent: see gw.agents, or gw.agents.make(name)"
        )
    agent.check_world(world)
    return agent


def check_box_options(**given: object) -> None:
    """Raise SettingError if an option is given that a goal task with continuous states does not have."""
    for name, value in given.items():
        if value is not None:
            raise SettingError(
                f"{name} is for models and their environments; leave it out: a goal task with continuous states knows"
                " its goal and costs, and keep_plans and keep_steps keep what happened"
            )


def prepare(agent: AnyAgent, task: Task | BoxTask, rng: np.random.Generator, resume: bool) -> AnyAgent:
    """Return the copy of an agent that will learn: it starts from scratch, or remembers."""
    # One run must not change the agent of another, so all is copied but what cannot change.
    shared = {id(value): value for value in vars(agent).values() if is_constant(value)}
    if not resume:
        learner: Any = copy.deepcopy(agent, shared)
        learner.begin(task, rng)
        return cast(AnyAgent, learner)
    before: Any = getattr(agent, "task", None)
    if before is None:
        raise SettingError(f"{agent.name} has not learnt anything yet; resume with the agent of an earlier run")
    if not before.is_like(task):
        raise SettingError(
            f"{agent.name} has learnt in another world; states, actions, costs and the start must be the same"
        )
    learner = copy.deepcopy(agent, shared)
    learner.task, learner.rng = task, rng
    learner.restart()
    return cast(AnyAgent, learner)


def is_constant(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    return isinstance(value, Prior | SSP | Task | BoxTask)
