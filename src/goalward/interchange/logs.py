"""Logs of steps: what somebody did in a world, in CSV or Parquet files or in memory.

============  =================================================================================
column        meaning
============  =================================================================================
episode       which episode the step belongs to; may be absent
step          the number of the step in its episode, in any order; may be absent
state         where the step started
action        what was played
cost          what was paid
next_state    where the step led
============  =================================================================================

Steps of one episode that follow each other must fit: one starts where the one before ended, and nothing comes after
the goal. The cost of a pair is the mean of what was paid. An action that was never played in a state is not available
there. A state that was reached, but in which nothing was ever played, such as the last one of an episode that was cut
off, cannot be used: its steps are refused, or left out if that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from goalward.acting.task import Steps, Task
from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import CostError, ShapeError, StateError
from goalward.interchange.columns import Source, unknown_name
from goalward.interchange.explicit import Name
from goalward.interchange.tables import common_names, goal_mask
from goalward.ssp.transitions import LARGEST_PAIRS, Columns, by_appearance, mean_costs

__all__ = ["Log", "read_log"]


class Log(NamedTuple):
    """Logged steps with states and actions numbered, and the task that they are steps of."""

    task: Task
    steps: Steps
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    left_out: int


def read_log(
    log: Any, goal: Name | Sequence[Name] | None = None, start: Name | None = None, drop_unfinished: bool = False
) -> Log:
    """Read a log, check it, and number its states and actions in order of appearance."""
    source = Source(log)
    source.require("state", "action", "next_state", "cost")
    states, next_states, names = common_names(source)
    actions, action_names = source.names("action")
    costs = source.floats("cost")
    bad = ~((costs >= 0.0) & (costs < np.inf))
    if bad.any():
        row = int(np.argmax(bad))
        raise CostError(f"the cost{source.place(row)} is {costs[row]:g}; costs must be finite and not negative")
    columns = Columns(states, actions, next_states, np.ones(source.rows), costs, names, action_names)
    is_goal = goal_mask(columns, goal)
    order = checked_order(source, columns, is_goal)
    kept = finished(source, columns, is_goal, drop_unfinished)
    rows = order[kept[order]]
    if not len(rows):
        raise ShapeError("no step is left of the log; it never reaches the goal")
    return numbered(columns, is_goal, rows, start, source.rows - len(rows))


def checked_order(source: Source, columns: Columns, is_goal: Bools) -> Int64s:
    """Return the rows by episode and step; without these columns, as they are."""
    wandering = is_goal[columns.states]
    if wandering.any():
        row = int(np.argmax(wandering))
        raise StateError(f"the step{source.place(row)} starts in the goal, where every episode ends; leave it out")
    if not (source.has("episode") and source.has("step")):
        return np.arange(source.rows)
    episodes, _ = source.names("episode")
    steps = source.floats("step")
    order = np.lexsort((steps, episodes))
    before, after = order[:-1], order[1:]
    same = episodes[before] == episodes[after]
    doubled = same & ~(steps[after] > steps[before])
    broken = same & (steps[after] == steps[before] + 1.0) & (columns.next_states[before] != columns.states[after])
    beyond = same & is_goal[columns.next_states[before]]
    for wrong, what in (
        (doubled, "has the same number as"),
        (beyond, "comes after the goal, which was reached by"),
        (broken, "does not start where its episode was after"),
    ):
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ShapeError(
                f"the step{source.place(int(after[at]))} {what} the step{source.place(int(before[at]))};"
                " give each step of an episode its number, in the order in which they happened"
            )
    return order


def finished(source: Source, columns: Columns, is_goal: Bools, drop: bool) -> Bools:
    """Return which steps lead to a goal or to a state in which something is played."""
    kept = np.ones(source.rows, dtype=np.bool_)
    while True:
        usable = is_goal.copy()
        usable[columns.states[kept]] = True
        lost = kept & ~usable[columns.next_states]
        if not lost.any():
            return kept
        if not drop:
            row = int(np.argmax(lost))
            raise StateError(
                f"the step{source.place(row)} leads to {columns.entry(row)[2]!r}, where nothing was ever played;"
                " name it as a goal, or pass drop_unfinished=True to leave such steps out"
                f" ({np.count_nonzero(lost)} such steps)"
            )
        kept &= ~lost


def numbered(columns: Columns, is_goal: Bools, rows: Int64s, start: Name | None, left_out: int) -> Log:
    """Return the log of some rows."""
    states, old_states = by_appearance(columns.states[rows], len(columns.state_names))
    actions, old_actions = by_appearance(columns.actions[rows], len(columns.action_names))
    S, A = len(old_states), len(old_actions)
    if S * A > LARGEST_PAIRS:
        raise ShapeError(f"the log has {S} states and {A} actions, {S * A} pairs; the most is {LARGEST_PAIRS}")
    states[is_goal] = S
    names = tuple(str(columns.state_names[number]) for number in old_states)
    initial_state = 0
    if start is not None:
        if str(start) not in names:
            raise unknown_name("state with a logged action", start, names)
        initial_state = names.index(str(start))
    steps = Steps(
        states[columns.states[rows]],
        actions[columns.actions[rows]],
        columns.costs[rows],
        states[columns.next_states[rows]],
    )
    task = Task(pair_costs(steps, S, A), initial_state, 1)
    return Log(task, steps, names, tuple(str(columns.action_names[number]) for number in old_actions), left_out)


def pair_costs(steps: Steps, S: int, A: int) -> Floats:
    """Return the mean cost of each pair; infinity where the action was never played."""
    pairs = steps.states * A + steps.actions
    visits = np.bincount(pairs, minlength=S * A).astype(np.float64)
    costs = mean_costs(pairs, np.ones(len(pairs)), steps.costs, visits)
    table: Floats = np.where(visits > 0.0, costs, np.inf).reshape(S, A)
    table.flags.writeable = False
    return table
