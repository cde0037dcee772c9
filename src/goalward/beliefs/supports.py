"""Which successors a prior allows each pair, as rows: all of them, or those of a support that the user gives."""

from __future__ import annotations

import numpy as np

from goalward.acting.task import Task
from goalward.arrays import Bools, Int32s, Int64s
from goalward.errors import SettingError, ShapeError
from goalward.ssp.model import SSP
from goalward.ssp.transitions import dense_to_rows

__all__ = ["all_rows", "check_support", "give_up_rows", "support_rows"]

LARGEST = 1 << 28


def support_rows(support: SSP | Bools) -> tuple[Int64s, Int32s, tuple[int, int]]:
    """Return the rows of a support, and its numbers of states and actions."""
    if isinstance(support, SSP):
        return support.indptr, support.successors, (support.states, support.actions)
    mask = np.asarray(support)
    if mask.dtype != np.bool_:
        raise ShapeError(f"support has dtype {mask.dtype}; it must be a model or booleans of shape (S, A, S + 1)")
    indptr, successors, _ = dense_to_rows(mask.astype(np.float64))
    return indptr, successors.astype(np.int32), (mask.shape[0], mask.shape[1])


def check_support(task: Task, indptr: Int64s, successors: Int32s, shape: tuple[int, ...]) -> None:
    """Raise ShapeError if a support does not fit a task."""
    if shape != task.costs.shape:
        raise ShapeError(
            f"the support has {shape[0]} states and {shape[1]} actions, the task {task.states} and {task.actions}"
        )
    wrong = (np.diff(indptr) > 0).reshape(shape) != task.available
    if wrong.any():
        state, action = np.argwhere(wrong)[0]
        verb = "has no successor in the support" if task.available[state, action] else "is not available"
        raise ShapeError(f"(state {state}, action {action}) {verb}; the support must fit the available actions")


def all_rows(task: Task) -> tuple[Int64s, Int32s]:
    """Return rows in which every state and the goal can follow every available pair."""
    pairs = int(np.count_nonzero(task.available))
    if pairs * (task.states + 1) > LARGEST:
        raise SettingError(
            f"a row over all successors for each of {pairs} pairs needs {pairs * (task.states + 1)} numbers; give the"
            " possible ones, Dirichlet(concentration, support=...), or take a prior that needs hundreds of times less:"
            " Neighbourhoods(), or TiedDirichlet where pairs share what they do, such as the slips of a grid"
        )
    indptr = np.zeros(task.available.size + 1, dtype=np.int64)
    np.cumsum(task.available.ravel() * (task.states + 1), out=indptr[1:])
    return indptr, np.tile(np.arange(task.states + 1, dtype=np.int32), pairs)


def give_up_rows(
    task: Task, indptr: Int64s, successors: Int32s, shape: tuple[int, ...]
) -> tuple[Int64s, Int32s, tuple[int, ...]]:
    """Return rows in which giving up leads to the start: this is known. They may come without the action."""
    S, A = task.costs.shape
    if task.give_up is None or shape not in ((S, A), (S, A - 1)):
        return indptr, successors, shape
    lengths = np.diff(indptr).reshape(shape)
    kept = np.ones(shape, dtype=np.bool_)
    kept[:, task.give_up :] = False
    others = lengths[:, : task.give_up]
    known = task.available[:, task.give_up]
    ends = np.cumsum(others.sum(axis=1))[known]
    rows = np.column_stack([others, known])
    entries = np.insert(successors[np.repeat(kept.ravel(), lengths.ravel())], ends, task.initial_state)
    return np.append(0, np.cumsum(rows)), entries, (S, A)
