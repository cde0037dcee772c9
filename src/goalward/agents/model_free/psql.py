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
from typing import NamedTuple

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.rollout import STATE, Dynamics, Walk, has_room, take_step
from goalward.agents.base import register
from goalward.agents.model_free.horizon import ModelFree, horizon, note_step
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.settings import Positive

__all__ = ["PSQL"]


class Memory(NamedTuple):
    """What the kernels read and change; `sampled` are the samples of the state in `where`, which is -1 for none."""

    costs: Floats
    Q: Floats
    visits: Int64s
    clock: Floats
    sampled: Floats
    where: Int64s
    noise: Floats
    used: Int64s
    width: float
    horizon: float


@register("psql")
class PSQL(ModelFree, kw_only=True):
    """Q-learning that acts on samples of Gaussian posteriors; memory S A, no planning, no theorem."""

    scale: Positive = 1.0
    """The width of the posterior before the first visit, in units of the largest cost."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self._width = self.scale * float(task.costs[task.available].max(initial=0.0))
        self._sampled = np.zeros(task.actions)
        self._where = np.full(1, -1)

    def restart(self) -> None:
        """Start an episode: samples of the state that was left are of no use."""
        super().restart()
        self._where[0] = -1

    def need(self) -> int:
        """One number for each action, here and in the next state."""
        return 2 * self.task.actions

    def draw(self, block: Floats) -> None:
        """Fill a block with normal numbers."""
        self.rng.standard_normal(out=block[0])

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Lines 3 and 4; no number is drawn for ties, samples do not tie."""
        self.refill()
        return int(choose(state, self.memory()))

    def learn(self, step: Step[int]) -> int:
        """Lines 5 to 7."""
        # After `act` there are always enough numbers to sample one more state.
        if self._used[0] + self.task.actions > self._noise.shape[1]:
            self.refill()
        update(step.state, step.action, step.next_state, self.memory())
        return 0

    def roll_out(self, model: Dynamics, walk: Walk, need: int) -> None:
        """Act and learn in one kernel."""
        roll_out(model, walk, need, self.memory())

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        return Memory(
            self._costs, self.Q, self.visits, self.clock, self._sampled, self._where, self._noise, self._used,
            self._width, self._horizon,
        )  # fmt: skip


@kernel
def sample(state: int, memory: Memory) -> float:
    """Line 3: sample the actions of a state; return the smallest sample."""
    place = memory.used[0]
    smallest = np.inf
    for action in range(memory.sampled.size):
        sigma = memory.width / np.sqrt(memory.visits[state, action] + 1.0)
        sampled = memory.Q[state, action] + sigma * memory.noise[0, place + action]
        memory.sampled[action] = sampled
        smallest = min(smallest, sampled)
    memory.used[0] = place + memory.sampled.size
    memory.where[0] = state
    return smallest


@kernel
def choose(state: int, memory: Memory) -> int:
    """Lines 3 and 4."""
    if memory.where[0] != state:
        sample(state, memory)
    best = 0
    for action in range(memory.sampled.size):
        if memory.sampled[action] < memory.sampled[best]:
            best = action
    return best


@kernel
def update(state: int, action: int, successor: int, memory: Memory) -> None:
    """Lines 5 to 7."""
    H = horizon(memory.clock, memory.horizon)
    goal = successor == len(memory.Q)
    target = memory.costs[state, action]
    if goal:
        memory.where[0] = -1
    else:
        target += max(0.0, sample(successor, memory))
    note_step(memory.clock, goal)
    memory.visits[state, action] += 1
    alpha = (H + 1.0) / (H + memory.visits[state, action])
    memory.Q[state, action] += alpha * (target - memory.Q[state, action])


@kernel
def roll_out(model: Dynamics, walk: Walk, need: int, memory: Memory) -> None:
    """Act and learn while there is room and the random numbers last for another step."""
    while has_room(walk.cursor) and memory.used[0] + need <= memory.noise.shape[1]:
        state = walk.cursor[STATE]
        action = choose(state, memory)
        update(state, action, take_step(model, walk, action), memory)
