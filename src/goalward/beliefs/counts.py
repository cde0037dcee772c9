"""Counts of the visits and the transitions of each state-action pair.

The row of state s and action a has the index s * A + a. A row holds the successors seen so far and their counts. The
successors are in increasing order, so the goal comes last. All rows have room for `width` successors. When a row is
full, `width` doubles. Time and memory are proportional to the number of seen transitions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from goalward.acting.contract import Steps, Task
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.base import Rows
from goalward.jit import kernel
from goalward.memory import Memory

FIRST_WIDTH = 4


class RowCounts(NamedTuple):
    """The arrays of `Counts` for kernels. The first axis of each array is the row s * A + a."""

    size: Int64s
    successors: Int32s
    counts: Int64s
    visits: Int64s


class Counts(Memory):
    """The counts n(s, a) and n(s, a, s') of a task.

    Attributes
    ----------
    visits
        ``visits[s, a]`` is the number of visits of a pair.
    size, successors, counts
        The number of successors seen in each row, these successors, and the count of each successor.
    """

    learnt = ("visits", "size", "successors", "counts")

    def __init__(self, task: Task):
        rows = task.costs.size
        self.goal, self.actions = task.goal, task.actions
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self.size: Int64s = np.zeros(rows, dtype=np.int64)
        self.successors: Int32s = np.zeros((rows, min(FIRST_WIDTH, task.states + 1)), dtype=np.int32)
        self.counts: Int64s = np.zeros(self.successors.shape, dtype=np.int64)

    @property
    def width(self) -> int:
        """The number of successors that fit into a row."""
        return int(self.counts.shape[1])

    @property
    def rows(self) -> RowCounts:
        """The counts as arrays for kernels."""
        return RowCounts(self.size, self.successors, self.counts, self.visits.reshape(-1))

    def add(self, steps: Steps) -> None:
        """Add `steps` to the counts."""
        done, end = 0, len(steps.states)
        while done < end:
            done = tally(self.actions, steps.states, steps.actions, steps.next_states, done, *self.rows)
            if done < end:
                self.widen()

    def widen(self) -> None:
        """Make room for more successors in each row."""
        more = min(self.width, self.goal + 1 - self.width)
        self.successors = np.pad(self.successors, ((0, 0), (0, more)))
        self.counts = np.pad(self.counts, ((0, 0), (0, more)))

    def copy_row(self, row: int, source: Counts) -> None:
        """Copy the row `row` from `source`, another `Counts` object for the same task."""
        while self.width < source.width:
            self.widen()
        self.size[row] = source.size[row]
        self.successors[row] = source.successors[row]
        self.counts[row] = source.counts[row]
        self.visits.reshape(-1)[row] = source.visits.reshape(-1)[row]

    def estimates(self, more: float) -> tuple[Int64s, Int32s, Floats, Floats]:
        """Return sizes and successors, and the arrays `mass` and `rest` that `estimate` computes from `more`."""
        mass, rest = np.empty(self.counts.shape), np.empty(len(self.size))
        estimate(more, self.size, self.counts, self.visits.reshape(-1), mass, rest)
        return self.size, self.successors, mass, rest

    def seen_rows(self, more: float = 0.0) -> Rows:
        """Return the seen transitions, with `more` added to every count."""
        used = np.arange(self.width) < self.size[:, np.newaxis]
        return Rows(np.append(0, np.cumsum(self.size)), self.successors[used], self.counts[used] + more)

    def restore(self, state: dict[str, Any]) -> None:
        width = np.shape(state["counts"])[-1]
        if width > self.goal + 1:
            raise ValueError(f"a row has room for {width} successors, but only {self.goal + 1} exist")
        while self.width < width:
            self.widen()
        super().restore(state)
        self.check_rows()

    def check_rows(self) -> None:
        """Raise ValueError if sizes, successors or counts are invalid. Kernels do not check these arrays."""
        if (self.size > self.width).any():
            raise ValueError(f"size must be at most {self.width}")
        used = np.arange(self.width) < self.size[:, None]
        rising = np.diff(self.successors.astype(np.int64), axis=1) > 0
        if (self.successors[used] > self.goal).any() or not (rising | ~used[:, 1:]).all():
            raise ValueError(f"the successors of a row must increase and be at most {self.goal}")
        if (self.counts[used] < 1).any() or (np.where(used, self.counts, 0).sum(axis=1) != self.visits.ravel()).any():
            raise ValueError("the counts of a row must be positive, and their sum must be the visits of the row")


@kernel
def tally(
    actions: int, states: Int64s, played: Int64s, next_states: Int64s, begin: int,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s,
) -> int:  # fmt: skip
    """Count steps from index `begin`. Return the index of the first step that does not fit, or the number of steps."""
    for i in range(begin, states.size):
        row = states[i] * actions + played[i]
        if not enter(row, next_states[i], size, successors, counts):
            return i
        visits[row] += 1
    return int(states.size)


@kernel
def enter(row: int, successor: int, size: Int64s, successors: Int32s, counts: Int64s) -> bool:
    """Count one `successor` in a sorted `row`. Return False if the row has no room for a new successor."""
    end = size[row]
    index = end
    while index > 0 and successors[row, index - 1] >= successor:
        index -= 1
    if index < end and successors[row, index] == successor:
        counts[row, index] += 1
        return True
    if end == counts.shape[1]:
        return False
    for entry in range(end, index, -1):
        successors[row, entry] = successors[row, entry - 1]
        counts[row, entry] = counts[row, entry - 1]
    successors[row, index] = successor
    counts[row, index] = 1
    size[row] = end + 1
    return True


@kernel
def estimate(more: float, size: Int64s, counts: Int64s, visits: Int64s, mass: Floats, rest: Floats) -> None:
    """Write `mass` = counts / max(visits + more, 1), and `rest`, the remaining probability of each row."""
    for row in range(size.size):
        total = max(visits[row] + more, 1.0)
        rest[row] = (total - visits[row]) / total
        for entry in range(size[row]):
            mass[row, entry] = counts[row, entry] / total
