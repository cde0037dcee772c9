"""The posterior over unknown costs, against numerical integration and by hand."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import stats

from goalward import Dirichlet
from goalward.acting.contract import Steps, Task
from goalward.beliefs.costs import LEAST, SPREAD, CostBelief

TASK = Task(np.array([[np.nan, 3.0], [np.nan, np.inf]]), 0, 1, cost_range=(0.5, 2.5))


def paid(*costs: float, state: int = 0, action: int = 0) -> Steps:
    n = len(costs)
    return Steps.in_table(np.full(n, state), np.full(n, action), np.array(costs), np.full(n, 2), 2)


def test_samples_have_the_posterior_of_the_prior_and_the_likelihood() -> None:
    """The distribution function by summing prior times likelihood over a grid of means and variances.

    Kolmogorov and Smirnov with 20,000 draws at level 1e-3; the seed is fixed. Clipping is undone by a wide range.
    """
    low, high = 0.5, 2.5
    costs = np.array([1.2, 1.9, 1.4])
    belief = CostBelief(TASK)
    belief.update(paid(*costs))
    rng = np.random.default_rng(0)
    drawn = np.array([belief.sample(rng)[0, 0] for _ in range(20_000)])
    means = np.linspace(-8.0, 10.0, 3001)[:, np.newaxis]
    variances = np.geomspace(1e-4, 1e4, 301)[np.newaxis]
    density = stats.invgamma(1.0, scale=(SPREAD * (high - low)) ** 2).pdf(variances) * variances  # on a log scale
    density = density * stats.norm.pdf(means, low, np.sqrt(variances))
    for cost in costs:
        density = density * stats.norm.pdf(cost, means, np.sqrt(variances))
    cumulated = np.cumsum(density.sum(axis=1))
    cumulated /= cumulated[-1]
    assert (
        stats.kstest(drawn[(drawn > low) & (drawn < high)], lambda x: truncated(x, means[:, 0], cumulated)).pvalue
        > 1e-3
    )
    assert np.mean(drawn == low) == pytest.approx(np.interp(low, means[:, 0], cumulated), abs=0.015)


def truncated(x: np.ndarray, grid: np.ndarray, cumulated: np.ndarray) -> np.ndarray:
    below, above = np.interp([0.5, 2.5], grid, cumulated)
    return (np.interp(x, grid, cumulated) - below) / (above - below)


def test_means_and_what_is_known() -> None:
    belief = CostBelief(TASK)
    belief.update(paid(1.0, 2.0, 1.5))
    belief.update(paid(3.0, action=1))  # known: teaches nothing
    assert belief.mean().tolist() == [[1.5, 3.0], [0.5, np.inf]]
    assert belief.squares[0, 0] == pytest.approx(0.5)
    sample = belief.sample(np.random.default_rng(1))
    assert sample[0, 1] == 3.0
    assert 0.5 <= sample[0, 0] <= 2.5
    assert belief.visits.tolist() == [[3, 0], [0, 0]]


def test_a_constant_cost_is_learnt_like_one_over_n() -> None:
    errors = []
    for n in (100, 10_000):
        belief = CostBelief(TASK)
        belief.update(paid(*[2.0] * n))
        rng = np.random.default_rng(2)
        errors.append(np.mean([abs(belief.sample(rng)[0, 0] - 2.0) for _ in range(400)]))
    assert errors[0] < 0.1
    assert errors[1] == pytest.approx(errors[0] / 100.0, rel=0.3)


def test_the_range_is_the_stated_one_or_what_was_seen() -> None:
    free = CostBelief(Task(TASK.costs, 0, 1))
    assert free.sample(np.random.default_rng(0))[0, 0] == 1.0
    free.update(paid(0.0, 4.0))
    assert free.range == (0.0, 4.0)
    assert CostBelief(TASK).range == (0.5, 2.5)
    assert free.mean()[1, 0] == LEAST * 4.0, "costs stay positive"


def test_known_costs_take_no_random_numbers() -> None:
    task = Task(np.ones((2, 1)), 0, 1)
    draws = []
    for _ in range(2):
        rng = np.random.default_rng(3)
        Dirichlet().belief(task).sample(rng)
        draws.append(rng.random())
    rng = np.random.default_rng(3)
    Dirichlet().belief(task).sample_rows(rng, 1.0)
    assert rng.random() == draws[0] == draws[1]
    assert CostBelief(task).to_state() == {}


def test_chunks_copies_and_files_change_nothing() -> None:
    costs = np.random.default_rng(4).uniform(0.5, 2.5, 50)
    whole, pieces = Dirichlet().belief(TASK), Dirichlet().belief(TASK)
    whole.update(paid(*costs))
    for part in np.split(costs, [1, 7, 30]):
        pieces.update(paid(*part))
    restored = Dirichlet().belief(TASK)
    restored.restore(whole.to_state())
    twin = copy.deepcopy(whole)
    digests = {belief.sample(np.random.default_rng(5)).digest for belief in (whole, pieces, restored, twin)}
    assert len(digests) == 1
    twin.update(paid(2.5))
    assert twin.costs.visits[0, 0] == 51
    assert whole.costs.visits[0, 0] == 50


@pytest.mark.parametrize(
    ("name", "value"),
    [("visits", np.full((2, 2), -1)), ("means", np.full((2, 2), np.inf)), ("means", np.zeros(3)),
     ("squares", np.full((2, 2), np.nan)), ("seen", np.array([np.nan, 1.0])), ("seen", np.array([2.0, 1.0]))],
)  # fmt: skip
def test_states_that_are_refused(name: str, value: np.ndarray) -> None:
    belief = CostBelief(TASK)
    belief.update(paid(1.0, 2.0))
    state = belief.to_state() | {name: value}
    with pytest.raises(ValueError, match="must"):
        CostBelief(TASK).restore(state)
