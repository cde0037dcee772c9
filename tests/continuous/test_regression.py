"""The belief about smooth dynamics, against dense formulas and quadrature in NumPy and SciPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import integrate, stats

from goalward.acting.contract import Steps
from goalward.arrays import Floats
from goalward.continuous import regression as kernels
from goalward.continuous.regression import SCALE, SHAPE, FourierRegression, evidence, posterior
from goalward.continuous.task import TaskSpec, task_spec

PERIODIC = [False, True]


def task(periodic: object = PERIODIC) -> TaskSpec:
    return task_spec([0.0, -np.pi], [2.0, np.pi], 2, lambda x: x[:, 0] >= 1.9, 1.0, periodic)


def smooth(states: Floats, actions: Floats) -> Floats:
    turn = 0.1 * np.sin(states[:, 1]) + 0.05 * actions
    return np.stack([0.05 * np.cos(states[:, 1]) * states[:, 0], turn], axis=1)


def steps(count: int, noise: float = 0.0, seed: int = 0) -> Steps:
    rng = np.random.default_rng(seed)
    states = rng.uniform([0.1, -np.pi], [1.8, np.pi], (count, 2))
    actions = rng.integers(0, 2, count)
    ends = task().folded(states + smooth(states, actions) + noise * rng.standard_normal((count, 2)))
    return Steps(states, actions, np.ones(count), ends, np.zeros(count, dtype=np.bool_))


def learnt(count: int = 60, noise: float = 0.01, features: int = 12) -> FourierRegression:
    belief = FourierRegression(task(), features, np.random.default_rng(5))
    belief.update(steps(count, noise))
    return belief


def test_kernels_are_those_of_numpy() -> None:
    rng = np.random.default_rng(6)
    phi, changes, actions = rng.standard_normal((40, 7)), rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
    gram, moments = np.zeros((2, 7, 7)), np.zeros((2, 7, 2))
    kernels.add_steps(phi, actions, changes, gram, moments)
    inverse = np.eye(7)
    for action in range(2):
        rows = phi[actions == action]
        np.testing.assert_allclose(gram[action], np.tril(rows.T @ rows), rtol=1e-12)
        np.testing.assert_allclose(moments[action], rows.T @ changes[actions == action], rtol=1e-10, atol=1e-12)
        factor, full = np.zeros((7, 7)), rows.T @ rows + 0.3 * np.eye(7)
        assert kernels.cholesky(gram[action], 0.3, factor) == pytest.approx(np.linalg.slogdet(full)[1])
        np.testing.assert_allclose(factor.T, np.linalg.cholesky(full), atol=1e-12)
        solution = moments[action].copy()
        kernels.solve_lower(factor, solution)
        kernels.solve_upper(factor, solution)
        np.testing.assert_allclose(solution, np.linalg.solve(full, moments[action]), rtol=1e-9)
    for row in phi:
        expected = row @ inverse @ row
        assert kernels.update_inverse(inverse, row, np.empty(7)) == pytest.approx(expected)
    np.testing.assert_allclose(inverse, np.linalg.inv(np.eye(7) + phi.T @ phi), atol=1e-12)
    out = np.empty((40, 2))
    kernels.products(phi, moments[0], out)
    np.testing.assert_allclose(out, phi @ moments[0], rtol=1e-10, atol=1e-12)
    assert np.isnan(kernels.cholesky(-np.eye(3), 0.0, np.empty((3, 3))))


def test_features_approximate_the_squared_exponential_kernel() -> None:
    """The mean of n = 40 * 500 cosine products is within 5 standard errors, each at most 1 / sqrt(n)."""
    rng = np.random.default_rng(7)
    beliefs = [FourierRegression(task(False), 500, rng) for _ in range(40)]
    states = np.array([[0.3, 0.5], [0.6, -0.4], [1.7, 2.0]])
    cosines = np.array([belief.features(states, 0.8)[:, :500] for belief in beliefs])
    z = 2.0 * (states - beliefs[0].task.low) / beliefs[0].span - 1.0
    distances = ((z[:, np.newaxis] - z) ** 2).sum(axis=2)
    products = (cosines @ cosines.swapaxes(1, 2)).mean(axis=0)
    np.testing.assert_allclose(products, np.exp(-0.5 * distances / 0.8**2), atol=5.0 / np.sqrt(20_000))


def test_features_of_angles_wrap_around() -> None:
    belief = learnt()
    states = np.array([[0.5, -np.pi], [0.5, np.pi]])
    one, other = belief.features(states)
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_the_posterior_is_that_of_the_dense_formulas() -> None:
    belief = learnt()
    means, _, found_scales, _ = posterior(belief.gram, belief.moments, belief.squares, belief.ratio)
    data = steps(60, 0.01)
    change = (data.next_states - data.states) / belief.span
    change[:, 1] -= np.rint(change[:, 1])
    phi = belief.features(data.states)
    scales = SCALE + 0.5 * (change**2).sum(axis=0)
    for action in range(2):
        rows, y = phi[data.actions == action], change[data.actions == action]
        precision = rows.T @ rows + np.eye(belief.size) / belief.ratio**2
        mean = np.linalg.solve(precision, rows.T @ y)
        np.testing.assert_allclose(means[action], mean, rtol=1e-6, atol=1e-9)
        scales = scales - 0.5 * np.einsum("im,ij,jm->m", mean, precision, mean)
    np.testing.assert_allclose(found_scales, scales, rtol=1e-6)


def test_the_evidence_is_the_integrated_likelihood() -> None:
    """Differences of its logarithm between ratios are those of a multivariate t density, by SciPy."""
    rng = np.random.default_rng(8)
    phi, y = rng.standard_normal((9, 3)), 1e-3 * rng.standard_normal((9, 1))
    gram, moments = np.tril(phi.T @ phi)[np.newaxis], (phi.T @ y)[np.newaxis]
    found, expected = [], []
    for ratio in (0.5, 3.0, 20.0):
        found.append(evidence(gram, moments, (y**2).sum(axis=0), 9, ratio))
        shape = SCALE / SHAPE * (np.eye(9) + ratio**2 * phi @ phi.T)
        expected.append(stats.multivariate_t(np.zeros(9), shape, df=2.0 * SHAPE).logpdf(y[:, 0]))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-8)
    # And that t density is the integral of normal ones over the inverse gamma prior.
    single = integrate.quad(
        lambda v: stats.norm.pdf(1e-3, scale=np.sqrt(5.0 * v)) * stats.invgamma.pdf(v, SHAPE, scale=SCALE), 0.0, 1e-2,
        points=[1e-7, 1e-6, 1e-5, 1e-4], limit=200,
    )[0]  # fmt: skip
    assert stats.t.pdf(1e-3, 2.0 * SHAPE, scale=np.sqrt(5.0 * SCALE / SHAPE)) == pytest.approx(single, rel=1e-3)


def test_samples_have_the_mean_and_the_covariance_of_the_posterior() -> None:
    """2,000 draws; every mean within 5 standard errors (error probability below 1e-4), variances within 20 %."""
    belief = learnt()
    rng = np.random.default_rng(9)
    point = np.array([[0.7, 1.0]])
    phi = belief.features(point)
    draws = np.array([belief.moved(point, phi, belief.sample(rng))[0, 1] for _ in range(2_000)])
    means, factors, scales, _ = posterior(belief.gram, belief.moments, belief.squares, belief.ratio)
    mean = point[0] + (phi @ means[1])[0] * belief.span
    factor = factors[1].T
    spread = np.linalg.norm(np.linalg.solve(factor, phi[0]))
    # The mean of an inverse gamma variance.
    deviation = spread * np.sqrt(scales / (SHAPE + 30.0 - 1.0)) * belief.span
    assert (np.abs(draws.mean(axis=0) - mean) < 5.0 * deviation / np.sqrt(2_000)).all()
    np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.1)


def test_smooth_dynamics_are_learnt() -> None:
    belief = FourierRegression(task(), 64, np.random.default_rng(10))
    belief.update(steps(300))
    fresh = steps(100, seed=11)
    dynamics = belief.sample(np.random.default_rng(12))
    moved = task().folded(
        belief.moved(fresh.states, belief.features(fresh.states), dynamics)[np.arange(100), fresh.actions]
    )
    assert np.abs(moved - fresh.next_states).max() < 5e-3
    assert belief.ratio >= 100.0


def test_noise_is_found() -> None:
    """The noise of 600 steps has a relative error near 1 / sqrt(1200)."""
    belief = FourierRegression(task(), 64, np.random.default_rng(13))
    belief.update(steps(600, noise=0.02))
    np.testing.assert_allclose(belief.sample(np.random.default_rng(14)).noise, 0.02, rtol=0.2)


def test_it_does_not_matter_how_the_steps_are_cut() -> None:
    data = steps(18, 0.01)
    whole, cut = (FourierRegression(task(), 8, np.random.default_rng(15)) for _ in range(2))
    whole.update(data)
    for i in range(18):
        cut.update(Steps(*(column[i : i + 1] for column in data)))
    np.testing.assert_array_equal(whole.gram, cut.gram)
    np.testing.assert_array_equal(whole.moments, cut.moments)


def test_a_step_that_a_wall_stopped_is_not_learnt() -> None:
    belief = FourierRegression(task(), 8, np.random.default_rng(16))
    hit = Steps(
        np.array([[0.1, 0.0], [0.0, 0.0], [0.0, 0.0]]), np.array([0, 0, 0]), np.ones(3),
        np.array([[0.0, 0.0], [0.0, 0.1], [0.1, 0.1]]), np.zeros(3, dtype=np.bool_),
    )  # fmt: skip
    belief.update(hit)
    assert belief.steps == 2
    np.testing.assert_array_equal(belief.states, [[0.0, 0.0], [0.0, 0.0]])


def test_a_copy_learns_by_itself() -> None:
    belief = learnt()
    before = belief.gram.copy()
    twin = copy.deepcopy(belief)
    twin.update(steps(5, seed=17))
    np.testing.assert_array_equal(belief.gram, before)
    assert twin.steps == belief.steps + 5


def test_what_is_restored_is_what_was_saved() -> None:
    belief = learnt()
    again = FourierRegression(task(), 12, np.random.default_rng(99))
    again.restore(belief.to_state())
    one, other = (each.sample(np.random.default_rng(1)) for each in (belief, again))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)
    for name, value in (
        ("changes", belief.changes * 1e300),
        ("length", 0.31),
        ("actions", belief.actions + 5),
        ("states", belief.states * np.nan),
    ):
        with pytest.raises(ValueError, match=r"must|cannot choose"):
            again.restore(belief.to_state() | {name: value})
