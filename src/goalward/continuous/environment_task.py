"""Continuous tasks from Gymnasium environments.

Four environments of Gymnasium's classic control need no arguments:

    MountainCar              the state is the observation; the goal is the flag at position 0.5
    MountainCarContinuous    likewise, with the flag at 0.45
    Acrobot                  the state is the two angles and their speeds; the goal is the tip above the bar's height
    Pendulum                 the state is the angle and its speed; the goal is a set around the upright rest, chosen
                             here because the environment itself never ends an episode

In all of them every step costs 1 by default, so an episode's cost is the number of its steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward.arrays import Bools, Floats
from goalward.continuous.encoding import STATE_FUNCTIONS, BoxEncoding, StateFunction
from goalward.continuous.task import (
    LARGEST_BOUND,
    ContinuousSimulator,
    ContinuousTask,
    CostFunction,
    GoalSet,
    task_spec,
)  # fmt: skip
from goalward.errors import SettingError

__all__ = ["ACROBOT", "MOUNTAIN_CAR", "PENDULUM", "Facts", "environment_task", "upright"]

PI = math.pi


class Facts(NamedTuple):
    """What an agent may know of an environment; `state` names the function that computes its states."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    goal: GoalSet
    coordinates: tuple[str, ...]
    periodic: tuple[bool, ...] | bool = False
    state: str = "observation"
    action_names: tuple[str, ...] | None = ("left", "none", "right")


def flag_at(position: float, velocity: float) -> GoalSet:
    """Return where a mountain car has reached the flag."""
    return lambda points: np.asarray((points[:, 0] >= position) & (points[:, 1] >= velocity))


def above_the_bar(points: Floats) -> Bools:
    """Return where the tip of the acrobot is above the bar's height."""
    return np.asarray(-np.cos(points[:, 0]) - np.cos(points[:, 1] + points[:, 0]) > 1.0)


def upright(angle: float, speed: float) -> GoalSet:
    """Return the set of pendulums that stand within `angle` of upright and turn no faster than `speed`."""
    return lambda points: np.asarray(
        (np.abs(np.mod(points[:, 0] + np.pi, 2.0 * np.pi) - np.pi) <= angle) & (np.abs(points[:, 1]) <= speed)
    )


MOUNTAIN_CAR = Facts((-1.2, -0.07), (0.6, 0.07), flag_at(0.5, 0.0), ("position", "velocity"))
ACROBOT = Facts(
    (-PI, -PI, -4.0 * PI, -9.0 * PI), (PI, PI, 4.0 * PI, 9.0 * PI), above_the_bar,
    ("first angle", "second angle", "first speed", "second speed"), (True, True, False, False), "acrobot",
)  # fmt: skip
PENDULUM = Facts(
    (-PI, -8.0), (PI, 8.0), upright(0.2, 1.0), ("angle", "speed"), (True, False), "pendulum", None,
)  # fmt: skip


def known_facts(environment: Any) -> Facts | None:
    """Return what is known of an environment of Gymnasium, unless a wrapper may change its steps."""
    from goalward.environments.rules import changing_wrapper

    bare = environment.unwrapped
    kind = type(bare).__name__ if type(bare).__module__.startswith("gymnasium.") else ""
    if changing_wrapper(environment):
        return None
    if kind in ("MountainCarEnv", "Continuous_MountainCarEnv"):
        names = MOUNTAIN_CAR.action_names if kind == "MountainCarEnv" else None
        return MOUNTAIN_CAR._replace(goal=flag_at(bare.goal_position, bare.goal_velocity), action_names=names)
    return {"AcrobotEnv": ACROBOT, "PendulumEnv": PENDULUM}.get(kind)


def environment_task(
    environment: Any,
    goal: Callable[[Floats], Any] | None,
    cost: float | ArrayLike | CostFunction,
    actions: ArrayLike | None,
    low: ArrayLike | None,
    high: ArrayLike | None,
    periodic: ArrayLike | None,
    state: StateFunction | None,
) -> ContinuousTask:
    """Return the task of an environment; see `ContinuousTask.from_gymnasium`."""
    # Not at the top: the built-in tasks need no Gymnasium, and this package registers worlds with it.
    from goalward.environments.rules import check_has_goal, name_of
    from goalward.environments.spaces import check_environment, checked_step, first_observation

    check_environment(environment)
    name = name_of(environment)
    for attribute in ("observation_space", "action_space"):
        if getattr(environment, attribute, None) is None:
            raise SettingError(f"{name} has no {attribute}; pass a Gymnasium environment: gymnasium.make(id)")
    facts = known_facts(environment) if state is None else None
    missing: dict[str, str] = {}
    if goal is None and facts is None:
        check_has_goal(environment)
    if facts is not None:
        low, high = facts.low if low is None else low, facts.high if high is None else high
        goal, periodic = facts.goal if goal is None else goal, facts.periodic if periodic is None else periodic
    elif low is None or high is None:
        low, high = box_of(environment.observation_space, low, high, state, name, missing)
    if goal is None:
        place = 0.1 * np.ravel(low)[0] + 0.9 * np.ravel(high)[0]
        missing["its goal set, a function of states [n, m]"] = f"goal=lambda x: x[:, 0] >= {place:.3g}"
    table = action_table(environment.action_space, actions, name, missing)
    if missing or goal is None:
        raise SettingError(
            f"{name} does not tell {' and '.join(missing)}: pass what fits, such as {', '.join(missing.values())}"
        )
    state_name = "function" if state is not None else "observation" if facts is None else facts.state
    function = STATE_FUNCTIONS[state_name] if state is None else state
    encoding = BoxEncoding(len(np.ravel(low)), table, state_name, function)
    names = facts.action_names if facts is not None and actions is None else None
    spec = task_spec(
        low, high, names or action_names(table), goal, cost, False if periodic is None else periodic,
        None if facts is None else facts.coordinates, encoding,
    )  # fmt: skip

    def simulate(stream: int) -> ContinuousSimulator:
        seeds = [stream]  # for the first reset

        def start() -> ArrayLike:
            return function(first_observation(environment, **({"seed": seeds.pop()} if seeds else {})))

        def move(state: Floats, action: int) -> tuple[ArrayLike, bool, bool]:
            observation, _, terminated, truncated, _ = checked_step(
                environment, environment.step(encoding.action(action))
            )
            return function(observation), terminated, truncated

        return ContinuousSimulator(spec, start, move)

    return ContinuousTask.from_simulator(spec, simulate)


def box_of(
    space: Any, low: ArrayLike | None, high: ArrayLike | None, state: StateFunction | None, name: str,
    missing: dict[str, str],
) -> tuple[ArrayLike, ArrayLike]:  # fmt: skip
    """Return the bounds of the states; those that were not passed are the observation space's."""
    if state is not None:
        raise SettingError(
            "the bounds of what state= returns are not known; pass low=[...] and high=[...], one number for each"
            " coordinate of the state"
        )
    if type(space).__name__ != "Box" or len(space.shape) != 1:
        raise SettingError(
            f"the observations of {name} are {space!s:.80}, not a Box of one row of numbers; pass state=, which"
            " computes the state from an observation, with low=[...] and high=[...]"
        )
    lower, upper = finite_bounds(space.low if low is None else low, space.high if high is None else high)
    if (low is None and (lower != space.low).any()) or (high is None and (upper != space.high).any()):
        missing["bounds that hold the states that matter"] = f"low={lower.tolist()}, high={upper.tolist()}"
    return lower, upper


def finite_bounds(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return bounds with examples in the place of infinite ones."""
    lower, upper = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    without = ~(np.abs(lower) <= LARGEST_BOUND)
    lower[without] = np.where(np.abs(upper) <= LARGEST_BOUND, upper - 2.0, -1.0)[without]
    return lower, np.where(np.abs(upper) <= LARGEST_BOUND, upper, lower + 2.0)


def action_table(space: Any, actions: ArrayLike | None, name: str, missing: dict[str, str]) -> NDArray[Any]:
    """Return what to pass to the environment for each action, ``[A, ...]``."""
    if type(space).__name__ == "Discrete":
        chosen = np.arange(space.start, space.start + space.n) if actions is None else np.asarray(actions)
        hint = "leave actions= out to choose from all"
    elif type(space).__name__ == "Box":
        count = actions if isinstance(actions, int) and actions > 1 else 3
        spread = np.linspace(*finite_bounds(space.low, space.high), count, dtype=space.dtype)
        hint = f"actions={spread.tolist()}"
        if actions is None or isinstance(actions, int):
            if math.prod(space.shape) != 1 or not space.is_bounded():
                missing["which actions to choose from"] = hint
            actions = spread
        chosen = np.asarray(actions, dtype=space.dtype)
        if math.prod(space.shape) == 1 and chosen.ndim:
            chosen = chosen.reshape(-1, *space.shape)
    else:
        raise SettingError(
            f"the actions of {name} are {space!s:.80}; they must be Discrete or a Box: list those to choose from and"
            " pass gymnasium.wrappers.TransformAction(env, lambda number: choices[number],"
            " gymnasium.spaces.Discrete(len(choices)))"
        )
    for index, action in enumerate(chosen):
        if not space.contains(int(action) if chosen.dtype.kind in "iu" and not action.shape else action):
            raise SettingError(f"action {index} is {action.tolist()}, which is outside {space!s:.80}; write {hint}")
    return chosen


def action_names(table: NDArray[Any]) -> list[str]:
    """Return the names of actions: numbers, with their signs if they are not integers."""
    form = "{}" if table.dtype.kind in "iu" else "{:+.3g}"
    return [", ".join(form.format(number) for number in np.ravel(action)) for action in table]
