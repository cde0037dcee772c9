"""Random models of every kind against exact rational arithmetic: what is proved must be true."""

from __future__ import annotations

import random
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np

from goalward import SSP, Solution, evaluate, solve
from goalward.errors import GoalwardError, PrecisionError, ProbabilityError, UnreachableGoalError
from goalward.planning.goal_first import GoalFirstSolution
from oracles import Exact, best_goal_first, can_reach, exact_goal_first, exact_policy_values

SMALLEST = float(np.finfo(np.float64).tiny)
TOLERANCE = 1e-6


def random_rows(rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return a small model: sparse or dense, with free actions, dead ends, tiny chances and costs of any scale."""
    generator = np.random.default_rng(rng.randrange(2**32))
    S, A = rng.choice([(rng.randint(1, 7), rng.randint(1, 3)), (rng.randint(1, 4), rng.randint(1, 2))])
    P = np.zeros((S, A, S + 1))
    costs = generator.choice([0.0, 1.0, 0.5, 1e-3, 3.0, 1e3], size=(S, A), p=[0.2, 0.3, 0.2, 0.1, 0.1, 0.1])
    if rng.random() < 0.3:
        costs = costs * 10.0 ** rng.randint(-6, 6)
    if rng.random() < 0.1:
        costs = costs * 10.0 ** generator.integers(-300, 300, size=(S, A))
    # How unlikely a step may be: not at all, by so many powers of ten, or next to impossible and a little less so.
    unlikely = rng.choice(["never", "never", "never", "tenths", "powers", "smallest", "subnormal"])
    for state in range(S):
        for action in range(A):
            size = rng.randint(1, min(3, S + 1))
            successors = generator.choice(S + 1, size=size, replace=False)
            weights = generator.integers(1, 9, size=size).astype(float)
            if unlikely == "tenths":
                weights *= 10.0 ** -generator.integers(0, 9, size=size)
            elif unlikely == "powers":
                weights *= 10.0 ** -generator.choice([0, 0, 10, 16, 100, 200, 290, 306], size=size)
            weights /= weights.sum()
            # A likely step keeps its weight, so that the row still sums to one.
            small = (generator.random(size) < 0.4) & (np.arange(size) > 0)
            if unlikely == "smallest":
                weights[small] = SMALLEST * generator.choice([1.0, 1.5, 2.0, 100.0])
            elif unlikely == "subnormal":
                weights[small] = SMALLEST * generator.choice([2.0**-52, 1e-7, 0.5, 1.0 - 2.0**-52, 1.0])
            P[state, action, successors] = weights
        if rng.random() < 0.1:
            P[state, :, :] = 0.0
            P[state, :, state] = 1.0
    for state in range(S):
        for action in range(1, A):
            if rng.random() < 0.15:
                P[state, action] = 0.0
                costs[state, action] = np.inf
    return P, costs


def attack(rng: random.Random, folder: Path) -> str:
    """Build a model, solve it with and without `goal_first`, and hold the bounds against the exact values."""
    P, costs = random_rows(rng)
    try:
        ssp = SSP.from_dense(P, costs, normalize=True)
    except ProbabilityError:
        sums = P.sum(axis=2, keepdims=True, where=P > 0.0)
        shares = np.divide(P, sums, out=np.zeros_like(P), where=P > 0.0)
        assert ((shares > 0.0) & (shares < SMALLEST)).any(), "a model of normal numbers was refused"
        return "refused"
    assert ssp.probabilities.min() >= SMALLEST, "a subnormal probability was let in"
    # Small models are solved by policy iteration; with no limit to what is large, by sweeps.
    limits = {"DENSE_STATES": 0, "ELIMINATED_STATES": 0} if rng.random() < 0.4 else {}
    with mock.patch.multiple("goalward.planning.solve", **limits) if limits else nullcontext():
        if ssp.actions**ssp.states <= 16 and rng.random() < 0.5:
            return attack_goal_first(ssp)
        return attack_costs(ssp)


def attack_costs(ssp: SSP) -> str:
    """Solve a model and hold the bounds against the exact values."""
    try:
        solution = solve(ssp, TOLERANCE)
    except PrecisionError as error:
        return check(ssp, error.solution, proved=False)
    except GoalwardError:
        return "refused"
    return check(ssp, solution, proved=True)


def check(ssp: SSP, solution: Solution, *, proved: bool) -> str:
    """See that the exact values lie within the bounds, and that the policy costs no more than promised."""
    exact = Exact.of(ssp)
    values, _ = exact.best()
    played = exact_policy_values(ssp, solution.policy.tolist())
    for state, value in enumerate(values):
        if value is None:
            assert np.isinf(solution.values[state]), (state, solution)
            assert solution.policy[state] == -1
            continue
        cost = played[state]
        assert cost is not None, "the policy is not proper"
        assert Fraction(float(solution.lower[state])) <= value, (state, solution)
        if np.isfinite(solution.upper[state]):
            assert cost <= Fraction(float(solution.upper[state])), (state, solution)
    if proved:
        finite = solution.policy >= 0
        assert (solution.upper[finite] - solution.lower[finite] <= TOLERANCE * solution.upper[finite]).all()
    if proved and all(value is not None for value in values):
        try:
            costs = evaluate(ssp, solution.policy).costs
        except PrecisionError:
            return "used"
        assert (costs <= solution.upper * (1 + 1e-9) + 1e-300).all()
    return "used" if proved else "refused"


def attack_goal_first(ssp: SSP) -> str:
    """Solve a model with `goal_first` and hold the bounds against all policies."""
    alive = can_reach(ssp.states, Exact.of(ssp).rows)
    proved = True
    try:
        solution = solve(ssp, TOLERANCE, goal_first=True)
    except PrecisionError as error:
        solution, proved = error.solution, False
    except UnreachableGoalError:
        assert ssp.initial_state not in alive, "a start that can reach the goal was refused"
        return "refused"
    assert ssp.initial_state in alive, "a start that cannot reach the goal was not refused"
    check_goal_first(ssp, solution, alive, proved=proved)
    return "used" if proved else "refused"


def check_goal_first(ssp: SSP, solution: GoalFirstSolution, alive: set[int], *, proved: bool) -> None:
    """See that the largest probability, that of the policy, and what it costs lie within the bounds."""
    largest, _ = best_goal_first(ssp)
    probability, cost = exact_goal_first(Exact.of(ssp), solution.policy.tolist())
    assert cost is not None, "the policy does not decide every episode"
    for state in range(ssp.states):
        bounds = solution.probability_lower[state], solution.probability_upper[state]
        assert bounds[0] <= solution.goal_probability[state] <= bounds[1] <= 1.0
        assert Fraction(float(bounds[0])) <= probability[state], (state, "probability_lower")
        assert largest[state] <= Fraction(float(bounds[1])), (state, "probability_upper")
        if state not in alive:
            assert (solution.values[state], solution.policy[state]) == (np.inf, -1)
            continue
        lower, upper = float(solution.lower[state]), float(solution.upper[state])
        assert Fraction(lower) <= cost[state], (state, "lower")
        assert upper == np.inf or cost[state] <= Fraction(upper), (state, "upper")
        if proved:
            assert bounds[1] - bounds[0] <= TOLERANCE, (state, "the probabilities are not proved")
            assert upper - lower <= TOLERANCE * upper, (state, "the costs are not proved")
