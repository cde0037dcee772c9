"""A windy field with a wall, as a goal task with continuous states."""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats
from goalward.continuous.task import GoalTask
from goalward.jit import exercise, kernel
from goalward.settings import checked_number
from goalward.worlds.base import register

__all__ = ["navigation"]


@register("navigation-v0")
def navigation(wind: float = 0.25, gusts: float = 0.05) -> GoalTask:
    """Navigation: cross a windy field around a wall; continuous, 2 dimensions.

    Description
    -----------
    A field with sides of 10, given by plain functions. A task with random moves, and with a wall inside, where the
    dynamics are not smooth.

    States
    ------
    The place, (x, y).

    Actions
    -------
    right, left, up, down: by 0.5.

    Transitions
    -----------
    The move, plus a wind that blows down between x = 3 and x = 7 and moves by `wind` where it is strongest, plus gusts:
    normal with standard deviation `gusts` in each coordinate. A wall at x = 4 goes from the lower edge to y = 6; a move
    that would cross it does nothing. So does the part of a move that leads over the edge.

    Costs
    -----
    1 for every step.

    Start and goal
    --------------
    The start is (1, 1). The goal is a disc of radius 1 around (9, 1).

    Known values
    ------------
    V* is not known.

    Version history
    ---------------
    v0: first version.
    """
    strength = checked_number("wind", wind, high=0.45)
    deviation = checked_number("gusts", gusts, high=1.0)

    def step(state: Floats, action: int, rng: np.random.Generator) -> tuple[float, float]:
        gust = rng.standard_normal(2)
        return field_step(state[0], state[1], action, strength, deviation * gust[0], deviation * gust[1])

    return GoalTask(
        [0.0, 0.0], [10.0, 10.0], ["right", "left", "up", "down"], step,
        goal=lambda points: np.asarray((points[:, 0] - 9.0) ** 2 + (points[:, 1] - 1.0) ** 2 <= 1.0), start=[1.0, 1.0],
        coordinates=["x", "y"],
    )  # fmt: skip


@kernel
def field_step(x: float, y: float, action: int, wind: float, gust_x: float, gust_y: float) -> tuple[float, float]:
    """Move on the field."""
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


@exercise
def exercise_navigation() -> None:
    """Move once."""
    field_step(1.0, 1.0, 0, 0.25, 0.0, 0.0)
