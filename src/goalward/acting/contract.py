"""The contract between agents and worlds. Read this page first.

A run alternates between planning and acting::

    task = world.task(episodes)                      the facts for the agent: a Task
    agent.begin(task, rng)
    stage = world.stage(seed)                        the simulated world: a Stage
    while the run goes on:
        plan = agent.plan(stage.state)               a policy and the conditions that end it: a Plan
        while the plan goes on:
            chunk = stage.follow(plan, ...)          the Steps and the end of the plan: a Chunk
            agent.observe(chunk.steps)

An epoch is the time during which one plan is followed; `goalward.acting.stop_conditions` lists the reasons why a plan
ends. Known models are rolled out in compiled code (`goalward.acting.model_world`). Environments and tasks with
continuous states are stepped in Python (`goalward.acting.stepping`).

An agent that learns at every step is its own policy. Its only plan is ``Plan(self)``, which lasts for the whole run,
and its method `learn` returns flags when an epoch ends. The stage calls the agent's `act` and `learn` at every step. A
compiled `rollout` (`goalward.acting.model_world.TabularPolicy`) may replace these calls.
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
    """The facts that an agent may know about a finite world: everything except the transitions and hidden costs."""

    costs: Floats
    """``costs[s, a]``. Unknown costs, which may be random, are NaN; unavailable actions cost infinity."""
    initial_state: int
    """The state in which every episode starts."""
    episodes: int
    """K, the number of episodes of the run."""
    give_up: int | None = None
    """The action that is known to lead to the start from every other state, or None."""
    cost_range: tuple[float, float] | None = None
    """The range of the unknown costs (least, largest); None if the agent does not know the range."""
    encoding: Encoding | None = None
    """Converts observations and actions of an environment to numbers; None without an environment."""

    def __post_init__(self) -> None:
        # Models of the task share its costs, so they must not change. The caller's array stays as it is.
        if self.costs.flags.writeable:
            object.__setattr__(self, "costs", self.costs.copy())
            self.costs.flags.writeable = False
        if self.cost_range is not None:
            object.__setattr__(self, "cost_range", checked_range(self.cost_range))

    @classmethod
    def of(cls, ssp: SSP, episodes: int) -> Task:
        """Return the task for learning in the model `ssp` during `episodes` episodes."""
        return cls(ssp.costs, ssp.initial_state, episodes, ssp.give_up)

    @cached_property
    def available(self) -> Bools:
        """``available[s, a]`` is True if the action can be played in the state."""
        mask = np.asarray(self.costs != np.inf)
        mask.flags.writeable = False
        return mask

    @cached_property
    def costs_unknown(self) -> bool:
        """Whether the cost of at least one state-action pair is unknown."""
        return bool(np.isnan(self.costs).any())

    def checked(self) -> Task:
        """Return a checked copy of the task; raise an error if the costs, the start or `give_up` is invalid."""
        costs = np.array(self.costs, dtype=np.float64)
        if costs.ndim != 2 or not costs.size:
            raise ShapeError(f"costs has shape {costs.shape}; pass a row for each state and a column for each action")
        unknown = np.isnan(costs)
        costs = np.where(unknown, np.nan, checked_costs(costs, ~unknown & (costs != np.inf)))
        if self.give_up is not None and (self.give_up != costs.shape[1] - 1 or unknown[:, -1].any()):
            raise ShapeError(
                f"give_up is {self.give_up!r}; pass None or the last action, {costs.shape[1] - 1}, whose costs must"
                " be known"
            )
        return replace(self, costs=costs, initial_state=checked_state(self.initial_state, len(costs)))

    def is_like(self, other: object) -> bool:
        """Return whether `other` is a task with the same costs, cost range, start and give-up action."""
        return (
            isinstance(other, Task)
            and np.array_equal(self.costs, other.costs, equal_nan=True)
            and (self.initial_state, self.give_up, self.cost_range)
            == (other.initial_state, other.give_up, other.cost_range)
        )

    def model(self, indptr: Int64s, successors: Int32s, probabilities: Floats, costs: Floats | None = None) -> SSP:
        """Return a model of this task with the given canonical rows; if `costs` is None, use the costs of the task."""
        costs = self.costs if costs is None else costs
        model = SSP._trusted(indptr, successors, probabilities, costs, self.initial_state)
        model.__dict__["available"] = self.available  # known already, and read by every plan
        return model


def checked_range(cost_range: Any) -> tuple[float, float]:
    """Return `cost_range` as two floats; raise CostError unless 0 <= least <= largest < infinity."""
    try:
        low, high = (float(end) for end in cost_range)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0.0 <= low <= high < np.inf:
        raise CostError(f"cost_range is {cost_range!r}; pass two numbers (least, largest) with 0 <= least <= largest")
    return low, high


class Step(NamedTuple, Generic[X]):
    """One step of a run; `truncated` is True if the environment ended the episode before the goal."""

    state: X
    action: int
    cost: float
    next_state: X
    reached: bool
    truncated: bool = False


class Steps(NamedTuple):
    """Consecutive steps as columns; a step that `reached` the goal ends its episode.

    In a table, `states` and `next_states` are integers ``[n]``, and the goal is state S. In continuous tasks, they are
    points ``[n, m]``. `actions` and `costs` have shape ``[n]``. Later steps overwrite the arrays, so copy the arrays.
    """

    states: NDArray[Any]
    actions: Int64s
    costs: Floats
    next_states: NDArray[Any]
    reached: Bools

    @classmethod
    def in_table(cls, states: Int64s, actions: Int64s, costs: Floats, next_states: Int64s, goal: int) -> Steps:
        """Return the given columns as `Steps` in a table; `goal` is the number of the goal state."""
        return cls(states, actions, costs, next_states, np.asarray(next_states == goal))

    def part(self, start: int, end: int) -> Steps:
        """Return the steps from `start` up to `end`, without copying."""
        return Steps._make([column[start:end] for column in self])


class Policy(ABC, Generic[X]):
    """A rule that chooses actions; an online policy also learns from each step and may plan inside `act`."""

    @abstractmethod
    def act(self, state: X, draw: Callable[[], float]) -> int:
        """Return an action for `state`; ``draw()`` returns the next uniform number in [0, 1) for random decisions."""

    def learn(self, step: Step[X]) -> int:
        """Learn from the last `step`; return `Ended` flags if the policy ends its epoch, otherwise 0."""
        return 0


class Plan(NamedTuple):
    """A policy for a table, and the conditions that end the plan.

    Visits, goals and steps are counted from the start of the plan. Without conditions, the plan lasts until the run
    ends, so only online policies can learn during the plan. A plan makes at least one step, unless no action is
    available. The policy was computed from `model` and `values`, which are stored for inspection after the run.
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
    """The steps that a stage made; `ended` is a sum of `Ended` flags, or 0 if the plan continues."""

    steps: Steps
    ended: int
    # The epochs of an online policy that ended: after how many of these steps, and why.
    epoch_ends: Int64s | list[int] = []  # noqa: RUF012
    epoch_flags: Int64s | list[int] = []  # noqa: RUF012


class Stage(ABC, Generic[PlanT]):
    """A simulated world that follows the plans of an agent during one run."""

    truncated: bool = False  # whether the environment truncated an episode with the last step

    @property
    @abstractmethod
    def state(self) -> Any:
        """The current state of the agent."""

    @abstractmethod
    def follow(self, plan: PlanT, episodes: int, steps: int) -> Chunk:
        """Follow `plan` until it ends, a chunk is full, or `episodes` episodes or `steps` steps are done."""

    @abstractmethod
    def unfinished(self) -> Chunk:
        """Return the steps that `follow` made before the environment or an online policy raised an exception."""

    def position(self) -> dict[str, Any] | None:
        """Return the state and the plan as plain data, or None if a run can only resume with a new episode."""
        return None

    def restore(self, position: dict[str, Any], policy: Policy[Any]) -> PlanT | None:
        """Restore `position` and return the plan in progress; for an online agent, `policy` is the agent."""
        raise NotImplementedError


class World(ABC, Generic[TaskT, PlanT]):
    """A world in which agents learn: a model, an environment or a task with continuous states."""

    model: SSP | None = None
    """The true model, against which regret is measured; None if the true model is not known."""
    graph: SSP | None = None
    """A model with the true set of possible transitions, to detect runs that may never end; None if unknown."""
    continuous: bool = False  # whether its states are points of a box

    @abstractmethod
    def task(self, episodes: int, resumed: TaskT | None = None) -> TaskT:
        """Return the task for `episodes` episodes; reuse the numbering of observations in an earlier task `resumed`."""

    @abstractmethod
    def stage(self, seed: int, *, limited: bool = False) -> Stage[PlanT]:
        """Return a stage at the start of an episode; `seed` determines all random draws.

        `limited` is True if the run ends after a maximum number of steps.
        """


class Agent(ABC, Generic[TaskT, PlanT]):
    """An algorithm that learns to reach the goal."""

    task: TaskT
    rng: np.random.Generator
    online: bool = False  # whether it learns at every step, so that it does not matter where chunks are cut

    def begin(self, task: TaskT, rng: np.random.Generator) -> None:
        """Start to learn a `task` from scratch; the agent must draw all random numbers from `rng`."""
        self.task, self.rng = task, rng

    @abstractmethod
    def plan(self, state: Any) -> PlanT:
        """Return the next plan, which starts in `state`; called when the previous plan has ended."""

    @abstractmethod
    def observe(self, steps: Steps) -> None:
        """Learn from the `steps` made since the last call of `observe`; always called before the next `plan`."""

    def restart(self) -> None:
        """Prepare for a new episode after a truncation, or in a resumed run; the last episode missed the goal."""
