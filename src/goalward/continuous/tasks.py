"""The built-in goal tasks with continuous states: the mountain car, and a windy field with a wall.

The car moves exactly as Gymnasium's MountainCar-v0 does, compiled and without a step limit; tests compare the two.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from goalward.arrays import Floats
from goalward.continuous.environment_task import MOUNTAIN_CAR, flag_at
from goalward.continuous.task import ContinuousTask
from goalward.jit import kernel
from goalward.settings import Share
from goalward.worlds.base import register


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
