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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward.acting.contract import World
from goalward.arrays import Bools, Floats
from goalward.continuous.task import ContinuousTask, GoalSet
from goalward.errors import SettingError

PI = math.pi
PUSHES = ("left", "none", "right")


class Facts(NamedTuple):
    """What an agent may know of an environment; `state` names the function that computes its states."""

    low: ArrayLike
    high: ArrayLike
    goal: GoalSet | None = None
    coordinates: tuple[str, ...] | None = None
    periodic: ArrayLike = False
    state: str = "observation"
    action_names: tuple[str, ...] | None = None


def flag_at(position: float, velocity: float) -> GoalSet:
    """Return where a mountain car has reached the flag."""
    return lambda points: np.asarray((points[:, 0] >= position) & (points[:, 1] >= velocity))


def above_the_bar(points: Floats) -> Bools:
    return np.asarray(-np.cos(points[:, 0]) - np.cos(points[:, 1] + points[:, 0]) > 1.0)


def upright(points: Floats) -> Bools:
    """Return where a pendulum stands within 0.2 of upright and turns no faster than 1."""
    angle = np.mod(points[:, 0] + np.pi, 2.0 * np.pi) - np.pi
    return np.asarray((np.abs(angle) <= 0.2) & (np.abs(points[:, 1]) <= 1.0))


MOUNTAIN_CAR = Facts((-1.2, -0.07), (0.6, 0.07), flag_at(0.5, 0.0), ("position", "velocity"))
ACROBOT = Facts(
    (-PI, -PI, -4.0 * PI, -9.0 * PI), (PI, PI, 4.0 * PI, 9.0 * PI), above_the_bar,
    ("first angle", "second angle", "first speed", "second speed"), (True, True, False, False), "acrobot", PUSHES,
)  # fmt: skip
PENDULUM = Facts((-PI, -8.0), (PI, 8.0), upright, ("angle", "speed"), (True, False), "pendulum")


def facts_of(environment: Any) -> Facts:
    """Return what is known of an environment: if a wrapper may change its steps, no more than its spaces tell."""
    from goalward.environments.goal_and_cost_rules import changing_wrapper

    bare, space = environment.unwrapped, environment.observation_space
    known = not changing_wrapper(environment) and type(bare).__module__.startswith("gymnasium.")
    kind = type(bare).__name__ if known else ""
    if kind in ("MountainCarEnv", "Continuous_MountainCarEnv"):
        names = PUSHES if kind == "MountainCarEnv" else None
        return MOUNTAIN_CAR._replace(goal=flag_at(bare.goal_position, bare.goal_velocity), action_names=names)
    if kind in ("AcrobotEnv", "PendulumEnv"):
        return ACROBOT if kind == "AcrobotEnv" else PENDULUM
    return Facts(getattr(space, "low", np.zeros(0)), getattr(space, "high", np.zeros(0)))


def world_of(environment: Any, continuous: bool, **rules: Any) -> World[Any, Any]:
    """Return an environment as a world, with continuous states or with a table of states and rules."""
    from goalward.environments.environment import Environment

    return ContinuousTask.from_gymnasium(environment) if continuous else Environment(environment, **rules)


def action_table(space: Any, actions: ArrayLike | None, name: str) -> NDArray[Any]:
    """Return what to pass to the environment for each action, ``[A, ...]``."""
    if type(space).__name__ == "Discrete":
        chosen = np.arange(space.start, space.start + space.n) if actions is None else np.asarray(actions)
    elif type(space).__name__ == "Box" and (actions is None or isinstance(actions, int)):
        if math.prod(space.shape) != 1 or not space.is_bounded():
            raise SettingError(f"the actions of {name} are {space!s:.80}; pass actions=[...], those to choose from")
        chosen = np.linspace(space.low, space.high, actions or 3, dtype=space.dtype)
    elif type(space).__name__ == "Box":
        chosen = np.asarray(actions, dtype=space.dtype)
        chosen = chosen.reshape(-1, *space.shape) if math.prod(space.shape) == 1 else chosen
    else:
        raise SettingError(
            f"the actions of {name} are {space!s:.80}; they must be Discrete or a Box: list those to choose from and"
            " pass gymnasium.wrappers.TransformAction(env, lambda number: choices[number],"
            " gymnasium.spaces.Discrete(len(choices)))"
        )
    for index, action in enumerate(chosen):
        if not space.contains(int(action) if chosen.dtype.kind in "iu" and not action.shape else action):
            raise SettingError(f"action {index} is {action.tolist()}, which is outside {space!s:.80}")
    return chosen


def action_names(table: NDArray[Any]) -> list[str]:
    """Return the names of actions: numbers, with their signs if they are not integers."""
    form = "{}" if table.dtype.kind in "iu" else "{:+.3g}"
    return [", ".join(form.format(number) for number in np.ravel(action)) for action in table]
