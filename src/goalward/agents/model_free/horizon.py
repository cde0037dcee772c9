"""What agents that learn without a model have in common: the horizon, and random numbers in blocks.

They keep one or a few numbers for each pair and change one pair a step, with a learning rate

    alpha_n = (H + 1) / (H + n)        for the n-th visit

which gives most weight to the last n/H visits. H is the horizon of the problem in finite horizon, where this rate comes
from; a shortest path problem has none. A small H averages over targets that were computed long ago, when the values of
the successors were still too low: values then rise too slowly, and a cheap loop looks optimal for ever. A large H
forgets, and is noisy.

The rule for H
    H = 1/2 max(m, l), with l the length of the current episode so far and m the mean length of the last episodes,
    m <- m + max(1/k, 1/20) (l_k - m) after the k-th one. So H follows what an episode takes, and in an episode that
    does not end H grows until the rate is next to 1, values rise as fast as they can, and the loop is left. The rule
    and the one half are ours: nothing about them is proved.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from goalward.acting.contract import Task
from goalward.acting.rollout import Dynamics, Walk, has_room
from goalward.acting.stop import TableStop
from goalward.agents.base import OnlineAgent
from goalward.agents.ties import checked_order
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.settings import Positive

__all__ = ["ModelFree", "horizon", "note_step"]

SHARE, SLOWEST = 0.5, 0.05
BLOCK = 1 << 15
"""How many random numbers of each kind are drawn at once."""

# Places in the clock.
LENGTH, MEAN, EPISODES = range(3)


class ModelFree(OnlineAgent, kw_only=True):
    """An online agent with estimates ``Q[s, a]``, a clock for the horizon, and random numbers of its own."""

    kinds: ClassVar[int] = 1
    """How many kinds of random numbers there are in a block."""

    horizon: Positive | None = None
    """H of the learning rate; None for the rule that follows the lengths of the episodes."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.Q = np.where(task.available, 0.0, np.inf)
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self.clock = np.zeros(3)
        # A copy of their own: kernels take the costs writable.
        self._costs = np.array(task.costs)
        self._order = checked_order(None, task.actions)
        self._horizon = 0.0 if self.horizon is None else float(self.horizon)
        self._noise = np.zeros((self.kinds, BLOCK))
        self._used = np.full(1, BLOCK)

    def restart(self) -> None:
        """Start an episode although the last one did not end at the goal."""
        self.clock[LENGTH] = 0.0
        self._used[0] = BLOCK

    @abstractmethod
    def need(self) -> int:
        """Return how many random numbers of each kind one step may take."""

    @abstractmethod
    def draw(self, block: Floats) -> None:
        """Fill a block ``[kinds, BLOCK]`` with random numbers."""

    def refill(self) -> None:
        """Draw a new block if a step may take more than is left."""
        if self._used[0] + self.need() > BLOCK:
            self.draw(self._noise)
            self._used[0] = 0

    @abstractmethod
    def memory(self) -> Any:
        """Return what the kernels read and change."""

    @abstractmethod
    def roll_out(self, model: Dynamics, walk: Walk, need: int) -> None:
        """Act and learn while there is room and the random numbers last for another step."""

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn, compiled; Python only draws random numbers."""
        while has_room(walk.cursor):
            self.refill()
            self.roll_out(model, walk, self.need())

    def values(self) -> Floats:
        """Return the smallest estimate in each state."""
        return np.asarray(self.Q.min(axis=1))

    def notes(self) -> dict[str, int | float | str]:
        """Return H as it is at the end."""
        return {"horizon": float(horizon(self.clock, self._horizon))}


@kernel
def horizon(clock: Floats, fixed: float) -> float:
    """Return H: a fixed one, or that of the rule."""
    if fixed > 0.0:
        return fixed
    return float(SHARE * max(clock[MEAN], clock[LENGTH], 1.0))


@kernel
def note_step(clock: Floats, goal: bool) -> None:
    """Advance the clock by one step; at the goal, book the length of the episode."""
    clock[LENGTH] += 1.0
    if goal:
        clock[EPISODES] += 1.0
        clock[MEAN] += max(1.0 / clock[EPISODES], SLOWEST) * (clock[LENGTH] - clock[MEAN])
        clock[LENGTH] = 0.0
