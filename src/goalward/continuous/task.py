"""Goal tasks with continuous states, and plans for these tasks.

States are the points of a box in R^m. Some coordinates, such as angles, may wrap around. There are A actions. An action
a in a state x costs c(x, a) > 0 and leads to a random next state. An episode starts at a random point and ends in the
goal set. The agent knows the costs and the goal set, but not the distribution of next states.

Functions of states are vectorised: they take points ``[n, m]`` and return one entry for each point.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalward.acting.contract import Policy, Step, World
from goalward.acting.stepping import SteppingStage
from goalward.acting.stop_conditions import Stop
from goalward.arrays import Bools, Floats
from goalward.continuous.encoding import STATE_FUNCTIONS, BoxEncoding, StateFunction, checked_point
from goalward.errors import CostError, PolicyError, SettingError, ShapeError, StateError
from goalward.seeds import generator
from goalward.settings import Size, check

GoalSet = Callable[[Floats], Bools]
CostFunction = Callable[[Floats], Floats]
StartFunction = Callable[[np.random.Generator], ArrayLike]
StepFunction = Callable[[Floats, int, np.random.Generator], ArrayLike]
MOST_STARTS = 1000
"""If this many starts in a row lie in the goal set, the task raises an error."""
LARGEST_BOUND = 1e30
ROUNDING = 1e-6
"""Environments may check the goal before they round the observation; the error is below this share of the box."""


@dataclass(frozen=True, eq=False)
class TaskSpec:
    """The facts about a continuous task that an agent may know, which are all facts except the dynamics.

    Most fields are the validated arguments of `ContinuousTask`. `low`, `high` and `periodic` are arrays ``[m]``, and
    `actions` is A. For points ``[n, m]``, `goal` returns ``[n]`` and `cost` returns ``[n, A]``. `episodes` is K.
    `origin` has the id and the settings of a registered task. Unregistered tasks read from a file have no functions.
    """

    low: Floats
    high: Floats
    periodic: Bools
    actions: int
    goal: GoalSet
    cost: CostFunction
    encoding: BoxEncoding
    episodes: int = 1
    origin: Mapping[str, Any] | None = field(default=None, repr=False)
    coordinates: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()

    @property
    def dimensions(self) -> int:
        """m, the number of coordinates."""
        return len(self.low)

    @property
    def has_functions(self) -> bool:
        return self.goal is not not_saved

    def is_like(self, other: object) -> bool:
        """Return whether another task has the same box, coordinates and actions. Goal and costs are not compared."""
        return isinstance(other, TaskSpec) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in PLAIN
        )

    def folded(self, points: Floats) -> Floats:
        """Return `points` after wrapping periodic coordinates into the box; other coordinates do not change."""
        if not self.periodic.any():
            return points
        span = self.high - self.low
        return np.where(self.periodic, self.low + np.mod(points - self.low, span), points)

    def checked_state(self, value: ArrayLike) -> Floats:
        return self.folded(checked_point(value, self.dimensions))


PLAIN = ("low", "high", "periodic", "coordinates", "action_names")
"""An agent that learnt in one task can continue in another task if these fields are equal."""


def not_saved(points: Floats) -> Any:
    """Raise SettingError; a task that was read from a file has this function instead of its goal and cost functions."""
    raise SettingError("files do not store the goal and cost functions; pass the task again to resume the run")


def task_spec(
    low: ArrayLike,
    high: ArrayLike,
    actions: int | Sequence[str],
    goal: Callable[[Floats], Any] | None,
    cost: float | ArrayLike | CostFunction,
    periodic: ArrayLike = False,
    coordinates: Sequence[str] | None = None,
    encoding: BoxEncoding | None = None,
) -> TaskSpec:
    """Check the arguments of a task and return its `TaskSpec`; if `goal` is None, `cost` is ignored, too."""
    lower, upper = checked_box(low, high)
    m = len(lower)
    if isinstance(actions, int):
        action_names = tuple(str(action) for action in range(check("actions", actions, Size)))
    else:
        action_names = tuple(map(str, actions))
    names = tuple(f"x{i}" for i in range(m)) if coordinates is None else tuple(map(str, coordinates))
    wraps = np.asarray(periodic, dtype=np.bool_)
    if len(names) != m or wraps.shape not in ((), (m,)):
        raise ShapeError(
            f"the task has {m} coordinates, but coordinates is {coordinates!r} and periodic is {periodic!r}; pass {m}"
            f" names as coordinates, and {m} truth values or a single one as periodic"
        )
    probes = np.linspace(lower, upper, m + 2)  # m points would hide a function that confuses the axes
    goal_set: GoalSet = not_saved
    costs: CostFunction = not_saved
    if goal is not None:
        goal_set, costs = goal_function(goal, probes), cost_function(cost, len(action_names))
        checked_costs(costs(probes), probes, len(action_names))
    wraps = np.broadcast_to(wraps, (m,)).copy()
    encoding = encoding or BoxEncoding(m, np.arange(len(action_names)))
    return TaskSpec(
        lower, upper, wraps, len(action_names), goal_set, costs, encoding, coordinates=names, action_names=action_names
    )


def per_axis(name: str, value: int | Sequence[int], m: int, most: int) -> list[int]:
    """Return the setting `name` as `m` numbers, one per axis; raises SettingError if their product exceeds `most`."""
    entries = value if isinstance(value, Sequence) else [value] * m
    numbers = [check(name, number, Size) for number in entries]
    if len(numbers) != m:
        raise SettingError(f"{name} is {value!r}; the box has {m} dimensions: pass {m} numbers, or one for all")
    if math.prod(numbers) > most:
        raise SettingError(
            f"{name} is {value!r}, which makes {math.prod(numbers):,} {name} in total; at most {most:,} are allowed"
        )
    return numbers


def checked_box(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return the bounds of a box as arrays; raises an error if they are invalid."""
    lower, upper = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if lower.ndim != 1 or not len(lower) or lower.shape != upper.shape:
        raise ShapeError(f"low has shape {lower.shape}, high has {upper.shape}; pass two lists of the same length")
    for i, (least, most) in enumerate(zip(lower, upper, strict=True)):
        if not (least < most and max(-least, most) <= LARGEST_BOUND):
            raise SettingError(
                f"coordinate {i} goes from {least:g} to {most:g}; low must be below high, and both must be finite. Pass"
                " low= and high= such that the box contains all relevant states"
            )
    lower.flags.writeable = upper.flags.writeable = False
    return lower, upper


def goal_function(goal: Callable[[Floats], Any], probes: Floats) -> GoalSet:
    """Return `goal` after a test call at the points `probes`; raises an error if `goal` is not a valid function."""
    if not callable(goal):
        raise SettingError(
            f"goal is {goal!r}; it must be a function of states [n, m] that returns n truth values, such as"
            " goal=lambda x: x[:, 0] >= 0.5"
        )
    try:
        answer = np.asarray(goal(probes))
    except Exception as error:
        answer = np.array(error)
    if answer.shape == (len(probes),) and answer.dtype == np.bool_:
        return goal
    raise ShapeError(
        f"for states of shape {probes.shape}, goal returned {answer[()]!r:.80}; return one truth value for each state,"
        f" as in goal=lambda x: x[:, 0] >= {probes[-2, 0]:.3g}"
    )


def cost_function(cost: float | ArrayLike | CostFunction, actions: int) -> CostFunction:
    """Return `cost` as a function that maps points ``[n, m]`` to costs ``[n, A]``."""
    if callable(cost):
        return cost
    try:
        row = np.broadcast_to(np.asarray(cost, dtype=np.float64), (actions,))
    except (TypeError, ValueError):
        raise CostError(
            f"cost is {cost!r}; agents for continuous states must know the costs. Pass a number, a list of {actions}"
            " numbers (one for each action), or a function of states [n, m] that returns [n, A]. Tabular agents can"
            " learn costs in gw.Environment(gw.Discretize(env, bins=...), ...)"
        ) from None
    return lambda points: np.broadcast_to(row, (len(points), actions))


def checked_costs(costs: Any, points: Floats, actions: int) -> Floats:
    """Return `costs` as an array; raises CostError if the shape is wrong or a cost is not positive and finite."""
    table = np.ascontiguousarray(costs, dtype=np.float64)  # kernels are compiled for this layout only
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
    """A policy for continuous states, and the conditions that end the plan. A plan lasts at least one step.

    `values` ``[n]`` has the expected cost to the goal from each point in `points` ``[n, m]``, for inspection.
    """

    policy: Policy[Floats] = field(repr=False)
    stop: Stop[Floats] = field(repr=False)
    points: Floats | None = field(default=None, repr=False)
    values: Floats | None = field(default=None, repr=False)


class ContinuousTask(World[TaskSpec, ContinuousPlan]):
    """A goal task with continuous states; `spec` has the facts that an agent may know about the task.

    Parameters
    ----------
    low, high
        The bounds of the box of states.
    actions
        The number of actions, or their names.
    step
        A function ``step(state, action, rng)`` that returns the next state and uses `rng` for random numbers. If the
        next state is outside the box, the agent plans from the nearest point of the box.
    goal
        A function of points ``[n, m]`` that returns, for each point, whether the point lies in the goal set.
    start
        The initial state, or a function ``start(rng)`` that draws it. Initial states in the goal set are drawn again.
    cost
        The cost of a step: a number, a list of A numbers, or a function from points ``[n, m]`` to costs ``[n, A]``.
    periodic
        Whether each coordinate wraps around, as angles do: one truth value per coordinate, or one for all.
    coordinates
        The names of the coordinates in figures; by default x0, x1, ....

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
    """Returns a new simulator of the task, which draws all random numbers from an integer seed."""

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
    def from_gymnasium(
        cls,
        environment: Any,
        *,
        goal: Callable[[Floats], Any] | None = None,
        cost: float | ArrayLike | CostFunction = 1.0,
        actions: ArrayLike | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        periodic: ArrayLike | None = None,
        state: StateFunction | None = None,
    ) -> ContinuousTask:
        """Return the task of a Gymnasium environment.

        The goals of MountainCar, MountainCarContinuous, Acrobot and Pendulum are known; other environments need a
        `goal`. If the spaces of an environment are not bounded, also pass `low`, `high` and `actions`.

        Parameters
        ----------
        environment
            The environment, or its id, such as "Acrobot-v1". Rewards are ignored. A time limit truncates episodes,
            which does not count as reaching the goal. ``gymnasium.make(id, max_episode_steps=-1)`` removes the limit.
        goal
            A function of states ``[n, m]`` that returns, for each state, whether the state lies in the goal set. The
            goal set must contain every state in which the environment terminates an episode.
        cost
            The cost of a step: a number, a list with one number per action, or a function from states ``[n, m]`` to
            ``[n, A]``. Agents for continuous states must know the costs; only tabular agents can learn costs.
        actions
            If the action space is a Box: an array ``[A, ...]`` of the actions that the agent may choose. If the Box has
            one number, an integer means this many evenly spaced values. The default is 3 (both bounds and the middle).
        low, high, periodic
            `low` and `high` are the bounds of the states, by default those of the observation space. `periodic` says
            which coordinates wrap around, by default none.
        state
            A function that computes the state from an observation. By default, the state is the observation. If you
            pass `state`, pass `low` and `high` too. `ContinuousPSRL` accepts states of at most four numbers.

        Examples
        --------
        >>> import goalward as gw
        >>> gw.ContinuousTask.from_gymnasium("MountainCarContinuous-v0", actions=5)
        ContinuousTask(2 dimensions, 5 actions, box [-1.2..0.6] x [-0.07..0.07])
        """
        # Not at the top: the built-in tasks need no Gymnasium, and goalward.environments registers worlds with it.
        from goalward.continuous.tasks import Facts, action_names, action_table, facts_of
        from goalward.environments.by_name import make_environment
        from goalward.environments.goal_and_cost_rules import NO_GOAL, name_of
        from goalward.environments.spaces import check_environment, checked_step, first_observation

        environment = make_environment(environment) if isinstance(environment, str) else environment
        check_environment(environment)
        name = name_of(environment)
        if not hasattr(environment, "observation_space") or not hasattr(environment, "action_space"):
            raise SettingError(f"{name} has no spaces; pass a Gymnasium environment: gymnasium.make(id)")
        if state is not None and (low is None or high is None):
            raise SettingError("with state=, also pass low=[...] and high=[...], the bounds of the computed states")
        facts = facts_of(environment) if state is None else Facts(np.asarray(low), np.asarray(high))
        if np.ndim(facts.low) != 1 or not np.size(facts.low):
            raise SettingError(
                f"the observations of {name} are {environment.observation_space!s:.80}, not a Box with one axis; pass"
                " a function state= that computes the state from an observation, and pass low=[...] and high=[...]"
            )
        goal = facts.goal if goal is None else goal
        if goal is None:
            raise SettingError(
                f"the goal set of {name} is not known: pass a function of states [n, m], such as goal=lambda x: x[:, 0]"
                " >= 0.9. On the command line, name a function that returns the task: goalward learn"
                f" my_env.py:make_task. {NO_GOAL}"
            )
        table = action_table(environment.action_space, actions, name)
        state_name = facts.state if state is None else "function"
        function = STATE_FUNCTIONS[state_name] if state is None else state
        encoding = BoxEncoding(np.size(facts.low), table, state_name, function)
        names = facts.action_names if actions is None else None
        spec = task_spec(
            facts.low if low is None else low, facts.high if high is None else high, names or action_names(table), goal,
            cost, facts.periodic if periodic is None else periodic, facts.coordinates, encoding,
        )  # fmt: skip

        def simulate(stream: int) -> ContinuousSimulator:
            seeds = [stream]  # for the first reset

            def start() -> ArrayLike:
                return function(first_observation(environment, **({"seed": seeds.pop()} if seeds else {})))

            def move(state: Floats, action: int) -> tuple[ArrayLike, bool, bool]:
                result = environment.step(encoding.action(action))
                observation, _, terminated, truncated, _ = checked_step(environment, result)
                return function(observation), terminated, truncated

            return ContinuousSimulator(spec, start, move)

        task = object.__new__(cls)
        task.spec, task.simulator = spec, simulate
        return task

    def task(self, episodes: int, resumed: TaskSpec | None = None) -> TaskSpec:
        return replace(self.spec, episodes=episodes)

    def stage(self, seed: int, *, limited: bool = False) -> SteppingStage[Floats, ContinuousPlan]:
        return SteppingStage(self.simulator, lambda plan: (plan.policy, plan.stop), seed)

    def named(self, id: str, settings: Mapping[str, Any]) -> ContinuousTask:
        """Return a copy of the task that records the id and the settings with which it was built."""
        task = copy.copy(self)
        task.spec = replace(self.spec, origin={"id": id, "settings": dict(settings)})
        return task

    def __repr__(self) -> str:
        spec = self.spec
        sides = " x ".join(f"[{low:.4g}..{high:.4g}]" for low, high in zip(spec.low, spec.high, strict=True))
        plural = "s" * (spec.dimensions > 1)
        return f"ContinuousTask({spec.dimensions} dimension{plural}, {spec.actions} actions, box {sides})"


class ContinuousSimulator:
    """Plays the episodes of a continuous task, one step at a time.

    `start` draws the first state of an episode. ``move(state, action)`` returns three values: the next state, whether
    the episode terminated, and whether it was truncated.
    """

    stuck = False

    def __init__(
        self, spec: TaskSpec, start: Callable[[], Any], move: Callable[[Floats, int], tuple[ArrayLike, bool, bool]]
    ):
        self.spec, self.start, self.move = spec, start, move
        self.reset()

    def reset(self) -> None:
        """Draw initial states until one lies outside the goal set."""
        for _ in range(MOST_STARTS):
            self.state = self.spec.checked_state(self.start())
            if not self.spec.goal(self.state[np.newaxis])[0]:
                return
        raise StateError(f"{MOST_STARTS} starts in a row lie in the goal set; pass a start outside the goal set")

    def check(self, action: int) -> None:
        if not 0 <= action < self.spec.actions:
            raise PolicyError(f"the plan plays action {action}; the task has the actions 0..{self.spec.actions - 1}")

    def step(self, action: int) -> Step[Floats]:
        before = self.state
        cost = float(self.spec.cost(before[np.newaxis])[0, action])
        raw, terminated, truncated = self.move(before, action)
        state = self.spec.checked_state(raw)
        reached = bool(self.spec.goal(state[np.newaxis])[0])
        if terminated and not reached:
            signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(state))))
            reached = bool(self.spec.goal(state + ROUNDING * (self.spec.high - self.spec.low) * signs).any())
            if not reached:
                raise StateError(
                    f"the environment ended an episode in {state.tolist()}, which is not in the goal set. If this is a"
                    " success, extend goal=. If it is a failure, use a tabular agent, which can give up, with"
                    " gw.Environment(gw.Discretize(env, bins=...), goal=..., give_up_cost=...)"
                )
        self.state = state
        return Step(before, action, cost, state, reached, bool(truncated) and not reached)


def world_of(environment: Any, continuous: bool, **rules: Any) -> World[Any, Any]:
    """Return a `ContinuousTask` of `environment` if `continuous`; otherwise, return an `Environment` with `rules`."""
    from goalward.environments.environment import Environment

    return ContinuousTask.from_gymnasium(environment) if continuous else Environment(environment, **rules)
