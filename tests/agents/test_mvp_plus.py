"""MVP+: its constants by hand, its sweep against plain NumPy, step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from counted import dense_counts

from goalward import learn, worlds
from goalward.agents import MVPPlus, Task
from goalward.agents.optimistic.attempts import horizon
from goalward.agents.optimistic.mvp_plus import iota
from goalward.errors import SettingError

GRID = worlds.grid_world()


def test_constants() -> None:
    assert horizon(4.0, 6.0, 1000) == math.ceil(24.0 * math.log(4000.0))
    found = iota(np.array([[0, 5]]), 0.1)
    np.testing.assert_allclose(found, [20.0 * math.log(40.0), 20.0 * math.log(200.0)])


@pytest.mark.parametrize("scale", [1e-5, 3e-4, 1.0])
def test_the_sweep_against_numpy(scale: float) -> None:
    """All H steps with dense rows: the Q of every step and the values of the first agree."""
    run = learn(MVPPlus(B_star=6.0, T_star=1.5, scale=scale), GRID, 200, seed=1)
    agent = run.agent
    assert isinstance(agent, MVPPlus)
    distinct = agent.sweep()
    visits = agent.refreshed.visits
    n = np.maximum(visits, 1)
    rows = dense_counts(agent.refreshed) / n[:, :, np.newaxis]
    V = np.append(np.full(GRID.states, 12.0), 0.0)
    log_term = iota(visits, 0.1).reshape(visits.shape)
    H = len(agent._Q)
    for h in range(H - 1, -1, -1):
        mean = rows @ V
        spread = np.maximum(rows @ V**2 - mean**2, 0.0)
        unseen = visits == 0
        spread[unseen] = 0.0
        bonus = np.maximum(7.0 * np.sqrt(spread * log_term / n), 49.0 * 18.0 * log_term / n)
        Q = np.maximum(1.0 + mean - scale * bonus, 0.0)
        V = np.append(Q.min(axis=1), 0.0)
        if h >= H - distinct:
            np.testing.assert_allclose(agent._Q[h], Q, atol=1e-9)
    np.testing.assert_allclose(agent._V, V, atol=1e-9)


def test_counts_are_refreshed_at_powers_of_two() -> None:
    agent = learn(MVPPlus(B_star=6.0, T_star=6.0, scale=1e-4), GRID, 300, seed=0).agent
    assert isinstance(agent, MVPPlus)
    agent.plan_interval()
    n, N = agent.refreshed.visits, agent.counts.visits
    assert ((n <= N) & (np.maximum(2 * n, 1) > N)).all()


def test_it_learns_when_tuned() -> None:
    run = learn(MVPPlus.from_world(GRID, episodes=1000, scale=1e-4), GRID, 1000, seed=0)
    assert run.gap_regret[-1] < 0.05 * 1000 * 36.05


def test_a_horizon_that_does_not_fit_is_refused() -> None:
    with pytest.raises(SettingError, match="do not fit into memory"):
        MVPPlus(B_star=1.0, T_star=1e9).begin(Task.of(GRID, 10), np.random.default_rng(0))
