"""The built-in goal tasks with continuous states, and what is known about those of Gymnasium.

Built in are the mountain car and a windy field with a wall. The car moves exactly as Gymnasium's MountainCar-v0 does,
compiled and without a step limit; tests compare the two. Four environments of Gymnasium's classic control need no
arguments:

    MountainCar              the state is the observation; the goal is the flag at position 0.5
    MountainCarContinuous    likewise, with the flag at 0.45
    Acrobot                  the state is the two angles and their speeds; the goal is the tip above the bar's height
    Pendulum                 the state is the angle and its speed; the goal is a set around the upright rest, chosen
                             here because the environment itself never ends an episode

In all of them every step costs 1 by default, so an episode's cost is the number of its steps.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import ArrayLike, NDArray

from goalward.arrays import Bools, Floats
from goalward.continuous.task import ContinuousTask, GoalSet
from goalward.errors import SettingError
from goalward.jit import kernel
from goalward.settings import Share
from goalward.worlds.base import register

PI = math.pi
PUSHES = ("left", "none", "right")


class Facts(NamedTuple):
    """What an agent may know about an environment; `state` names the function that computes its states."""

    low: ArrayLike
    high: ArrayLike
    goal: GoalSet | None = None
    coordinates: tuple[str, ...] | None = None
    periodic: ArrayLike = False
    state: str = "observation"
    action_names: tuple[str, ...] | None = None


def flag_at(position: float, velocity: float) -> GoalSet:
    """Return whether a mountain car has reached the flag."""
    return lambda points: np.asarray((points[:, 0] >= position) & (points[:, 1] >= velocity))


def above_the_bar(points: Floats) -> Bools:
    return np.asarray(-np.cos(points[:, 0]) - np.cos(points[:, 1] + points[:, 0]) > 1.0)


def upright(points: Floats) -> Bools:
    """Return whether a pendulum stands within 0.2 of upright and turns no faster than 1."""
    angle = np.mod(points[:, 0] + np.pi, 2.0 * np.pi) - np.pi
    return np.asarray((np.abs(angle) <= 0.2) & (np.abs(points[:, 1]) <= 1.0))


MOUNTAIN_CAR = Facts((-1.2, -0.07), (0.6, 0.07), flag_at(0.5, 0.0), ("position", "velocity"))
ACROBOT = Facts(
    (-PI, -PI, -4.0 * PI, -9.0 * PI), (PI, PI, 4.0 * PI, 9.0 * PI), above_the_bar,
    ("first angle", "second angle", "first speed", "second speed"), (True, True, False, False), "acrobot", PUSHES,
)  # fmt: skip
PENDULUM = Facts((-PI, -8.0), (PI, 8.0), upright, ("angle", "speed"), (True, False), "pendulum")


def facts_of(environment: Any) -> Facts:
    """Return what is known about an environment; only its spaces, if a wrapper may change its steps."""
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


@register("mountain-car-v0")
def mountain_car() -> ContinuousTask:
    """MountainCar: rock an underpowered car up a hill; continuous, 2 dimensions.

    Gymnasium's MountainCar-v0 (Moore 1990) without its limit of 200 steps. The engine is too weak to climb the hill
    straight away, so the car must first drive away from the goal.

    :States: The position, -1.2 to 0.6, and the velocity, -0.07 to 0.07.
    :Actions: left, none, right: which way to push.
    :Transitions: velocity + 0.001 (action - 1) - 0.0025 cos(3 position), then position + velocity, both kept inside
        their ranges. The wall on the left stops the car.
    :Costs: 1 for every step.
    :Start and goal: The start is at rest, at a random position in -0.6 to -0.4. The goal is the flag, at position 0.5.
    :Known values: V* is not known exactly. Planning with the true dynamics on a lattice of 81 x 81 nodes takes 98 steps
        on average.
    """

    def step(state: Floats, action: int, rng: np.random.Generator) -> tuple[float, float]:
        return car_step(state[0], state[1], action)

    return ContinuousTask(
        MOUNTAIN_CAR.low, MOUNTAIN_CAR.high, ["left", "none", "right"], step, flag_at(0.5, 0.0),
        start=lambda rng: [rng.uniform(-0.6, -0.4), 0.0], coordinates=MOUNTAIN_CAR.coordinates,
    )  # fmt: skip


@register("navigation-v0")
def navigation(wind: Annotated[float, Ge(0.0), Le(0.45)] = 0.25, gusts: Share = 0.05) -> ContinuousTask:
    """Navigation: cross a windy field around a wall; continuous, 2 dimensions.

    A field with sides of 10, given by plain functions. A task with random moves, and with a wall inside, where the
    dynamics are not smooth.

    :States: The position, (x, y).
    :Actions: right, left, up, down: by 0.5.
    :Transitions: The move, plus a wind that blows down between x = 3 and x = 7 and moves by `wind` where it is
        strongest, plus gusts: normal with standard deviation `gusts` in each coordinate. A wall at x = 4 goes from the
        lower edge to y = 6; a move that would cross it does nothing. So does the part of a move that leads over the
        edge.
    :Costs: 1 for every step.
    :Start and goal: The start is (1, 1). The goal is a disc of radius 1 around (9, 1).
    :Known values: V* is not known.
    """

    def step(state: Floats, action: int, rng: np.random.Generator) -> tuple[float, float]:
        gust = rng.standard_normal(2)
        return field_step(state[0], state[1], action, wind, gusts * gust[0], gusts * gust[1])

    return ContinuousTask(
        [0.0, 0.0], [10.0, 10.0], ["right", "left", "up", "down"], step,
        goal=lambda points: np.asarray((points[:, 0] - 9.0) ** 2 + (points[:, 1] - 1.0) ** 2 <= 1.0), start=[1.0, 1.0],
        coordinates=["x", "y"],
    )  # fmt: skip


@kernel
def car_step(position: float, velocity: float, action: int) -> tuple[float, float]:
    """Move the car; Gymnasium's MountainCarEnv.step."""
    velocity += (action - 1) * 0.001 + math.cos(3.0 * position) * -0.0025
    velocity = min(max(velocity, -0.07), 0.07)
    position = min(max(position + velocity, -1.2), 0.6)
    if position == -1.2 and velocity < 0.0:
        velocity = 0.0
    return position, velocity


@kernel
def field_step(x: float, y: float, action: int, wind: float, gust_x: float, gust_y: float) -> tuple[float, float]:
    along = 0.5 if action == 0 else (-0.5 if action == 1 else 0.0)
    up = 0.5 if action == 2 else (-0.5 if action == 3 else 0.0)
    blow = wind * max(0.0, 1.0 - ((x - 5.0) / 2.0) ** 2)
    new_x = min(max(x + along + gust_x, 0.0), 10.0)
    new_y = min(max(y + up - blow + gust_y, 0.0), 10.0)
    if (x - 4.0) * (new_x - 4.0) <= 0.0 and x != new_x:
        crossing = y + (4.0 - x) / (new_x - x) * (new_y - y)
        if crossing < 6.0:
            return x, y
    return new_x, new_y


def action_table(space: Any, actions: ArrayLike | None, name: str) -> NDArray[Any]:
    """Return what to pass to the environment for each action, ``[A, ...]``."""
    if type(space).__name__ == "Discrete":
        chosen = np.arange(space.start, space.start + space.n) if actions is None else np.asarray(actions)
    elif type(space).__name__ == "Box" and (actions is None or isinstance(actions, int)):
        if math.prod(space.shape) != 1 or not space.is_bounded():
            raise SettingError(f"the actions of {name} are {space!s:.80}; pass actions=[...], the list to choose from")
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
