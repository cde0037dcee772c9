"""The built-in goal tasks with continuous states: the classics of control, and a windy field with a wall.

The classics move exactly as Gymnasium's MountainCar-v0, Acrobot-v1 and Pendulum-v1 do, compiled and without a step
limit; tests compare them with Gymnasium's trajectories. Every step costs 1.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from goalward.arrays import Floats
from goalward.continuous.environment_task import ACROBOT, MOUNTAIN_CAR, PENDULUM, upright
from goalward.continuous.task import ContinuousTask
from goalward.jit import kernel
from goalward.settings import Share
from goalward.worlds.base import register

__all__ = ["acrobot", "acrobot_step", "car_step", "mountain_car", "navigation", "pendulum", "pendulum_step"]

PI = math.pi


@register("mountain-car-v0")
def mountain_car() -> ContinuousTask:
    """MountainCar: rock an underpowered car up a hill; continuous, 2 dimensions.

    Gymnasium's MountainCar-v0 (Moore 1990) without its limit of 200 steps. The engine is too weak to climb the hill
    straight away, so the car must first drive away from the goal.

    States
        The position, -1.2 to 0.6, and the velocity, -0.07 to 0.07.
    Actions
        left, none, right: which way to push.
    Transitions
        velocity + 0.001 (action - 1) - 0.0025 cos(3 position), then position + velocity, both kept inside their ranges.
        The wall on the left stops the car.
    Costs
        1 for every step.
    Start and goal
        The start is at rest, at a random position in -0.6 to -0.4. The goal is the flag, at position 0.5.
    Known values
        V* is not known exactly. Planning with the true dynamics on a lattice of 81 x 81 nodes takes 98 steps on
        average.
    """

    def step(state: Floats, action: int, rng: np.random.Generator) -> tuple[float, float]:
        return car_step(state[0], state[1], action)

    return ContinuousTask(
        MOUNTAIN_CAR.low, MOUNTAIN_CAR.high, ["left", "none", "right"], step, MOUNTAIN_CAR.goal,
        start=lambda rng: [rng.uniform(-0.6, -0.4), 0.0], coordinates=MOUNTAIN_CAR.coordinates,
    )  # fmt: skip


@register("acrobot-v0")
def acrobot() -> ContinuousTask:
    """Acrobot: swing a double pendulum up by a motor between its links; continuous, 4 dimensions.

    Gymnasium's Acrobot-v1 (Sutton 1996) without its limit of 500 steps.

    States
        The angle of the first link from hanging down, that of the second link from the first, which both wrap around,
        and their speeds, up to 4 pi and 9 pi.
    Actions
        left, none, right: a torque of -1, 0 or 1 between the links.
    Transitions
        One Runge-Kutta step of 0.2 s of the equations of motion, speeds kept inside their ranges.
    Costs
        1 for every step, also the last one, for which Gymnasium gives the reward 0.
    Start and goal
        The start is hanging down nearly at rest, each coordinate random in -0.1 to 0.1. The goal is the tip above the
        height of one link over the bar.
    Known values
        V* is not known. Planning with the true dynamics on a lattice of 21^4 nodes took 63 to 95 steps.
    """

    def step(state: Floats, action: int, rng: np.random.Generator) -> Floats:
        moved = np.empty(4)
        acrobot_step(state, action - 1.0, moved)
        return moved

    return ContinuousTask(
        ACROBOT.low, ACROBOT.high, ["left", "none", "right"], step, ACROBOT.goal,
        start=lambda rng: rng.uniform(-0.1, 0.1, size=4), periodic=ACROBOT.periodic, coordinates=ACROBOT.coordinates,
    )  # fmt: skip


@register("pendulum-v0")
def pendulum(
    torques: Annotated[int, Ge(2)] = 3,
    angle: Annotated[float, Gt(0.0), Lt(math.pi)] = 0.2,
    speed: Annotated[float, Gt(0.0), Lt(8.0)] = 1.0,
) -> ContinuousTask:
    """Pendulum: swing a weak pendulum up to a set around upright; continuous, 2 dimensions.

    Gymnasium's Pendulum-v1 as a goal task. The motor is too weak to lift the pendulum at once. Gymnasium's own starts
    anywhere and never ends; the start, the goal set and the costs are chosen here.

    States
        The angle from upright, which wraps around, and its speed, -8 to 8.
    Actions
        `torques` torques, evenly spread from -2 to 2.
    Transitions
        speed + 0.05 (15 sin(angle) + 3 torque), kept inside its range, then angle + 0.05 speed.
    Costs
        1 for every step.
    Start and goal
        The start hangs down nearly at rest, both coordinates random within 0.1. The goal is at most `angle` away from
        upright and at most `speed` fast.
    Known values
        V* is not known.
    """
    choices = np.linspace(-2.0, 2.0, torques)
    goal = upright(angle, speed)

    def step(state: Floats, action: int, rng: np.random.Generator) -> tuple[float, float]:
        return pendulum_step(state[0], state[1], choices[action])

    return ContinuousTask(
        PENDULUM.low, PENDULUM.high, [f"{torque:+.3g}" for torque in choices], step, goal,
        start=lambda rng: [PI + rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1)], periodic=PENDULUM.periodic,
        coordinates=PENDULUM.coordinates,
    )  # fmt: skip


@register("navigation-v0")
def navigation(wind: Annotated[float, Ge(0.0), Le(0.45)] = 0.25, gusts: Share = 0.05) -> ContinuousTask:
    """Navigation: cross a windy field around a wall; continuous, 2 dimensions.

    A field with sides of 10, given by plain functions. A task with random moves, and with a wall inside, where the
    dynamics are not smooth.

    States
        The position, (x, y).
    Actions
        right, left, up, down: by 0.5.
    Transitions
        The move, plus a wind that blows down between x = 3 and x = 7 and moves by `wind` where it is strongest, plus
        gusts: normal with standard deviation `gusts` in each coordinate. A wall at x = 4 goes from the lower edge to y
        = 6; a move that would cross it does nothing. So does the part of a move that leads over the edge.
    Costs
        1 for every step.
    Start and goal
        The start is (1, 1). The goal is a disc of radius 1 around (9, 1).
    Known values
        V* is not known.
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
def pendulum_step(angle: float, speed: float, torque: float) -> tuple[float, float]:
    """Move the pendulum; Gymnasium's PendulumEnv.step."""
    speed += (15.0 * math.sin(angle) + 3.0 * torque) * 0.05
    speed = min(max(speed, -8.0), 8.0)
    return angle + speed * 0.05, speed


@kernel
def acrobot_speeds(state: Floats, torque: float, out: Floats) -> None:
    """Write the derivative of the state; Gymnasium's AcrobotEnv._dsdt with its masses, lengths and 'book' dynamics."""
    angle1, angle2, speed1, speed2 = state[0], state[1], state[2], state[3]
    inertia1 = 0.25 + (1.25 + math.cos(angle2)) + 2.0
    inertia2 = 0.25 + 0.5 * math.cos(angle2) + 1.0
    pull2 = 0.5 * 9.8 * math.cos(angle1 + angle2 - PI / 2.0)
    pull1 = (
        -0.5 * speed2**2 * math.sin(angle2)
        - speed2 * speed1 * math.sin(angle2)
        + 1.5 * 9.8 * math.cos(angle1 - PI / 2.0)
        + pull2
    )
    out[3] = (torque + inertia2 / inertia1 * pull1 - 0.5 * speed1**2 * math.sin(angle2) - pull2) / (
        1.25 - inertia2**2 / inertia1
    )
    out[2] = -(inertia2 * out[3] + pull1) / inertia1
    out[0] = speed1
    out[1] = speed2


@kernel
def acrobot_step(state: Floats, torque: float, out: Floats) -> None:
    """Move the acrobot by one Runge-Kutta step of 0.2 s; Gymnasium's AcrobotEnv.step."""
    slopes = np.empty((4, 4))
    for stage in range(4):
        for i in range(4):
            weight = 0.0 if stage == 0 else (0.2 if stage == 3 else 0.1)
            out[i] = state[i] + weight * (slopes[stage - 1, i] if stage > 0 else 0.0)
        acrobot_speeds(out, torque, slopes[stage])
    for i in range(4):
        out[i] = state[i] + 0.2 / 6.0 * (slopes[0, i] + 2.0 * slopes[1, i] + 2.0 * slopes[2, i] + slopes[3, i])
    for i in range(2):
        while out[i] > PI:
            out[i] -= 2.0 * PI
        while out[i] < -PI:
            out[i] += 2.0 * PI
    out[2] = min(max(out[2], -4.0 * PI), 4.0 * PI)
    out[3] = min(max(out[3], -9.0 * PI), 9.0 * PI)


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
