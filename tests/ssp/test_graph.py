"""Dead ends, free loops and reachability against brute force."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from scipy.sparse import csgraph

import goalward as gw
from goalward import SSP
from goalward.errors import PrecisionError
from goalward.ssp.graph import ALL_ENTRIES, number_components, zero_cost_components
from oracles import Exact
from strategies import models


@given(models(costs=("free", "nearly free", "unit")))
@settings(max_examples=500)
def test_against_brute_force(ssp: SSP) -> None:
    exact, found = Exact.of(ssp), gw.structure(ssp)
    sure, _ = exact.sure()
    assert found.dead_ends.tolist() == sorted(set(range(ssp.states)) - sure)
    assert found.surely.tolist() == sorted(sure)
    assert found.maybe.tolist() == sorted(closure(ssp) - sure)
    assert found.never.tolist() == sorted(set(range(ssp.states)) - closure(ssp))
    assert found.reaches_goal == (ssp.initial_state in sure)
    assert found.proper == (sure == set(range(ssp.states)))
    assert {frozenset(loop.tolist()) for loop in found.zero_cost_loops} == {frozenset(s) for s in exact.free_loops()}
    assert found.unreachable.tolist() == sorted(exact.unreachable(ssp.initial_state))


def closure(ssp: SSP) -> set[int]:
    """Return the states with a path to the goal: powers of the dense matrix of steps."""
    steps = (ssp.to_dense() > 0.0).any(axis=1)
    found = steps[:, -1]
    for _ in range(ssp.states):
        found = found | (steps[:, :-1] & found).any(axis=1)
    return set(np.flatnonzero(found).tolist())


def test_a_long_chain_of_dead_ends() -> None:
    """Every state may fall back on one that is already known to be lost; the fixed point takes as many rounds."""
    n = 300
    rows, successors, probabilities = [0], [], []
    for state in range(n):
        successors += [state - 1 if state else 0, n]
        probabilities += [0.5, 0.5] if state else [1.0, 0.0]
        rows.append(len(successors))
    ssp = SSP.from_rows(rows, successors, probabilities, np.ones((n, 1)))
    assert gw.structure(ssp).dead_ends.tolist() == list(range(n))


def test_alternating_rounds_of_the_fixed_point() -> None:
    """State k reaches the goal only over k + 1, or by a row that may fall to k - 1: dropping goes on, one by one."""
    n = 50
    table: list[tuple[Hashable, Hashable, Hashable, float, float]] = [("trap", "stay", "trap", 1.0, 1.0)]
    for k in range(n):
        table += [(k, "go", k - 1 if k else "trap", 0.5, 1.0), (k, "go", "g", 0.5, 1.0), (k, "wait", k, 1.0, 1.0)]
    ssp = SSP.from_transitions([*table, ("free", "go", "g", 1.0, 1.0)], goals=["g"], initial_state="free")
    found = gw.structure(ssp)
    assert len(found.dead_ends) == n + 1
    assert (found.reaches_goal, found.proper) == (True, False)


def test_repr() -> None:
    ssp = SSP.from_dense([[[0.5, 0.0, 0.5]], [[0.0, 1.0, 0.0]]], [[1.0], [0.0]])
    assert repr(gw.structure(ssp)) == (
        "Structure(reaches_goal=True, proper=False, surely=1, maybe=0, never=1, zero_cost_loops=1, unreachable=1)"
    )


def test_a_structure_does_not_change() -> None:
    ssp = SSP.from_dense([[[0.0, 1.0]]], [[1.0]])
    with pytest.raises(AttributeError, match="cannot assign"):
        gw.structure(ssp).reaches_goal = False  # type: ignore[misc]


@given(models())
@settings(max_examples=50)
def test_structure_and_hardness_mean_the_same_by_proper(ssp: SSP) -> None:
    with suppress(PrecisionError):
        assert gw.structure(ssp).proper == gw.hardness(ssp).proper


def test_a_free_walk_that_leaks_at_one_end() -> None:
    """Each round drops one state more, unless states without rows are followed up at once."""
    n = 20_000
    order = np.random.default_rng(0).permutation(n)
    forward = np.append(order[1:], n)
    back = np.append(order[0], order[:-1])
    successors = np.empty((n, 2), dtype=np.int64)
    successors[order] = np.column_stack([back, forward])
    ssp = SSP.from_rows(np.arange(0, 2 * n + 1, 2), successors.ravel(), np.full(2 * n, 0.5), np.zeros((n, 1)))
    assert zero_cost_components(ssp, ssp.available)[1] == 0


@pytest.mark.parametrize("successors", [1, 2])
def test_number_components(successors: int) -> None:
    """The components are SciPy's, each after those that it leads to."""
    counts = set()
    for seed in range(30):
        targets = np.random.default_rng(seed).integers(0, 41, (80, successors))  # few of them the goal
        kernel = np.zeros((40, 2, 41))
        np.put_along_axis(kernel.reshape(80, 41), targets, 1.0, axis=1)
        ssp = SSP.from_dense(kernel / kernel.sum(axis=2, keepdims=True), np.ones((40, 2)))
        label = np.empty(40, dtype=np.int32)
        components = number_components(ssp.state_starts, ssp.successors, ALL_ENTRIES, label)
        source = np.repeat(np.arange(80), np.diff(ssp.indptr)) // 2
        inner = ssp.successors < 40
        graph = sparse.csr_array((np.ones(inner.sum()), (source[inner], ssp.successors[inner])), shape=(40, 40))
        count, expected = csgraph.connected_components(graph, directed=True, connection="strong")
        assert label.max() == count - 1 == components - 1
        assert np.array_equal(label[:, None] == label[None, :], expected[:, None] == expected[None, :])
        assert (np.append(label, -1)[ssp.successors] <= label[source]).all(), "what a component leads to comes first"
        counts.add(count)
    assert len(counts) > 3
