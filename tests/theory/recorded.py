"""Runs recorded in full, made once for all tests of the theory."""

from __future__ import annotations

from functools import cache

import numpy as np

from goalward import SSP, agents, learn, worlds
from goalward.learning.run import Run

__all__ = ["WORLDS", "recorded", "sticky"]


def sticky() -> SSP:
    """Two states in which the cheap action never leaves; episode-wise resampling may stay there for good."""
    P = np.zeros((2, 2, 3))
    P[0, 0, 0] = 1.0
    P[0, 1] = (0.0, 0.5, 0.5)
    P[1, 0] = (0.5, 0.5, 0.0)
    P[1, 1, 2] = 1.0
    return SSP.from_dense(P, [[0.25, 1.0], [0.5, 1.0]])


WORLDS = {
    "grid": worlds.grid_world(),
    "random": worlds.random_mdp(states=8, seed=5, rows="uniform"),
    "sticky": sticky(),
}


@cache
def recorded(world: str, agent: str = "psrl", episodes: int = 200, seed: int = 0, **settings: object) -> Run:
    learner = agents.make(agent, **settings)
    return learn(learner, WORLDS[world], episodes, seed, max_steps=50_000, keep_plans=True, keep_steps=True)
