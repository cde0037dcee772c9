"""The KL index against its definition, solved by other means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import rel_entr

from goalward import SSP, Dirichlet, Neighbourhoods, learn, worlds
from goalward.acting.contract import Steps, Task
from goalward.agents import KLIndex
from goalward.agents.posterior.kl_index import MeanRows, lowest_rows, mean_of_rows
from goalward.errors import SettingError


def drawn(world: SSP, count: int, seed: int, prior=None) -> list[SSP]:
    belief, rng = (prior or Neighbourhoods()).belief(Task.of(world, 1)), np.random.default_rng(seed)
    return [belief.sample(rng) for _ in range(count)]


def mean_with_goal(models: list[SSP]) -> MeanRows:
    return mean_of_rows(models, np.ones(models[0].costs.size, dtype=bool))


def indices(mean: MeanRows, radii: np.ndarray, values: np.ndarray, goal_mass: float = 0.0) -> np.ndarray:
    mass = np.full(len(radii), goal_mass)
    rows = lowest_rows(mean.indptr, mean.successors, mean.probabilities, radii, mass, values)
    return np.add.reduceat(rows * values[mean.successors], mean.indptr[:-1])


def lowest_mean(p: np.ndarray, values: np.ndarray, radius: float) -> float:
    """The smallest q V with KL(p, q) <= radius, by the dual: the q of each multiplier, and a root."""
    p, values = p[p > 0.0], values[p > 0.0]
    if np.ptp(values) < 1e-12:
        return float(values[0])

    def row(x: float) -> np.ndarray:
        q = p / (values - values.min() + np.exp(x))
        return q / q.sum()

    x = brentq(lambda x: rel_entr(p, row(x)).sum() - radius, -200.0, 40.0, xtol=1e-13)
    return float(row(x) @ values)


def test_the_mean_of_models_on_the_union_of_their_supports() -> None:
    models = drawn(worlds.grid_world(), 5, 0)
    mean = mean_of_rows(models, np.zeros(44, dtype=bool))
    found = SSP.from_rows(mean.indptr, mean.successors, mean.probabilities, models[0].costs)
    np.testing.assert_allclose(found.to_dense(), np.mean([model.to_dense() for model in models], axis=0), rtol=1e-12)
    sizes = [np.count_nonzero(model.to_dense(), axis=2).ravel() for model in models]
    np.testing.assert_allclose(mean.sizes, np.mean(sizes, axis=0))
    with_goal = mean_with_goal(models)
    assert (with_goal.successors[with_goal.indptr[1:] - 1] == 11).all()
    kept = np.bincount(with_goal.successors, with_goal.probabilities)
    np.testing.assert_allclose(kept, np.bincount(mean.successors, mean.probabilities), rtol=1e-12)


def test_rows_attain_the_minimum() -> None:
    """Against the dual, and for a row of three successors against a solver of convex programs."""
    models, rng = drawn(worlds.random_mdp(states=8, seed=5, rows="uniform"), 4, 1), np.random.default_rng(2)
    mean, values = mean_with_goal(models), np.append(rng.uniform(1.0, 5.0, 8), 0.0)
    radii = rng.choice([1e-6, 0.01, 0.3, 1.0, 5.0], 16)
    dense = np.mean([model.to_dense() for model in models], axis=0).reshape(16, 9)
    expected = [lowest_mean(dense[row], values, radii[row]) for row in range(16)]
    np.testing.assert_allclose(indices(mean, radii, values), expected, rtol=1e-8)
    np.testing.assert_allclose(indices(mean, radii, values, 0.25), 0.75 * np.array(expected), rtol=1e-8)
    p, V, radius = np.array([0.5, 0.3, 0.2]), np.array([3.0, 1.0, 0.5]), 0.2
    answer = minimize(
        lambda q: q @ V,
        p,
        bounds=[(1e-9, 1.0)] * 3,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
            {"type": "ineq", "fun": lambda q: radius - rel_entr(p, q).sum()},
        ],
    )
    indptr, successors = np.array([0, 3]), np.array([0, 1, 2], dtype=np.int32)
    indptr.flags.writeable = successors.flags.writeable = False  # as in the agent: one specialisation of the kernel
    row = lowest_rows(indptr, successors, p, np.array([radius]), np.zeros(1), V)
    assert row @ V == pytest.approx(answer.fun, rel=1e-5)
    assert rel_entr(p, row).sum() == pytest.approx(radius, rel=1e-8)
    assert row.sum() == pytest.approx(1.0, rel=1e-12)


def test_the_operator_is_monotone() -> None:
    mean, rng = mean_with_goal(drawn(worlds.grid_world(), 6, 3)), np.random.default_rng(4)
    radii = rng.choice([0.0, 0.1, 2.0], 44)
    for _ in range(200):
        low = rng.exponential(5.0, 12)
        high = low + rng.exponential(5.0, 12) * (rng.random(12) < 0.5)
        assert (indices(mean, radii, low) <= indices(mean, radii, high) + 1e-9).all()
        np.testing.assert_allclose(indices(mean, radii, low + 2.0), indices(mean, radii, low) + 2.0, rtol=1e-9)


@pytest.mark.parametrize("prior", [Neighbourhoods(), Dirichlet(0.1)])
def test_plans_are_fixed_points(prior) -> None:
    """Value iteration with the definition of the index, from above and from below, ends at the same values."""
    world = worlds.grid_world(rows=2, columns=3)
    agent = KLIndex(prior)
    agent.begin(Task.of(world, 100), np.random.default_rng(5))
    agent.k, agent.visits[:] = 13, np.random.default_rng(6).integers(0, 9, agent.visits.shape)
    agent.belief = FromList(drawn(world, 8, 7, prior))
    planned = agent.optimistic()
    assert planned.values is not None
    models = [model.to_dense() for model in agent.belief.models]
    mean = np.mean(models, axis=0)
    N, N_s = agent.visits, agent.visits.sum(axis=1, keepdims=True)
    sizes = np.mean([(model > 0.0).sum(axis=2) for model in models], axis=0)
    r = np.sqrt(13.0 * (N_s + 1)) / (N + 1)
    f, g = np.log(1.0 + r / 10.0), np.log(1.0 + r / 10.0 / (N + 1))
    radii, seen = (f - g) / (N + sizes), np.exp(-g / (N + sizes))
    for start in (0.5, 3.0 * planned.values.max()):
        values = np.append(np.full(world.states, start), 0.0)
        for _ in range(300):
            y = [[lowest_mean(mean[s, a], values, radii[s, a]) for a in range(4)] for s in range(world.states)]
            before, values = values, np.append((world.costs + seen * y).min(axis=1), 0.0)
            if np.abs(before - values).max() < 1e-8 * values.max():
                break
        np.testing.assert_allclose(planned.values, values[:-1], rtol=1e-5)


def trap() -> SSP:
    """Return a world with a slow and safe way to the goal, and a fast one with a dead end."""
    steps = [("start", "walk", "middle", 0.5, 1.0), ("start", "walk", "start", 0.5, 1.0)]
    steps += [("middle", "walk", "goal", 0.5, 1.0), ("middle", "walk", "start", 0.5, 1.0)]
    steps += [("start", "jump", "goal", 0.9, 1.0), ("start", "jump", "pit", 0.1, 1.0), ("pit", "walk", "pit", 1.0, 1.0)]
    return SSP.from_transitions(steps, goals=["goal"])


def test_dead_ends() -> None:
    """Planning again from the values of a plan, with the same samples, gives the same values."""
    world = trap()
    prior = Dirichlet(0.1, support=world)
    agent = KLIndex(prior)
    agent.begin(Task.of(world, 100), np.random.default_rng(0))
    agent.visits[:] = 3
    agent.belief = FromList(2 * drawn(world, 8, 1, prior))
    agent.belief.knows_support = True  # nothing leads out of the pit
    first, second = agent.optimistic(), agent.optimistic()
    assert first.values is not None
    assert second.values is not None
    np.testing.assert_allclose(first.values, second.values, rtol=1e-5)
    assert np.isinf(first.values).sum() == 1
    assert len(learn(KLIndex(prior), world, 30, max_steps=5_000).costs) == 30


class FromList:
    """A belief whose samples are given."""

    knows_support = False

    def __init__(self, models: list[SSP]):
        self.models, self.next = models, iter(models)

    def sample(self, rng: np.random.Generator, sharpness: float) -> SSP:
        return next(self.next)


def unlucky(k: int) -> KLIndex:
    """Return an agent in a world of one state: action 0 failed 20 times, action 1 reached the goal k of 5 k times."""
    world = SSP.from_dense(np.array([[[0.7, 0.3], [0.8, 0.2]]]), np.ones((1, 2)))
    agent = KLIndex()
    agent.begin(Task.of(world, 10**7), np.random.default_rng(0))
    for action, fails, goals in ((0, 20, 0), (1, 4 * k, k)):
        n = fails + goals
        next_states = np.r_[np.zeros(fails, dtype=np.int64), np.ones(goals, dtype=np.int64)]
        zeros = np.zeros(n, dtype=np.int64)
        agent.observe(Steps(zeros, zeros + action, np.ones(n), next_states, next_states == 1))
    return agent


def test_a_row_that_was_unlucky_early_is_tried_again() -> None:
    """Its mean is about 1/22 after 20 failures, and f grows with k until 22 KL(p, q) <= f for a q above 1/5."""
    played = [int(unlucky(k).plan(0).policy[0]) for k in (10, 100, 1_000, 10_000, 100_000, 300_000)]
    assert played[0] == 1
    assert played[-1] == 0
    assert played == sorted(played, reverse=True)


def test_a_transition_that_was_never_seen_is_hoped_for_unless_it_is_impossible() -> None:
    """A prior that knows the support hopes for nothing else, and nobody hopes where giving up leads."""
    world = worlds.river_swim()
    known = KLIndex(Dirichlet(1.0, support=world))
    known.begin(Task.of(world, 10), np.random.default_rng(0))
    assert (known.levels()[1] == 0.0).all()
    free = KLIndex()
    free.begin(Task.of(world.with_give_up(5.0), 10), np.random.default_rng(0))
    f, g = free.levels()
    assert (g[:, -1] == 0.0).all()
    np.testing.assert_allclose(g[:, :-1], f[:, :-1])  # nothing was played: all of the level is for what is unknown


def test_what_ends_a_plan_and_what_its_runs_say() -> None:
    run = learn(KLIndex(samples=3), worlds.grid_world(), 60, seed=1, keep_plans=True)
    assert run.plans is not None
    goals = np.append(0, np.cumsum(run.epochs.goals))[:-1]
    assert [plan.stop_after_goals for plan in run.plans] == (1 + goals // 10).tolist()
    assert "no theorem" in str(run.notes["caveat"])
    assert not run.truncated


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "samples is 0"),
        ({"samples": 2.5}, "samples is 2.5"),
        ({"prior": 0.1}, "prior is 0.1; pass a prior"),
    ],
)
def test_settings_that_are_refused(settings, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        KLIndex(**settings)
