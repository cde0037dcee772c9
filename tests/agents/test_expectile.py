"""The expectile index against its definition, solved by other means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

from goalward import SSP, Dirichlet, Neighbourhoods, learn, worlds
from goalward.acting.contract import Task
from goalward.agents import Expectile
from goalward.agents.posterior.expectile import Samples, join_samples, lower_expectiles
from goalward.errors import SettingError


def expectile(X: np.ndarray, r: float) -> float:
    """The y at which E[X] - y = r E[(y - X)+], by bisection."""
    return float(brentq(lambda y: X.mean() - y - r * np.maximum(y - X, 0.0).mean(), X.min() - 1.0, X.max() + 1.0))


def drawn(world: SSP, count: int, seed: int, prior=None) -> list[SSP]:
    belief, rng = (prior or Neighbourhoods()).belief(Task.of(world, 1)), np.random.default_rng(seed)
    return [belief.sample(rng) for _ in range(count)]


def indices(samples: Samples, r: np.ndarray, values: np.ndarray) -> np.ndarray:
    rows, _ = lower_expectiles(samples, r, values)
    return np.add.reduceat(rows * values[samples.successors], samples.indptr[:-1])


def test_samples_on_the_union_of_their_supports() -> None:
    models = drawn(worlds.grid_world(), 5, 0)
    samples = join_samples(models)
    for i, model in enumerate(models):
        found = np.zeros(len(samples.successors))
        part = slice(samples.start[i, 0], samples.start[i, -1])
        found[samples.place[part]] = samples.probability[part]
        union = SSP.from_rows(samples.indptr, samples.successors, found, model.costs)
        np.testing.assert_array_equal(union.to_dense(), model.to_dense())


@pytest.mark.parametrize("count", [1, 2, 7])
def test_rows_attain_the_expectile(count: int) -> None:
    """Also as the smallest mean over densities of bounded ratio, by linear programming."""
    models, rng = drawn(worlds.random_mdp(states=8, seed=5, rows="uniform"), count, 1), np.random.default_rng(2)
    samples, values = join_samples(models), np.append(rng.uniform(1.0, 5.0, 8), 0.0)
    r = rng.choice([0.0, 0.3, 1.0, 20.0, 3000.0], 16)
    rows, _ = lower_expectiles(samples, r, values)
    np.testing.assert_allclose(np.add.reduceat(rows, samples.indptr[:-1]), 1.0, rtol=1e-12)
    X = np.array([(model.to_dense().reshape(16, 9) @ values) for model in models])
    found = indices(samples, r, values)
    np.testing.assert_allclose(found, [expectile(X[:, row], r[row]) for row in range(16)], rtol=1e-9, atol=1e-9)
    for row in range(4):
        # Weights phi_i >= m and phi_i <= (1 + r) m, with mean 1; the last variable is m.
        bounds = np.vstack([np.c_[-np.eye(count), np.ones(count)], np.c_[np.eye(count), -np.full(count, 1 + r[row])]])
        best = linprog(
            np.append(X[:, row] / count, 0.0),
            bounds,
            np.zeros(2 * count),
            [np.append(np.ones(count) / count, 0.0)],
            [1.0],
        )
        assert best.fun == pytest.approx(found[row], rel=1e-7)


def test_the_operator_is_monotone() -> None:
    samples, rng = join_samples(drawn(worlds.grid_world(), 6, 3)), np.random.default_rng(4)
    r = rng.choice([0.1, 2.0, 500.0], 44)
    for _ in range(200):
        low = rng.exponential(5.0, 12)
        high = low + rng.exponential(5.0, 12) * (rng.random(12) < 0.5)
        assert (indices(samples, r, low) <= indices(samples, r, high) + 1e-12).all()
        np.testing.assert_allclose(indices(samples, r, low + 2.0), indices(samples, r, low) + 2.0, rtol=1e-10)


@pytest.mark.parametrize("prior", [Neighbourhoods(), Dirichlet(0.1)])
def test_plans_are_fixed_points(prior) -> None:
    """Value iteration with the definition of the expectile, from above and from below, ends at the same values."""
    world = worlds.grid_world()
    agent = Expectile(prior)
    agent.begin(Task.of(world, 100), np.random.default_rng(5))
    agent.k, agent.visits[:] = 12, np.random.default_rng(6).integers(0, 9, agent.visits.shape)
    agent.belief = FromList(drawn(world, 8, 7, prior))
    planned = agent.optimistic()
    model = planned.model
    assert planned.values is not None
    assert model is not None
    models = agent.belief.models
    r = 13.0 / (agent.visits + 1.0)
    for start in (0.0, 3.0 * planned.values.max()):
        values = np.append(np.full(world.states, start), 0.0)
        for _ in range(400):
            X = np.array([each.to_dense() @ values for each in models])
            y = np.array([[expectile(X[:, s, a], r[s, a]) for a in range(4)] for s in range(world.states)])
            before, values = values, np.append((world.costs + y).min(axis=1), 0.0)
            if np.abs(before - values).max() < 1e-9 * values.max():
                break
        np.testing.assert_allclose(planned.values, values[:-1], rtol=1e-5)
    np.testing.assert_allclose(model.to_dense().sum(axis=2), 1.0, rtol=1e-9)


def trap() -> SSP:
    """Return a world with a slow and safe way to the goal, and a fast one with a dead end."""
    steps = [("start", "walk", "middle", 0.5, 1.0), ("start", "walk", "start", 0.5, 1.0)]
    steps += [("middle", "walk", "goal", 0.5, 1.0), ("middle", "walk", "start", 0.5, 1.0)]
    steps += [("start", "jump", "goal", 0.9, 1.0), ("start", "jump", "pit", 0.1, 1.0), ("pit", "walk", "pit", 1.0, 1.0)]
    return SSP.from_transitions(steps, goals=["goal"])


def test_dead_ends() -> None:
    """Planning again from the values of a plan, with the same samples, gives the same values; it used to hang."""
    world = trap()
    prior = Dirichlet(0.1, support=world)
    agent = Expectile(prior)
    agent.begin(Task.of(world, 100), np.random.default_rng(0))
    agent.visits[:] = 3
    agent.belief = FromList(2 * drawn(world, 8, 1, prior))
    first, second = agent.optimistic(), agent.optimistic()
    assert first.values is not None
    assert second.values is not None
    np.testing.assert_allclose(first.values, second.values, rtol=1e-5)
    assert np.isinf(first.values).sum() == 1
    assert len(learn(Expectile(prior), world, 30, max_steps=5_000).costs) == 30


class FromList:
    """A belief whose samples are given."""

    def __init__(self, models: list[SSP]):
        self.models, self.next = models, iter(models)

    def sample(self, rng: np.random.Generator, sharpness: float) -> SSP:
        return next(self.next)


def test_what_ends_a_plan_and_what_its_runs_say() -> None:
    run = learn(Expectile(samples=3), worlds.grid_world(), 60, seed=1, keep_plans=True)
    assert run.plans is not None
    goals = np.append(0, np.cumsum(run.epochs.goals))[:-1]
    assert [plan.stop_after_goals for plan in run.plans] == (1 + goals // 2).tolist()
    assert "no theorem" in str(run.notes["caveat"])
    assert not run.truncated


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "samples is 0"),
        ({"samples": 2.5}, "samples is 2.5"),
        ({"sharpness": 0.5}, "sharpness is 0.5"),
        ({"sharpness": np.inf}, "sharpness is inf"),
        ({"prior": 0.1}, "prior is 0.1; it must be a prior"),
    ],
)
def test_settings_that_are_refused(settings, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Expectile(**settings)
