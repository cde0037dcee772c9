"""Models of many components: solved one by one, checked by linear solves and by Bellman's inequality."""

from __future__ import annotations

import numpy as np
import pytest
from test_solve_large import check_by_linear_solve

import goalward as gw
from goalward import SSP
from goalward.planning import sweeps


def components(seed: int, count: int, size: int, onward: float, free: float = 0.0) -> SSP:
    """Make random components in a line, left for the next with a small probability; some rows cost nothing."""
    rng = np.random.default_rng(seed)
    states, actions = count * size, 3
    rows = states * actions
    own = np.repeat(np.arange(count), size * actions)
    inner = own[:, None] * size + rng.integers(0, size, (rows, 3))
    after = np.where(own + 1 < count, (own + 1) * size + rng.integers(0, size, rows), states)
    weights = rng.dirichlet(np.ones(3), rows) * (1.0 - onward)
    costs = rng.uniform(0.5, 1.5, (states, actions))
    costs[rng.random(costs.shape) < free] = 0.0
    return SSP.from_rows(
        np.arange(rows + 1) * 4,
        np.concatenate([inner, after[:, None]], axis=1).ravel(),
        np.concatenate([weights, np.full((rows, 1), onward)], axis=1).ravel(),
        costs,
        normalize=True,
    )


@pytest.mark.parametrize(("size", "onward"), [(1, 0.5), (2, 0.3), (40, 0.01), (40, 1e-5)])
@pytest.mark.parametrize("free", [0.0, 0.3])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_components(size: int, onward: float, free: float, tolerance: float) -> None:
    for seed in range(2):
        ssp = components(seed, 2000 // size // 2, size, onward, free)
        solution = gw.solve(ssp, tolerance)
        assert solution.method == "components" or free > 0.0
        check_by_linear_solve(ssp, solution, tolerance)


def test_a_component_that_takes_too_long_is_left_to_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    ssp = components(3, 20, 40, 0.01)
    one_by_one = gw.solve(ssp)
    monkeypatch.setattr(sweeps, "PART_ROUNDS", 1)
    together = gw.solve(ssp)
    assert (one_by_one.method, together.method) == ("components", "sweeps")
    np.testing.assert_allclose(together.values, one_by_one.values, rtol=2e-6)
    check_by_linear_solve(ssp, together, 1e-6)


@pytest.mark.parametrize("rounds", [3, 40])
def test_pauses_change_nothing(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeps return to Python after some work and go on where they were, also in the middle of a component."""
    monkeypatch.setattr(sweeps, "PART_ROUNDS", rounds)
    ssp = components(4, 20, 40, 0.01)
    whole = gw.solve(ssp)
    monkeypatch.setattr(sweeps, "MOST_WORK", 1)
    paused = gw.solve(ssp)
    assert whole.method == paused.method == ("components" if rounds == 40 else "sweeps")
    assert whole.iterations == paused.iterations
    assert np.array_equal(whole.values, paused.values)


def test_states_without_circles_take_one_pass() -> None:
    """Each state leads to later ones only: values are those of one backup each, to the last digits."""
    rng = np.random.default_rng(0)
    n = 400
    kernel = np.zeros((n, 2, n + 1))
    for state in range(n):
        for action in range(2):
            kernel[state, action, rng.integers(state + 1, n + 1, 3)] = rng.dirichlet(np.ones(3))
    costs = rng.choice([0.0, 1.0, 3.0], (n, 2))
    solution = gw.solve(SSP.from_dense(kernel, costs, normalize=True), 1e-9)
    values = np.zeros(n + 1)
    for state in reversed(range(n)):
        share = kernel[state] / kernel[state].sum(axis=1, keepdims=True)
        values[state] = (costs[state] + share @ values).min()
    np.testing.assert_allclose(solution.values, values[:-1], rtol=1e-12, atol=1e-15)
    assert (solution.method, solution.iterations) == ("components", 1)
