"""What every model must satisfy, and the canonical form of its arrays.

Each message names the state, the action and the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import CostError, ModelError, ProbabilityError, ShapeError, StateError

if TYPE_CHECKING:
    from goalward.ssp.layout import GridLayout

__all__ = [
    "LEAST_PROBABILITY", "ROW_SUM_TOLERANCE", "CompressedRows", "ModelArrays", "StatesAndActions", "canonical_rows",
    "check_least", "checked_costs", "checked_give_up", "checked_labels", "checked_names", "checked_state",
    "number_array",
]  # fmt: skip

ROW_SUM_TOLERANCE = 1e-9
LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)
"""The smallest normal double. Below it digits get lost, and one divided by a probability overflows."""
CompressedRows = tuple[Int64s, Int64s, Floats]


class ModelArrays(NamedTuple):
    """The arrays of a model in canonical form, as `SSP` holds them and as kernels take them."""

    indptr: Int64s
    successors: Int32s
    probabilities: Floats
    costs: Floats


class StatesAndActions:
    """Base of classes with ``costs[s, a]``, whose shape gives the numbers of states and actions."""

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
        """The index of the goal: S."""
        return len(self.costs)


def number_array(name: str, values: ArrayLike, *, integer: bool = False) -> NDArray[Any]:
    """Return an array of floats or integers; raise ShapeError for everything that is not plain numbers."""
    if isinstance(values, np.ma.MaskedArray):
        raise ShapeError(f"{name} is a masked array; its mask means nothing here: fill it with .filled first")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(
            f"{name} is not an array: {error}; pass nested lists of equal length or a NumPy array"
        ) from None
    kinds, wanted = ("iu", "integers") if integer else ("fiu", "real numbers")
    if array.dtype.kind not in kinds and array.size:
        raise ShapeError(f"{name} has dtype {array.dtype}; it must hold {wanted}: convert it with .astype first")
    if integer and array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise ShapeError(f"{name} holds {array.max()}; it must hold integers of at most 63 bits")
    return array.astype(np.int64 if integer else np.float64, copy=False)


def where(row: int, actions: int) -> str:
    return f"(state {row // actions}, action {row % actions})"


def checked_state(state: int, states: int, name: str = "initial_state") -> int:
    """Return a state as an int; raise StateError if the model does not have it."""
    if isinstance(state, bool) or not isinstance(state, int | np.integer):
        raise StateError(f"{name} is {state!r}; it must be an integer in 0..{states - 1}")
    if not 0 <= state < states:
        raise StateError(f"{name} is {state}; the model has the non-goal states 0..{states - 1}")
    return int(state)


def checked_costs(costs: ArrayLike, available: Bools) -> Floats:
    """Return ``costs[S, A]`` with infinity where an action is not available."""
    costs = number_array("costs", costs)
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
) -> ModelArrays:
    """Check compressed rows and bring them into the one form: sorted successors, each once, no zeros."""
    cost_table = number_array("costs", costs)
    if cost_table.ndim != 2 or 0 in cost_table.shape:
        raise ShapeError(
            f"costs has shape {cost_table.shape}; it must be (S, A) with at least one state and one action"
        )
    S, A = cost_table.shape
    pointers: NDArray[Any] = number_array("indptr", indptr, integer=True)
    targets: NDArray[Any] = number_array("successors", successors, integer=True)
    weights: NDArray[Any] = number_array("probabilities", probabilities)
    check_pointers(pointers, targets, weights, S * A)
    check_entries(pointers, targets, weights, S, A)

    if not is_canonical(pointers, targets, weights):
        matrix = sparse.csr_array((weights, targets, pointers), shape=(S * A, S + 1), copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        check_zeros(pointers, matrix.indptr, A)
        pointers, targets, weights = matrix.indptr, matrix.indices, matrix.data
    pointers = np.array(pointers, dtype=np.int64)
    weights = check_sums(pointers, np.array(weights, dtype=np.float64), A, normalize)
    check_least(pointers, targets, weights, A, " once its row is rescaled" if normalize else "")
    available = (np.diff(pointers) > 0).reshape(S, A)
    if not available.any():
        raise ModelError("no action is available in any state; give at least one row its successors")
    return ModelArrays(pointers, np.array(targets, dtype=np.int32), weights, checked_costs(cost_table, available))


def check_pointers(indptr: Int64s, successors: Int64s, probabilities: Floats, rows: int) -> None:
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


def check_entries(indptr: Int64s, successors: Int64s, probabilities: Floats, S: int, A: int) -> None:
    """Check that probabilities lie in [0, 1] and successors are states or the goal."""
    bad = ~((probabilities >= 0.0) & (probabilities <= 1.0 + ROW_SUM_TOLERANCE))
    if bad.any():
        entry = int(np.argmax(bad))
        raise ProbabilityError(
            f"{transition(indptr, successors, probabilities, entry, A)}; probabilities lie in [0, 1]"
        )
    bad = (successors < 0) | (successors > S)
    if bad.any():
        entry = int(np.argmax(bad))
        pair = where(row_of(indptr, entry), A)
        raise StateError(f"{pair} leads to state {successors[entry]}; states are 0..{S - 1}, the goal is {S}")


def row_of(indptr: Int64s, entry: int) -> int:
    return int(np.searchsorted(indptr, entry, side="right")) - 1


def transition(indptr: Int64s, successors: NDArray[np.integer], probabilities: Floats, entry: int, A: int) -> str:
    """Describe one entry of a model's rows, for a message."""
    goal = (len(indptr) - 1) // A
    target = "the goal" if successors[entry] == goal else f"state {successors[entry]}"
    return f"{where(row_of(indptr, entry), A)} goes to {target} with probability {probabilities[entry]:g}"


def check_least(indptr: Int64s, successors: NDArray[np.integer], probabilities: Floats, A: int, when: str = "") -> None:
    """Refuse probabilities that are subnormal, or zero because they have underflowed."""
    small = probabilities < LEAST_PROBABILITY
    if small.any():
        entry = int(np.argmax(small))
        raise ProbabilityError(
            f"{transition(indptr, successors, probabilities, entry, A)}{when}, which is below"
            f" {LEAST_PROBABILITY:.3g}, the smallest normal double: leave the transition out or make it more likely"
            f" ({np.count_nonzero(small)} such entries)"
        )


def is_canonical(indptr: Int64s, successors: Int64s, probabilities: Floats) -> bool:
    """Return whether all rows are strictly sorted and free of zeros."""
    falls = np.flatnonzero(np.diff(successors) <= 0) + 1
    return bool(np.isin(falls, indptr).all() and (probabilities > 0.0).all())


def check_zeros(before: Int64s, after: NDArray[np.integer], A: int) -> None:
    """Check that no row has lost all its entries with its zeros: its action would silently become unavailable."""
    lost = np.flatnonzero((np.diff(before) > 0) & (np.diff(after) == 0))
    if len(lost):
        raise ProbabilityError(
            f"row {where(int(lost[0]), A)} sums to 0, all its entries are zero; give it probabilities, or no entries"
            f" if the action is not available there ({len(lost)} such rows)"
        )


def check_sums(indptr: Int64s, probabilities: Floats, A: int, normalize: bool) -> Floats:
    """Check that the rows of available actions sum to one; with `normalize`, rescale them."""
    filled = np.flatnonzero(np.diff(indptr) > 0)
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
            f"row {where(int(filled[first]), A)} sums to {sums[first]:.12g}; probabilities must sum to 1 within"
            f" {ROW_SUM_TOLERANCE:g}: pass normalize=True to rescale ({np.count_nonzero(off)} such rows)"
        )
    return probabilities


def checked_names(kind: str, names: Iterable[str] | None, count: int) -> tuple[str, ...] | None:
    """Return names as a tuple; raise ShapeError unless they are `count` strings."""
    if names is None:
        return None
    listed = () if isinstance(names, str) else tuple(names)
    if len(listed) != count:
        what = f"the string {names!r}" if isinstance(names, str) else f"{len(listed)} entries"
        raise ShapeError(f"{kind} is {what}; it must be a list of {count} strings, one name each")
    wrong = next((index for index, name in enumerate(listed) if not isinstance(name, str)), None)
    if wrong is not None:
        raise ShapeError(f"{kind}[{wrong}] is {listed[wrong]!r}; names must be strings: convert it with str first")
    return listed


def checked_give_up(rows: ModelArrays, initial_state: int, give_up: object) -> int | None:
    """Return the action that gives up; raise ShapeError unless it is the last and leads to the start from elsewhere."""
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


def checked_labels(
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
