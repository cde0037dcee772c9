"""Components of random graphs against SciPy and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from goalward import SSP
from goalward.ssp.components import order_by_components, strong_components
from strategies import random_model


def random_graph(seed: int, states: int, successors: int) -> tuple[SSP, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ssp = random_model(seed, states=states, actions=2, successors=successors, goal=0.1)
    return ssp, rng.random(2 * states) < 0.6, rng.random(states) < 0.9


@pytest.mark.parametrize("successors", [1, 2, 4])
def test_strong_components(successors: int) -> None:
    sizes = set()
    for seed in range(20):
        ssp, rows, wanted = random_graph(seed, 40, successors)
        label = np.empty(40, dtype=np.int32)
        count = strong_components(ssp.indptr, ssp.successors, 2, rows, wanted, label)
        row = np.repeat(np.arange(80), np.diff(ssp.indptr))
        kept = rows[row] & (ssp.successors < 40)
        kept[kept] &= wanted[row[kept] // 2] & wanted[ssp.successors[kept]]
        source, target = row[kept] // 2, ssp.successors[kept]
        graph = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(40, 40))
        _, expected = csgraph.connected_components(graph, directed=True, connection="strong")
        assert np.array_equal(label < 0, ~wanted)
        assert set(label[wanted].tolist()) == set(range(count))
        same = label[:, None] == label[None, :]
        both = wanted[:, None] & wanted[None, :]
        assert np.array_equal(same[both], (expected[:, None] == expected[None, :])[both])
        assert (label[target] <= label[source]).all(), "whatever a component leads to comes before it"
        sizes.add(count)
    assert len(sizes) > 3


def components_in_order(ssp: SSP, patience: int) -> tuple[int, int, np.ndarray, np.ndarray, np.ndarray]:
    place, order = np.empty(ssp.states + 1, dtype=np.int32), np.empty(ssp.states, dtype=np.int32)
    parts = np.empty(ssp.states + 1, dtype=np.int64)
    found = order_by_components(ssp.indptr, ssp.successors, ssp.actions, patience, place, order, parts)
    return *found, place, order, parts[: found.components + 1]


@pytest.mark.parametrize("successors", [1, 2])
def test_order_by_components(successors: int) -> None:
    """The components are SciPy's, each after those that it leads to; closed are those that nothing leaves."""
    counts, some_closed = set(), 0
    for seed in range(30):
        targets = np.random.default_rng(seed).integers(0, 41, (80, successors))  # few of them the goal
        kernel = np.zeros((40, 2, 41))
        np.put_along_axis(kernel.reshape(80, 41), targets, 1.0, axis=1)
        ssp = SSP.from_dense(kernel / kernel.sum(axis=2, keepdims=True), np.ones((40, 2)))
        count, closed, place, order, parts = components_in_order(ssp, patience=40)
        assert sorted(order.tolist()) == list(range(40))
        assert np.array_equal(place[order], np.arange(40))
        assert place[ssp.goal] == -1
        assert (parts[0], parts[-1]) == (0, 40)
        label = np.searchsorted(parts, place[:-1], side="right") - 1
        source = np.repeat(np.arange(80), np.diff(ssp.indptr)) // 2
        inner = ssp.successors < 40
        graph = sparse.csr_array((np.ones(inner.sum()), (source[inner], ssp.successors[inner])), shape=(40, 40))
        expected_count, expected = csgraph.connected_components(graph, directed=True, connection="strong")
        assert count == expected_count
        assert np.array_equal(label[:, None] == label[None, :], expected[:, None] == expected[None, :])
        after = np.append(label, -1)[ssp.successors]
        assert (after <= label[source]).all(), "whatever a component leads to comes before it"
        assert closed == count - len(set(label[source[after != label[source]]].tolist()))
        counts.add(count)
        some_closed += closed > 0
    assert len(counts) > 3
    assert some_closed > 0


def test_a_search_that_gives_up() -> None:
    """A circle of ten states is complete when all are seen, never before."""
    n = 10
    kernel = np.zeros((n, 1, n + 1))
    for state in range(n):
        kernel[state, 0, (state + 1) % n] = kernel[state, 0, n] = 0.5
    ssp = SSP.from_dense(kernel, np.ones((n, 1)))
    for patience, count in ((3, 0), (8, 0), (9, 1), (10, 1)):
        assert components_in_order(ssp, patience)[0] == count
