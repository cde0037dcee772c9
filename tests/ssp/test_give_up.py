import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalward import SSP, GridLayout, learn, solve, structure
from goalward.agents import PSRL
from goalward.errors import ModelError, SettingError, ShapeError, UnreachableGoalError
from goalward.ssp.model import GIVE_UP
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
    rows = SSP.from_dense(P, costs, ssp.initial_state)
    found = ssp.with_give_up(cost)
    assert found == SSP.from_rows(*rows.arrays, rows.initial_state, give_up=A)


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


def test_the_cost_must_be_positive() -> None:
    for cost in (0.0, np.inf, "much"):
        with pytest.raises(SettingError, match=r"give_up_cost is .*; it must be a positive"):
            leap(0.5).with_give_up(cost)  # type: ignore[arg-type]


def test_giving_up_comes_once_and_last() -> None:
    ssp = leap(0.5).with_give_up(1.0)
    with pytest.raises(SettingError, match="action 1 already gives up"):
        ssp.with_give_up(1.0)
    with pytest.raises(ModelError, match="call with_initial_state before"):
        ssp.with_initial_state(1)


def test_a_goal_that_no_path_reaches_stays_out_of_reach() -> None:
    with pytest.raises(UnreachableGoalError):
        solve(leap(0.5).with_initial_state(1).with_give_up(1.0))


def late_climb() -> SSP:
    """Return a model in which one action is met only after giving up, when the states are read in order."""
    rows = [("edge", "leap", "far side", 0.5, 1.0), ("edge", "leap", "ledge", 0.5, 1.0)]
    rows += [("ledge", "wait", "ledge", 1.0, 1.0), ("crest", "climb", "edge", 1.0, 1.0)]
    return SSP.from_transitions(rows, goals=["far side"], initial_state="edge").with_give_up(10.0)


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_a_saved_model_still_knows_what_giving_up_does(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{ending}"
    late_climb().save(path)
    back = SSP.load(path)
    assert back.give_up == back.actions - 1
    assert back.action_name(back.actions - 1) == GIVE_UP
    assert solve(back).values[back.initial_state] == solve(late_climb()).values[0]
    with pytest.raises(SettingError, match="already gives up"):
        back.with_give_up(1.0)


def test_a_reloaded_model_gives_the_same_run(tmp_path: Path) -> None:
    ssp = leap(0.5).with_give_up(2.0)
    for ending in (".npz", ".json"):
        ssp.save(tmp_path / f"model{ending}")
        back = SSP.load(tmp_path / f"model{ending}")
        assert back == ssp
        assert np.array_equal(learn(PSRL(), back, 30, 1).costs, learn(PSRL(), ssp, 30, 1).costs)


def test_an_action_that_is_not_known_to_give_up_makes_another_model(tmp_path: Path) -> None:
    """The agent has to learn what that action does, so the same seed gives another run."""
    known = leap(0.5).with_give_up(2.0)
    unknown = SSP.from_rows(*known.arrays, action_names=known.action_names)
    assert unknown != known
    assert unknown.digest != known.digest
    for ending in (".npz", ".json"):
        unknown.save(tmp_path / f"model{ending}")
        assert SSP.load(tmp_path / f"model{ending}").give_up is None


@pytest.mark.parametrize("action", [0, 2, -1, True, "go"])
def test_giving_up_is_the_last_action_and_leads_to_the_start(action: object) -> None:
    known = leap(0.5).with_give_up(2.0)
    with pytest.raises(ShapeError, match="give_up is"):
        SSP.from_rows(*known.arrays, give_up=action)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="give_up is"):
        SSP.from_rows(*known.arrays, initial_state=1, give_up=1)
