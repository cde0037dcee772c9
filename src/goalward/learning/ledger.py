"""The books of a run: one entry for each episode, one for each epoch."""

from __future__ import annotations

from array import array

import numpy as np

from goalward.acting.contract import Chunk
from goalward.arrays import Bools, Floats, Int64s
from goalward.jit import kernel
from goalward.learning.run import Epochs

__all__ = ["Ledger"]


class Ledger:
    """Adds up what each episode cost and what each epoch was, in the order in which it happened."""

    def __init__(self, episodes: int, gaps: Floats):
        self.gap_table = gaps
        self.costs, self.gaps = np.zeros(episodes), np.zeros(episodes)
        self.steps = np.zeros(episodes, dtype=np.int64)
        self.reached = np.zeros(episodes, dtype=np.bool_)
        self.episode = np.zeros(1, dtype=np.int64)
        self.total_steps = 0
        self.epochs = tuple(array("q") for _ in range(5))
        self.start_step = self.start_episode = self.goals = 0  # of the epoch in progress
        self.ended_inside = -1  # after which step an epoch of an online policy ended last

    @property
    def episodes_over(self) -> int:
        """How many episodes are over."""
        return int(self.episode[0])

    def enter(self, chunk: Chunk) -> None:
        """Enter the steps of a chunk, and the epochs of an online policy that ended among them."""
        steps, over = chunk.steps, self.episodes_over
        states = steps.states if steps.states.ndim == 1 else np.zeros_like(steps.actions)
        book(
            states, steps.actions, steps.costs, steps.reached, self.gap_table, self.episode, self.costs, self.gaps,
            self.steps, self.reached,
        )  # fmt: skip
        self.goals += self.episodes_over - over
        if len(chunk.epoch_ends):
            self.close_epochs(np.asarray(chunk.epoch_ends), np.asarray(chunk.epoch_flags), steps.reached, over)
        self.total_steps += len(steps.actions)

    def close_epochs(self, ends: Int64s, ended: Int64s, reached: Bools, episodes_over: int) -> None:
        """Enter epochs that ended after some of the steps that follow `total_steps`."""
        goals = np.cumsum(reached)
        end_steps, episodes = self.total_steps + ends, episodes_over + goals[ends - 1]
        starts, start_episodes = np.append(self.start_step, end_steps), np.append(self.start_episode, episodes)
        carried = self.goals - int(goals[-1])  # of the first epoch, from before these steps
        epoch_goals = np.diff(goals[ends - 1], prepend=-carried)
        rows = (starts[:-1], start_episodes[:-1], np.diff(starts), epoch_goals, ended)
        for column, entries in zip(self.epochs, rows, strict=True):
            column.frombytes(np.asarray(entries, dtype=np.int64).tobytes())
        self.start_step, self.start_episode = int(starts[-1]), int(start_episodes[-1])
        self.goals = int(goals[-1] - goals[ends[-1] - 1])
        self.ended_inside = self.start_step

    def break_off(self) -> None:
        """Close an episode that the environment truncated before the goal."""
        self.episode[0] += 1
        if self.ended_inside == self.total_steps:
            self.start_episode = self.episodes_over

    def close_epoch(self, ended: int) -> None:
        """Enter an epoch that ended now; if that of an online policy just did, the reasons are its own as well."""
        if self.ended_inside == self.total_steps:
            self.epochs[-1][-1] |= ended
            return
        row = (self.start_step, self.start_episode, self.total_steps - self.start_step, self.goals, ended)
        for column, entry in zip(self.epochs, row, strict=True):
            column.append(entry)
        self.start_step, self.start_episode, self.goals = self.total_steps, self.episodes_over, 0

    def columns(self) -> Epochs:
        """Return the epochs so far."""
        return Epochs(*(np.array(column, dtype=np.int64) for column in self.epochs))

    @property
    def started(self) -> int:
        """How many episodes have at least one step."""
        over = self.episodes_over
        return over + int(over < len(self.steps) and self.steps[over] > 0)


@kernel
def book(
    states: Int64s, actions: Int64s, paid: Floats, at_goal: Bools, gap_table: Floats,
    episode: Int64s, costs: Floats, gaps: Floats, steps: Int64s, reached: Bools,
) -> None:  # fmt: skip
    """Add steps to their episodes, one by one, so that the sums do not depend on how the steps were cut."""
    k = episode[0]
    for i in range(len(states)):
        costs[k] += paid[i]
        gaps[k] += gap_table[states[i], actions[i]]
        steps[k] += 1
        if at_goal[i]:
            reached[k] = True
            k += 1
    episode[0] = k
