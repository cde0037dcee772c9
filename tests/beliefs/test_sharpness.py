"""Sharper draws: the law of a belief whose counts are multiplied in the last draw, and nowhere before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalward import SSP, Dirichlet, FinitePrior, Neighbourhoods
from goalward.acting.contract import Steps, Task
from goalward.beliefs.base import Prior

SEEN = [1] * 6 + [2] * 3
TASK = Task(np.ones((2, 1)), 0, 1)


def after(prior: Prior):
    """A belief that has seen state 0 lead to state 1 six times and to the goal, 2, three times."""
    belief = prior.belief(TASK)
    zeros = np.zeros(len(SEEN), dtype=np.int64)
    belief.update(Steps.in_table(zeros, zeros, np.ones(len(SEEN)), np.array(SEEN), -1))
    return belief


@pytest.mark.parametrize(
    ("prior", "concentration"),
    [
        (Dirichlet(0.5), 0.5),
        (Neighbourhoods(), 1.0),
    ],
)
@pytest.mark.parametrize("sharpness", [1.0, 2.5])
def test_rows_have_the_law_of_multiplied_counts(prior: Prior, concentration: float, sharpness: float) -> None:
    """Given its support, the mean and the second moment of one entry: four figures within five standard errors."""
    belief, rng = after(prior), np.random.default_rng(1)
    rows = np.array([belief.sample(rng, sharpness).to_dense()[0, 0] for _ in range(6000)])
    for size in (2, 3):
        found = rows[(rows > 1e-200).sum(axis=1) == size, 1]
        if len(found) < 500:
            continue
        first, total = concentration + 6 * sharpness, size * concentration + 9 * sharpness
        mean, square = first / total, first * (first + 1) / (total * (total + 1))
        assert abs(found.mean() - mean) < 5 * found.std() / np.sqrt(len(found))
        assert abs((found**2).mean() - square) < 5 * (found**2).std() / np.sqrt(len(found))
    assert (rows > 1e-200).sum(axis=1).max() == 3


def test_sizes_and_subsets_of_neighbourhoods_stay() -> None:
    belief = after(Neighbourhoods())
    plain, sharp = (belief.sample(np.random.default_rng(4), sharpness) for sharpness in (1.0, 3.0))
    np.testing.assert_array_equal(plain.successors, sharp.successors)
    assert not np.array_equal(plain.probabilities, sharp.probabilities)


def test_likelihoods_of_candidate_models_are_raised_to_the_power() -> None:
    def model(chance: float) -> SSP:
        return SSP.from_dense([[[0.0, chance, 1.0 - chance]], [[0.0, 0.0, 1.0]]], np.ones((2, 1)))

    models, weights = [model(0.5), model(0.7), model(0.0)], np.array([0.2, 0.3, 0.5])
    belief = after(FinitePrior(models, weights))
    likelihood = np.array([0.5**9, 0.7**6 * 0.3**3, 0.0])
    expected = weights * likelihood**2
    found = belief.sharpened(2.0)
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-12)
    rng = np.random.default_rng(5)
    share = np.mean([belief.sample(rng, 2.0) == models[1] for _ in range(2000)])
    p = expected[1] / expected.sum()
    assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / 2000)


def multiplied(state: dict[str, Any]) -> dict[str, Any]:
    """The state after 2^49 times as many steps."""
    many = dict.fromkeys(("counts", "visits"), 2**49)
    return {
        name: multiplied(value) if isinstance(value, dict) else value * many.get(name, 1)
        for name, value in state.items()
    }


@pytest.mark.parametrize("prior", [Dirichlet(), Neighbourhoods()])
def test_the_largest_sharpness_and_counts_are_drawn(prior: Prior) -> None:
    belief = after(prior)
    belief.restore(multiplied(belief.to_state()))
    sample = belief.sample(np.random.default_rng(0), 1e6)
    np.testing.assert_allclose(sample.to_dense()[0, 0, 1:], [2 / 3, 1 / 3], rtol=1e-9)
