"""The contract between agents and worlds. Read this page first.

A run alternates between planning and acting::

    task = world.task(episodes)                      what the agent may know: a Task
    agent.begin(task, rng)
    stage = world.stage(seed)                        where the agent acts: a Stage
    while the run goes on:
        plan = agent.plan(stage.state)               a policy and the conditions that end it: a Plan
        while the plan goes on:
            chunk = stage.follow(plan, ...)          what happened: Steps, and why the plan ended
            agent.observe(chunk.steps)

An epoch is the time during which one plan is followed; `goalward.acting.stop_conditions` lists what can end it. There
are two kinds of stages: a known model is rolled out in compiled code (`goalward.acting.model_world`); environments and
tasks with continuous states are stepped in Python (`goalward.acting.stepping`).

An agent that learns at every step is its own policy. Its only plan is ``Plan(self)``, which lasts for the whole run,
and it reports the ends of its epochs itself, by the flags that `learn` returns. The stage calls its `act` and `learn`
at every step, or its compiled `rollout` (`goalward.acting.model_world.TabularPolicy`), which does the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

from goalward.acting.encoding import Encoding
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import CostError, ShapeError
from goalward.ssp.checks import StatesAndActions, checked_costs, checked_state
from goalward.ssp.model import SSP

TaskT = TypeVar("TaskT", default=Any)
PlanT = TypeVar("PlanT", default=Any)
X = TypeVar("X")  # a state: an integer in a table, a point of a box in continuous tasks


@dataclass(frozen=True, eq=False)
class Task(StatesAndActions):
    """What an agent may know about a world with finitely many states: everything but transitions and unknown costs."""

    costs: Floats
    """``costs[s, a]``: NaN where the cost is unknown and may be random, infinity where the action is not available."""
    initial_state: int
    """Where every episode starts."""
    episodes: int
    """K, the number of episodes of the run."""
    give_up: int | None = None
    """The action that is known to lead to the start from every other state, or None."""
    cost_range: tuple[float, float] | None = None
    """The least and the largest cost that can be paid where costs are unknown; None if nothing is known about them."""
    encoding: Encoding | None = None
    """Maps an environment's observations to states and actions to its own actions; None without an environment."""

    def __post_init__(self) -> None:
        # Models of the task share its costs, so they must not change. The caller's array stays as it is.
        if self.costs.flags.writeable:
            object.__setattr__(self, "costs", self.costs.copy())
            self.costs.flags.writeable = False
        if self.cost_range is not None:
            object.__setattr__(self, "cost_range", checked_range(self.cost_range))

    @classmethod
    def of(cls, ssp: SSP, episodes: int) -> Task:
        """Return the task of learning in the model `ssp` for `episodes` episodes."""
        return cls(ssp.costs, ssp.initial_state, episodes, ssp.give_up)

    @cached_property
    def available(self) -> Bools:
        """``available[s, a]``: whether the action can be played in the state."""
        mask = np.asarray(self.costs != np.inf)
        mask.flags.writeable = False
        return mask

    @cached_property
    def costs_unknown(self) -> bool:
        """Whether the cost of some pair is unknown."""
        return bool(np.isnan(self.costs).any())

    def checked(self) -> Task:
        """Return the task; raises an error if its costs, cost range, start or give-up action are invalid."""
        costs = np.array(self.costs, dtype=np.float64)
        if costs.ndim != 2 or not costs.size:
            raise ShapeError(f"costs has shape {costs.shape}; it must be states by actions")
        unknown = np.isnan(costs)
        costs = np.where(unknown, np.nan, checked_costs(costs, ~unknown & (costs != np.inf)))
        if self.give_up is not None and (self.give_up != costs.shape[1] - 1 or unknown[:, -1].any()):
            raise ShapeError(
                f"give_up is {self.give_up!r}; it must be the last action, {costs.shape[1] - 1}, with known costs, or"
                " None"
            )
        return replace(self, costs=costs, initial_state=checked_state(self.initial_state, len(costs)))

    def is_like(self, other: object) -> bool:
        """Return whether another task has the same states, actions, costs, start and give-up action."""
        return (
            isinstance(other, Task)
            and np.array_equal(self.costs, other.costs, equal_nan=True)
            and (self.initial_state, self.give_up, self.cost_range)
            == (other.initial_state, other.give_up, other.cost_range)
        )

    def model(self, indptr: Int64s, successors: Int32s, probabilities: Floats, costs: Floats | None = None) -> SSP:
        """Return a model of this task with the given canonical rows, and with `costs` instead of the task's."""
        costs = self.costs if costs is None else costs
        model = SSP._trusted(indptr, successors, probabilities, costs, self.initial_state)
        model.__dict__["available"] = self.available  # known already, and read by every plan
        return model


def checked_range(cost_range: Any) -> tuple[float, float]:
    """Return the range of unknown costs; raises CostError unless 0 <= least <= largest < infinity."""
    try:
        low, high = (float(end) for end in cost_range)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0.0 <= low <= high < np.inf:
        raise CostError(f"cost_range is {cost_range!r}; it must hold two numbers, 0 <= least <= largest cost")
    return low, high


class Step(NamedTuple, Generic[X]):
    """One step; `truncated` says that the environment ended the episode early, before the goal."""

    state: X
    action: int
    cost: float
    next_state: X
    reached: bool
    truncated: bool = False


class Steps(NamedTuple):
    """Consecutive steps as columns; after a step that `reached` the goal, the next step starts an episode.

    `states` and `next_states` are integers ``[n]`` in a table, where the goal is state S, and points ``[n, m]`` in
    continuous tasks; `actions` and `costs` are ``[n]``. The arrays are reused for later steps: copy what you keep.
    """

    states: NDArray[Any]
    actions: Int64s
    costs: Floats
    next_states: NDArray[Any]
    reached: Bools

    @classmethod
    def in_table(cls, states: Int64s, actions: Int64s, costs: Floats, next_states: Int64s, goal: int) -> Steps:
        """Return the given columns as steps in a table whose goal has the number `goal`."""
        return cls(states, actions, costs, next_states, np.asarray(next_states == goal))

    def part(self, start: int, end: int) -> Steps:
        """Return the steps from `start` up to `end`, without copying."""
        return Steps._make([column[start:end] for column in self])


class Policy(ABC, Generic[X]):
    """Chooses actions; an online policy also learns from each step, and may plan inside `act`."""

    @abstractmethod
    def act(self, state: X, draw: Callable[[], float]) -> int:
        """Return an action for `state`; ``draw()`` returns the next uniform number in [0, 1) for random decisions."""

    def learn(self, step: Step[X]) -> int:
        """Learn from a step that was just made; return flags of `Ended` if an epoch of the policy's own ended."""
        return 0


class Plan(NamedTuple):
    """A policy for a table and the conditions that end it, counted from its start; by default the run's end.

    Every plan makes at least one step, unless no action is available. Without conditions, the agent plans only once, so
    it never uses what it observes; an online policy needs none, because it ends its epochs itself. `model` and
    `values`, from which the policy was computed, are stored for inspection after the run.
    """

    policy: NDArray[Any] | Policy[int]  #: actions [S], probabilities [S, A], or a `TabularPolicy`
    stop_after_visits: Int64s | None = None  #: [S, A]: end right after a pair was played this often
    stop_before_visits: Int64s | None = None  #: [S, A]: end before playing a pair that was played this often
    stop_after_goals: int | None = None  #: end when the goal has been reached this often
    stop_after_steps: int | None = None  #: end after this many steps
    stop_when_truncated: bool = False  #: end when the environment truncates an episode
    model: SSP | None = None
    values: Floats | None = None


class Chunk(NamedTuple):
    """The steps that a stage made, and why the plan ended: a sum of `Ended` flags, 0 if the plan continues."""

    steps: Steps
    ended: int
    # The epochs of an online policy that ended: after how many of these steps, and why.
    epoch_ends: Int64s | list[int] = []  # noqa: RUF012
    epoch_flags: Int64s | list[int] = []  # noqa: RUF012


class Stage(ABC, Generic[PlanT]):
    """A world in progress, in which plans are followed."""

    truncated: bool = False  # whether the environment truncated an episode with the last step

    @property
    @abstractmethod
    def state(self) -> Any:
        """Where the agent is."""

    @abstractmethod
    def follow(self, plan: PlanT, episodes: int, steps: int) -> Chunk:
        """Follow or continue a plan for at most this many episodes and steps, until it ends or a chunk is full."""

    @abstractmethod
    def unfinished(self) -> Chunk:
        """Return the steps made in `follow` before the environment or an online policy raised an exception."""

    def position(self) -> dict[str, Any] | None:
        """Return the state of the run and its plan as plain data; None if a run can only resume with a new episode."""
        return None

    def restore(self, position: dict[str, Any], policy: Policy[Any]) -> PlanT | None:
        """Resume at a position and return its plan; online agents need `policy`. ValueError if it does not fit."""
        raise NotImplementedError


class World(ABC, Generic[TaskT, PlanT]):
    """Where agents learn: a model, an environment or a task with continuous states."""

    model: SSP | None = None
    """The true model, against which regret is measured; None if it is not known."""
    graph: SSP | None = None
    """A model with the true set of possible transitions, to detect runs that may never end; None if unknown."""
    continuous: bool = False  # whether its states are points of a box

    @abstractmethod
    def task(self, episodes: int, resumed: TaskT | None = None) -> TaskT:
        """Return what an agent may know; observations keep their numbers from the task of a `resumed` agent."""

    @abstractmethod
    def stage(self, seed: int, *, limited: bool = False) -> Stage[PlanT]:
        """Return a stage at the start of an episode; the seed decides all its random draws.

        `limited` says whether the run has a limit of steps.
        """


class Agent(ABC, Generic[TaskT, PlanT]):
    """An algorithm that learns to reach the goal."""

    task: TaskT
    rng: np.random.Generator
    online: bool = False  # whether it learns at every step, so that it does not matter where chunks are cut

    def begin(self, task: TaskT, rng: np.random.Generator) -> None:
        """Start from scratch on a task; `rng` is the only source of randomness."""
        self.task, self.rng = task, rng

    @abstractmethod
    def plan(self, state: Any) -> PlanT:
        """Return the next plan, starting in `state`; called when the previous plan has ended."""

    @abstractmethod
    def observe(self, steps: Steps) -> None:
        """Learn from the `steps` since the last call; always called before the next plan."""

    def restart(self) -> None:
        """Prepare for a new episode although the last one missed the goal: it was truncated, or a run is resumed."""
