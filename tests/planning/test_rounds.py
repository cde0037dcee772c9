"""Blocks, direct solves and corrections of a policy's chain, against SciPy and closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import goalward as gw
from goalward import SSP, worlds
from goalward.planning.bellman import Chain, initial_policy, optimal_sweep
from goalward.planning.reduction import Problem, Reduction
from goalward.planning.rounds import (
    GROUPS,
    LU_LEVELS,
    LU_STATE,
    Rounds,
    correct,
    direct_step,
    direct_work,
    value_groups,
)  # fmt: skip
from strategies import random_model


def first_chain(ssp: SSP) -> tuple[Problem, np.ndarray, np.ndarray, Chain]:
    """Return the problem of a model, values and policy after one sweep, and the chain of the policy."""
    reduction = Reduction.of(ssp, small=0)
    values, policy = reduction.extended(), np.empty(reduction.states, dtype=np.int64)
    chain = Chain.empty(reduction.states, len(reduction.problem.target))
    initial_policy(reduction.problem, 0, reduction.states, values, policy)
    optimal_sweep(reduction.problem, 0, reduction.states, values, policy, chain)
    return reduction.problem, values, policy, chain


def dense(chain: Chain, states: int) -> np.ndarray:
    """Return a chain in a problem of so many states as a matrix, with dead ends and the goal as its last columns."""
    entries = chain.start[-1]
    parts = (chain.weight[:entries], chain.target[:entries].astype(np.int64), chain.start.astype(np.int64))
    return sparse.csr_array(parts, shape=(len(chain.cost), states + 2)).toarray()


@pytest.mark.parametrize("states", [1, 2, 30, 200])
def test_a_direct_step_solves_the_equations_of_the_policy(states: int) -> None:
    for seed in range(5):
        _, values, _, chain = first_chain(random_model(seed, states=states, actions=3, successors=3, goal=0.05))
        share = dense(chain, states)[:, :-2]
        assert direct_step(chain, 0, states, values)
        np.testing.assert_allclose(values[:-2], np.linalg.solve(np.eye(states) - share, chain.cost), rtol=1e-10)


def test_a_direct_step_inside_a_block() -> None:
    """The last thirty states are solved for, given the values of the others."""
    ssp = random_model(7, states=50, actions=2, successors=3, goal=0.05)
    problem, values, policy, _ = first_chain(ssp)
    chain = Chain.empty(30, len(problem.target))
    optimal_sweep(problem, 20, 50, values, policy, chain)
    fixed, matrix = values[:20].copy(), dense(chain, 50)
    assert direct_step(chain, 20, 50, values)
    rest = chain.cost + matrix[:, :20] @ fixed
    np.testing.assert_allclose(values[20:50], np.linalg.solve(np.eye(30) - matrix[:, 20:50], rest), rtol=1e-10)
    assert np.array_equal(values[:20], fixed)


def test_a_direct_step_leaves_values_alone_where_it_fails() -> None:
    """Two states that lead to each other: the matrix is singular."""
    _, values, _, chain = first_chain(SSP.from_dense([[[0, 0.5, 0.5]], [[0.5, 0, 0.5]]], [[1.0], [1.0]]))
    chain.target[:] = [1, 1, 0, 0]
    values[:2] = [3.0, 4.0]
    assert not direct_step(chain, 0, 2, values)
    assert values[:2].tolist() == [3.0, 4.0]


def line(states: int) -> SSP:
    kernel = np.zeros((states, 1, states + 1))
    for state in range(states):
        kernel[state, 0, max(state - 1, 0)] += 0.5
        kernel[state, 0, state + 1] += 0.5
    return SSP.from_dense(kernel, np.ones((states, 1)))


def levels(ssp: SSP) -> float:
    *_, chain = first_chain(ssp)
    return (direct_work(chain, 0, ssp.states) - LU_STATE * ssp.states) / LU_LEVELS


def test_the_work_of_a_direct_step() -> None:
    """A line has levels of one state, each followed by one: n - 1 times 1 (1 + 1)², and 1 for the last."""
    assert levels(line(50)) == pytest.approx(4 * 49 + 1)
    # All states lead to all: the first level is one state, the second all others.
    n = 40
    kernel = np.full((n, 1, n + 1), 1.0 / (n + 1))
    assert levels(SSP.from_dense(kernel, np.ones((n, 1)))) == pytest.approx(n**2 + (n - 1.0) ** 3)
    # A grid is cheaper than a random graph of as many states.
    random = random_model(0, states=399, actions=1, successors=4, goal=0.1)
    assert 10 * levels(worlds.grid_world(20, 20)) < levels(random)


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
    count = value_groups(values, 0, GROUPS, group)
    step = (GROUPS * (values - values.min()) / np.ptp(values)).astype(int).clip(max=GROUPS - 1)
    used, expected = np.unique(step, return_inverse=True)
    assert count == len(used) < GROUPS
    assert np.array_equal(group, expected)
    assert value_groups(np.ones(500), 0, GROUPS, group) == 1
    assert not group.any()


def test_a_correction_by_value_solves_what_is_constant_on_groups() -> None:
    """Each state is a group of its own here: the correction gives the values of the policy."""
    problem, values, policy, chain = first_chain(random_model(3, states=12, actions=2, successors=3, goal=0.05))
    exact = values.copy()
    assert direct_step(chain, 0, 12, exact)
    values[:12] = np.linspace(1.0, 2.0, 12)
    assert correct(problem, policy, 0, 12, values, GROUPS)
    np.testing.assert_allclose(values[:12], exact[:12], rtol=1e-12)


def rooms_in_a_row(rooms: int, size: int) -> SSP:
    """Make rooms that are left for good: in each a random graph, from whose states one may fall into the next."""
    inside = random_model(1, states=size, actions=2, successors=3, goal=0.0).to_dense()[:, :, :size]
    inside[np.arange(size), :, (np.arange(size) + 1) % size] += 0.1  # all states of a room lead to each other
    kernel = np.zeros((rooms * size, 2, rooms * size + 1))
    for room in range(rooms):
        here = slice(room * size, (room + 1) * size)
        kernel[here, :, here] = 0.9 * inside / inside.sum(axis=2, keepdims=True)
        kernel[here, :, (room + 1) * size] += 0.1
    return SSP.from_dense(kernel, np.ones((rooms * size, 2)), normalize=True)


def test_blocks_lead_to_earlier_blocks_only() -> None:
    ssp = rooms_in_a_row(5, 230)
    reduction = Reduction.of(ssp, small=0)
    bounds = reduction.blocks.bounds
    assert np.diff(bounds).tolist() == [230] * 5
    assert reduction.blocks.cyclic.all()
    problem = reduction.problem
    for begin, end in pairwise(bounds.tolist()):
        entries = slice(problem.start[problem.first[begin]], problem.start[problem.first[end]])
        targets = problem.target[entries]
        assert ((targets < end) | (targets == reduction.states + 1)).all()
    # Each block is settled once, and the values are those of the whole.
    values, policy = reduction.extended(), np.empty(reduction.states, dtype=np.int64)
    assert Rounds(problem, reduction.blocks, values, policy).settle(1e-12, fresh=True)
    kernel = sparse.csr_array((ssp.probabilities, ssp.successors, ssp.indptr), shape=(2 * ssp.states, ssp.states + 1))
    backups = 1.0 + (kernel[:, :-1] @ reduction.expand(values)).reshape(-1, 2)
    np.testing.assert_allclose(backups.min(axis=1), reduction.expand(values), rtol=1e-10)
