"""Steps per second of `learn` through `step` on FrozenLake, beside a bare loop around the environment.

    python benchmarks/gymnasium_steps.py

Processor time, the median of several rounds in which the two take turns.
"""

from __future__ import annotations

import statistics
import time

import gymnasium

import goalward as gw

STEPS, ROUNDS = 100_000, 5


def bare(steps: int) -> float:
    """Return the steps per second of a loop that does nothing but step and reset."""
    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=0)
    began = time.process_time()
    for i in range(steps):
        _, _, terminated, truncated, _ = env.step(i & 3)
        if terminated or truncated:
            env.reset()
    return steps / (time.process_time() - began)


def learning(steps: int) -> float:
    """Return the steps per second of PSRL-SSP with restarts."""
    env = gymnasium.make("FrozenLake-v1")
    began = time.process_time()
    gw.learn(gw.agents.PSRL(), gw.Environment(env, give_up_cost=10.0), steps, seed=0, max_steps=steps)
    return steps / (time.process_time() - began)


if __name__ == "__main__":
    learning(1000)
    rounds = [(bare(STEPS), learning(STEPS)) for _ in range(ROUNDS)]
    alone, with_agent = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"bare loop {alone:,.0f} steps per second; learn {with_agent:,.0f}; ratio {with_agent / alone:.2f}")
