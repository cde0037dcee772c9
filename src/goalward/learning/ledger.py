"""The books of a run: one entry for each episode, one for each epoch."""

from __future__ import annotations

from array import array

import numpy as np

from goalward.acting.compiled_stretches import Ended
from goalward.agents.base import Steps
from goalward.arrays import Bools, Floats, Int64s
from goalward.jit import exercise, kernel
from goalward.learning.run import Epochs

__all__ = ["Ledger"]


class Ledger:
    """Adds up what each episode cost and what each epoch was, in the order in which it happened."""

    def __init__(self, episodes: int, gaps: Floats):
        self.gap_table = gaps
        self.goal = len(gaps)
        self.costs, self.gaps = np.zeros(episodes), np.zeros(episodes)
        self.steps = np.zeros(episodes, dtype=np.int64)
        self.reached = np.zeros(episodes, dtype=np.bool_)
        self.episode = np.zeros(1, dtype=np.int64)
        self.total_steps = 0
        self.epochs = tuple(array("q") for _ in range(5))
        self.closed_steps = self.closed_goals = 0

    @property
    def episodes_over(self) -> int:
        """How many episodes are over."""
        return int(self.episode[0])

    def enter(self, steps: Steps) -> None:
        """Enter some steps."""
        book(*steps, self.gap_table, self.goal, self.episode, self.costs, self.gaps, self.steps, self.reached)
        self.total_steps += len(steps.states)

    def break_off(self) -> None:
        """Close an episode that the environment broke off before the goal."""
        self.episode[0] += 1

    def close_epoch(self, start_step: int, start_episode: int, goals: int, ended: int) -> None:
        """Enter an epoch that is over."""
        row = (start_step, start_episode, self.total_steps - start_step, goals, ended)
        for column, entry in zip(self.epochs, row, strict=True):
            column.append(entry)

    def close_epochs(self, ends: Int64s, ended: Int64s) -> None:
        """Enter epochs that follow each other and end at the goal or before it: after which steps of the run, and why.

        The first one begins where the last one entered ended.
        """
        if not len(ends):
            return
        starts = np.append(self.closed_steps, ends[:-1])
        goals = (ended & Ended.GOALS > 0).astype(np.int64)
        start_episodes = self.closed_goals + np.cumsum(goals) - goals
        for column, entries in zip(self.epochs, (starts, start_episodes, ends - starts, goals, ended), strict=True):
            column.frombytes(entries.tobytes())
        self.closed_steps, self.closed_goals = int(ends[-1]), int(start_episodes[-1] + goals[-1])

    def close_run(self, ended: int) -> None:
        """Close the epoch in which the run ended: the one in progress, or the last one if it ended there as well."""
        if self.closed_steps == self.total_steps:
            self.epochs[-1][-1] |= ended
        else:
            self.close_epochs(np.array([self.total_steps]), np.array([ended]))

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
    states: Int64s,
    actions: Int64s,
    paid: Floats,
    next_states: Int64s,
    gap_table: Floats,
    goal: int,
    episode: Int64s,
    costs: Floats,
    gaps: Floats,
    steps: Int64s,
    reached: Bools,
) -> None:
    """Add steps to their episodes, one by one, so that the sums do not depend on how the steps were cut."""
    k = episode[0]
    for i in range(len(states)):
        costs[k] += paid[i]
        gaps[k] += gap_table[states[i], actions[i]]
        steps[k] += 1
        if next_states[i] == goal:
            reached[k] = True
            k += 1
    episode[0] = k


@exercise
def exercise_ledger() -> None:
    """Enter one step."""
    gaps = np.zeros((1, 1))
    gaps.flags.writeable = False
    one = np.zeros(1, dtype=np.int64)
    Ledger(1, gaps).enter(Steps(one, one, np.ones(1), one + 1))
