"""Costs and hitting times of policies against rational arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goalward as gw
from goalward import SSP
from goalward.errors import PolicyError
from goalward.planning.solve import solve_all
from oracles import Vector, exact_mixture_values, exact_policy_steps, exact_policy_values
from strategies import models


def floats(values: Vector) -> list[float]:
    return [np.inf if value is None else float(value) for value in values]


@st.composite
def models_with_policies(draw: st.DrawFn) -> tuple[SSP, np.ndarray]:
    """Draw a model and available actions; -1, no action, now and then."""
    ssp = draw(models())
    choices = [[*np.flatnonzero(row).tolist(), -1] for row in ssp.available]
    return ssp, np.array([draw(st.sampled_from(actions)) for actions in choices], dtype=np.int64)


@st.composite
def models_with_mixtures(draw: st.DrawFn) -> tuple[SSP, np.ndarray]:
    """Draw a model and probabilities of its available actions."""
    ssp = draw(models())
    shares = [[draw(st.sampled_from([0, 1, 1, 2, 5])) for _ in range(ssp.actions)] for _ in range(ssp.states)]
    weights = np.array(shares, dtype=np.float64) * ssp.available
    sums = weights.sum(axis=1, keepdims=True)
    return ssp, np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0.0)


@given(models_with_policies())
@settings(max_examples=700)
def test_deterministic_policies(drawn: tuple[SSP, np.ndarray]) -> None:
    ssp, policy = drawn
    found = gw.evaluate(ssp, policy, 1e-9)
    assert found.costs.tolist() == pytest.approx(floats(exact_policy_values(ssp, policy.tolist())), rel=2e-9, abs=0.0)
    assert found.steps.tolist() == pytest.approx(floats(exact_policy_steps(ssp, policy.tolist())), rel=2e-9, abs=0.0)


@given(models_with_mixtures())
@settings(max_examples=500)
def test_policies_that_play_at_random(drawn: tuple[SSP, np.ndarray]) -> None:
    ssp, policy = drawn
    found = gw.evaluate(ssp, policy, 1e-9)
    assert found.costs.tolist() == pytest.approx(floats(exact_mixture_values(ssp, policy)), rel=2e-9, abs=0.0)
    steps = exact_mixture_values(ssp, policy, unit_costs=True)
    assert found.steps.tolist() == pytest.approx(floats(steps), rel=2e-9, abs=0.0)


@given(models())
@settings(max_examples=300)
def test_solutions_cost_what_they_say(ssp: SSP) -> None:
    solution = solve_all(ssp)
    costs = gw.evaluate(ssp, solution.policy).costs
    assert (solution.lower * (1.0 - 1e-9) <= costs).all()
    assert (costs <= solution.upper * (1.0 + 1e-9)).all()


def test_one_action_at_random_is_that_action() -> None:
    ssp = gw.worlds.random_mdp(states=8, actions=3, seed=0, rows="uniform")
    policy = np.random.default_rng(0).integers(0, 3, 8)
    pure, mixed = gw.evaluate(ssp, policy), gw.evaluate(ssp, np.eye(3)[policy])
    assert np.array_equal(pure.costs, mixed.costs)
    assert np.array_equal(pure.steps, mixed.steps)


def test_free_wandering_is_not_reaching_the_goal() -> None:
    """It costs nothing forever, and it is infinitely bad: the goal is not reached."""
    ssp = SSP.from_dense([[[1.0, 0.0], [0.0, 1.0]]], [[0.0, 1.0]])
    lost, found = gw.evaluate(ssp, [0]), gw.evaluate(ssp, [1])
    assert (lost.costs[0], lost.steps[0]) == (np.inf, np.inf)
    assert (found.costs[0], found.steps[0]) == (1.0, 1.0)
    half = gw.evaluate(ssp, np.array([[0.5, 0.5]]))
    assert (half.costs[0], half.steps[0]) == pytest.approx((1.0, 2.0))


def test_repr() -> None:
    ssp = SSP.from_dense([[[0.5, 0.0, 0.5]], [[0.0, 1.0, 0.0]]], [[3.0], [1.0]])
    assert repr(gw.evaluate(ssp, [0, 0])) == "Evaluation(states=2, largest_cost=6, largest_steps=2, never_sure=1)"


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0], r"shape \(1,\) and dtype int64; pass integers of shape \(2,\) or floats of shape \(2, 2\)"),
        ([0.0, 1.0], r"shape \(2,\) and dtype float64; pass integers"),
        ([[0, 1], [1, 0]], r"shape \(2, 2\) and dtype int64"),
        ([None, 0], "dtype object"),
        (["0", "1"], "dtype <U1"),
        ([0, 2], r"plays action 2 in state 1; use 0\.\.1, or -1 for no action"),
        ([-2, 0], "plays action -2 in state 0"),
        ([0, 1], "plays action 1 in state 1, but this action is not available there"),
        (np.array([[0.5, 0.4], [1.0, 0.0]]), r"in state 0 are \[0\.5 0\.4\], but they must sum to 1"),
        (np.array([[1.0, 0.0], [1.5, -0.5]]), r"in state 1 .* must"),
        (np.array([[1.0, 0.0], [np.nan, 1.0]]), r"in state 1 .* must"),
        (np.array([[1.0, 0.0], [0.5, 0.5]]), "plays action 1 in state 1, but this action is not available there"),
    ],
)
def test_policies_that_do_not_fit(policy: Any, message: str) -> None:
    kernel = np.full((2, 2, 3), [0.25, 0.25, 0.5])
    kernel[1, 1] = 0.0
    with pytest.raises(PolicyError, match=message):
        gw.evaluate(SSP.from_dense(kernel, np.ones((2, 2))), policy)


@pytest.mark.parametrize(("played", "probability"), [(5e-315, 0.5), (1e-200, 1e-120), (1e-200, 1e-200)])
def test_mixtures_that_underflow_are_refused(played: float, probability: float) -> None:
    """The second action reaches the goal, but is hardly ever played."""
    ssp = SSP.from_rows([0, 1, 3], [0, 0, 1], [1.0, 1.0 - probability, probability], [[1.0, 1.0]])
    with pytest.raises(PolicyError, match="the policy gives a transition a probability below"):
        gw.evaluate(ssp, [[1.0, played]])


def test_the_least_probability_of_a_model_can_be_played() -> None:
    ssp = SSP.from_rows([0, 2], [0, 1], [2.2250738585072014e-308, 1.0 + 9e-10], [[1.0]])
    assert gw.evaluate(ssp, [0]).costs.tolist() == [1.0]
