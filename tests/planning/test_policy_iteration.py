"""Elimination without subtraction, against linear solves and rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from goalward.planning.policy_iteration import Equation, eliminate


def equation(P: np.ndarray, rest: np.ndarray) -> Equation:
    """Return the equation x = rest + P x, with the goal in the last column of P, for each state on its own."""
    group = np.arange(len(P), dtype=np.int32)
    return Equation(group, P[:, :-1].copy(), P[:, -1].copy(), rest.copy())


def test_elimination_keeps_all_digits() -> None:
    """A policy that leaves with probability 1e-200: rational arithmetic gives the values, a linear solve cannot."""
    P = np.array([[0.5, 0.5 - 2.0**-60, 1e-200], [0.25, 0.75, 0.0]])
    P[0, 1] = 0.5
    rest = np.array([1.0, 3.0])
    values = np.empty(2)
    assert eliminate(equation(P, rest), values)
    # V0 = 1 + V0/2 + V1/2 with the way out, V1 = 3 + V0/4 + 3 V1/4, that is V1 = 12 + V0, each leaving share summed up.
    leave = Fraction(0.5) + Fraction(1e-200)
    V0 = (Fraction(1) + Fraction(0.5) * 12) / (leave - Fraction(0.5))
    assert values[0] == pytest.approx(float(V0), rel=1e-14)
    assert values[1] == pytest.approx(float(V0 + 12), rel=1e-14)


def test_elimination_is_a_linear_solve() -> None:
    rng = np.random.default_rng(0)
    for S in (1, 2, 5, 30):
        P = rng.dirichlet(np.full(S + 1, 0.3), S)
        rest = rng.random(S)
        values = np.empty(S)
        assert eliminate(equation(P, rest), values)
        np.testing.assert_allclose(values, np.linalg.solve(np.eye(S) - P[:, :S], rest), rtol=1e-10)
