"""From what users have to canonical arrays: dense arrays, compressed rows, tables of transitions.

Every check of a model happens here, and each complaint names the state, the action and the value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from goalward.errors import CostError, ModelError, ProbabilityError, ShapeError, StateError
from goalward.model.layout import GridLayout

__all__ = ["canonical_rows", "checked_costs", "checked_state", "dense_to_rows", "labels", "merge_goals"]

ROW_SUM_TOLERANCE = 1e-9
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]


class Table(NamedTuple):
    """Compressed rows read from a table of transitions, not yet checked."""

    indptr: NDArray[np.int64]
    successors: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    costs: NDArray[np.float64]
    initial_state: int
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]


def numbers(name: str, given: ArrayLike, *, integer: bool = False) -> NDArray[Any]:
    """Return an array of floats (or integers) of any shape, refusing everything that is not plain numbers."""
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ShapeError(
            f"{name} is not an array: {error}; pass nested lists of equal length or a NumPy array"
        ) from None
    allowed = "iu" if integer else "fiu"
    if array.dtype.kind not in allowed and array.size:
        wanted = "integers" if integer else "real numbers"
        raise ShapeError(f"{name} has dtype {array.dtype}; it must hold {wanted}: convert it with .astype first")
    return array.astype(np.int64 if integer else np.float64, copy=False)


def where(row: int, actions: int) -> str:
    """Name a row of the kernel."""
    return f"(state {row // actions}, action {row % actions})"


def checked_state(state: int, states: int, name: str = "initial_state") -> int:
    """Return a state index, or say why it is none."""
    if isinstance(state, bool) or not isinstance(state, int | np.integer):
        raise StateError(f"{name} is {state!r}; it must be an integer in 0..{states - 1}")
    if not 0 <= state < states:
        raise StateError(f"{name} is {state}; the model has the non-goal states 0..{states - 1}")
    return int(state)


def checked_costs(given: ArrayLike, available: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return ``costs[S, A]`` with infinity where an action is not available."""
    costs = numbers("costs", given)
    if costs.shape != available.shape:
        raise ShapeError(f"costs has shape {costs.shape}; it must be {available.shape}: states by actions")
    bad = available & ~((costs >= 0.0) & (costs < np.inf))
    if bad.any():
        state, action = np.argwhere(bad)[0]
        raise CostError(
            f"costs[{state}, {action}] is {costs[state, action]:g}; costs must be finite and not negative"
            f" ({np.count_nonzero(bad)} such entries)"
        )
    return np.ascontiguousarray(np.where(available, costs, np.inf))


def canonical_rows(
    indptr: ArrayLike, successors: ArrayLike, probabilities: ArrayLike, costs: ArrayLike, *, normalize: bool = False
) -> Rows:
    """Check compressed rows and bring them into the one form: sorted successors, each once, no zeros."""
    cost_table = numbers("costs", costs)
    if cost_table.ndim != 2 or 0 in cost_table.shape:
        raise ShapeError(
            f"costs has shape {cost_table.shape}; it must be (S, A) with at least one state and one action"
        )
    S, A = cost_table.shape
    indptr = numbers("indptr", indptr, integer=True)
    successors = numbers("successors", successors, integer=True)
    probabilities = numbers("probabilities", probabilities)
    check_pointers(indptr, successors, probabilities, S * A)
    check_entries(indptr, successors, probabilities, S, A)

    if not is_canonical(indptr, successors, probabilities):
        matrix = sparse.csr_array((probabilities, successors, indptr), shape=(S * A, S + 1), copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        indptr, successors, probabilities = matrix.indptr, matrix.indices, matrix.data
    pointers = np.array(indptr, dtype=np.int64)
    weights = check_sums(pointers, np.array(probabilities, dtype=np.float64), A, normalize)
    available = (np.diff(pointers) > 0).reshape(S, A)
    if not available.any():
        raise ModelError("no action is available in any state; give at least one row its successors")
    return pointers, np.array(successors, dtype=np.int32), weights, checked_costs(cost_table, available)


def check_pointers(
    indptr: NDArray[np.int64], successors: NDArray[np.int64], probabilities: NDArray[np.float64], rows: int
) -> None:
    """Check that the three arrays of compressed rows fit each other and the number of rows."""
    if indptr.shape != (rows + 1,):
        raise ShapeError(f"indptr has shape {indptr.shape}; {rows} rows (states times actions) need ({rows + 1},)")
    if successors.ndim != 1 or successors.shape != probabilities.shape:
        raise ShapeError(
            f"successors has shape {successors.shape} and probabilities {probabilities.shape};"
            " both must be one-dimensional and equally long"
        )
    if indptr[0] != 0 or indptr[-1] != len(successors) or (np.diff(indptr) < 0).any():
        raise ShapeError(
            f"indptr must rise from 0 to {len(successors)}, the number of entries; it starts at {indptr[0]},"
            f" ends at {indptr[-1]}" + (" and falls in between" if (np.diff(indptr) < 0).any() else "")
        )


def check_entries(
    indptr: NDArray[np.int64], successors: NDArray[np.int64], probabilities: NDArray[np.float64], S: int, A: int
) -> None:
    """Check every successor and probability on its own."""
    for bad, error, say in (
        (~((probabilities >= 0.0) & (probabilities <= 1.0 + ROW_SUM_TOLERANCE)), ProbabilityError, "probability"),
        ((successors < 0) | (successors > S), StateError, "successor"),
    ):
        if bad.any():
            entry = int(np.argmax(bad))
            row = int(np.searchsorted(indptr, entry, side="right")) - 1
            if say == "successor":
                raise error(
                    f"{where(row, A)} leads to state {successors[entry]}; states are 0..{S - 1}, the goal is {S}"
                )
            raise error(
                f"{where(row, A)} goes to {'the goal' if successors[entry] == S else f'state {successors[entry]}'}"
                f" with probability {probabilities[entry]:g}; probabilities lie in [0, 1]"
            )


def is_canonical(indptr: NDArray[np.int64], successors: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """Return whether all rows are strictly sorted and free of zeros."""
    falls = np.flatnonzero(np.diff(successors) <= 0) + 1
    return bool(np.isin(falls, indptr).all() and (probabilities > 0.0).all())


def check_sums(
    indptr: NDArray[np.int64], probabilities: NDArray[np.float64], A: int, normalize: bool
) -> NDArray[np.float64]:
    """Check, or make, that the rows of available actions sum to one."""
    filled = np.flatnonzero(np.diff(indptr) > 0)
    if not len(filled):
        return probabilities
    sums = np.add.reduceat(probabilities, indptr[filled])
    if normalize:
        scaled: NDArray[np.float64] = probabilities / np.repeat(sums, np.diff(indptr)[filled])
        return scaled
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        first = int(np.argmax(off))
        raise ProbabilityError(
            f"row {where(int(filled[first]), A)} sums to {sums[first]:.12g}; probabilities must sum to 1 within"
            f" {ROW_SUM_TOLERANCE:g}: pass normalize=True to rescale ({np.count_nonzero(off)} such rows)"
        )
    return probabilities


def dense_to_rows(P: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Turn ``P[S, A, S + 1]`` into compressed rows; what is not exactly zero becomes an entry."""
    array = numbers("P", P)
    if array.ndim != 3 or array.shape[2] != array.shape[0] + 1 or 0 in array.shape:
        raise ShapeError(f"P has shape {array.shape}; it must be (S, A, S + 1), the last column being the goal")
    flat = array.reshape(-1, array.shape[2])
    rows, successors = np.nonzero(flat)
    indptr = np.zeros(len(flat) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(flat)), out=indptr[1:])
    return indptr, successors, flat[rows, successors]


def merge_goals(
    P: ArrayLike, costs: ArrayLike, initial_state: int, state_names: Sequence[str] | None, goals: Iterable[int] | None
) -> tuple[ArrayLike, ArrayLike, int, Sequence[str] | None]:
    """Merge the given goal states of ``P[N, A, N]`` into one last column and drop their rows."""
    if goals is None:
        return P, costs, initial_state, state_names
    kernel, cost_table = numbers("P", P), numbers("costs", costs)
    if kernel.ndim != 3 or kernel.shape[0] != kernel.shape[2] or cost_table.shape != kernel.shape[:2]:
        raise ShapeError(
            f"with goals, P must be (N, A, N) over all states and costs (N, A);"
            f" they have shapes {kernel.shape} and {cost_table.shape}"
        )
    N = kernel.shape[0]
    goal_set = {checked_state(goal, N, "a goal") for goal in goals}
    if not goal_set:
        raise StateError("goals is empty; name at least one goal state")
    start = checked_state(initial_state, N)
    if start in goal_set:
        raise StateError(f"initial_state {start} is a goal; start somewhere else")
    kept = np.array([state for state in range(N) if state not in goal_set], dtype=np.intp)
    goal_column = kernel[:, :, sorted(goal_set)].sum(axis=2, keepdims=True)
    merged = np.concatenate([kernel[:, :, kept], goal_column], axis=2)[kept]
    names = None if state_names is None else [state_names[state] for state in kept]
    return merged, cost_table[kept], int(np.searchsorted(kept, start)), names


def read_transitions(
    transitions: Iterable[tuple[Hashable, Hashable, Hashable, float, float]],
    goals: Iterable[Hashable],
    initial_state: Hashable | None,
) -> Table:
    """Give the states and actions of a table of transitions numbers and sort it into rows."""
    table = list(transitions)
    goal_set = set(goals)
    if not table:
        raise ShapeError("there are no transitions; give tuples (state, action, next state, probability, cost)")
    wrong = next((i for i, entry in enumerate(table) if not isinstance(entry, tuple | list) or len(entry) != 5), None)
    if wrong is not None:
        raise ShapeError(
            f"transition {wrong} is {table[wrong]!r}; it must be (state, action, next state, probability, cost)"
        )
    missing = goal_set - {entry[2] for entry in table}
    if not goal_set or missing:
        found = f"goal {next(iter(missing))!r} is never a next state" if missing else "goals is empty"
        raise StateError(f"{found}; name goals that some transition leads to")

    states: dict[Hashable, int] = {}
    actions: dict[Hashable, int] = {}
    for state, action, *_ in table:
        if state not in goal_set:
            states.setdefault(state, len(states))
            actions.setdefault(action, len(actions))
    stranger = next((entry for entry in table if entry[2] not in states and entry[2] not in goal_set), None)
    if stranger is not None:
        raise StateError(
            f"state {stranger[2]!r}, reached from {stranger[0]!r} by {stranger[1]!r}, has no transitions of its own"
            " and is no goal; add it to goals or give it an action"
        )
    start = next(iter(states)) if initial_state is None else initial_state
    if start not in states:
        raise StateError(f"initial_state {start!r} is not a non-goal state of the table")

    entries = [entry for entry in table if entry[0] not in goal_set]
    S, A = len(states), len(actions)
    rows = np.array([states[entry[0]] * A + actions[entry[1]] for entry in entries], dtype=np.int64)
    successors = np.array([states.get(entry[2], S) for entry in entries], dtype=np.int64)
    probabilities = numbers("the column of probabilities", [entry[3] for entry in entries])
    paid = numbers("the column of costs", [entry[4] for entry in entries])
    mass = np.bincount(rows, weights=probabilities, minlength=S * A)
    with np.errstate(invalid="ignore", divide="ignore"):
        costs = np.bincount(rows, weights=probabilities * paid, minlength=S * A) / mass
    one_price = np.zeros(S * A)
    one_price[rows] = paid
    same = np.bincount(rows, weights=paid != one_price[rows], minlength=S * A) == 0
    costs = np.where(same, one_price, costs)

    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(S * A + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=S * A), out=indptr[1:])
    return Table(
        indptr,
        successors[order],
        probabilities[order],
        costs.reshape(S, A),
        states[start],
        tuple(map(str, states)),
        tuple(map(str, actions)),
    )


def labels(
    shape: tuple[int, ...],
    initial_state: int,
    state_names: Sequence[str] | None,
    action_names: Sequence[str] | None,
    layout: GridLayout | None,
) -> tuple[int, tuple[str, ...] | None, tuple[str, ...] | None, GridLayout | None]:
    """Check the start and the labels of a model with the given numbers of states and actions."""
    S, A = shape
    for kind, names, count in (("state_names", state_names, S), ("action_names", action_names, A)):
        if names is not None and (len(names) != count or not all(isinstance(name, str) for name in names)):
            raise ShapeError(f"{kind} must be {count} strings; {len(names)} entries were given")
    if layout is not None and len(layout.cells) != S:
        raise ShapeError(f"the layout places {len(layout.cells)} states; the model has {S}")
    return (
        checked_state(initial_state, S),
        None if state_names is None else tuple(state_names),
        None if action_names is None else tuple(action_names),
        layout,
    )
