"""PSQL*-SSP: Q-learning with posterior sampling.

Reference
    Agrawal and others: Q-learning with Posterior Sampling (ICLR 2026), for finite horizon; its variant PSQL* uses one
    sample in the target as well. The form for shortest paths is ours, and so are the width and the rule for H: nothing
    about them is proved. The constants of the paper's width are recalled and far too wide to learn anything here.

Pseudo-code
     1  Q(s, a) <- 0, n(s, a) <- 0
     2  in every step, in state s:
     3      for each a: x(s, a) ~ N(Q(s, a), sigma(n(s, a))²),  sigma(n) = scale max c / sqrt(n + 1)
     4      play a = argmin x(s, .), observe s'
     5      z <- c(s, a) + max { 0, min x(s', .) },  or c(s, a) at the goal
     6      n(s, a) <- n(s, a) + 1
     7      Q(s, a) <- (1 - alpha) Q(s, a) + alpha z,  alpha = (H + 1) / (H + n(s, a))

How it maps
    `act` is lines 3 and 4, `learn` lines 5 to 7, `rollout` both in one kernel. The samples of line 5 are those of
    line 3 in the next step: what the agent believes of s' is the same when it learns from s' and when it acts there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.model_world import DONE, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop import TableStop
from goalward.agents.base import register
from goalward.agents.model_free.horizon import ModelFree, horizon, note_step
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.settings import Positive

__all__ = ["PSQL"]


@register("psql")
class PSQL(ModelFree, kw_only=True):
    """Q-learning that acts on samples of Gaussian posteriors; memory S A, no planning, no theorem."""

    scale: Positive = 1.0
    """The width of the posterior before the first visit, in units of the largest cost."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        # max c; of unknown costs the stated one, or the largest one so far.
        known = float(task.costs[np.isfinite(task.costs)].max(initial=0.0))
        self.largest = np.array([max(known, 0.0 if task.cost_range is None else task.cost_range[1])])
        # x(s', .) of line 5, and at the end s', or the goal if nothing is sampled.
        self._samples = np.full(task.actions + 1, float(task.goal))

    def restart(self) -> None:
        """Start an episode: samples of the state that was left are of no use."""
        super().restart()
        self._samples[-1] = self.task.goal

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Lines 3 and 4; no number is drawn for ties, samples do not tie."""
        return int(choose(self.rng, state, self.Q, self.visits, self._samples, self.scale * self.largest[0]))

    def learn(self, step: Step[int]) -> int:
        """Lines 5 to 7."""
        update(self.rng, step.state, step.action, step.next_state, step.cost, *self.memory())
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn in one kernel."""
        roll_out(self.rng, model, walk, *self.memory())

    def memory(self) -> tuple[Any, ...]:
        """Return what the kernels read and change."""
        return self.Q, self.visits, self.clock, self._samples, self.largest, self.scale


@kernel
def choose(rng: np.random.Generator, state: int, Q: Floats, visits: Int64s, samples: Floats, width: float) -> int:
    """Line 4, and line 3 unless `update` has sampled the state already."""
    A = Q.shape[1]
    if samples[A] != state:
        for action in range(A):
            sigma = width / np.sqrt(visits[state, action] + 1.0)
            samples[action] = Q[state, action] + sigma * rng.standard_normal()
    chosen = 0
    for action in range(A):
        if samples[action] < samples[chosen]:
            chosen = action
    return chosen


@kernel
def update(
    rng: np.random.Generator, state: int, action: int, successor: int, cost: float,
    Q: Floats, visits: Int64s, clock: Floats, samples: Floats, largest: Floats, scale: float,
) -> None:  # fmt: skip
    """Lines 5 to 7."""
    S, A = Q.shape
    H = horizon(clock)
    target = cost
    largest[0] = max(largest[0], cost)
    width = scale * largest[0]
    samples[A] = successor
    if successor < S:
        smallest = np.inf
        for other in range(A):
            sigma = width / np.sqrt(visits[successor, other] + 1.0)
            samples[other] = Q[successor, other] + sigma * rng.standard_normal()
            smallest = min(smallest, samples[other])
        target += max(0.0, smallest)
    note_step(clock, successor == S)
    visits[state, action] += 1
    alpha = (H + 1.0) / (H + visits[state, action])
    Q[state, action] += alpha * (target - Q[state, action])


@kernel
def roll_out(
    rng: np.random.Generator, model: Dynamics, walk: Walk,
    Q: Floats, visits: Int64s, clock: Floats, samples: Floats, largest: Floats, scale: float,
) -> None:  # fmt: skip
    """Act and learn while there is room."""
    cursor = walk.cursor
    while has_room(cursor):
        state = cursor[STATE]
        action = choose(rng, state, Q, visits, samples, scale * largest[0])
        successor = take_step(model, walk, action)
        cost = walk.costs[cursor[DONE] - 1]
        update(rng, state, action, successor, cost, Q, visits, clock, samples, largest, scale)
