"""SSP-MountainCar: a weak car in a valley, of which the agent sees the cell it is in.

Definition
    The dynamics are those of Gymnasium's MountainCar-v0, without its time limit: with action a in {0, 1, 2},

        velocity <- clip(velocity + 0.001 (a - 1) - 0.0025 cos(3 position), -0.07, 0.07)
        position <- clip(position + velocity, -1.2, 0.6)

    and a car that stands at the left end stops there. The goal is position 0.5 or beyond, with a velocity that is not
    negative. An episode starts at rest, at a position drawn uniformly from [-0.6, -0.4]. Every step costs 1.

    The agent sees the cell: position in 18 steps of 0.1, velocity in 7 steps of 0.02, so there are 126 states. Only its
    view is cut up. What happens next depends on where in the cell the car is, so to the agent the transitions are
    random and not Markov: there is no true model, hence no regret, and no theorem covers what is learnt.

Reference
    The 2023 version of the PSRL-SSP paper (UAI, PMLR 216), which shows PSRL-SSP over 2,000 episodes.

The car moves as in `classic_control`, bit for bit as Gymnasium's. The kernels cut the 32-bit
observation that Gymnasium gives, so that the trajectory is the same step for step. `learn` acts in compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from goalward.acting.task import Task
from goalward.arrays import Floats
from goalward.continuous.tasks import car_step
from goalward.environments.spaces import equal_cuts
from goalward.jit import exercise, kernel
from goalward.seeds import generator
from goalward.settings import checked_integer
from goalward.ssp.model import SSP

__all__ = ["SSPMountainCar", "drive", "place"]

LOWEST, HIGHEST, GOAL, FASTEST = -1.2, 0.6, 0.5, 0.07
FIRST, LAST = -0.6, -0.4


class SSPMountainCar:
    """The car as a world to learn in; also an environment with `reset` and `step`.

    Parameters
    ----------
    positions, velocities
        Into how many cells of equal size the agent's view is cut.

    Examples
    --------
    >>> import goalward as gw
    >>> car = gw.worlds.SSPMountainCar()
    >>> car
    SSPMountainCar(positions=18, velocities=7)
    >>> run = gw.learn(gw.agents.PSRL(), car, 3, seed=0)
    >>> bool(run.reached.all())
    True
    """

    actions = 3

    def __init__(self, positions: int = 18, velocities: int = 7):
        self.positions = checked_integer("positions", positions, 1, 1000)
        self.velocities = checked_integer("velocities", velocities, 1, 1000)
        # Gymnasium's bounds are 32-bit numbers.
        left, right, back, forth = (float(np.float32(end)) for end in (LOWEST, HIGHEST, -FASTEST, FASTEST))
        self.cuts = equal_cuts(positions, left, right, 0), equal_cuts(velocities, back, forth, 1)
        self.body = np.zeros(2)

    @property
    def states(self) -> int:
        """The number of cells; the goal is one more."""
        return self.positions * self.velocities

    def task(self, episodes: int) -> Task:
        """Return what an agent is told: the cells, three actions that cost 1, and the cell of the middle start."""
        return Task(np.ones((self.states, self.actions)), int(place(np.zeros(2), 0.5, *self.cuts)), episodes)

    def placeholder(self) -> SSP:
        """Return a model with the states, actions and costs of the car, whose transitions mean nothing."""
        rows = self.states * self.actions
        return SSP.from_rows(
            np.arange(rows + 1), np.full(rows, self.states), np.ones(rows), np.ones((self.states, self.actions))
        )

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode."""
        if seed is not None:
            self.rng = generator(seed)
        return int(place(self.body, self.rng.random(), *self.cuts)), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Drive for one step."""
        state = int(drive(self.body, action, *self.cuts))
        return state, -1.0, state == self.states, False, {}

    def __repr__(self) -> str:
        return f"SSPMountainCar(positions={self.positions}, velocities={self.velocities})"


@kernel
def cell(cuts: Floats, value: float) -> int:
    """Return how many cuts lie at or below the 32-bit number nearest to a value."""
    seen = np.float32(value)
    low = 0
    high = len(cuts)
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] <= seen:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def view(car: Floats, position_cuts: Floats, velocity_cuts: Floats) -> int:
    """Return the cell in which the car is."""
    return cell(position_cuts, car[0]) * (len(velocity_cuts) + 1) + cell(velocity_cuts, car[1])


@kernel
def place(car: Floats, chance: float, position_cuts: Floats, velocity_cuts: Floats) -> int:
    """Put the car at its start, for a uniform number in [0, 1); return the cell."""
    car[0] = FIRST + (LAST - FIRST) * chance
    car[1] = 0.0
    return view(car, position_cuts, velocity_cuts)


@kernel
def drive(car: Floats, action: int, position_cuts: Floats, velocity_cuts: Floats) -> int:
    """Drive for one step; return the cell, or the number of cells at the goal."""
    position, velocity = car_step(car[0], car[1], action)
    car[0] = position
    car[1] = velocity
    if position >= GOAL and velocity >= 0.0:
        return (len(position_cuts) + 1) * (len(velocity_cuts) + 1)
    return view(car, position_cuts, velocity_cuts)


@exercise
def exercise_ssp_mountain_car() -> None:
    """Drive one step."""
    car = SSPMountainCar(2, 2)
    car.reset(seed=0)
    car.step(2)
