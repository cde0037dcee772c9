"""Backups with bonuses against dense NumPy, exact solutions where the bonus is nothing, and the full induction."""

from __future__ import annotations

import numpy as np
import pytest
from counted import Counted

from goalward import SSP, solve
from goalward.agents.optimistic.backup import Bonus, Estimates, back_up_horizon, fixed_point
from goalward.agents.ties import TIE
from goalward.beliefs.counts import estimate

MODELS = range(8)


def rows_of(counted: Counted, more: float) -> Estimates:
    mass, rest = np.zeros(counted.counts.shape), np.zeros(len(counted.visits))
    estimate(more, counted.size, counted.counts, counted.visits, mass, rest)
    return Estimates(counted.size, counted.successors, mass, rest)


def dense(counted: Counted, more: float) -> np.ndarray:
    """The estimate as a dense kernel: what is missing goes to the goal."""
    total = np.maximum(counted.visits + more, 1.0)
    P = counted.dense / total[:, np.newaxis]
    P[:, -1] += 1.0 - counted.visits / total
    return P


def run_visgo(counted: Counted, parts, scale=1.0, accuracy=1e-12, max_sweeps=10**6, limit=np.inf):
    values, following, Q = np.zeros(counted.S + 1), np.zeros(counted.S + 1), np.zeros(counted.costs.shape)
    bonus = Bonus(*parts, scale)
    sweeps, change = fixed_point(
        rows_of(counted, 1.0), counted.costs, bonus, accuracy, max_sweeps, limit, values, following, Q
    )
    return following, Q, sweeps, change


@pytest.mark.parametrize("seed", MODELS)
def test_visgo_without_a_bonus_solves_the_skewed_model(seed: int) -> None:
    counted = Counted(seed)
    none = np.zeros((3, len(counted.visits)))
    following, _, _, _ = run_visgo(counted, none)
    P = dense(counted, 1.0).reshape(counted.S, counted.A, -1)
    assert following[:-1] == pytest.approx(solve(SSP.from_dense(P, counted.costs)).values, rel=1e-6)


@pytest.mark.parametrize("seed", MODELS)
def test_visgo_sweep_by_sweep(seed: int) -> None:
    counted = Counted(seed)
    rng = np.random.default_rng(seed)
    spread, floor, extra = rng.choice([0.001, 0.02, 0.1], (3, len(counted.visits)))
    following, Q, sweeps, change = run_visgo(counted, (spread, floor, extra), scale=0.7, accuracy=1e-4)
    P = dense(counted, 1.0).reshape(counted.S, counted.A, -1)
    V = np.zeros(counted.S + 1)
    for sweep in range(1, sweeps + 1):
        v = np.maximum(P @ V**2 - (P @ V) ** 2, 0.0)
        bonus = np.maximum(np.sqrt(spread.reshape(v.shape) * v), floor.reshape(v.shape)) + extra.reshape(v.shape)
        expected = np.maximum(counted.costs + P @ V - 0.7 * bonus, 0.0)
        after = np.append(expected.min(axis=1), 0.0)
        moved = np.abs(after - V).max()
        assert (moved <= 1e-4) == (sweep == sweeps)
        V = after
    assert pytest.approx(expected, abs=1e-9) == Q
    assert following == pytest.approx(V, abs=1e-9)
    assert change == pytest.approx(moved, abs=1e-9)


def test_visgo_stops_above_the_limit_and_after_its_sweeps() -> None:
    counted = Counted(1)
    none = np.zeros((3, len(counted.visits)))
    whole = run_visgo(counted, none)[0].max()
    following, _, _, change = run_visgo(counted, none, limit=whole / 2)
    assert whole / 2 < following.max() < whole
    assert change > 1e-12
    assert run_visgo(counted, none, max_sweeps=2)[2] == 2


def test_a_large_bonus_leaves_exactly_nothing() -> None:
    counted = Counted(2)
    large = np.full((3, len(counted.visits)), 1e3)
    following, Q, sweeps, change = run_visgo(counted, large)
    assert (Q == 0.0).all()
    assert (following == 0.0).all()
    assert (sweeps, change) == (1, 0.0)


def induction(counted: Counted, parts, H: int, scale: float, terminal: float, cap: float):
    """Upper and lower values by dense arrays, all H steps; and which actions are best at each."""
    spread, constant, blend = parts
    shape = counted.costs.shape
    P = (counted.dense / np.maximum(counted.visits, 1)[:, np.newaxis]).reshape(*shape, -1)
    lower = np.append(np.full(counted.S, terminal), 0.0)
    upper = lower.copy()
    tied = np.zeros((H, *shape), dtype=bool)
    for h in reversed(range(H)):
        v = np.maximum(P @ lower**2 - (P @ lower) ** 2, 0.0)
        bonus = np.sqrt(spread.reshape(shape) * v) + constant.reshape(shape) + blend * (P @ (upper - lower))
        Q_lower = np.maximum(counted.costs + P @ lower - scale * bonus, 0.0)
        Q_upper = np.minimum(counted.costs + P @ upper + scale * bonus, cap)
        tied[h] = Q_lower <= Q_lower.min(axis=1, keepdims=True) * (1.0 + TIE)
        lower = np.append(Q_lower.min(axis=1), 0.0)
        upper = np.append(np.where(tied[h], Q_upper, 0.0).max(axis=1), 0.0)
    return lower, upper, tied


@pytest.mark.parametrize("seed", MODELS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_backward_induction(seed: int, scale: float) -> None:
    """The same values and the same best actions as all H steps, wherever the induction stopped."""
    counted = Counted(seed)
    rng = np.random.default_rng(seed)
    spread, constant = rng.choice([0.001, 0.02, 0.1], (2, len(counted.visits)))
    H, terminal, cap = 700, 20.0, 60.0
    distinct, lower, upper, Q = go_back(counted, Bonus(spread, 0.0 * spread, constant, scale, 0.01, cap), H, terminal)
    all_lower, all_upper, all_tied = induction(counted, (spread, constant, 0.01), H, scale, terminal, cap)
    tied = Q.min(axis=2, keepdims=True) * (1.0 + TIE) >= Q
    tied[: H - distinct] = tied[H - distinct]
    assert (tied == all_tied).all()
    assert lower == pytest.approx(all_lower, abs=1e-9)
    assert upper == pytest.approx(all_upper, abs=1e-7)
    if scale == 1e6:
        assert distinct <= 3
        assert (lower == 0.0).all()
        assert tied.all()


def go_back(counted: Counted, bonus: Bonus, H: int, terminal: float) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    V, U, V_new, U_new = np.zeros((4, counted.S + 1))
    V[:-1] = U[:-1] = terminal
    Q, Q_up = np.zeros((H, *counted.costs.shape)), np.zeros(counted.costs.shape)
    distinct = back_up_horizon(rows_of(counted, 0.0), counted.costs, bonus, V, U, Q, Q_up, V_new, U_new)
    return distinct, V_new, U_new, Q


def test_an_unavailable_action_is_never_best() -> None:
    counted = Counted(3)
    counted.costs = counted.costs.copy()
    counted.costs[:, 1] = np.inf
    none = np.zeros(len(counted.visits))
    distinct, lower, upper, Q = go_back(counted, Bonus(none, none, none, 1.0, 1e-9, 9.0), 5, 0.0)
    assert np.isinf(Q[-distinct:, :, 1]).all()
    assert np.isfinite(lower).all()
    assert (upper <= 9.0).all()
