"""What agents that learn without a model have in common: their tables, and the horizon of their learning rate.

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

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.base import OnlineAgent
from goalward.agents.ties import best_tried, checked_order
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel

__all__ = ["ModelFree", "QTable", "horizon", "note_step"]

SHARE, SLOWEST = 0.5, 0.05
# Positions in the clock: the length of the current episode, the mean length of the last ones, their number.
LENGTH, MEAN, EPISODES = range(3)


class QTable(OnlineAgent):
    """An online agent with estimates ``Q[s, a]``, from zero on, and visits; it learns from the costs that it pays."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.Q = np.where(task.available, 0.0, np.inf)
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self._order = checked_order(None, task.actions)

    def best_policy(self) -> Floats:
        """Return the smallest Q among the actions that were tried; tied ones with equal probability."""
        return best_tried(self.Q, self.visits)

    def values(self) -> Floats:
        """Return the smallest estimate in each state."""
        return np.asarray(self.Q.min(axis=1))


class ModelFree(QTable):
    """An agent with the learning rate above; its clock measures the lengths of the episodes."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.clock = np.zeros(3)

    def restart(self) -> None:
        """Start an episode although the last one did not end at the goal."""
        self.clock[LENGTH] = 0.0

    def notes(self) -> dict[str, int | float | str]:
        """Return H as it is at the end."""
        return super().notes() | {"horizon": float(horizon(self.clock))}


@kernel
def horizon(clock: Floats) -> float:
    """Return H."""
    return float(SHARE * max(clock[MEAN], clock[LENGTH], 1.0))


@kernel
def note_step(clock: Floats, goal: bool) -> None:
    """Advance the clock by one step; at the goal, record the length of the episode."""
    clock[LENGTH] += 1.0
    if goal:
        clock[EPISODES] += 1.0
        clock[MEAN] += max(1.0 / clock[EPISODES], SLOWEST) * (clock[LENGTH] - clock[MEAN])
        clock[LENGTH] = 0.0
