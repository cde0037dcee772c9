"""`learn`: from an agent, a world, a number of episodes and a seed to a Run.

A run is a pure function of these four. Here they are checked, the agent is told what it may know of the world, and a
copy of it is prepared to learn; `goalward.learning.loop` does the rest.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np

from goalward.acting.contract import Plan, Task, World
from goalward.acting.rollout import ModelWorld
from goalward.agents.base import Learner
from goalward.beliefs.base import LARGEST_NUMBER, Prior
from goalward.errors import SettingError
from goalward.learning.ledger import Ledger
from goalward.learning.loop import Loop, Watch
from goalward.learning.regret import known_optimum, unknown
from goalward.learning.replay import Observer, Recorder
from goalward.learning.run import Run
from goalward.learning.termination import check_end
from goalward.seeds import checked_seed, generator, streams
from goalward.settings import checked_integer
from goalward.ssp.model import SSP, check_model

__all__ = ["learn"]

UNLIMITED = int(np.iinfo(np.int64).max)


TaskT = TypeVar("TaskT")
PlanT = TypeVar("PlanT")


class Steppable(Protocol):
    """An environment in the manner of Gymnasium."""

    def reset(self, *, seed: int | None = None) -> Any:
        """Start an episode; with a seed, start the environment's generator too."""

    def step(self, action: Any) -> Any:
        """Play an action."""


class Options(TypedDict, total=False):
    """The options of `learn`, for type checkers."""

    max_steps: int | None
    resume: bool
    keep_plans: bool
    keep_steps: bool
    keep_replay: bool
    watch: Watch | None
    observer: Observer | None


@overload
def learn(
    agent: Learner[Task, Plan], world: SSP | Steppable, episodes: int, seed: int = 0, **options: Unpack[Options]
) -> Run: ...
@overload
def learn(
    agent: Learner[TaskT, PlanT], world: World[TaskT, PlanT], episodes: int, seed: int = 0, **options: Unpack[Options]
) -> Run: ...
def learn(
    agent: Learner,
    world: Any,
    episodes: int,
    seed: int = 0,
    *,
    max_steps: int | None = None,
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
        continuous states for the agents that learn in one. `goalward.Environment` wraps an environment with options:
        which steps reach the goal, what they cost, and whether the agent may give up. Regret is known in models and in
        environments that carry one.
    episodes
        How many episodes to run, K.
    seed
        Decides every random draw. Agents run with the same seed face the same luck.
    max_steps
        End the run after this many steps, even in the middle of an episode, or where no further step can be made.
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
    check_places(agent, world)
    place = as_world(world)
    task = place.task(episodes)
    tabular = isinstance(task, Task)
    agent.check_world(world, continuous=not tabular)
    if place.graph is not None:
        check_end(place.graph, agent, limited=max_steps is not None)
    model = place.model
    best = unknown(task.costs.shape if tabular else (1, task.actions)) if model is None else known_optimum(model)
    learner = prepare(agent, task, generator(streams(seed).planning), resume)
    if keep_replay and not tabular:
        keep_plans = keep_steps = True
    elif keep_replay and observer is None:
        observer = Recorder()
    if observer is not None:
        if not tabular:
            raise SettingError("observer is for worlds with finitely many states; use keep_plans and keep_steps")
        observer.begin(learner, task, best.gaps, best.value)
    stage = place.stage(seed, limited=max_steps is not None, costs_known=agent.known_costs)
    loop = Loop(learner, stage, Ledger(episodes, best.gaps), limit, keep_plans, keep_steps, watch, observer)
    ended = loop.go()
    return loop.run(checked_seed(seed), best, ended, None if resume else model)


def as_world(world: Any) -> World[Any, Any]:
    """Return a world; a model and an environment are wrapped."""
    if isinstance(world, SSP):
        return ModelWorld(world)
    if hasattr(world, "stage") and hasattr(world, "task"):
        return cast("World[Any, Any]", world)
    # The one call downwards: bare environments are the most common world of newcomers.
    from goalward.environments.environment import Environment

    return Environment(world)


def check_places(agent: object, world: object) -> None:
    """Raise SettingError if agent or world is something else."""
    if isinstance(world, Learner):
        raise SettingError("agent and world have changed places; write learn(agent, world, episodes)")
    if isinstance(world, str):
        check_model(world)
    if not isinstance(agent, Learner):
        raise SettingError(
            f"agent is {agent!r}; it must be an Agent or an OnlineAgent: see gw.agents, or gw.agents.make(name)"
        )


def prepare(agent: Learner, task: Any, rng: np.random.Generator, resume: bool) -> Learner:
    """Return the copy of an agent that will learn: it starts from scratch, or remembers."""
    # One run must not change the agent of another, so all is copied but what cannot change.
    shared = {id(value): value for value in vars(agent).values() if is_constant(value)}
    if not resume:
        learner = copy.deepcopy(agent, shared)
        learner.begin(task, rng)
        return learner
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
    return learner


def is_constant(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    return isinstance(value, Prior | SSP) or hasattr(value, "is_like")  # a task
