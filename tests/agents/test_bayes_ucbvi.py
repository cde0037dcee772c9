"""Bayes-UCBVI-SSP: quantiles against NumPy's, the fixed point against the planner's, samples against Dirichlet."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import goalward as gw
from goalward import SSP, learn, worlds
from goalward.agents import BayesUCBVI, Steps, Task
from goalward.errors import ConvergenceError, SettingError

GRID = worlds.grid_world()


def seen(world: SSP, agent: BayesUCBVI, steps: int, seed: int = 0) -> BayesUCBVI:
    """Let an agent see random pairs."""
    rng = np.random.default_rng(seed)
    agent.begin(Task.of(world, 100), rng)
    pairs = rng.integers(0, world.states, steps), rng.integers(0, world.actions, steps)
    rows = [world.row(state, action) for state, action in zip(*pairs, strict=True)]
    after = [rng.choice(successors, p=probabilities) for successors, probabilities in rows]
    agent.observe(Steps.in_table(*pairs, np.ones(steps), np.array(after, dtype=np.int64), -1))
    return agent


def test_the_fixed_point_has_the_quantile_of_its_definition() -> None:
    """At V, NumPy's order statistic of all means gives Q, and the smallest Q gives V, to the accuracy of the sweeps."""
    agent = seen(GRID, BayesUCBVI(quantile=0.15, samples=40), 1500)
    weights, imagined = agent.draw()
    np.testing.assert_allclose(weights.sum(axis=2) + imagined, 1.0)
    Q, V = agent.solve(weights, agent.draw_costs())
    k = math.ceil(0.15 * 40) - 1
    with_goal = np.append(V, 0.0)
    for row in range(GRID.costs.size):
        size = agent.counts.size[row]
        means = weights[row, :, :size] @ with_goal[agent.counts.successors[row, :size]]
        expected = 1.0 + np.sort(means)[k]
        assert Q.reshape(-1)[row] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(V, Q.min(axis=1))
    assert 1.0 <= V.max() <= 6.1


def test_one_sample_is_the_optimal_value_of_a_sampled_model() -> None:
    """With one sample the operator is Bellman's, so the certified planner has the same values."""
    agent = seen(GRID, BayesUCBVI(samples=1, quantile=0.5), 2000, seed=1)
    weights, imagined = agent.draw()
    dense = np.zeros((GRID.costs.size, GRID.states + 1))
    dense[:, -1] = imagined[:, 0]
    for row, size in enumerate(agent.counts.size):
        np.add.at(dense[row], agent.counts.successors[row, :size], weights[row, 0, :size])
    model = SSP.from_dense(dense.reshape(*GRID.costs.shape, -1), GRID.costs, normalize=True)
    np.testing.assert_allclose(agent.solve(weights, agent.draw_costs())[1], gw.solve(model).values, rtol=1e-4)


def test_samples_are_dirichlet() -> None:
    """A pair seen three times in one state and twice in another: marginals are Beta; level 1e-3, the seed is fixed."""
    world = SSP.from_rows([0, 3, 4], [0, 1, 2, 2], [0.5, 0.3, 0.2, 1.0], [[1.0], [1.0]])
    agent = BayesUCBVI(samples=10_000)
    agent.begin(Task.of(world, 1), np.random.default_rng(3))
    zeros = np.zeros(5, dtype=np.int64)
    agent.observe(Steps.in_table(zeros, zeros, np.ones(5), np.array([0, 0, 0, 1, 1]), -1))
    weights, imagined = agent.draw()
    assert stats.kstest(weights[0, :, 0], stats.beta(3, 3).cdf).pvalue > 1e-3
    assert stats.kstest(weights[0, :, 1], stats.beta(2, 4).cdf).pvalue > 1e-3
    assert stats.kstest(imagined[0], stats.beta(1, 5).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(imagined[1], 1.0)


def test_plans_end_at_powers_of_two() -> None:
    agent = seen(GRID, BayesUCBVI(samples=4), 300)
    plan = agent.plan(0)
    assert plan.stop_after_visits is not None
    reached = agent.counts.visits + plan.stop_after_visits
    assert (plan.stop_after_visits > 0).all()
    assert (reached & (reached - 1) == 0).all()
    assert (reached // 2 <= agent.counts.visits).all()


def test_it_learns() -> None:
    """GridWorld, the cheap-loop chain and a world with unavailable actions; seeds are fixed, bounds generous."""
    run = learn(BayesUCBVI(), GRID, 1000, seed=0)
    assert run.gap_regret[-1] < 0.02 * 1000 * 36.05
    chain = worlds.make("cheap-loop-chain")
    assert learn(BayesUCBVI(), chain, 100, seed=0, max_steps=100_000).gap_regret[-1] < 2500
    line = SSP.from_transitions([(0, 0, 1, 1.0, 1.0), (0, 1, 0, 1.0, 0.5), (1, 0, 2, 1.0, 0.25)], goals=[2])
    assert learn(BayesUCBVI(), line, 200, seed=0).costs[-50:].tolist() == [1.25] * 50


def test_a_plan_that_does_not_settle_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goalward.agents.posterior.bayes_ucbvi.MAX_SWEEPS", 2)
    with pytest.raises(ConvergenceError, match="bayes-ucbvi"):
        seen(GRID, BayesUCBVI(samples=4), 1000).plan(0)


@pytest.mark.parametrize("settings", [{"quantile": 0.0}, {"quantile": 1.0}, {"samples": 0}, {"goal_visits": 0.0}])
def test_settings_are_checked(settings: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=f"{next(iter(settings))} is"):
        BayesUCBVI(**settings)  # type: ignore[arg-type]
