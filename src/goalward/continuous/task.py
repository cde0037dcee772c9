"""Goal tasks with continuous states: what an agent may know of one, its dynamics, and plans for it.

States are the points of a box in R^m; coordinates such as angles may wrap around. There are A actions. An action a in a
state x costs c(x, a) > 0, which is known. An episode starts at a random point and ends in the goal set, which is known
too. In between, an action leads from a state to a random next state, in a way that the agent does not know.

Functions of states are vectorised: they take points ``[n, m]`` and return one entry for each.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalward.acting.contract import Policy, Step, World
from goalward.acting.stepping import SteppingStage
from goalward.acting.stop import Stop
from goalward.arrays import Bools, Floats
from goalward.errors import CostError, PolicyError, SettingError, ShapeError, StateError
from goalward.seeds import generator
from goalward.settings import checked_integer

__all__ = [
    "ContinuousPlan", "ContinuousSimulator", "ContinuousTask", "CostFunction", "GoalSet", "TaskSpec", "checked_costs",
    "per_axis", "task_spec",
]  # fmt: skip

GoalSet = Callable[[Floats], Bools]
CostFunction = Callable[[Floats], Floats]
StartFunction = Callable[[np.random.Generator], ArrayLike]
StepFunction = Callable[[Floats, int, np.random.Generator], ArrayLike]
MOST_STARTS = 1000
"""How often in a row a start in the goal set is drawn again."""


@dataclass(frozen=True, eq=False)
class TaskSpec:
    """What an agent may know of a continuous task: everything but the dynamics.

    The fields are the arguments of `ContinuousTask`, checked: `low`, `high` and `periodic` are arrays ``[m]``,
    `actions` is A, and `cost` is a function that returns ``[n, A]``. `episodes` is K, the number of episodes of the
    run, and `origin` the id and the settings of a registered task.
    """

    low: Floats
    high: Floats
    periodic: Bools
    actions: int
    goal: GoalSet
    cost: CostFunction
    episodes: int = 1
    origin: Mapping[str, Any] | None = field(default=None, repr=False)
    coordinates: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()

    @property
    def dimensions(self) -> int:
        """m, the number of coordinates."""
        return len(self.low)

    def is_like(self, other: object) -> bool:
        """Return whether another task has the same box and as many actions; functions cannot be compared."""
        return (
            isinstance(other, TaskSpec)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("low", "high", "periodic"))
            and self.actions == other.actions
        )

    def folded(self, points: Floats) -> Floats:
        """Return points with periodic coordinates brought into the box; others may lie outside."""
        if not self.periodic.any():
            return points
        span = self.high - self.low
        return np.where(self.periodic, self.low + np.mod(points - self.low, span), points)

    def checked_state(self, value: ArrayLike) -> Floats:
        """Return one state as an array; raises StateError if it is not m finite numbers."""
        try:
            state = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            state = np.array(np.nan)
        if state.shape != self.low.shape or not np.isfinite(state).all():
            raise StateError(f"the task gave the state {value!r}; it must be {self.dimensions} finite numbers")
        return self.folded(state)


def task_spec(
    low: ArrayLike,
    high: ArrayLike,
    actions: int | Sequence[str],
    goal: GoalSet,
    cost: float | ArrayLike | CostFunction,
    periodic: ArrayLike = False,
    coordinates: Sequence[str] | None = None,
) -> TaskSpec:
    """Return what an agent may know of a task, checked."""
    lower, upper = checked_box(low, high)
    m = len(lower)
    if isinstance(actions, int):
        action_names = tuple(str(action) for action in range(checked_integer("actions", actions, 1)))
    else:
        action_names = tuple(map(str, actions))
    if not action_names:
        raise SettingError("actions is empty; a task needs at least one action")
    names = tuple(f"x{i}" for i in range(m)) if coordinates is None else tuple(coordinates)
    wraps = np.asarray(periodic, dtype=np.bool_)
    if len(names) != m or wraps.shape not in ((), (m,)):
        raise ShapeError(
            f"coordinates is {coordinates!r} and periodic is {periodic!r}; the task has {m} coordinates: one name and"
            " one truth value for each, or one truth value for all"
        )
    probes = np.stack([lower, 0.5 * (lower + upper), upper])
    check_goal(goal, probes)
    costs = cost_function(cost, len(action_names))
    checked_costs(costs(probes), probes, len(action_names))
    wraps = np.broadcast_to(wraps, (m,)).copy()
    return TaskSpec(lower, upper, wraps, len(action_names), goal, costs, coordinates=names, action_names=action_names)


def per_axis(name: str, value: int | Sequence[int], m: int, most: int) -> list[int]:
    """Return a setting as m numbers, one for each axis; raises SettingError if their product is too large."""
    numbers = [value] * m if isinstance(value, int) else [int(number) for number in value]
    if len(numbers) != m:
        raise SettingError(f"{name} is {value!r}; the task has {m} dimensions: give {m} numbers, or one")
    if math.prod(numbers) > most:
        raise SettingError(
            f"{name} is {value!r}: {math.prod(numbers):,} {name} in {m} dimensions; at most {most:,} fit"
        )
    return numbers


def checked_box(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return the bounds of a box; raises ShapeError or SettingError that names the coordinate."""
    lower, upper = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if lower.ndim != 1 or not len(lower) or lower.shape != upper.shape:
        raise ShapeError(f"low has shape {lower.shape}, high {upper.shape}; both must be one list of the same length")
    for i, (least, most) in enumerate(zip(lower, upper, strict=True)):
        if not (least < most and max(-least, most) <= 1e30):
            raise SettingError(
                f"coordinate {i} goes from {least:g} to {most:g}; low must be below high and the box must be bounded:"
                " pass low and high that hold all states that matter"
            )
    lower.flags.writeable = upper.flags.writeable = False
    return lower, upper


def check_goal(goal: GoalSet, probes: Floats) -> None:
    if not callable(goal):
        raise SettingError(f"goal is {goal!r}; it must be a function of points [n, m] that returns n truth values")
    inside = np.asarray(goal(probes))
    if inside.shape != (len(probes),) or inside.dtype != np.bool_:
        raise ShapeError(
            f"goal returned shape {inside.shape} and dtype {inside.dtype} for {len(probes)} points; it must return one"
            " truth value for each: write it for arrays [n, m], such as lambda x: x[:, 0] >= 0.5"
        )


def cost_function(cost: float | ArrayLike | CostFunction, actions: int) -> CostFunction:
    """Return the costs of all actions as a function of points."""
    if callable(cost):
        return cost
    try:
        row = np.broadcast_to(np.asarray(cost, dtype=np.float64), (actions,))
    except (TypeError, ValueError):
        raise CostError(
            f"cost is {cost!r}; it must be a number, one for each of the {actions} actions, or a function of points"
            " [n, m] that returns [n, A]"
        ) from None
    return lambda points: np.broadcast_to(row, (len(points), actions))


def checked_costs(costs: Any, points: Floats, actions: int) -> Floats:
    """Return the costs at some points; raises CostError if one is not a positive number."""
    table = np.ascontiguousarray(costs, dtype=np.float64)  # kernels have one specialisation, for this layout
    if table.shape != (len(points), actions):
        raise CostError(
            f"cost returned shape {table.shape} for {len(points)} points; it must return {(len(points), actions)}"
        )
    wrong = np.argwhere(~((table > 0.0) & np.isfinite(table)))
    if len(wrong):
        point, action = wrong[0]
        raise CostError(
            f"action {action} costs {table[point, action]} at {points[point].tolist()}; costs must be known, positive"
            " and finite"
        )
    return table


@dataclass(frozen=True, eq=False)
class ContinuousPlan:
    """A policy in a box and the conditions that end it. Every plan makes at least one step.

    `values` are the costs ``[n]`` that the policy expects at some `points` ``[n, m]``, to look at after the run.
    """

    policy: Policy[Floats] = field(repr=False)
    stop: Stop[Floats] = field(repr=False)
    points: Floats | None = field(default=None, repr=False)
    values: Floats | None = field(default=None, repr=False)


class ContinuousTask(World[TaskSpec, ContinuousPlan]):
    """A goal task with continuous states: what an agent may know (`spec`), and the dynamics behind it.

    Parameters
    ----------
    low, high
        The bounds of the box of states.
    actions
        The number of actions, or their names.
    step
        ``step(state, action, rng)`` returns the next state; it draws what is random from `rng`. Where it leads out of
        the box, the agent takes it for the nearest point of the box.
    goal
        Returns which of some points, ``[n, m]``, lie in the goal set.
    start
        A state, or ``start(rng)``, which returns one. A start in the goal set is drawn again.
    cost
        The cost of a step: a number, one for each action, or a function that returns ``[n, A]`` for points ``[n, m]``.
    periodic
        Which coordinates wrap around, such as angles.
    coordinates
        The names of the coordinates in pictures; x0, x1, ... by default.

    Examples
    --------
    >>> import goalward as gw
    >>> line = gw.ContinuousTask(low=[0.0], high=[1.0], actions=["left", "right"], goal=lambda x: x[:, 0] >= 0.95,
    ...                          step=lambda x, a, rng: x + (0.1 if a else -0.1) + rng.normal(0.0, 0.01), start=[0.1])
    >>> line
    ContinuousTask(1 dimension, 2 actions, box [0..1])
    >>> run = gw.learn(gw.agents.ContinuousPSRL(), line, episodes=5, seed=0)
    >>> bool(run.steps[-1] <= 12)
    True
    """

    continuous = True
    simulator: Callable[[int], ContinuousSimulator]
    """Starts the task in progress; all its random draws come from an integer seed."""

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        actions: int | Sequence[str],
        step: StepFunction,
        goal: GoalSet,
        start: StartFunction | ArrayLike,
        cost: float | ArrayLike | CostFunction = 1.0,
        periodic: ArrayLike = False,
        coordinates: Sequence[str] | None = None,
    ):
        spec = task_spec(low, high, actions, goal, cost, periodic, coordinates)
        fixed = None if callable(start) else spec.checked_state(start)

        def simulate(stream: int) -> ContinuousSimulator:
            rng = generator(stream)
            draw = (lambda: start(rng)) if callable(start) else lambda: fixed
            return ContinuousSimulator(spec, draw, lambda state, action: (step(state, action, rng), False, False))

        self.spec, self.simulator = spec, simulate

    @classmethod
    def from_simulator(cls, spec: TaskSpec, simulator: Callable[[int], ContinuousSimulator]) -> ContinuousTask:
        """Return the task of a function that starts a simulator from an integer seed."""
        task = object.__new__(cls)
        task.spec, task.simulator = spec, simulator
        return task

    @classmethod
    def from_gymnasium(
        cls,
        environment: Any,
        *,
        goal: GoalSet | None = None,
        cost: float | ArrayLike | CostFunction | None = None,
        actions: ArrayLike | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        periodic: ArrayLike | None = None,
        read: Callable[[Any], ArrayLike] | None = None,
    ) -> ContinuousTask:
        """Return the task of a Gymnasium environment.

        MountainCar, Acrobot and Pendulum are known and need no arguments. For others, say what the agent may know.

        Parameters
        ----------
        environment
            The environment. A step limit of its own cuts episodes off: make it with ``max_episode_steps=None``.
        goal, cost
            The goal set and the costs, as for `ContinuousTask`. Where the environment terminates an episode must lie in
            the goal set. Its rewards are ignored.
        actions
            The actions to choose from, if the action space is continuous: an array ``[A, ...]`` inside the space.
        low, high, periodic
            The box of states, by default the observation space, which must be bounded then.
        read
            Returns the state for an observation, by default the observation itself.
        """
        from goalward.continuous.environment_task import environment_task

        return environment_task(environment, goal, cost, actions, low, high, periodic, read)

    def task(self, episodes: int) -> TaskSpec:
        """Return what an agent may know."""
        return replace(self.spec, episodes=episodes)

    def stage(
        self, seed: int, *, limited: bool = False, costs_known: bool = True
    ) -> SteppingStage[Floats, ContinuousPlan]:
        """Return a stage at the start of an episode."""
        return SteppingStage(self.simulator, lambda plan: (plan.policy, plan.stop), seed)

    def named(self, id: str, settings: Mapping[str, Any]) -> ContinuousTask:
        """Return the same task under the id and settings of a registered task."""
        task = copy.copy(self)
        task.spec = replace(self.spec, origin={"id": id, "settings": dict(settings)})
        return task

    def __repr__(self) -> str:
        spec = self.spec
        sides = " x ".join(f"[{low:.4g}..{high:.4g}]" for low, high in zip(spec.low, spec.high, strict=True))
        plural = "s" * (spec.dimensions > 1)
        return f"ContinuousTask({spec.dimensions} dimension{plural}, {spec.actions} actions, box {sides})"


class ContinuousSimulator:
    """A continuous task in progress.

    `start` draws the first state of an episode. `move` returns for a state and an action the next state, whether the
    episode was terminated there, and whether it was truncated. `ends_at_goal` says that termination means the goal,
    although the state, which may be rounded, is not in the goal set.
    """

    stuck = False

    def __init__(
        self,
        spec: TaskSpec,
        start: Callable[[], Any],
        move: Callable[[Floats, int], tuple[ArrayLike, bool, bool]],
        ends_at_goal: bool = False,
    ):
        self.spec, self.start, self.move, self.ends_at_goal = spec, start, move, ends_at_goal
        self.state = self.first_state()

    def first_state(self) -> Floats:
        """Draw a start until it lies outside the goal set; raises StateError if that does not happen."""
        for _ in range(MOST_STARTS):
            state = self.spec.checked_state(self.start())
            if not self.spec.goal(state[np.newaxis])[0]:
                return state
        raise StateError(f"{MOST_STARTS} starts in a row lie in the goal set; nothing can be learnt from there")

    def check(self, action: int) -> None:
        """Raise PolicyError if there is no such action."""
        if not 0 <= action < self.spec.actions:
            raise PolicyError(f"the plan plays action {action}; the task has the actions 0..{self.spec.actions - 1}")

    def step(self, action: int) -> Step[Floats]:
        """Play an action, and start the next episode if this one is over."""
        before = self.state
        cost = float(self.spec.cost(before[np.newaxis])[0, action])
        raw, terminated, truncated = self.move(before, action)
        state = self.spec.checked_state(raw)
        reached = bool(self.spec.goal(state[np.newaxis])[0])
        if terminated and not reached:
            if not self.ends_at_goal:
                raise StateError(
                    f"the environment ended an episode in {state.tolist()}, which is not in the goal set; widen the"
                    " goal, or wrap the environment so that episodes end at the goal alone"
                )
            reached = True
        cut = bool(truncated) and not reached
        self.state = self.first_state() if reached or cut else state
        return Step(before, action, cost, state, reached, cut)
