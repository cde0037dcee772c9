import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalward import SSP, GridLayout, solve, structure
from goalward.errors import ModelError, SettingError, UnreachableGoalError
from goalward.model.give_up import GIVE_UP
from strategies import models


def leap(success: float) -> SSP:
    """Return a leap over an abyss, at cost 1, from which there is no way back."""
    P = np.zeros((2, 1, 3))
    P[0, 0] = [0.0, 1.0 - success, success]
    P[1, 0, 1] = 1.0
    return SSP.from_dense(P, np.ones((2, 1)), action_names=["go"], layout=GridLayout(1, 3, [0, 1], [2]))


@given(models(), st.sampled_from([0.5, 3.0]))
def test_the_rows_are_those_of_a_model_that_is_checked(ssp: SSP, cost: float) -> None:
    """The same model, built row by row from dense arrays."""
    S, A = ssp.costs.shape
    P = np.zeros((S, A + 1, S + 1))
    P[:, :A] = ssp.to_dense()
    P[np.arange(S) != ssp.initial_state, A, ssp.initial_state] = 1.0
    costs = np.column_stack([np.where(ssp.available, ssp.costs, 0.0), np.full(S, cost)])
    expected = SSP.from_dense(P, costs, ssp.initial_state)
    found = ssp.with_give_up(cost)
    assert found == expected
    assert found.digest == expected.digest


@given(models(costs=("unit", "ties", "real"), tiny=False))
def test_dead_ends_are_gone_if_the_goal_can_be_reached_at_all(ssp: SSP) -> None:
    found, before = structure(ssp.with_give_up(1.0)), structure(ssp)
    possible = ssp.initial_state not in before.never
    assert found.proper == (possible or not before.dead_ends.size)
    assert found.reaches_goal == possible


@pytest.mark.parametrize(("success", "cost"), [(0.5, 10.0), (0.9, 3.0), (0.1, 0.25)])
def test_the_value_is_that_of_trying_until_it_works(success: float, cost: float) -> None:
    """From the start: (C + (1 - p) J) / p, with C = 1."""
    values = solve(leap(success).with_give_up(cost)).values
    start = (1.0 + (1.0 - success) * cost) / success
    np.testing.assert_allclose(values, [start, cost + start], rtol=1e-9)


def test_labels_and_the_action_are_kept() -> None:
    ssp = leap(0.5).with_give_up(2.0)
    assert (ssp.give_up, ssp.action_names, ssp.layout) == (1, ("go", GIVE_UP), leap(0.5).layout)
    assert not ssp.available[0, 1]
    assert pickle.loads(pickle.dumps(ssp)).give_up == 1
    assert ssp.with_costs(np.full((2, 2), 7.0)).give_up == 1
    assert SSP.from_dense(leap(0.5).to_dense(), np.ones((2, 1))).with_give_up(1.0).action_names == ("0", GIVE_UP)


@pytest.mark.parametrize("cost", [0.0, -1.0, np.inf, np.nan, "much", True])
def test_the_cost_must_be_positive(cost: object) -> None:
    with pytest.raises(SettingError, match=r"give_up_cost is .*; it must be a positive"):
        leap(0.5).with_give_up(cost)  # type: ignore[arg-type]


def test_giving_up_comes_once_and_last() -> None:
    ssp = leap(0.5).with_give_up(1.0)
    with pytest.raises(SettingError, match="one can give up already, by action 1"):
        ssp.with_give_up(1.0)
    with pytest.raises(ModelError, match="choose the start first"):
        ssp.with_initial_state(1)


def test_a_goal_that_no_path_reaches_stays_out_of_reach() -> None:
    with pytest.raises(UnreachableGoalError):
        solve(leap(0.5).with_initial_state(1).with_give_up(1.0))
