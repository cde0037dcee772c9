"""A model behind ``reset`` and ``step``, written apart from the package, and agents that plan at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goalward import SSP
from goalward.agents import Agent, OnlineAgent, Plan, Step, Steps


class ModelEnvironment:
    """Steps through a model with one uniform number a step, by NumPy's search in NumPy's cumulated sums."""

    def __init__(self, ssp: SSP, limit: int | None = None):
        self.ssp, self.limit = ssp, limit
        self.resets = 0

    @property
    def unwrapped(self) -> ModelEnvironment:
        return self

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        if seed is not None:
            self.rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self.state, self.time = self.ssp.initial_state, 0
        self.resets += 1
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        cost = float(self.ssp.costs[self.state, action])
        successors, probabilities = self.ssp.row(self.state, action)
        sums = np.cumsum(probabilities)
        self.state = int(successors[np.searchsorted(sums, self.rng.random() * sums[-1], side="right")])
        self.time += 1
        cut = self.limit is not None and self.time >= self.limit
        return self.state, -cost, self.state == self.ssp.goal, cut, {}


def random_plan(rng: np.random.Generator, available: np.ndarray) -> Plan:
    """A plan of any kind with any of the conditions."""
    S, A = available.shape
    if rng.random() < 0.3:
        policy = np.where(available, rng.random((S, A)) * rng.integers(0, 2, (S, A)) + 1e-3, 0.0)
        policy[~available.any(axis=1)] = 1.0
        policy /= policy.sum(axis=1, keepdims=True)
    else:
        policy = (rng.random((S, A)) * available).argmax(axis=1)
    return Plan(
        policy,
        stop_after_visits=rng.integers(1, 9, (S, A)) if rng.random() < 0.5 else None,
        stop_before_visits=rng.integers(0, 9, (S, A)) if rng.random() < 0.5 else None,
        stop_after_goals=int(rng.integers(1, 4)) if rng.random() < 0.5 else None,
        stop_after_steps=int(rng.integers(1, 30)) if rng.random() < 0.7 else None,
    )


@dataclass(eq=False)
class Fickle(Agent):
    """Plans at random and remembers all it saw."""

    name: ClassVar[str] = "fickle"

    def begin(self, task: Any, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.seen: list[tuple[np.ndarray, ...]] = []

    def plan(self, state: int) -> Plan:
        return random_plan(self.rng, self.task.available)

    def observe(self, steps: Steps) -> None:
        assert len(steps.states) > 0
        self.seen.append(tuple(array.copy() for array in steps))


@dataclass(eq=False)
class Counter(OnlineAgent):
    """Plays the action it has tried least in a state, ties by chance."""

    name: ClassVar[str] = "counter"

    def begin(self, task: Any, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.visits = np.where(task.available, 0, np.iinfo(np.int64).max)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        least = np.flatnonzero(self.visits[state] == self.visits[state].min())
        return int(least[int(draw() * len(least))])

    def learn(self, step: Step[int]) -> int:
        self.visits[step.state, step.action] += 1
        return 0


def chain(length: int, back: float = 0.0) -> SSP:
    """Walk to the goal by action 0; action 1 stays. With probability `back` the walk restarts."""
    rows: list[tuple[int, int, int, float, float]] = []
    for state in range(length):
        rows += [(state, 0, state + 1, 1.0 - back, 1.0), (state, 0, 0, back, 1.0), (state, 1, state, 1.0, 0.5)]
    return SSP.from_transitions(rows, goals=[length], initial_state=0)
