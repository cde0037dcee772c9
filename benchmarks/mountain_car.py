"""A model of the size and shape of the discretised mountain car: 18 positions by 7 velocities, 3 actions.

Gymnasium's MountainCar-v0 moves a car by

    velocity <- clip(velocity + (action - 1) 0.001 - 0.0025 cos(3 position), -0.07, 0.07)
    position <- position + velocity

and ends at position 0.5. The states of the model are cells of 0.1 by 0.02. Transition probabilities are the frequencies
with which the car, from points drawn uniformly in a cell, moves to each other cell. Every step costs 1. (A real
aggregation is not Markov, but this model suffices to measure how long planning and learning take.)
"""

from __future__ import annotations

import numpy as np

from goalward import SSP

__all__ = ["mountain_car"]

POSITIONS, VELOCITIES, SAMPLES = 18, 7, 400


def cells(position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return the cell number of each position and velocity."""
    row = np.clip(((position + 1.2) / 0.1).astype(int), 0, POSITIONS - 1)
    column = np.clip(((velocity + 0.07) / 0.02).astype(int), 0, VELOCITIES - 1)
    return row * VELOCITIES + column


def mountain_car(seed: int = 0) -> SSP:
    """Return the model, estimated from random points in each cell."""
    rng = np.random.default_rng(seed)
    S = POSITIONS * VELOCITIES
    P = np.zeros((S, 3, S + 1))
    for state in range(S):
        row, column = divmod(state, VELOCITIES)
        position = -1.2 + 0.1 * (row + rng.random(SAMPLES))
        velocity = -0.07 + 0.02 * (column + rng.random(SAMPLES))
        for action in range(3):
            pushed = np.clip(velocity + (action - 1) * 0.001 - 0.0025 * np.cos(3.0 * position), -0.07, 0.07)
            moved = np.clip(position + pushed, -1.2, 0.6)
            pushed = np.where((moved <= -1.2) & (pushed < 0.0), 0.0, pushed)
            reached = np.where(moved >= 0.5, S, cells(moved, pushed))
            P[state, action] = np.bincount(reached, minlength=S + 1) / SAMPLES
    start = int(cells(np.array([-0.5]), np.array([0.0]))[0])
    return SSP.from_dense(P, np.ones((S, 3)), start)
