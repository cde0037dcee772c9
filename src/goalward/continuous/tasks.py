"""The built-in goal tasks with continuous states, and the facts about four environments of Gymnasium.

The built-in tasks are a mountain car and a windy field with a wall. The car moves exactly as Gymnasium's
MountainCar-v0, but is compiled and has no limit of steps. `ContinuousTask.from_gymnasium` knows four environments:

    MountainCar              the state is the observation; the goal is the flag at position 0.5
    MountainCarContinuous    the state is the observation; the goal is the flag at position 0.45
    Acrobot                  the state is the two angles and their speeds; the goal is to lift the tip above the bar
    Pendulum                 the state is the angle and its speed; the goal is to be almost upright and slow (goalward
                             defines this goal, because the environment never ends an episode)

By default every step costs 1, so the cost of an episode is the number of its steps.
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
    """The facts that an agent may know about an environment; `state` names the function that computes states."""

    low: ArrayLike
    high: ArrayLike
    goal: GoalSet | None = None
    coordinates: tuple[str, ...] | None = None
    periodic: ArrayLike = False
    state: str = "observation"
    action_names: tuple[str, ...] | None = None


def flag_at(position: float, velocity: float) -> GoalSet:
    """Return the goal set of a mountain car: all states with at least this `position` and `velocity`."""
    return lambda points: np.asarray((points[:, 0] >= position) & (points[:, 1] >= velocity))


def above_the_bar(points: Floats) -> Bools:
    return np.asarray(-np.cos(points[:, 0]) - np.cos(points[:, 1] + points[:, 0]) > 1.0)


def upright(points: Floats) -> Bools:
    """Return, for each point, whether the pendulum is within 0.2 rad of upright and turns at most at 1 rad/s."""
    angle = np.mod(points[:, 0] + np.pi, 2.0 * np.pi) - np.pi
    return np.asarray((np.abs(angle) <= 0.2) & (np.abs(points[:, 1]) <= 1.0))


MOUNTAIN_CAR = Facts((-1.2, -0.07), (0.6, 0.07), flag_at(0.5, 0.0), ("position", "velocity"))
ACROBOT = Facts(
    (-PI, -PI, -4.0 * PI, -9.0 * PI), (PI, PI, 4.0 * PI, 9.0 * PI), above_the_bar,
    ("first angle", "second angle", "first speed", "second speed"), (True, True, False, False), "acrobot", PUSHES,
)  # fmt: skip
PENDULUM = Facts((-PI, -8.0), (PI, 8.0), upright, ("angle", "speed"), (True, False), "pendulum")


def facts_of(environment: Any) -> Facts:
    """Return the facts about an environment; for an unknown environment, these are only the bounds of the states."""
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

    :States: The position (-1.2 to 0.6) and the velocity (-0.07 to 0.07).
    :Actions: left, none and right, which are the directions of the push.
    :Transitions: The next velocity is velocity + 0.001 (action - 1) - 0.0025 cos(3 position). The next position is
        position + next velocity. Both are clipped to their ranges. The wall on the left stops the car.
    :Costs: 1 for every step.
    :Start and goal: The car starts at rest, at a random position from -0.6 to -0.4. The goal is the flag at 0.5.
    :Known values: V* is not known exactly. A policy that is planned with the true dynamics on a lattice of 81 x 81
        nodes needs 98 steps on average.
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

    The field is a square with sides of length 10. The moves are random, and the dynamics are not smooth at the wall.

    :States: The position, (x, y).
    :Actions: right, left, up and down. Each action moves by 0.5.
    :Transitions: Between x = 3 and x = 7, a wind blows down and shifts each move by at most `wind`. Gusts add normal
        noise with standard deviation `gusts` to each coordinate. A wall at x = 4 reaches from the lower edge to y = 6;
        a move that would cross the wall has no effect. Positions are clipped to the field.
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
    """Return the next position and velocity of the car, as Gymnasium's ``MountainCarEnv.step`` computes them."""
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
    """Return the argument of ``env.step`` for each action, ``[A, ...]``."""
    if type(space).__name__ == "Discrete":
        chosen = np.arange(space.start, space.start + space.n) if actions is None else np.asarray(actions)
    elif type(space).__name__ == "Box" and (actions is None or isinstance(actions, int)):
        if math.prod(space.shape) != 1 or not space.is_bounded():
            raise SettingError(f"the actions of {name} are {space!s:.80}; pass a list of some actions, actions=[...]")
        chosen = np.linspace(space.low, space.high, actions or 3, dtype=space.dtype)
    elif type(space).__name__ == "Box":
        chosen = np.asarray(actions, dtype=space.dtype)
        chosen = chosen.reshape(-1, *space.shape) if math.prod(space.shape) == 1 else chosen
    else:
        raise SettingError(
            f"the actions of {name} are {space!s:.80}; they must be Discrete or a Box. Make a list `choices` of actions"
            " and pass gymnasium.wrappers.TransformAction(env, lambda number: choices[number],"
            " gymnasium.spaces.Discrete(len(choices)))"
        )
    for index, action in enumerate(chosen):
        if not space.contains(int(action) if chosen.dtype.kind in "iu" and not action.shape else action):
            raise SettingError(f"action {index} is {action.tolist()}, which is outside {space!s:.80}")
    return chosen


def action_names(table: NDArray[Any]) -> list[str]:
    """Return a name for each action in `table`: the numbers of the action, with a sign unless they are integers."""
    form = "{}" if table.dtype.kind in "iu" else "{:+.3g}"
    return [", ".join(form.format(number) for number in np.ravel(action)) for action in table]
