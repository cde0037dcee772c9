"""Random models of every kind against exact rational arithmetic: what is proved must be true."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np

from goalward import SSP, evaluate, solve
from goalward.errors import GoalwardError, PrecisionError
from oracles import Exact


def random_ssp(rng: random.Random) -> SSP:
    """Return a small model: sparse or dense, with free actions, dead ends, tiny chances and costs of any scale."""
    generator = np.random.default_rng(rng.randrange(2**32))
    S, A = rng.randint(1, 7), rng.randint(1, 3)
    P = np.zeros((S, A, S + 1))
    costs = generator.choice([0.0, 1.0, 0.5, 1e-3, 3.0, 1e3], size=(S, A), p=[0.2, 0.3, 0.2, 0.1, 0.1, 0.1])
    if rng.random() < 0.3:
        costs = costs * 10.0 ** rng.randint(-6, 6)
    tiny = rng.random() < 0.3
    for state in range(S):
        for action in range(A):
            size = rng.randint(1, min(3, S + 1))
            successors = generator.choice(S + 1, size=size, replace=False)
            weights = generator.integers(1, 9, size=size).astype(float)
            if tiny:
                weights *= 10.0 ** -generator.integers(0, 9, size=size)
            P[state, action, successors] = weights / weights.sum()
        if rng.random() < 0.1:
            P[state, :, :] = 0.0
            P[state, :, state] = 1.0
    for state in range(S):
        for action in range(1, A):
            if rng.random() < 0.15:
                P[state, action] = 0.0
                costs[state, action] = np.inf
    return SSP.from_dense(P, costs, normalize=True)


def attack(rng: random.Random, folder: Path) -> str:
    """Solve a model and hold the bounds against the exact values."""
    ssp = random_ssp(rng)
    try:
        solution = solve(ssp)
    except PrecisionError as error:
        return check(ssp, error.solution, proved=False)
    except GoalwardError:
        return "refused"
    return check(ssp, solution, proved=True)


def check(ssp: SSP, solution, *, proved: bool) -> str:  # type: ignore[no-untyped-def]
    """See that the exact values lie within the bounds, and that the policy costs no more than promised."""
    values = Exact.of(ssp).best()[0]
    for state, exact in enumerate(values):
        if exact is None:
            assert np.isinf(solution.values[state]), (state, solution)
            continue
        assert Fraction(float(solution.lower[state])) <= exact, (state, float(exact), solution)
        if np.isfinite(solution.upper[state]):
            assert exact <= Fraction(float(solution.upper[state])), (state, float(exact), solution)
    if proved and all(exact is not None for exact in values):
        costs = evaluate(ssp, solution.policy).costs
        assert (costs <= solution.upper * (1 + 1e-9) + 1e-300).all()
    return "used" if proved else "refused"
