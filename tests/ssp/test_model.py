"""The model itself: its ways in and out, and that it never changes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from goalward import SSP, GridLayout
from goalward.errors import CostError, ShapeError, StateError
from strategies import models

# Two states, two actions; action 1 is not available in state 1.
DENSE = np.array(
    [
        [[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]],
        [[0.25, 0.0, 0.75], [0.0, 0.0, 0.0]],
    ]
)
COSTS = np.array([[1.0, 2.0], [0.0, 9.0]])


@pytest.fixture
def ssp() -> SSP:
    layout = GridLayout(1, 3, [0, 1], [2])
    return SSP.from_dense(DENSE, COSTS, 1, state_names=["left", "right"], action_names=["go", "stay"], layout=layout)


def test_dense_arrays_become_compressed_rows(ssp: SSP) -> None:
    assert (ssp.states, ssp.actions, ssp.goal, ssp.initial_state) == (2, 2, 2, 1)
    assert ssp.indptr.tolist() == [0, 2, 4, 6, 6]
    assert ssp.successors.tolist() == [1, 2, 0, 1, 0, 2]
    assert ssp.probabilities.tolist() == [0.25, 0.75, 0.5, 0.5, 0.25, 0.75]
    assert ssp.costs.tolist() == [[1.0, 2.0], [0.0, np.inf]]
    assert ssp.available.tolist() == [[True, True], [True, False]]


def test_the_arrays_have_the_dtypes_the_kernels_are_compiled_for(ssp: SSP) -> None:
    dtypes = [array.dtype.name for array in (ssp.indptr, ssp.successors, ssp.probabilities, ssp.costs)]
    assert dtypes == ["int64", "int32", "float64", "float64"]
    assert all(array.flags.c_contiguous for array in (ssp.indptr, ssp.successors, ssp.probabilities, ssp.costs))


def test_dense_and_back(ssp: SSP) -> None:
    assert np.array_equal(ssp.to_dense(), DENSE)
    assert SSP.from_dense(ssp.to_dense(), ssp.costs, 1) == ssp


def test_compressed_rows_and_back(ssp: SSP) -> None:
    assert SSP.from_rows(ssp.indptr, ssp.successors, ssp.probabilities, ssp.costs, 1) == ssp


@given(models())
def test_every_model_survives_both_representations(ssp: SSP) -> None:
    assert SSP.from_dense(ssp.to_dense(), ssp.costs, ssp.initial_state) == ssp
    rows = SSP.from_rows(ssp.indptr, ssp.successors, ssp.probabilities, ssp.costs, ssp.initial_state)
    assert rows == ssp
    assert rows.digest == ssp.digest


def test_rows_are_sorted_added_up_and_rid_of_zeros() -> None:
    messy = SSP.from_rows([0, 5], [1, 0, 1, 0, 1], [0.25, 0.125, 0.25, 0.375, 0.0], [[1.0]])
    tidy = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    assert messy == tidy
    assert messy.successors.tolist() == [0, 1]


def test_integers_and_lists_are_welcome() -> None:
    assert SSP.from_dense([[[0, 1]]], [[2]]) == SSP.from_dense(np.array([[[0.0, 1.0]]]), np.array([[2.0]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
def test_any_real_dtype_is_converted(dtype: type) -> None:
    assert SSP.from_dense(np.array([[[0, 1]]], dtype=dtype), np.array([[2]], dtype=dtype)).costs.dtype == np.float64


def test_a_row_that_sums_almost_to_one_is_kept_as_it_is() -> None:
    probabilities = [0.5, 0.5 + 9e-10]
    ssp = SSP.from_rows([0, 2], [0, 1], probabilities, [[1.0]])
    assert ssp.probabilities.tolist() == probabilities


def test_the_callers_arrays_stay_the_callers() -> None:
    kernel, costs = DENSE.copy(), COSTS.copy()
    ssp = SSP.from_dense(kernel, costs)
    kernel[:], costs[:] = 7.0, 7.0
    assert np.array_equal(ssp.to_dense(), DENSE)
    indptr, successors, probabilities = np.array([0, 1]), np.array([1], dtype=np.int32), np.array([1.0])
    ssp = SSP.from_rows(indptr, successors, probabilities, [[1.0]])
    successors[0] = 0
    assert ssp.successors.tolist() == [1]
    probabilities[0] = 0.5
    assert ssp.probabilities.tolist() == [1.0]
    assert probabilities.flags.writeable


@pytest.mark.parametrize("name", ["indptr", "successors", "probabilities", "costs", "available"])
def test_the_arrays_are_read_only(ssp: SSP, name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(ssp, name)[0] = 1


def test_attributes_are_fixed(ssp: SSP) -> None:
    with pytest.raises(AttributeError, match="'costs' cannot be set; call with_costs"):
        ssp.costs = COSTS
    with pytest.raises(AttributeError, match="'color' cannot be set"):
        ssp.color = "red"


def test_there_is_no_empty_constructor() -> None:
    with pytest.raises(TypeError, match=r"SSP\.from_dense"):
        SSP()


def test_labels_are_no_part_of_equality(ssp: SSP) -> None:
    bare = SSP.from_dense(DENSE, COSTS, 1)
    assert bare == ssp
    assert hash(bare) == hash(ssp)
    assert bare.digest == ssp.digest
    assert len({bare, ssp}) == 1


def test_every_part_of_the_content_counts_in_equality_and_digest(ssp: SSP) -> None:
    shifted, other_costs = DENSE.copy(), COSTS.copy()
    shifted[0, 0] = [0.0, 0.5, 0.5]
    other_costs[0, 0] = np.nextafter(1.0, 2.0)
    moved = DENSE.copy()
    moved[0, 0] = [0.25, 0.0, 0.75]
    fewer = DENSE.copy()
    fewer[0, 1] = 0.0
    others = [
        SSP.from_dense(DENSE, COSTS, 0),
        SSP.from_dense(DENSE, other_costs, 1),
        SSP.from_dense(shifted, COSTS, 1),
        SSP.from_dense(moved, COSTS, 1),
        SSP.from_dense(fewer, COSTS, 1),
    ]
    for other in others:
        assert other != ssp
    assert len({other.digest for other in [*others, ssp]}) == 6
    assert ssp != "ssp"


def test_the_cost_of_an_unavailable_action_is_no_content(ssp: SSP) -> None:
    costs = COSTS.copy()
    costs[1, 1] = np.nan
    assert SSP.from_dense(DENSE, costs, 1) == ssp


def test_the_sign_of_zero_is_no_content() -> None:
    plus, minus = (SSP.from_dense([[[0.0, 1.0]]], [[zero]]) for zero in (0.0, -0.0))
    assert plus == minus
    assert plus.digest == minus.digest


def test_the_digest_is_the_same_in_every_process(ssp: SSP, run_python: Callable[..., str]) -> None:
    code = f"import goalward as gw; print(gw.SSP.from_dense({DENSE.tolist()!r}, {COSTS.tolist()!r}, 1).digest)"
    assert {run_python(code, PYTHONHASHSEED=seed) for seed in ("1", "2")} == {ssp.digest}
    # Stored results are keyed by digests: one that moves orphans them all.
    assert ssp.digest == "c1e82d8f59ac63e2188d4d529d217aad916bd0684e8e3d0387e71708621eb22b"


def test_repr_says_what_it_is(ssp: SSP) -> None:
    assert repr(ssp) == ("SSP(states=2, actions=2, transitions=6, unavailable=1, costs=0..2, initial_state=1 'right')")
    assert repr(SSP.from_dense([[[0, 1]]], [[2]])) == (
        "SSP(states=1, actions=1, transitions=1, costs=2, initial_state=0)"
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_round_trip(ssp: SSP, protocol: int) -> None:
    twin = pickle.loads(pickle.dumps(ssp, protocol))
    assert twin == ssp
    assert (twin.state_names, twin.action_names, twin.layout) == (ssp.state_names, ssp.action_names, ssp.layout)
    arrays = (twin.indptr, twin.successors, twin.probabilities, twin.costs, twin.layout.cells, twin.layout.goals)
    assert not any(array.flags.writeable for array in arrays)


def test_copies_are_equal(ssp: SSP) -> None:
    assert copy.copy(ssp) == ssp
    deep = copy.deepcopy(ssp)
    assert deep == ssp
    assert deep.costs is not ssp.costs
    assert not deep.costs.flags.writeable


def test_other_costs(ssp: SSP) -> None:
    dearer = ssp.with_costs([[3.0, 4.0], [5.0, np.nan]])
    assert dearer.costs.tolist() == [[3.0, 4.0], [5.0, np.inf]]
    assert (dearer.state_names, dearer.layout) == (ssp.state_names, ssp.layout)
    assert np.array_equal(dearer.to_dense(), ssp.to_dense())
    assert ssp.costs[0, 0] == 1.0
    assert dearer.digest != ssp.digest
    with pytest.raises(CostError, match=r"\(state 0, action 1\) has cost -4"):
        ssp.with_costs([[3.0, -4.0], [5.0, 0.0]])
    with pytest.raises(ShapeError, match=r"costs has shape \(2,\); pass shape \(2, 2\)"):
        ssp.with_costs([3.0, 4.0])


def test_another_start(ssp: SSP) -> None:
    assert ssp.with_initial_state(0) == SSP.from_dense(DENSE, COSTS, 0)
    with pytest.raises(StateError, match=r"initial_state is 2; it must be an integer in 0\.\.1"):
        ssp.with_initial_state(2)


def test_rows_are_views(ssp: SSP) -> None:
    successors, probabilities = ssp.row(1, 0)
    assert (successors.tolist(), probabilities.tolist()) == ([0, 2], [0.25, 0.75])
    assert [part.size for part in ssp.row(1, 1)] == [0, 0]
    assert not probabilities.flags.writeable


@pytest.mark.parametrize(("state", "action"), [(2, 0), (-1, 0), (0, 2), (0, -1)])
def test_there_is_no_such_row(ssp: SSP, state: int, action: int) -> None:
    with pytest.raises(StateError, match=r"(state|action) is -?\d; it must be an integer in 0\.\.1"):
        ssp.row(state, action)


def test_names(ssp: SSP) -> None:
    bare = SSP.from_dense(DENSE, COSTS)
    assert [ssp.state_name(state) for state in range(3)] == ["left", "right", "goal"]
    assert [bare.state_name(state) for state in range(3)] == ["0", "1", "goal"]
    assert [ssp.action_name(action) for action in range(2)] == ["go", "stay"]
    assert [bare.action_name(action) for action in range(2)] == ["0", "1"]
    assert [ssp.action_name(-1), bare.action_name(-1)] == ["none", "none"], "as policies of solutions have it"
    with pytest.raises(StateError, match="no state 3"):
        ssp.state_name(3)
    with pytest.raises(StateError, match="no state -1"):
        ssp.state_name(-1)
    for action in (2, -2):
        with pytest.raises(StateError, match=f"no action {action!r}"):
            ssp.action_name(action)
