"""Labels against shortest paths and their own definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from goalward import SSP, Dirichlet, worlds
from goalward.acting.contract import Task
from goalward.arrays import Floats, Int32s
from goalward.planning.goal_labels import AWAY, find_predecessors, label_groups, label_states
from goalward.ssp.graph import sure_states


def labels_of(ssp: SSP) -> tuple[Floats, Int32s]:
    _, _, usable = sure_states(ssp, ssp.available)
    label, order = np.empty(ssp.states), np.empty(ssp.states, dtype=np.int32)
    predecessors = find_predecessors(ssp.indptr, ssp.successors, ssp.actions, usable, ssp.states)
    return label, order[: label_states(ssp.arrays, usable, predecessors, order, label)]


def test_labels_of_a_deterministic_model_are_its_shortest_paths() -> None:
    rng = np.random.default_rng(0)
    S, A = 60, 3
    successors = rng.integers(0, S + 1, S * A).astype(np.int32)
    successors[:: A * 10] = S  # the goal
    costs = rng.uniform(0.1, 2.0, (S, A))
    ssp = SSP.from_rows(np.arange(S * A + 1), successors, np.ones(S * A), costs)
    edges = np.full((S + 1, S + 1), np.inf)
    np.minimum.at(edges, (np.repeat(np.arange(S), A), successors), costs.ravel())
    edges[np.isinf(edges)] = 0.0
    expected = dijkstra(csr_array(edges.T), indices=S)[:S]
    label, order = labels_of(ssp)
    assert set(order) == set(np.flatnonzero(np.isfinite(expected)))
    np.testing.assert_allclose(label[order], expected[order], rtol=1e-12)


@pytest.mark.parametrize("concentration", [0.1, 1.0])
def test_labels_are_those_of_the_states_closed_before(concentration: float) -> None:
    """Here every transition is likely or the pass over unlikely ones has counted it, unless it was closed too late."""
    world = worlds.grid_world(12, 12)
    belief = Dirichlet(concentration, support=world).belief(Task.of(world, 1))
    for seed in range(5):
        ssp = belief.sample(np.random.default_rng(seed))
        label, order = labels_of(ssp)
        assert len(order) == ssp.states
        assert (label[order] >= 0.999 * np.maximum.accumulate(label[order]) - AWAY).all()  # every step costs 1
        place = np.append(np.empty(ssp.states), -1.0)
        place[order] = np.arange(ssp.states)
        known = np.append(label, 0.0)
        for state in order:
            lowest = np.inf
            for row in range(state * ssp.actions, (state + 1) * ssp.actions):
                entries = slice(ssp.indptr[row], ssp.indptr[row + 1])
                there, p = ssp.successors[entries], ssp.probabilities[entries]
                before = place[there] < place[state]
                if before.any():
                    cost, share = ssp.costs.flat[row], p[before].sum()
                    value = cost + AWAY * cost * (1.0 - share) + p[before] @ known[there[before]]
                    lowest = min(lowest, value / share)
            assert lowest <= label[state] * (1.0 + 1e-9)  # unlikely transitions may have been left out, never invented


def test_groups_follow_the_order_and_do_not_exceed_their_number() -> None:
    label = np.concatenate([np.linspace(1.0, 10.0, 500), [1e6, 1e6 + 1.0, 1e9]])
    group = np.empty(len(label), dtype=np.int32)
    count = label_groups(label, np.arange(len(label), dtype=np.int32), 44, group)
    assert count <= 44
    assert set(np.diff(group)) <= {0, 1}
    assert group[0] == 0
    assert group[-1] == count - 1
    assert group[-3] == group[-2] < group[-1]
