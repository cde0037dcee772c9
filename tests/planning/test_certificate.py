"""The certificates on their own: whatever values and policy they are given, what they say is true."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import goalward as gw
from goalward import SSP
from goalward.planning.certificate import Bounds, by_covering, by_elimination, by_propagation, by_ratio, prove
from goalward.planning.reduction import DEAD, Reduction
from oracles import Exact, exact_policy_values
from strategies import models, random_model

# How far off the values are: not at all, by rounding, a little, a lot, and not values at all.
NOISE = (0.0, 1e-16, 1e-12, 1e-7, 1e-3, 0.5, 10.0)


def check_bounds(ssp: SSP, bounds: Bounds, policy: np.ndarray) -> None:
    """Check the bounds of a policy given as actions, in rational arithmetic."""
    place = Reduction.of(ssp, small=0).reduced
    values, _ = Exact.of(ssp).best()
    played = exact_policy_values(ssp, policy.tolist())
    for state, (best, cost) in enumerate(zip(values, played, strict=True)):
        if best is None:
            continue
        lower, upper = float(bounds.lower[place[state]]), float(bounds.upper[place[state]])
        assert Fraction(lower) <= best, f"lower bound of state {state}: {lower} > {float(best)}"
        if upper < np.inf:
            assert cost is not None, f"a bound of {upper} for a policy that is not proper in state {state}"
            assert cost <= Fraction(upper), f"upper bound of state {state}: {upper} < {float(cost)}"
            if lower > 0.0 and place[state] >= 0:
                assert upper - lower <= (bounds.width + 2.0**-50) * upper


@given(
    models(),
    st.sampled_from(NOISE),
    st.sampled_from(("ratio", "propagation", "covering", "all")),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=1000)
def test_no_proof_of_anything_false(ssp: SSP, noise: float, proof: str, exact: bool, greedy: bool, seed: int) -> None:
    """The values are V* with noise of a random sign, the policy anything."""
    reduction = Reduction.of(ssp, small=0)
    assume(reduction.states > 0)
    rng = np.random.default_rng(seed)
    values, _ = Exact.of(ssp).best()
    extended = reduction.extended()
    for state, value in enumerate(values):
        if value is not None and reduction.reduced[state] >= 0:
            extended[reduction.reduced[state]] = float(value)
    extended[:DEAD] *= np.maximum(1.0 + noise * rng.uniform(-1.0, 1.0, reduction.states), 0.0)
    first = reduction.problem.first
    policy = rng.integers(first[:-1], first[1:], dtype=np.int64)
    with np.errstate(all="ignore"):  # as `solve_all` does: an overflow is not to be proved away, but no error either
        if greedy:
            policy.fill(-1)
            by_ratio(reduction, extended, policy, 1e-6)
        if proof == "all":
            bounds = prove(reduction, extended, policy, 1e-9)
        elif proof == "propagation":
            bounds = by_propagation(reduction, extended, policy, 1e-3, exact=exact)
        else:
            bounds = {"ratio": by_ratio, "covering": by_covering}[proof](reduction, extended, policy, 1e-3)
    actions = reduction.expand_policy(ssp, policy)
    check_bounds(ssp, bounds, actions)


@pytest.mark.parametrize("gain", [0.0, 1e-18, 1e-15, 1e-9, 0.5])
def test_elimination_proves_nothing_about_a_policy_that_may_be_beaten(gain: float) -> None:
    """Row 0 costs less than row 1, or as much as far as rounding can tell."""
    ssp = SSP.from_dense([[[0.5, 0.5], [0.5, 0.5]]], [[1.0 - gain, 1.0]])
    reduction = Reduction.of(ssp, small=0)
    extended = reduction.extended()
    extended[:DEAD] = 2.0
    worse, better = np.array([1]), np.array([0])
    assert not by_elimination(reduction, extended, worse, 1e-6).width < 1.0
    extended[:DEAD] = 2.0 * (1.0 - gain)
    assert (by_elimination(reduction, extended, better, 1e-6).width < 1e-12) == (gain > 1e-12)


def test_the_error_of_elimination_bounds_what_elimination_does() -> None:
    """Chains of 1..30 states, forward mostly hopeless, so that values span hundreds of powers of ten."""
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 5, 8, 12, 20, 30):
        for _ in range(4):
            kernel = rng.dirichlet(np.full(size + 1, 0.3), size=(size, 1)) + 1e-300
            kernel[:, :, -1] *= 10.0 ** rng.uniform(-9, 0, size=(size, 1))
            ssp = SSP.from_dense(kernel, 10.0 ** rng.uniform(-9, 9, size=(size, 1)), normalize=True)
            solution = gw.solve(ssp, 1e-8)
            check = exact_policy_values(ssp, [0] * size)
            for state in range(size):
                value = check[state]
                assert value is not None
                assert Fraction(float(solution.lower[state])) <= value <= Fraction(float(solution.upper[state]))


def test_threads_do_not_disturb_each_other() -> None:
    models = [
        random_model(seed, states=states, actions=2, successors=3, goal=0.1)
        for seed in range(8)
        for states in (20, 150)
    ]
    alone = [gw.solve(ssp) for ssp in models]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(gw.solve, models * 4))
    for index, solution in enumerate(together):
        for name in ("values", "policy", "lower", "upper"):
            assert np.array_equal(getattr(solution, name), getattr(alone[index % len(models)], name))
