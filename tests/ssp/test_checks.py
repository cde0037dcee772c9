"""What bad input gets: one type of error for each fault, with place, value and remedy in its message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from goalward import SSP, GridLayout
from goalward.errors import CostError, ModelError, ProbabilityError, ShapeError, StateError

# Two states, two actions, every row going half to state 0 and half to the goal.
GOOD = np.full((2, 2, 3), [0.5, 0.0, 0.5])
COSTS = np.ones((2, 2))


def dense(state: int, action: int, row: list[float]) -> np.ndarray:
    kernel = GOOD.copy()
    kernel[state, action] = row
    return kernel


def test_the_unharmed_model_is_fine() -> None:
    assert SSP.from_dense(GOOD, COSTS).states == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            [np.nan, 0.0, 1.0],
            r"a transition of \(state 1, action 0\) has probability nan; probabilities lie in \[0, 1\]",
        ),
        ([-0.5, 0.5, 1.0], r"\(state 1, action 0\) has probability -0\.5; probabilities lie in"),
        ([0.0, 0.0, 1.5], r"\(state 1, action 0\) has probability 1\.5; probabilities lie in"),
        ([0.0, 0.0, np.inf], r"\(state 1, action 0\) has probability inf"),
        ([0.0, 0.0, -np.inf], r"\(state 1, action 0\) has probability -inf"),
        (
            [0.25, 0.25, 0.48],
            r"of \(state 1, action 0\) sum to 0\.98; .* within 1e-09: pass normalize=True",
        ),
        ([0.25, 0.25, 0.52], r"the probabilities of \(state 1, action 0\) sum to 1\.02; .*\(1 such rows\)"),
        ([0.5, 0.5, 1.1e-9], r"the probabilities of \(state 1, action 0\) sum to 1\.0000000011"),
        ([0.5, 0.5 - 1.1e-9, 0.0], r"the probabilities of \(state 1, action 0\) sum to 0\.9999999989"),
    ],
)
def test_bad_probabilities(row: list[float], message: str) -> None:
    kernel = dense(1, 0, row)
    with pytest.raises(ProbabilityError, match=message):
        SSP.from_dense(kernel, COSTS)
    rows, successors = np.nonzero(kernel.reshape(4, 3))
    indptr = np.searchsorted(rows, np.arange(5))
    with pytest.raises(ProbabilityError, match=message):
        SSP.from_rows(indptr, successors, kernel.reshape(4, 3)[rows, successors], COSTS)


@pytest.mark.parametrize("row", [[np.nan, 0.0, 1.0], [-0.5, 0.5, 1.0], [0.0, 0.0, 1.5]])
def test_normalize_forgives_no_impossible_probability(row: list[float]) -> None:
    with pytest.raises(ProbabilityError, match="probabilities lie in"):
        SSP.from_dense(dense(1, 0, row), COSTS, normalize=True)


def test_normalize_rescales() -> None:
    ssp = SSP.from_dense(dense(1, 0, [0.25, 0.0, 0.25]), COSTS, normalize=True)
    assert np.array_equal(ssp.to_dense(), GOOD)
    assert SSP.from_rows([0, 3], [0, 1, 1], [0.9, 0.9, 0.9], [[1]], normalize=True).to_dense() == pytest.approx(
        np.array([[[1 / 3, 2 / 3]]])
    )


def test_normalize_changes_no_bit_of_rows_that_sum_to_one() -> None:
    assert SSP.from_dense(GOOD, COSTS, normalize=True).digest == SSP.from_dense(GOOD, COSTS).digest


SUBNORMAL = r"action .*\) has probability .*e-3\d\d.* the smallest normal double"


@pytest.mark.parametrize("probability", [5e-324, 5e-315, 2.225e-308])
@pytest.mark.parametrize("normalize", [False, True])
def test_subnormal_probabilities_are_refused(probability: float, normalize: bool) -> None:
    """They have few digits, and one divided by them overflows."""
    with pytest.raises(ProbabilityError, match=SUBNORMAL):
        SSP.from_rows([0, 2], [0, 1], [probability, 1.0], [[1.0]], normalize=normalize)
    with pytest.raises(ProbabilityError, match=SUBNORMAL):
        SSP.from_dense([[[probability, 1.0]]], [[1.0]], normalize=normalize)
    rows = [("s", "a", "s", probability, 1.0), ("s", "a", "g", 1.0, 1.0)]
    with pytest.raises(ProbabilityError, match=SUBNORMAL):
        SSP.from_transitions(rows, goals=["g"], normalize=normalize)


def test_the_smallest_normal_probability_is_accepted() -> None:
    smallest = float(np.finfo(np.float64).tiny)
    assert SSP.from_rows([0, 2], [0, 1], [smallest, 1.0], [[1.0]]).probabilities[0] == smallest
    halves = SSP.from_rows([0, 3], [0, 0, 1], [0.5 * smallest, 0.5 * smallest, 1.0], [[1.0]])
    assert halves.probabilities[0] == smallest


@pytest.mark.parametrize("weight", [5e-324, 3e-308])
def test_normalize_refuses_to_lose_an_entry(weight: float) -> None:
    with pytest.raises(ProbabilityError, match=r"\(state 0, action 0\) has probability .* rescaled"):
        SSP.from_rows([0, 3], [0, 1, 1], [weight, 1.0, 1.0], [[1.0]], normalize=True)


@pytest.mark.parametrize("normalize", [False, True])
def test_a_row_of_explicit_zeros_is_no_unavailable_action(normalize: bool) -> None:
    with pytest.raises(ProbabilityError, match=r"\(state 0, action 1\) sum to 0; leave out the transitions"):
        SSP.from_rows([0, 1, 3], [1, 0, 1], [1.0, 0.0, 0.0], [[1.0, 1.0]], normalize=normalize)


def test_the_number_of_faults_is_told() -> None:
    kernel = np.full((2, 2, 3), [0.5, 0.0, 0.4])
    with pytest.raises(ProbabilityError, match=r"\(state 0, action 0\) sum to 0\.9.*\(4 such rows\)"):
        SSP.from_dense(kernel, COSTS)
    with pytest.raises(CostError, match=r"\(4 such entries\)"):
        SSP.from_dense(GOOD, -COSTS)


@pytest.mark.parametrize("cost", [-1.0, np.nan, np.inf, -np.inf, -5e-324])
def test_bad_costs(cost: float) -> None:
    costs = COSTS.copy()
    costs[1, 0] = cost
    with pytest.raises(
        CostError, match=rf"\(state 1, action 0\) has cost {cost:g}; costs must be finite and not negative: to forbid"
    ):
        SSP.from_dense(GOOD, costs)


@pytest.mark.parametrize("state", [2, -1, 10**30])
def test_a_start_out_of_range(state: int) -> None:
    with pytest.raises(StateError, match=rf"initial_state is {state}; it must be an integer in 0\.\.1"):
        SSP.from_dense(GOOD, COSTS, state)


@pytest.mark.parametrize("state", [0.0, "0", None, True, np.bool_(True)])
def test_a_start_that_is_no_integer(state: Any) -> None:
    with pytest.raises(StateError, match=r"initial_state is .*; it must be an integer in 0\.\.1"):
        SSP.from_dense(GOOD, COSTS, state)


@pytest.mark.parametrize("state", [1, np.int32(1), np.uint8(1)])
def test_any_kind_of_integer_starts(state: Any) -> None:
    start = SSP.from_dense(GOOD, COSTS, state).initial_state
    assert start == 1
    assert type(start) is int


@pytest.mark.parametrize(
    ("kernel", "shape"),
    [
        ([], r"\(0,\)"),
        (np.zeros((0, 2, 1)), r"\(0, 2, 1\)"),
        (np.zeros((2, 0, 3)), r"\(2, 0, 3\)"),
        (np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
        (np.zeros((2, 2, 4)), r"\(2, 2, 4\)"),
        (np.zeros((2, 3)), r"\(2, 3\)"),
        (0.5, r"\(\)"),
    ],
)
def test_kernels_of_the_wrong_shape(kernel: Any, shape: str) -> None:
    with pytest.raises(ShapeError, match=rf"P has shape {shape}; pass shape \(S, A, S \+ 1\), with the goal"):
        SSP.from_dense(kernel, COSTS)


@pytest.mark.parametrize("costs", [[], np.ones(2), np.ones((2, 2, 1)), np.ones((0, 2)), np.ones((2, 0)), 1.0])
def test_costs_of_the_wrong_shape(costs: Any) -> None:
    with pytest.raises(
        ShapeError, match=r"costs has shape .*; pass shape \(S, A\) with at least one state and one act"
    ):
        SSP.from_dense(GOOD, costs)


def test_costs_that_do_not_fit_the_kernel() -> None:
    with pytest.raises(ShapeError, match=r"indptr has shape \(5,\); 6 rows"):
        SSP.from_dense(GOOD, np.ones((2, 3)))


def test_a_model_without_actions() -> None:
    with pytest.raises(ModelError, match="no action is available in any state; add successors to at least"):
        SSP.from_dense(np.zeros((2, 2, 3)), COSTS)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD.astype(object), "P has dtype object; it must hold real numbers: convert it with .astype first"),
        (GOOD.astype(complex), "P has dtype complex128; it must hold real numbers"),
        (GOOD.astype(str), "P has dtype <U"),
        (GOOD.astype(bool), "P has dtype bool"),
        (np.zeros((2, 2, 3), dtype="M8[s]"), "P has dtype datetime64"),
        ("P", "P has dtype <U1"),
        (None, "P has dtype object"),
        ([[[0.5, 0.5], [1.0]]], "P is not an array: .*; pass nested lists of equal length or a NumPy array"),
        (sparse.csr_array(np.eye(2)), "P has dtype object"),
        (np.ma.masked_array(GOOD, mask=GOOD == 0.0), r"P is a masked array, .* \.filled"),
    ],
)
def test_kernels_that_are_no_numbers(bad: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        SSP.from_dense(bad, COSTS)


@pytest.mark.parametrize(
    "bad", [COSTS.astype(object), COSTS.astype(complex), [["a", "b"], ["c", "d"]], [[None] * 2] * 2]
)
def test_costs_that_are_no_numbers(bad: Any) -> None:
    with pytest.raises(
        ShapeError, match=r"costs has dtype .*; it must hold real numbers: convert it with .astype first"
    ):
        SSP.from_dense(GOOD, bad)


@pytest.mark.parametrize(
    ("indptr", "successors", "probabilities", "error", "message"),
    [
        ([0, 1], [1], [1.0], ShapeError, r"indptr has shape \(2,\); 2 rows \(states times actions\) need \(3,\)"),
        ([[0, 1, 2]], [1, 1], [1.0, 1.0], ShapeError, r"indptr has shape \(1, 3\)"),
        ([0.0, 1.0, 2.0], [1, 1], [1.0, 1.0], ShapeError, "indptr has dtype float64; it must hold integers"),
        ([0, 1, 2], [1.0, 1.0], [1.0, 1.0], ShapeError, "successors has dtype float64; it must hold integers"),
        ([0, 1, 2], [True, True], [1.0, 1.0], ShapeError, "successors has dtype bool"),
        ([0, 1, 2], [1, 2**70], [1.0, 1.0], ShapeError, "successors has dtype object"),
        (
            [0, 1, 2],
            np.array([1, 2**63 + 1], dtype=np.uint64),
            [1.0, 1.0],
            StateError,
            "leads to state -9223372036854775807",
        ),
        (np.array([0, 1, 2**64 - 1], dtype=np.uint64), [1, 1], [1.0, 1.0], ShapeError, "indptr must rise from 0 to 2"),
        ([0, 1, 2], [1, 1], [1.0, None], ShapeError, "probabilities has dtype object"),
        ([0, 1, 2], [1, 1], [1.0], ShapeError, r"successors has shape \(2,\) and probabilities \(1,\)"),
        ([0, 1, 2], [[1], [1]], [[1.0], [1.0]], ShapeError, "pass one-dimensional arrays"),
        ([1, 1, 2], [1, 1], [1.0, 1.0], ShapeError, "indptr must rise from 0 to 2, the number of successors"),
        ([0, 1, 3], [1, 1], [1.0, 1.0], ShapeError, "indptr must rise from 0 to 2"),
        ([0, 3, 2], [1, 1], [1.0, 1.0], ShapeError, "indptr must rise from 0 to 2"),
        (
            [0, 1, 2],
            [1, 2],
            [1.0, 1.0],
            StateError,
            r"\(state 0, action 1\) leads to state 2; use 0\.\.0, or 1 for the goal",
        ),
        ([0, 0, 1], [-1], [1.0], StateError, r"\(state 0, action 1\) leads to state -1"),
        ([0, 0, 0], [], [], ModelError, "no action is available"),
    ],
)
def test_compressed_rows_that_do_not_fit(
    indptr: Any, successors: Any, probabilities: Any, error: type[ModelError], message: str
) -> None:
    with pytest.raises(error, match=message):
        SSP.from_rows(indptr, successors, probabilities, [[1.0, 1.0]])


@pytest.mark.parametrize(
    ("kind", "names", "message"),
    [
        ("state_names", ["a"], "state_names is 1 entries; it must be a list of 2 strings"),
        ("action_names", ["a", "b", "c"], "action_names is 3 entries; it must be a list of 2 strings"),
        ("state_names", ["a", 2], "state_names is 2 entries; it must be a list of 2 strings"),
        ("state_names", "ab", "state_names is the string 'ab'; it must be a list of 2 strings"),
    ],
)
def test_names_that_do_not_fit(kind: str, names: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        SSP.from_dense(GOOD, COSTS, **{kind: names})


def test_a_layout_that_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="the layout has 3 cells for 2 states"):
        SSP.from_dense(GOOD, COSTS, layout=GridLayout(2, 2, [0, 1, 2], [3]))
