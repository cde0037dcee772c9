"""The ledger of a run, which records each episode and each epoch during learning."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from goalward.acting.contract import Chunk
from goalward.arrays import Bools, Floats, Int64s
from goalward.jit import kernel
from goalward.learning.run import Epochs

EPISODE_COLUMNS = ("costs", "steps", "gaps", "reached")
NUMBERS = ("total_steps", "start_step", "start_episode", "goals", "last_inner_end")
UNKNOWN = np.full((1, 1), np.nan)
UNKNOWN.flags.writeable = False


class Ledger:
    """The record of a run: the cost, the number of steps and the gaps of each episode, and the epochs.

    `gaps` are the optimality gaps ``[S, A]``, or None if the true model is not known.
    """

    def __init__(self, episodes: int, gaps: Floats | None):
        self.gap_table = gaps
        self.costs, self.gaps = np.zeros(episodes), np.zeros(episodes)
        self.steps = np.zeros(episodes, dtype=np.int64)
        self.reached = np.zeros(episodes, dtype=np.bool_)
        self.episode = np.zeros(1, dtype=np.int64)
        self.total_steps = 0
        self.epoch_columns = tuple(array("q") for _ in range(5))
        self.start_step = self.start_episode = self.goals = 0  # of the epoch in progress
        self.last_inner_end = -1  # the step at which the last epoch of an online agent ended

    @property
    def episodes_over(self) -> int:
        return int(self.episode[0])

    def add(self, chunk: Chunk) -> None:
        """Add the steps of `chunk`, and the epochs of an online agent that ended in `chunk`."""
        steps, over = chunk.steps, self.episodes_over
        states, actions, gap_table = steps.states, steps.actions, self.gap_table
        if gap_table is None:
            states, actions, gap_table = np.zeros_like(actions), np.zeros_like(actions), UNKNOWN
        add_steps(
            states, actions, steps.costs, steps.reached, gap_table, self.episode, self.costs, self.gaps, self.steps,
            self.reached,
        )  # fmt: skip
        self.goals += self.episodes_over - over
        if len(chunk.epoch_ends):
            self.close_inner_epochs(np.asarray(chunk.epoch_ends), np.asarray(chunk.epoch_flags), steps.reached, over)
        self.total_steps += len(steps.actions)

    def close_inner_epochs(self, ends: Int64s, ended: Int64s, reached: Bools, episodes_over: int) -> None:
        """Record an online agent's epochs, which ended after `ends` steps of a chunk with the flags `ended`."""
        goals = np.cumsum(reached)
        end_steps, episodes = self.total_steps + ends, episodes_over + goals[ends - 1]
        starts, start_episodes = np.append(self.start_step, end_steps), np.append(self.start_episode, episodes)
        earlier = self.goals - int(goals[-1])  # goals of the first epoch before this chunk
        epoch_goals = np.diff(goals[ends - 1], prepend=-earlier)
        rows = (starts[:-1], start_episodes[:-1], np.diff(starts), epoch_goals, ended)
        for column, entries in zip(self.epoch_columns, rows, strict=True):
            column.frombytes(np.asarray(entries, dtype=np.int64).tobytes())
        self.start_step, self.start_episode = int(starts[-1]), int(start_episodes[-1])
        self.goals = int(goals[-1] - goals[ends[-1] - 1])
        self.last_inner_end = self.start_step

    def truncate_episode(self) -> None:
        """Close an episode that the environment truncated before the goal."""
        self.episode[0] += 1
        if self.last_inner_end == self.total_steps:
            self.start_episode = self.episodes_over

    @property
    def has_open_episode(self) -> bool:
        """Whether an episode is in progress and has at least one step."""
        over = self.episodes_over
        return over < len(self.steps) and bool(self.steps[over] > 0)

    def close_epoch(self, ended: int) -> None:
        """Record that an epoch ends now; if an online agent has just ended its epoch, add the flags to that epoch."""
        if self.last_inner_end == self.total_steps:
            self.epoch_columns[-1][-1] |= ended
            return
        row = (self.start_step, self.start_episode, self.total_steps - self.start_step, self.goals, ended)
        for column, entry in zip(self.epoch_columns, row, strict=True):
            column.append(entry)
        self.start_step, self.start_episode, self.goals = self.total_steps, self.episodes_over, 0

    def epochs(self) -> Epochs:
        return Epochs(*(np.array(column, dtype=np.int64) for column in self.epoch_columns))

    def break_off(self, ended: int) -> None:
        """Close the epoch in progress if it has any steps."""
        if self.total_steps > self.start_step:
            self.close_epoch(ended)

    def to_state(self) -> dict[str, Any]:
        episodes = dict(zip(EPISODE_COLUMNS, self.episode_columns(), strict=True))
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return episodes | numbers | {"episode": self.episodes_over, "epochs": np.array(self.epoch_columns)}

    def restore(self, state: dict[str, Any]) -> None:
        for name in EPISODE_COLUMNS:
            getattr(self, name)[: len(state[name])] = state[name]
        for name in NUMBERS:
            setattr(self, name, int(state[name]))
        self.episode[0] = state["episode"]
        for column, entries in zip(self.epoch_columns, state["epochs"], strict=True):
            column.frombytes(np.asarray(entries, dtype=np.int64).tobytes())
        if not 0 <= self.episodes_over <= len(self.costs) or self.total_steps != self.steps.sum():
            raise ValueError("the numbers of episodes and steps do not match")

    def episode_columns(self) -> tuple[Floats, Int64s, Floats, Bools]:
        """Return the columns `costs`, `steps`, `gaps` and `reached` of all episodes with at least one step."""
        count = self.episodes_over + self.has_open_episode
        return self.costs[:count], self.steps[:count], self.gaps[:count], self.reached[:count]


@kernel
def add_steps(
    states: Int64s, actions: Int64s, paid: Floats, at_goal: Bools, gap_table: Floats,
    episode: Int64s, costs: Floats, gaps: Floats, steps: Int64s, reached: Bools,
) -> None:  # fmt: skip
    """Add steps to their episodes one by one, so that the sums do not depend on the sizes of chunks."""
    k = episode[0]
    for i in range(len(states)):
        costs[k] += paid[i]
        gaps[k] += gap_table[states[i], actions[i]]
        steps[k] += 1
        if at_goal[i]:
            reached[k] = True
            k += 1
    episode[0] = k
