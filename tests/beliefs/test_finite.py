"""Exact Bayes over candidate models, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalward import SSP, FinitePrior, worlds
from goalward.acting.contract import Steps, Task
from goalward.agents.agent_file import decode, encode
from goalward.errors import BeliefError, SettingError, ShapeError, UnreachableGoalError


def model(*rows: list[float]) -> SSP:
    """Two states, one action; a row for each state."""
    return SSP.from_dense([[rows[0]], [rows[1]]], np.ones((2, 1)))


FAIR = model([0.25, 0.25, 0.5], [0.5, 0.25, 0.25])
BOLD = model([0.0, 0.5, 0.5], [0.125, 0.125, 0.75])
SHY = model([0.75, 0.125, 0.125], [0.5, 0.0, 0.5])
MODELS = [FAIR, BOLD, SHY]


def steps(rows: list[tuple[int, int]]) -> Steps:
    states, successors = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Steps.in_table(states, np.zeros(len(rows), dtype=np.int64), np.ones(len(rows)), successors, -1)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=60),
    st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
    st.integers(1, 60),
)
def test_weights_are_exact(rows: list[tuple[int, int]], prior: list[int], piece: int) -> None:
    exact = [Fraction(weight) for weight in prior]
    for state, successor in rows:
        for i, candidate in enumerate(MODELS):
            exact[i] *= Fraction(float(candidate.to_dense()[state, 0, successor]))
    belief = FinitePrior(MODELS, prior).belief(Task.of(FAIR, 1))
    seen = steps(rows)
    pieces = [seen.part(start, start + piece) for start in range(0, len(rows), piece)]
    if not any(exact):
        with pytest.raises(BeliefError, match="that fits the earlier steps excludes"):
            belief.update(seen)
        return
    for part in pieces:
        belief.update(part)
    expected = np.array([float(weight / sum(exact)) for weight in exact])
    np.testing.assert_allclose(belief.weights, expected, rtol=1e-12)
    assert ((belief.weights == 0.0) == (expected == 0.0)).all()
    mixture = sum(weight * candidate.to_dense() for weight, candidate in zip(expected, MODELS, strict=True))
    np.testing.assert_allclose(belief.mean().to_dense(), mixture, rtol=1e-12)


def test_long_runs_do_not_underflow() -> None:
    """After 100,000 steps the likelihoods are 1e-60000 and less; the better model has all the weight, exactly."""
    rng = np.random.default_rng(0)
    truth = FAIR.to_dense()[:, 0]
    states = rng.integers(0, 2, 100_000)
    reached = np.array([0, 1, 2])[(rng.random(100_000)[:, None] > np.cumsum(truth, axis=1)[states]).sum(axis=1)]
    belief = FinitePrior([FAIR, model([0.3, 0.2, 0.5], [0.5, 0.25, 0.25])]).belief(Task.of(FAIR, 1))
    belief.update(Steps.in_table(states, np.zeros_like(states), np.ones(len(states)), reached, -1))
    assert belief.weights[0] == pytest.approx(1.0)
    assert np.isfinite(belief.log_weights).all()


def test_the_mean_leaves_out_what_underflows() -> None:
    """A model of weight 1e-315 is the only one that may stay in state 0."""
    belief = FinitePrior([BOLD, FAIR], [1.0, 1e-315]).belief(Task.of(FAIR, 1))
    np.testing.assert_array_equal(belief.mean().to_dense()[0, 0], [0.0, 0.5, 0.5])


def test_an_impossible_model_falls_out_for_good() -> None:
    belief = FinitePrior(MODELS).belief(Task.of(FAIR, 1))
    belief.update(steps([(0, 0)]))
    assert belief.weights[1] == 0.0
    belief.update(steps([(1, 2)] * 50))
    assert belief.weights[1] == 0.0
    rng = np.random.default_rng(0)
    assert all(belief.sample(rng) != BOLD for _ in range(200))


def test_all_impossible_names_the_step() -> None:
    belief = FinitePrior([BOLD, SHY]).belief(Task.of(FAIR, 1))
    with pytest.raises(
        BeliefError, match=r"\(state 1, action 0\) led to state 1, but .* that fits .* excludes this step; add a model"
    ):
        belief.update(steps([(0, 1), (0, 0), (0, 2), (1, 1), (0, 1)]))


def test_sampling_follows_the_weights() -> None:
    """Chi-square with two degrees of freedom over 4,000 draws; a correct sampler fails with probability 1e-6."""
    belief = FinitePrior(MODELS, [0.2, 0.3, 0.5]).belief(Task.of(FAIR, 1))
    rng = np.random.default_rng(1)
    drawn = [MODELS.index(belief.sample(rng)) for _ in range(4000)]
    expected = 4000 * np.array([0.2, 0.3, 0.5])
    assert ((np.bincount(drawn, minlength=3) - expected) ** 2 / expected).sum() < 27.6


TEXTS: list[Any] = ["equal", ["a", "b", "c"], ["1", "2", "3"]]
RAGGED: Any = [[1.0], [1.0, 2.0], 3.0]


def test_bad_input() -> None:
    with pytest.raises(SettingError, match=r"models is SSP\(.*; it must be a list with each entry of type SSP"):
        FinitePrior(FAIR)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="at least one SSP"):
        FinitePrior([])
    for weights in (
        [1.0, 2.0],
        [1.0, -1.0, 1.0],
        [0.0, 0.0, 0.0],
        [np.nan, 1.0, 1.0],
        *TEXTS,
        RAGGED,
        1.0,
        [{}, 1.0, 1.0],
    ):
        with pytest.raises((SettingError, ShapeError), match=r"weights (is|has) .*(numbers|list)"):
            FinitePrior(MODELS, weights)
    with pytest.raises(ShapeError, match="model 0 has 2 states"):
        FinitePrior(MODELS).belief(Task.of(worlds.grid_world(), 1))
    with pytest.raises(SettingError, match="start of model 1 differ"):
        FinitePrior([FAIR, BOLD.with_costs(np.full((2, 1), 2.0))]).belief(Task.of(FAIR, 1))
    stuck = model([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    with pytest.raises(UnreachableGoalError, match="in model 1, no policy reaches the goal almost surely"):
        FinitePrior([FAIR, stuck]).belief(Task.of(FAIR, 1))


@pytest.mark.parametrize("with_give_up", [False, True])
def test_giving_up_is_known(with_give_up: bool) -> None:
    """Candidates may come with or without the action; steps that gave up teach nothing."""
    known = FAIR.with_give_up(5.0)
    candidates = [candidate.with_give_up(5.0) if with_give_up else candidate for candidate in MODELS]
    belief = FinitePrior(candidates, [1.0, 2.0, 3.0]).belief(Task.of(known, 1))
    before = belief.weights
    one, zero = np.ones(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    belief.update(Steps.in_table(one, one, np.full(3, 5.0), zero, -1))
    np.testing.assert_array_equal(belief.weights, before)
    rng = np.random.default_rng(0)
    for drawn in (belief.mean(), *(belief.sample(rng) for _ in range(5))):
        np.testing.assert_array_equal(drawn.to_dense()[:, 1], known.to_dense()[:, 1])
        np.testing.assert_array_equal(drawn.costs, known.costs)


def test_state() -> None:
    prior = FinitePrior(MODELS, [1.0, 2.0, 3.0])
    belief = prior.belief(Task.of(FAIR, 1))
    belief.update(steps([(0, 0), (1, 2)]))
    again = decode(encode("prior", prior))
    assert again.models == prior.models
    copy = again.belief(Task.of(FAIR, 1))
    copy.restore(belief.to_state())
    np.testing.assert_array_equal(copy.weights, belief.weights)
    for forged in ([0.0, 0.0], [0.0, np.nan, -1.0], np.full(3, -np.inf), [0.0, 1e308, 0.0], [-50.0, -60.0, -70.0]):
        with pytest.raises(ValueError, match="log_weights must"):
            copy.restore({"log_weights": np.array(forged)})
    impossible = FinitePrior(MODELS, [0.0, 1.0, 1.0]).belief(Task.of(FAIR, 1))
    with pytest.raises(ValueError, match="-inf for models of weight 0"):
        impossible.restore({"log_weights": np.zeros(3)})
