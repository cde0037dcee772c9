"""Confidence sets against linear programs, extended value iteration against every policy, horizons against powers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from counted import Counted
from scipy import optimize

from goalward import SSP, evaluate
from goalward.agents.optimistic.bernstein_ssp import lower_rows
from goalward.agents.optimistic.uc_ssp import Balls, extended_value_iteration, minimise, pivot_horizon

MODELS = range(12)


@pytest.mark.parametrize("seed", MODELS)
def test_the_ball_against_a_linear_program(seed: int) -> None:
    counted = Counted(seed)
    _, *rows = counted.balls()
    for row in range(len(counted.visits)):
        found = minimise(row, counted.radius[row], *rows, counted.values)
        assert found == pytest.approx(counted.least_over_ball(row, counted.values), abs=1e-7)


def test_a_radius_of_two_gives_exactly_nothing_to_the_states() -> None:
    counted = Counted(0)
    _, *rows = counted.balls()
    for row in range(len(counted.visits)):
        assert minimise(row, 2.0, *rows, counted.values) == 0.0


def extended(counted: Counted, accuracy: float, max_sweeps: int = 10**6):
    balls = counted.balls()
    values, following = np.zeros(counted.S), np.zeros(counted.S)
    Q = np.zeros(counted.costs.shape)
    sweeps, change = extended_value_iteration(balls, counted.costs, 0.0, accuracy, max_sweeps, values, following, Q)
    return balls, values, following, Q, sweeps, change


@pytest.mark.parametrize("seed", MODELS)
def test_extended_value_iteration_step_by_step(seed: int) -> None:
    """Every iterate against linear programs, and the stopping rule: the first m with a change of at most 0.01."""
    counted = Counted(seed, states=3)
    _, values, following, Q, sweeps, change = extended(counted, 0.01)
    v = np.zeros(counted.S)
    for m in range(sweeps):
        rows = [counted.least_over_ball(row, v) for row in range(len(counted.visits))]
        expected = counted.costs + np.reshape(rows, counted.costs.shape)
        moved = np.abs(expected.min(axis=1) - v).max()
        assert (moved <= 0.01) == (m == sweeps - 1)
        if m < sweeps - 1:
            v = expected.min(axis=1)
    assert values == pytest.approx(v, abs=1e-6)
    assert pytest.approx(expected, abs=1e-6) == Q
    assert following == pytest.approx(expected.min(axis=1), abs=1e-6)
    assert change == pytest.approx(moved, abs=1e-6)


@pytest.mark.parametrize("seed", MODELS)
def test_the_fixed_point_is_the_best_policy_in_its_best_model(seed: int) -> None:
    """In the model that minimises at the fixed point, enumerating all policies gives the fixed point back."""
    counted = Counted(seed, states=3)
    balls, values, _, _, _, _ = extended(counted, 1e-12)
    P = minimising_kernel(counted, balls)
    model = SSP.from_dense(P.reshape(counted.S, counted.A, -1), counted.costs, normalize=True)
    costs = [evaluate(model, policy).costs for policy in product(range(counted.A), repeat=counted.S)]
    assert values == pytest.approx(np.min(costs, axis=0), rel=1e-9)


def minimising_kernel(counted: Counted, balls: Balls) -> np.ndarray:
    """Return p̃ at the values that the rows were sorted for, by the recipe: β/2 to the goal, taken from the end."""
    P = np.zeros_like(counted.phat)
    for row in range(len(P)):
        near = balls.successors[row, : balls.size[row]].tolist()
        if not counted.visits[row]:
            P[row, -1] = 1.0
            continue
        P[row] = counted.phat[row]
        P[row, -1] = min(1.0, P[row, -1] + counted.radius[row] / 2)
        for state in near:
            P[row, state] = max(0.0, P[row, state] - max(0.0, P[row].sum() - 1.0))
    return P


def test_from_below_and_monotone() -> None:
    counted = Counted(3)
    limit = extended(counted, 1e-13)[1]
    earlier = np.zeros(counted.S)
    for sweeps in (1, 2, 3, 5, 9, 30):
        values = extended(counted, 0.0, max_sweeps=sweeps)[1]
        assert (values >= earlier).all()
        assert (values <= limit + 1e-12).all()
        earlier = values


def test_a_plan_that_does_not_settle_says_what_is_left() -> None:
    *_, sweeps, change = extended(Counted(3), 0.0, max_sweeps=3)
    assert sweeps == 3
    assert change > 0.0


def test_unavailable_actions_are_never_best() -> None:
    counted = Counted(1)
    counted.costs = counted.costs.copy()
    counted.costs[:, 0] = np.inf
    _, values, _, Q, _, _ = extended(counted, 1e-9)
    assert np.isinf(Q[:, 0]).all()
    assert np.isfinite(values).all()


@pytest.mark.parametrize("seed", MODELS)
@pytest.mark.parametrize("target", [1.0, 0.3, 0.01])
def test_the_pivot_horizon_against_powers(seed: int, target: float) -> None:
    counted = Counted(seed)
    balls, _, _, Q, _, _ = extended(counted, 1e-9)
    P = minimising_kernel(counted, balls)
    policy = Q.argmin(axis=1)
    transitions = P.reshape(counted.S, counted.A, -1)[np.arange(counted.S), policy, :-1]
    horizon = pivot_horizon(policy, counted.A, balls, target, 10**6, *np.zeros((2, counted.S)))
    norms = [np.linalg.norm(np.linalg.matrix_power(transitions, n - 1), np.inf) for n in range(2, horizon + 1)]
    assert norms[-1] <= target + 1e-12
    assert all(norm > target - 1e-12 for norm in norms[:-1])


def test_the_horizon_is_capped() -> None:
    """One state that stays with probability 0.9: |Q^n| = 0.9^n reaches 0.5 at n = 7, so H = 8."""
    for limit, horizon in ((7, 7), (100, 8)):
        balls = Balls(np.array([0.1]), np.array([1]), np.zeros((1, 1), dtype=np.int32), np.full((1, 1), 0.95))
        assert pivot_horizon(np.array([0]), 1, balls, 0.5, limit, *np.zeros((2, 1))) == horizon


def intervals(counted: Counted, constant: np.ndarray, root: np.ndarray, available: np.ndarray | None = None) -> SSP:
    rows = len(counted.visits)
    here = np.ones(rows, dtype=np.bool_) if available is None else available
    indptr = np.zeros(rows + 1, dtype=np.int64)
    near, mass = np.zeros(rows * (counted.S + 2), dtype=np.int32), np.zeros(rows * (counted.S + 2))
    end = lower_rows(counted.S, *counted.rows, here, constant, root, indptr, near, mass)
    # from_rows checks what the trusted way takes for granted: sorted, once each, positive, sums of one.
    made = SSP.from_rows(indptr, near[:end], mass[:end], counted.costs)
    trusted = SSP._trusted(indptr, near[:end], mass[:end], made.costs, 0)
    assert made == trusted
    return trusted


@pytest.mark.parametrize("seed", MODELS)
def test_intervals_against_a_linear_program(seed: int) -> None:
    counted = Counted(seed)
    rng = np.random.default_rng(seed)
    constant, root = rng.choice([1e-12, 0.01, 0.2], (2, len(counted.visits)))
    P = intervals(counted, constant, root).to_dense().reshape(len(counted.visits), -1)
    for row, phat in enumerate(counted.phat):
        lower = np.maximum(phat - constant[row] - root[row] * np.sqrt(phat), 0.0)
        lower[-1] = 0.0
        values = np.append(counted.values, 0.0)
        found = optimize.linprog(
            values, A_eq=np.ones((1, len(phat))), b_eq=[1.0], bounds=list(zip(lower, [1.0] * len(phat), strict=True))
        )
        assert P[row] @ values == pytest.approx(found.fun, abs=1e-9)
        assert P[row, :-1] == pytest.approx(lower[:-1], abs=1e-12)
        assert P[row, -1] > 0.0


def test_rows_of_unavailable_actions_stay_empty() -> None:
    counted = Counted(2)
    width = np.full(len(counted.visits), 0.1)
    available = np.arange(len(width)) % 2 == 0
    assert intervals(counted, width, width, available).available.reshape(-1).tolist() == available.tolist()


def test_compiled_and_plain_kernels_agree() -> None:
    counted = Counted(5)
    balls, values, _, _, sweeps, _ = extended(counted, 1e-6)
    again = counted.balls()
    plain = [np.zeros(counted.S), np.zeros(counted.S), np.zeros(counted.costs.shape)]
    assert extended_value_iteration.py_func(again, counted.costs, 0.0, 1e-6, 10**6, *plain)[0] == sweeps
    assert (plain[0] == values).all()
    assert (again.successors == balls.successors).all()
