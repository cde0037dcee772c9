"""From what users have to canonical arrays: dense arrays and compressed rows.

Every check of a model happens here, and each complaint names the state, the action and the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import CostError, ModelError, ProbabilityError, ShapeError, StateError
from goalward.model.layout import GridLayout

__all__ = [
    "ROW_SUM_TOLERANCE",
    "CompressedRows",
    "Rows",
    "canonical_rows",
    "checked_costs",
    "checked_state",
    "dense_to_rows",
    "labels",
    "merge_goals",
    "numbers",
]

ROW_SUM_TOLERANCE = 1e-9
LARGEST = int(np.iinfo(np.int64).max)
CompressedRows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class Rows(NamedTuple):
    """The arrays of a model, canonical: as `SSP` holds them and as kernels take them."""

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    costs: Floats


def numbers(name: str, given: ArrayLike, *, integer: bool = False) -> NDArray[Any]:
    """Return an array of floats (or integers) of any shape, refusing everything that is not plain numbers."""
    if isinstance(given, np.ma.MaskedArray):
        raise ShapeError(f"{name} is a masked array; its mask means nothing here: fill it with .filled first")
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
    if integer and array.dtype.kind == "u" and array.size and array.max() > LARGEST:
        raise ShapeError(f"{name} holds {array.max()}; it must hold integers no larger than {LARGEST}")
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
            f"costs[{state}, {action}] is {costs[state, action]:g}; costs must be finite and not negative:"
            f" to forbid an action, leave its row without successors ({np.count_nonzero(bad)} such entries)"
        )
    # Adding zero turns -0.0 into 0.0, so that equal models have equal bits and equal hashes.
    return np.ascontiguousarray(np.where(available, costs, np.inf) + 0.0)


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
        check_zeros(indptr, matrix.indptr, A)
        indptr, successors, probabilities = matrix.indptr, matrix.indices, matrix.data
    pointers = np.array(indptr, dtype=np.int64)
    weights = check_sums(pointers, np.array(probabilities, dtype=np.float64), A, normalize)
    available = (np.diff(pointers) > 0).reshape(S, A)
    if not available.any():
        raise ModelError("no action is available in any state; give at least one row its successors")
    return Rows(pointers, np.array(successors, dtype=np.int32), weights, checked_costs(cost_table, available))


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


def check_zeros(before: NDArray[np.int64], after: NDArray[np.integer], A: int) -> None:
    """Check that no row has vanished with its zeros: that would make its action unavailable without a word."""
    lost = np.flatnonzero((np.diff(before) > 0) & (np.diff(after) == 0))
    if len(lost):
        raise ProbabilityError(
            f"row {where(int(lost[0]), A)} sums to 0, all its entries are zero; give it probabilities, or no entries"
            f" if the action is not available there ({len(lost)} such rows)"
        )


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
        if not scaled.all():
            entry = int(np.argmin(scaled))
            row = int(np.searchsorted(indptr, entry, side="right")) - 1
            raise ProbabilityError(
                f"row {where(row, A)} holds {probabilities[entry]:g}, which rescaling turns into zero;"
                " leave the entry out or make it larger"
            )
        return scaled
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        first = int(np.argmax(off))
        raise ProbabilityError(
            f"row {where(int(filled[first]), A)} sums to {sums[first]:.12g}; probabilities must sum to 1 within"
            f" {ROW_SUM_TOLERANCE:g}: pass normalize=True to rescale ({np.count_nonzero(off)} such rows)"
        )
    return probabilities


def dense_to_rows(P: ArrayLike) -> CompressedRows:
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
    P: ArrayLike,
    costs: ArrayLike,
    initial_state: int,
    state_names: Sequence[str] | None,
    goals: Iterable[int],
    normalize: bool,
) -> tuple[CompressedRows, NDArray[np.float64], int, Sequence[str] | None]:
    """Merge the given goal states of ``P[N, A, N]`` into one and drop their rows."""
    kernel, cost_table = numbers("P", P), numbers("costs", costs)
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


def checked_names(kind: str, names: Iterable[str] | None, count: int) -> tuple[str, ...] | None:
    """Return labels as a tuple, or say why they are none."""
    if names is None:
        return None
    given = () if isinstance(names, str) else tuple(names)
    if len(given) != count:
        found = f"the string {names!r}" if isinstance(names, str) else f"{len(given)} entries"
        raise ShapeError(f"{kind} is {found}; it must be a list of {count} strings, one name each")
    wrong = next((i for i, name in enumerate(given) if not isinstance(name, str)), None)
    if wrong is not None:
        raise ShapeError(f"{kind}[{wrong}] is {given[wrong]!r}; names must be strings: convert it with str first")
    return given


def labels(
    shape: tuple[int, ...],
    initial_state: int,
    state_names: Sequence[str] | None,
    action_names: Sequence[str] | None,
    layout: GridLayout | None,
) -> tuple[int, tuple[str, ...] | None, tuple[str, ...] | None, GridLayout | None]:
    """Check the start and the labels of a model with the given numbers of states and actions."""
    S, A = shape
    if layout is not None and len(layout.cells) != S:
        raise ShapeError(f"the layout places {len(layout.cells)} states; the model has {S}: give each state its cell")
    return (
        checked_state(initial_state, S),
        checked_names("state_names", state_names, S),
        checked_names("action_names", action_names, A),
        layout,
    )
