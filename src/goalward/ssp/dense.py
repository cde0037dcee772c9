"""From dense arrays to compressed rows, with several goals merged into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Floats
from goalward.errors import ShapeError, StateError
from goalward.ssp.checks import CompressedRows, canonical_rows, checked_names, checked_state, number_array

__all__ = ["dense_to_rows", "merge_goals"]


def dense_to_rows(P: ArrayLike) -> CompressedRows:
    """Turn ``P[S, A, S + 1]`` into compressed rows; what is not exactly zero becomes an entry."""
    array = number_array("P", P)
    if array.ndim != 3 or array.shape[2] != array.shape[0] + 1 or 0 in array.shape:
        raise ShapeError(f"P has shape {array.shape}; it must be (S, A, S + 1), the last column being the goal")
    flat = array.reshape(-1, array.shape[2])
    rows, successors = np.nonzero(flat)
    indptr = np.zeros(len(flat) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(flat)), out=indptr[1:])
    return indptr, successors, flat[rows, successors]


def merge_goals(
    P: ArrayLike,
    costs: ArrayLike,
    initial_state: int,
    state_names: Sequence[str] | None,
    goals: Iterable[int],
    normalize: bool,
) -> tuple[CompressedRows, Floats, int, Sequence[str] | None]:
    """Merge the given goal states of ``P[N, A, N]`` into one and drop their rows."""
    kernel, cost_table = number_array("P", P), number_array("costs", costs)
    if kernel.ndim != 3 or kernel.shape[0] != kernel.shape[2] or cost_table.shape != kernel.shape[:2]:
        raise ShapeError(
            f"with goals, P must be (N, A, N) over all states and costs (N, A);"
            f" they have shapes {kernel.shape} and {cost_table.shape}"
        )
    N, A = cost_table.shape
    if not isinstance(goals, Iterable):
        raise StateError(f"goals is {goals!r}; pass a list of states, even for one goal")
    goal_set = {checked_state(goal, N, "a goal") for goal in goals}
    if not goal_set:
        raise StateError("goals is empty; name at least one goal state")
    start = checked_state(initial_state, N)
    if start in goal_set:
        raise StateError(f"initial_state {start} is a goal; start somewhere else")
    names = checked_names("state_names", state_names, N)

    # Checked before the merger, which renumbers states and adds entries up: faults are named as the caller knows them.
    is_goal = np.isin(np.arange(N), list(goal_set))
    open_rows = np.zeros((N, A, N + 1))
    open_rows[~is_goal, :, :N] = kernel[~is_goal]
    indptr, successors, probabilities, _ = canonical_rows(*dense_to_rows(open_rows), cost_table, normalize=normalize)
    number = np.where(is_goal, N - len(goal_set), np.cumsum(~is_goal) - 1)
    pointers = np.concatenate([[0], np.cumsum(np.diff(indptr).reshape(N, A)[~is_goal])])
    kept_names = None if names is None else [name for name, goal in zip(names, is_goal, strict=True) if not goal]
    return (pointers, number[successors], probabilities), cost_table[~is_goal], int(number[start]), kept_names
