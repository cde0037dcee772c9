"""Steps per second of `learn` in a Gymnasium environment, compared with a bare loop over the same environment.

    python benchmarks/gymnasium_steps.py

The environment is FrozenLake, with its Discrete observations and with MultiDiscrete observations (row, column). `learn`
and the bare loop take turns; the table shows medians in processor time. The time of `learn` includes planning.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import goalward as gw

STEPS, ROUNDS = 200_000, 3


def lake() -> Any:
    """Return FrozenLake, whose observations are Discrete."""
    return gymnasium.make("FrozenLake-v1")


def lake_of_rows() -> Any:
    """Return FrozenLake with rows and columns as observations."""
    cells = [np.array(divmod(cell, 4)) for cell in range(16)]
    space = gymnasium.spaces.MultiDiscrete([4, 4])
    return gymnasium.wrappers.TransformObservation(lake(), lambda cell: cells[cell], space)


def bare(make: Callable[[], Any], steps: int) -> float:
    """Return the steps per second of a loop that does nothing but step and reset."""
    env = make()
    env.reset(seed=0)
    began = time.process_time()
    for i in range(steps):
        _, _, terminated, truncated, _ = env.step(i & 3)
        if terminated or truncated:
            env.reset()
    return steps / (time.process_time() - began)


def learning(make: Callable[[], Any], steps: int) -> float:
    """Return the steps per second of PSRL-SSP, which may give up episodes at a cost."""
    env = make()
    began = time.process_time()
    gw.learn(gw.agents.PSRL(), gw.Environment(env, give_up_cost=10.0), steps, seed=0, max_steps=steps)
    return steps / (time.process_time() - began)


if __name__ == "__main__":
    print("| observations | bare loop, steps/s | learn, steps/s | ratio |\n| --- | ---: | ---: | ---: |")
    for name, make in (("Discrete", lake), ("MultiDiscrete", lake_of_rows)):
        learning(make, 1000)
        rounds = [(bare(make, STEPS), learning(make, STEPS)) for _ in range(ROUNDS)]
        alone, with_agent = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"| {name} | {alone:,.0f} | {with_agent:,.0f} | {with_agent / alone:.2f} |", flush=True)
