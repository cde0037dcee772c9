"""Checks of models, and the canonical form of their arrays.

Error messages name the state, the action and the value. Functions that read files pass a function `row_name`, which
returns the name of a row in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import CostError, ModelError, ProbabilityError, ShapeError, StateError

ROW_SUM_TOLERANCE = 1e-9
LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)
"""The smallest normal double. Below it digits get lost, and one divided by a probability overflows."""


class ModelArrays(NamedTuple):
    """The arrays of a model in canonical form, as stored in `SSP` and passed to kernels."""

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    costs: Floats


class StatesAndActions:
    """The base of classes with an array ``costs[s, a]``, whose shape is (states, actions)."""

    costs: Floats

    @property
    def states(self) -> int:
        """S, the number of non-goal states."""
        return len(self.costs)

    @property
    def actions(self) -> int:
        """A, the number of actions."""
        return int(self.costs.shape[1])

    @property
    def goal(self) -> int:
        """The number of the goal, which is S."""
        return len(self.costs)


def number_array(name: str, values: ArrayLike, *, integer: bool = False) -> NDArray[Any]:
    """Return `values` as an array of floats (integers if `integer` is True); raise ShapeError for other values."""
    if isinstance(values, np.ma.MaskedArray):
        raise ShapeError(f"{name} is a masked array, which is not supported; call its method .filled first")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(
            f"{name} is not an array: {error}; pass nested lists of equal length or a NumPy array"
        ) from None
    kinds, wanted = ("iu", "integers") if integer else ("fiu", "real numbers")
    if array.dtype.kind not in kinds and array.size:
        raise ShapeError(f"{name} has dtype {array.dtype}; it must hold {wanted}: convert it with .astype first")
    if integer:
        return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
    return array.astype(np.float64, copy=False)


def pair_name(actions: int) -> Callable[[int], str]:
    """Return a function that takes the number of a row and returns the name of its state-action pair."""
    return lambda row: f"(state {row // actions}, action {row % actions})"


def checked_state(state: int, states: int, name: str = "initial_state") -> int:
    """Return `state` as an int; raise StateError unless it is an integer from 0 to `states` - 1."""
    if isinstance(state, bool) or not isinstance(state, int | np.integer) or not 0 <= state < states:
        raise StateError(f"{name} is {state!r}; it must be an integer in 0..{states - 1}")
    return int(state)


def check_costs(costs: Floats, name: Callable[[int], str], available: Bools | None = None) -> None:
    """Raise CostError if an available cost is infinite, NaN or negative; ``name(i)`` is the name of entry i."""
    bad = ~((costs >= 0.0) & (costs < np.inf))
    if available is not None:
        bad &= available
    if bad.any():
        entry = int(np.argmax(bad))
        raise CostError(
            f"{name(entry)} has cost {costs[entry]:g}; costs must be finite and not negative: to forbid an action,"
            f" leave out its transitions ({np.count_nonzero(bad)} such entries)"
        )


def checked_costs(costs: ArrayLike, available: Bools, row_name: Callable[[int], str] | None = None) -> Floats:
    """Return checked ``costs[S, A]``, with infinity where an action is not available."""
    costs = number_array("costs", costs)
    if costs.shape != available.shape:
        raise ShapeError(f"costs has shape {costs.shape}; pass shape {available.shape} (states, actions)")
    check_costs(costs.ravel(), row_name or pair_name(available.shape[1]), available.ravel())
    # Adding zero turns -0.0 into 0.0, so that equal models have equal bits and equal hashes.
    return np.ascontiguousarray(np.where(available, costs, np.inf) + 0.0)


def canonical_rows(
    indptr: ArrayLike,
    successors: ArrayLike,
    probabilities: ArrayLike,
    costs: ArrayLike,
    *,
    normalize: bool = False,
    row_name: Callable[[int], str] | None = None,
) -> ModelArrays:
    """Return checked rows in canonical form: sorted successors without repetitions and without zero probabilities."""
    cost_table = number_array("costs", costs)
    if cost_table.ndim != 2 or 0 in cost_table.shape:
        raise ShapeError(
            f"costs has shape {cost_table.shape}; pass shape (S, A) with at least one state and one action"
        )
    S, A = cost_table.shape
    name = row_name or pair_name(A)
    pointers = number_array("indptr", indptr, integer=True)
    targets = number_array("successors", successors, integer=True)
    weights = number_array("probabilities", probabilities)
    check_pointers(pointers, targets, weights, S * A)

    def entry_name(entry: int) -> str:
        return f"a transition of {name(row_of(pointers, entry))}"

    check_probabilities(weights, entry_name)
    if len(targets) and not (targets.min() >= 0 and targets.max() <= S):
        entry = int(np.argmax((targets < 0) | (targets > S)))
        raise StateError(f"{entry_name(entry)} leads to state {targets[entry]}; use 0..{S - 1}, or {S} for the goal")
    if not is_canonical(pointers, targets, weights):
        from scipy import sparse

        matrix = sparse.csr_array((weights, targets, pointers), shape=(S * A, S + 1), copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        # An action whose probabilities are all zero would silently become unavailable.
        lost = np.flatnonzero((np.diff(pointers) > 0) & (np.diff(matrix.indptr) == 0))
        if len(lost):
            raise ProbabilityError(
                f"the probabilities of {name(int(lost[0]))} sum to 0; leave out the transitions of an action"
                f" that is not available ({len(lost)} such rows)"
            )
        pointers, targets, weights = matrix.indptr, matrix.indices, matrix.data
    if row_name is None:  # the caller could change its arrays later
        pointers, targets, weights = pointers.copy(), targets.copy(), weights.copy()
    pointers = pointers.astype(np.int64, copy=False)
    weights = checked_sums(pointers, weights, name, normalize)
    check_least(pointers, weights, name, " once rescaled" if normalize else "")
    available = (pointers[1:] > pointers[:-1]).reshape(S, A)
    if not available.any():
        raise ModelError("no action is available in any state; add successors to at least one row")
    targets = targets.astype(np.int32, copy=False)
    return ModelArrays(pointers, targets, weights, checked_costs(cost_table, available, name))


def check_pointers(indptr: NDArray[Any], successors: NDArray[Any], probabilities: Floats, rows: int) -> None:
    """Raise ShapeError unless the arrays describe `rows` compressed rows."""
    if indptr.shape != (rows + 1,):
        raise ShapeError(f"indptr has shape {indptr.shape}; {rows} rows (states times actions) need ({rows + 1},)")
    if successors.ndim != 1 or successors.shape != probabilities.shape:
        raise ShapeError(
            f"successors has shape {successors.shape} and probabilities {probabilities.shape};"
            " pass one-dimensional arrays of equal length"
        )
    if indptr[0] != 0 or indptr[-1] != len(successors) or (indptr[1:] < indptr[:-1]).any():
        raise ShapeError(f"indptr must rise from 0 to {len(successors)}, the number of successors; correct indptr")


def row_of(indptr: NDArray[Any], entry: int) -> int:
    return int(np.searchsorted(indptr, entry, side="right")) - 1


def check_probabilities(probabilities: Floats, name: Callable[[int], str]) -> None:
    """Raise ProbabilityError unless all probabilities lie in [0, 1]; ``name(i)`` is the name of entry i."""
    if len(probabilities) and not (probabilities.min() >= 0.0 and probabilities.max() <= 1.0 + ROW_SUM_TOLERANCE):
        entry = int(np.argmax(~((probabilities >= 0.0) & (probabilities <= 1.0 + ROW_SUM_TOLERANCE))))
        raise ProbabilityError(f"{name(entry)} has probability {probabilities[entry]:g}; probabilities lie in [0, 1]")


def check_least(indptr: Int64s, probabilities: Floats, row_name: Callable[[int], str], when: str = "") -> None:
    """Raise ProbabilityError if a probability is subnormal, or zero because of underflow."""
    small = probabilities < LEAST_PROBABILITY
    if small.any():
        entry = int(np.argmax(small))
        raise ProbabilityError(
            f"a transition of {row_name(row_of(indptr, entry))} has probability {probabilities[entry]:g}{when}, below"
            f" {LEAST_PROBABILITY:.3g}, the smallest normal double: leave the transition out or make it more likely"
            f" ({np.count_nonzero(small)} such entries)"
        )


def is_canonical(indptr: NDArray[Any], successors: NDArray[Any], probabilities: Floats) -> bool:
    """Return whether the successors of every row are strictly increasing and no probability is zero."""
    rises = np.ones(len(successors) + 1, dtype=np.bool_)
    np.greater(successors[1:], successors[:-1], out=rises[1:-1])
    rises[indptr] = True  # a row may start anywhere
    return bool(rises.all() and (probabilities > 0.0).all())


def checked_sums(indptr: Int64s, probabilities: Floats, row_name: Callable[[int], str], normalize: bool) -> Floats:
    """Return the probabilities, whose rows must sum to one; with `normalize`, rescale the rows instead."""
    filled = np.flatnonzero(indptr[1:] > indptr[:-1])  # np.diff would take eight times the memory
    if not len(filled):
        return probabilities
    sums = np.add.reduceat(probabilities, indptr[filled])
    if normalize:
        scaled: Floats = probabilities / np.repeat(sums, np.diff(indptr)[filled])
        return scaled
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        first = int(np.argmax(off))
        raise ProbabilityError(
            f"the probabilities of {row_name(int(filled[first]))} sum to {sums[first]:.12g}; they must sum to 1 within"
            f" {ROW_SUM_TOLERANCE:g}: pass normalize=True (--set normalize=true) to rescale"
            f" ({np.count_nonzero(off)} such rows)"
        )
    return probabilities


def checked_names(kind: str, names: Iterable[str] | None, count: int) -> tuple[str, ...] | None:
    """Return `names` as a tuple; raise ShapeError unless `names` are `count` strings."""
    if names is None:
        return None
    listed = () if isinstance(names, str) else tuple(names)
    if len(listed) != count or not all(isinstance(name, str) for name in listed):
        what = f"the string {names!r}" if isinstance(names, str) else f"{len(listed)} entries"
        raise ShapeError(f"{kind} is {what}; it must be a list of {count} strings, one name each")
    return listed


def checked_give_up(rows: ModelArrays, initial_state: int, give_up: object) -> int | None:
    """Return `give_up`; raise ShapeError unless it is the last action and leads to the start from all other states."""
    if give_up is None:
        return None
    S, A = len(rows.costs), int(rows.costs.shape[1])
    first, end = rows.indptr[:-1].reshape(S, A)[:, -1], rows.indptr[1:].reshape(S, A)[:, -1]
    leads_back = np.array_equal(end - first, np.arange(S) != initial_state) and bool(
        (rows.successors[first[end > first]] == initial_state).all()
    )
    if isinstance(give_up, bool) or give_up != A - 1 or not leads_back:
        raise ShapeError(
            f"give_up is {give_up!r:.40}; it must be the last action, {A - 1}, which must lead to the start, state"
            f" {initial_state}, with probability 1 from every other state"
        )
    return A - 1
