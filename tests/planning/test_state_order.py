"""The order of states: likely distances against a shortest path search, components and numbers against their rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from scipy.sparse import csgraph
from test_solve_large import components

import goalward as gw
from goalward import SSP, worlds
from goalward.planning.reduction import Reduction
from goalward.planning.state_order import LIKELY, likely_distances, sort_ties
from goalward.ssp.graph import sure_states
from strategies import models


def likely_graph(ssp: SSP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source, target and whether it is likely, of each transition."""
    row = np.repeat(np.arange(ssp.states * ssp.actions), np.diff(ssp.indptr))
    source = row // ssp.actions
    largest = np.zeros(ssp.states * ssp.actions)
    leaving = ssp.successors != source
    np.maximum.at(largest, row[leaving], ssp.probabilities[leaving])
    return source, ssp.successors, ssp.probabilities >= LIKELY * largest[row]


@given(models())
@settings(max_examples=200)
def test_likely_distances(ssp: SSP) -> None:
    """Distances grow along the order, no likely transition skips one, and each state has one that leads on."""
    distance, order, usable = sure_states(ssp, ssp.available)
    before = set(order.tolist())
    likely_distances(ssp, usable, distance, order)
    assert set(order.tolist()) == before
    assert (np.diff(distance[order]) >= 0).all()
    far = np.append(distance, 0)
    source, target, likely = likely_graph(ssp)
    inside = usable[np.repeat(np.arange(len(usable)), np.diff(ssp.indptr))]
    assert (far[source[inside & likely]] <= far[target[inside & likely]] + 1).all()
    place = np.full(ssp.states + 1, ssp.states)
    place[order] = np.arange(len(order))
    place[ssp.goal] = -1
    for state in order.tolist():
        assert (place[target[inside & (source == state)]] < place[state]).any(), "the initial policy needs it"


def test_likely_distances_are_those_of_the_likely_graph() -> None:
    """Where likely transitions lead to the goal from everywhere, distances are those of a search along them."""
    plain = worlds.grid_world(12, 12)
    rows = np.repeat(np.arange(plain.states * plain.actions), np.diff(plain.indptr))
    kernel = sparse.csr_array((plain.probabilities * (1 - 1e-6), (rows, plain.successors)))
    kernel = kernel + sparse.csr_array(
        (np.full(kernel.shape[0], 1e-6), (np.arange(kernel.shape[0]), np.full(kernel.shape[0], plain.states)))
    )
    kernel.sum_duplicates()
    ssp = SSP.from_rows(kernel.indptr, kernel.indices, kernel.data, plain.costs, normalize=True)
    distance, order, usable = sure_states(ssp, ssp.available)
    assert distance.max() == 1
    likely_distances(ssp, usable, distance, order)
    source, target, likely = likely_graph(ssp)
    ends = (
        target[likely].astype(np.int32),
        source[likely].astype(np.int32),
    )  # before SciPy 1.15 the search takes no others
    graph = sparse.csr_array((np.ones(likely.sum()), ends), shape=(ssp.states + 1,) * 2)
    hops = csgraph.dijkstra(graph, unweighted=True, indices=ssp.goal)
    assert np.array_equal(distance, hops[:-1].astype(int))


def nearly_acyclic(seed: int, free: float = 0.0) -> SSP:
    """Make a long line of single states that may skip ahead, with two small components in it."""
    P = components(seed, 60, 1, 0.3, free).to_dense()
    P[20, :, 24] = P[40, :, 41] = 0.2
    P[24, :, 20] = P[41, :, 40] = 0.1
    ssp = components(seed, 60, 1, 0.3, free)
    return SSP.from_dense(P, ssp.costs, normalize=True)


@pytest.mark.parametrize("free", [0.0, 0.3])
def test_topological_order(free: float) -> None:
    """No row leads to a later component, and each state has one that leads to an earlier state or the goal."""
    for seed in range(5):
        for ssp in (components(seed, 60, 1, 0.3, free), nearly_acyclic(seed, free)):
            reduction = Reduction.of(ssp, small=0)
            problem, later, goal = reduction.problem, 0, reduction.states + 1
            assert reduction.blocks.cyclic.any() == (strong_components(ssp) < ssp.states)
            for state in range(reduction.states):
                begin, end = problem.start[problem.first[state]], problem.start[problem.first[state + 1]]
                targets = problem.target[begin:end]
                later += ((targets > state) & (targets != goal)).any()
                assert ((targets < state) | (targets == goal)).any(), "the initial policy needs it"
            assert later <= (4 if reduction.blocks.cyclic.any() else 0)


def strong_components(ssp: SSP) -> int:
    graph = (ssp.to_dense()[:, :, :-1] > 0.0).any(axis=1)
    return int(csgraph.connected_components(sparse.csr_array(graph), connection="strong")[0])


def with_dead_end(ssp: SSP) -> SSP:
    """Return a model with one more state, which is never left and which some rows of another action may lead to."""
    P, states = ssp.to_dense(), ssp.states
    kernel, costs = np.zeros((states + 1, ssp.actions + 1, states + 2)), np.zeros((states + 1, ssp.actions + 1))
    kernel[:states, :-1, :states], kernel[:states, :-1, -1] = P[:, :, :states], P[:, :, -1]
    kernel[:states, -1, [0, states]] = 0.5
    kernel[states, 0, states] = 1.0
    costs[:-1, :-1] = ssp.costs
    return SSP.from_dense(kernel, costs, normalize=True)


@pytest.mark.parametrize("free", [0.0, 0.3])
def test_components_of_models_with_dead_ends(free: float) -> None:
    """A dead end that rows lead to changes no value of another state."""
    for seed in range(3):
        ssp = components(seed, 60, 4, 0.3, free)
        plain, more = gw.solve(ssp), gw.solve(with_dead_end(ssp))
        assert more.values[-1] == np.inf
        np.testing.assert_allclose(more.values[:-1], plain.values, rtol=2e-6, atol=1e-300)


def test_ties() -> None:
    """Of two states at one distance, that which the other leads to comes first, whatever their numbers."""
    rng = np.random.default_rng(0)
    depth = 40
    names = rng.permutation(2 * depth)  # state 2 i + 1 of the drawing may lead to 2 i, both to the level below
    kernel = np.zeros((2 * depth, 1, 2 * depth + 1))
    for level in range(depth):
        near = names[2 * level - 2] if level else 2 * depth
        kernel[names[2 * level], 0, near] = 1.0
        kernel[names[2 * level + 1], 0, [near, names[2 * level]]] = 0.5
    ssp = SSP.from_dense(kernel, np.ones((2 * depth, 1)))
    distance, order, _ = sure_states(ssp, ssp.available)
    sort_ties(ssp.state_starts, ssp.successors, np.zeros(2 * depth, dtype=np.int32), distance, order)
    assert order.tolist() == names.tolist()
