"""Direct solves of a policy's chain, and the estimate of what they take, against SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import goalward as gw
from goalward import SSP, worlds
from goalward.planning.bellman import hurry, initial_policy
from goalward.planning.policy_chain import GROUPS, LU_LEVELS, LU_STATE, PolicyChain, value_groups
from goalward.planning.reduction import Reduction
from strategies import random_model


def first_chain(ssp: SSP) -> PolicyChain:
    reduction = Reduction.of(ssp, small=0)
    policy = np.empty(reduction.states, dtype=np.int64)
    initial_policy(reduction.problem, np.empty(reduction.states), policy)
    chain = PolicyChain(reduction, exact=False)
    chain.choose(policy)
    return chain


@pytest.mark.parametrize("states", [1, 2, 30, 200])
def test_a_direct_step_solves_the_equations_of_the_policy(states: int) -> None:
    for seed in range(5):
        chain = first_chain(random_model(seed, states=states, actions=3, successors=3, goal=0.05))
        _, start, target, weight, _, cost, _ = chain.rows
        share = sparse.csr_array((weight[: start[-1]], target[: start[-1]], start), shape=(states, states))
        values = np.zeros(states)
        assert chain.direct_step(values)
        np.testing.assert_allclose(values, np.linalg.solve(np.eye(states) - share.toarray(), cost), rtol=1e-10)


def test_a_direct_step_leaves_values_alone_where_it_fails() -> None:
    """Two states that lead to each other: the matrix is singular."""
    chain = first_chain(SSP.from_dense([[[0, 0.5, 0.5]], [[0.5, 0, 0.5]]], [[1.0], [1.0]]))
    chain.rows.to_goal[:] = 0.0
    values = np.array([3.0, 4.0])
    assert not chain.direct_step(values)
    assert values.tolist() == [3.0, 4.0]


def line(states: int) -> SSP:
    kernel = np.zeros((states, 1, states + 1))
    for state in range(states):
        kernel[state, 0, max(state - 1, 0)] += 0.5
        kernel[state, 0, state + 1] += 0.5
    return SSP.from_dense(kernel, np.ones((states, 1)))


def levels(chain: PolicyChain) -> float:
    return (chain.direct_work() - LU_STATE * len(chain.rows.cost)) / LU_LEVELS


def test_the_work_of_a_direct_step() -> None:
    """A line has levels of one state, each followed by one: n - 1 times 1 (1 + 1)², and 1 for the last."""
    assert levels(first_chain(line(50))) == pytest.approx(4 * 49 + 1)
    # All states lead to all: the first level is one state, the second all others.
    n = 40
    kernel = np.full((n, 1, n + 1), 1.0 / (n + 1))
    assert levels(first_chain(SSP.from_dense(kernel, np.ones((n, 1))))) == pytest.approx(n**2 + (n - 1.0) ** 3)
    # A grid is cheaper than a random graph of as many states.
    random = random_model(0, states=399, actions=1, successors=4, goal=0.1)
    assert 10 * levels(first_chain(worlds.grid_world(20, 20))) < levels(first_chain(random))


def test_hurry_is_proper_and_goes_on_as_likely_as_can_be() -> None:
    ssp = SSP.from_dense(
        [[[0.9, 0, 0.1], [0, 0.6, 0.4]], [[0.5, 0.5, 0], [0.7, 0.3, 0]]], [[1.0, 9.0], [1.0, 9.0]], normalize=True
    )
    reduction = Reduction.of(ssp, small=0)
    policy = np.empty(2, dtype=np.int64)
    hurry(reduction.problem, policy)
    # State 0 stays or goes on: without the stay, all of action 0 goes to the goal, and 0.4 of action 1.
    assert reduction.expand_policy(ssp, policy).tolist() == [0, 0]


def slow_server(states: int) -> SSP:
    """Make a queue whose cheapest service is slower than customers come: to keep to it would take forever."""
    table = []
    for state in range(1, states + 1):
        for speed, price in ((0.45, 0.5), (0.5, 1.5)):
            table += [
                (state, speed, state - 1, speed, price),
                (state, speed, min(state + 1, states), 0.49, price),
                (state, speed, state, 0.51 - speed, price),
            ]
    return SSP.from_transitions(table, goals=[0])


def test_a_long_queue() -> None:
    """The values follow from those of a random walk with drift, where the fast server is always busy."""
    solution = gw.solve(slow_server(3000), 1e-8)
    # x(k) = V(k) - V(k - 1): x = (1.5 + 0.49 x(k + 1)) / 0.5 downwards from the full queue, where x = 1.5 / 0.5.
    steps = [3.0]
    for _ in range(2999):
        steps.append((1.5 + 0.49 * steps[-1]) / 0.5)
    values = np.cumsum(steps[::-1])
    busy = solution.policy[1000:] == 1
    assert busy.any()
    assert (solution.upper >= solution.lower).all()
    assert (solution.lower <= values * (1 + 1e-10)).all(), "always fast is one policy, so V* is not above it"


def test_groups_by_value() -> None:
    """Groups are the equal steps that hold a value, numbered from the smallest on."""
    values = np.random.default_rng(0).lognormal(sigma=2.0, size=500)
    group = np.empty(500, dtype=np.int32)
    count = value_groups(values, GROUPS, group)
    step = (GROUPS * (values - values.min()) / np.ptp(values)).astype(int).clip(max=GROUPS - 1)
    used, expected = np.unique(step, return_inverse=True)
    assert count == len(used) < GROUPS
    assert np.array_equal(group, expected)
    assert value_groups(np.ones(500), GROUPS, group) == 1
    assert not group.any()


def test_a_correction_by_value_solves_what_is_constant_on_groups() -> None:
    """Each state is a group of its own here: the correction gives the values of the policy."""
    chain = first_chain(random_model(3, states=12, actions=2, successors=3, goal=0.05))
    values = np.linspace(1.0, 2.0, 12)
    chain.group_by_value(values)
    assert chain.correct(values)
    exact = np.zeros(12)
    assert chain.direct_step(exact)
    np.testing.assert_allclose(values, exact, rtol=1e-12)
