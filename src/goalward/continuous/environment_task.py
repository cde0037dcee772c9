"""Continuous tasks from Gymnasium environments.

Three environments of Gymnasium's classic control need no arguments:

    MountainCar   the state is the observation; the goal is the flag at position 0.5
    Acrobot       the state is the two angles and their speeds; the goal is the tip above the bar's height
    Pendulum      the state is the angle and its speed; the goal is a set around the upright rest, chosen here because
                  the environment itself never ends an episode

In all three every step costs 1, so an episode's cost is the number of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Bools, Floats
from goalward.continuous.task import ContinuousSimulator, ContinuousTask, CostFunction, GoalSet, task_spec
from goalward.errors import CostError, SettingError

__all__ = ["ACROBOT", "MOUNTAIN_CAR", "PENDULUM", "Facts", "environment_task", "upright"]

Read = Callable[[Any], ArrayLike]


class Facts(NamedTuple):
    """What an agent may know of an environment."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    periodic: tuple[bool, ...]
    goal: GoalSet
    read: Read
    coordinates: tuple[str, ...] | None = None
    actions: tuple[float, ...] | None = None
    ends_at_goal: bool = True


def at_the_flag(points: Floats) -> Bools:
    """Return where the mountain car has reached the flag."""
    return np.asarray((points[:, 0] >= 0.5) & (points[:, 1] >= 0.0))


def above_the_bar(points: Floats) -> Bools:
    """Return where the tip of the acrobot is above the bar's height."""
    return np.asarray(-np.cos(points[:, 0]) - np.cos(points[:, 1] + points[:, 0]) > 1.0)


def upright(angle: float, speed: float) -> GoalSet:
    """Return the set of pendulums that stand within `angle` of upright and turn no faster than `speed`."""
    return lambda points: np.asarray(
        (np.abs(np.mod(points[:, 0] + np.pi, 2.0 * np.pi) - np.pi) <= angle) & (np.abs(points[:, 1]) <= speed)
    )


def read_acrobot(observation: Any) -> Floats:
    """Return the angles and speeds of an observation, which has the cosines and sines of the angles."""
    cos1, sin1, cos2, sin2, speed1, speed2 = np.asarray(observation, dtype=np.float64)
    return np.array([np.arctan2(sin1, cos1), np.arctan2(sin2, cos2), speed1, speed2])


def read_pendulum(observation: Any) -> Floats:
    """Return the angle and the speed of an observation, which has the cosine and sine of the angle."""
    cosine, sine, speed = np.asarray(observation, dtype=np.float64)
    return np.array([np.arctan2(sine, cosine), speed])


PI = float(np.pi)
MOUNTAIN_CAR = Facts((-1.2, -0.07), (0.6, 0.07), (False, False), at_the_flag, np.asarray, ("position", "velocity"))
ACROBOT = Facts(
    (-PI, -PI, -4.0 * PI, -9.0 * PI), (PI, PI, 4.0 * PI, 9.0 * PI), (True, True, False, False), above_the_bar,
    read_acrobot, ("first angle", "second angle", "first speed", "second speed"),
)  # fmt: skip
PENDULUM = Facts(
    (-PI, -8.0), (PI, 8.0), (True, False), upright(0.2, 1.0), read_pendulum, ("angle", "speed"), (-2.0, 0.0, 2.0),
    ends_at_goal=False,
)  # fmt: skip
KNOWN = {"MountainCar": MOUNTAIN_CAR, "Acrobot": ACROBOT, "Pendulum": PENDULUM}


def environment_task(
    environment: Any,
    goal: GoalSet | None,
    cost: float | ArrayLike | CostFunction | None,
    actions: ArrayLike | None,
    low: ArrayLike | None,
    high: ArrayLike | None,
    periodic: ArrayLike | None,
    read: Read | None,
) -> ContinuousTask:
    """Return the task of an environment; see `ContinuousTask.from_gymnasium`."""
    # Not at the top: the built-in tasks need no Gymnasium, and this package registers worlds with it.
    from goalward.environments.rules import name_of
    from goalward.environments.spaces import first_observation

    for method in ("reset", "step", "observation_space", "action_space"):
        if not hasattr(environment, method):
            raise SettingError(f"{environment!r} has no {method}; pass a Gymnasium environment: gymnasium.make(name)")
    name = name_of(environment)
    facts = KNOWN.get(str(getattr(getattr(environment, "spec", None), "name", "")))
    plays = chosen_actions(environment.action_space, actions, facts, name)
    if facts is None:
        if goal is None:
            raise SettingError(f"the goal set of {name} is not known; pass goal, a function of points [n, m]")
        if cost is None:
            raise CostError(
                f"the costs of {name} are not known; pass cost: a number, one for each action, or a function of points"
            )
        space = environment.observation_space
        if (low is None or high is None) and (read is not None or len(getattr(space, "low", np.empty(())).shape) != 1):
            raise SettingError(
                f"the observations of {name} are {space}; a continuous task needs a Box of one row of numbers: pass"
                " read, which returns the state for an observation, with low and high"
            )
        low, high = space.low if low is None else low, space.high if high is None else high
        facts = Facts((), (), (), goal, np.asarray, ends_at_goal=False)
    spec = task_spec(
        facts.low if low is None else low,
        facts.high if high is None else high,
        len(plays),
        facts.goal if goal is None else goal,
        1.0 if cost is None else cost,
        (facts.periodic or False) if periodic is None else periodic,
        facts.coordinates if low is None and read is None else None,
    )
    state_of, ends_at_goal = read or facts.read, facts.ends_at_goal and goal is None

    def simulate(stream: int) -> ContinuousSimulator:
        seeds = [stream]  # for the first reset

        def start() -> ArrayLike:
            return state_of(first_observation(environment, **({"seed": seeds.pop()} if seeds else {})))

        def move(state: Floats, action: int) -> tuple[ArrayLike, bool, bool]:
            observation, _, terminated, truncated, _ = environment.step(plays[action])
            return state_of(observation), terminated, truncated

        return ContinuousSimulator(spec, start, move, ends_at_goal)

    return ContinuousTask.from_simulator(spec, simulate)


def chosen_actions(space: Any, actions: ArrayLike | None, facts: Facts | None, name: str) -> list[Any]:
    """Return what to pass to the environment for each action."""
    number = getattr(space, "n", None)
    if actions is None and number is not None:
        first = int(getattr(space, "start", 0))
        return [first + action for action in range(int(number))]
    if actions is None and facts is not None and facts.actions is not None:
        actions = [[action] for action in facts.actions]
    if actions is None:
        raise SettingError(
            f"the actions of {name} are {space}; pass actions, those to choose from, such as actions=[[-2.0], [2.0]]"
        )
    chosen: list[Any] = []
    for index, action in enumerate(np.asarray(actions)):
        value = int(action) if number is not None else np.asarray(action, dtype=space.dtype)
        if not space.contains(value):
            raise SettingError(f"action {index} is {np.asarray(action).tolist()}, which is outside {space}")
        chosen.append(value)
    return chosen
