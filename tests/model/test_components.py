"""Components of random graphs against SciPy and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from goalward import SSP
from goalward.model.components import strong_components
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
        roots = np.random.default_rng(seed).permutation(40).astype(np.int32)
        count = strong_components(ssp.indptr, ssp.successors, 2, rows, wanted, roots, 40, label)
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


def test_a_search_that_gives_up() -> None:
    """A circle of ten states is complete when all are seen, never before."""
    n = 10
    kernel = np.zeros((n, 1, n + 1))
    for state in range(n):
        kernel[state, 0, (state + 1) % n] = kernel[state, 0, n] = 0.5
    ssp = SSP.from_dense(kernel, np.ones((n, 1)))
    every, label = np.ones(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    roots = np.arange(n, dtype=np.int32)
    for patience, count in ((3, 0), (8, 0), (9, 1), (10, 1)):
        assert strong_components(ssp.indptr, ssp.successors, 1, every, every, roots, patience, label) == count
