import numpy as np
import pytest

from goalward import structure
from goalward.errors import SettingError
from goalward.worlds import clusters, layers, sparse_mdp


def test_sparse_rows_are_those_documented():
    S, A, b = 12, 3, 4
    world = sparse_mdp(S, A, b, seed=6, cost_min=0.2)
    rng = np.random.default_rng(6)
    order = rng.permutation(S).tolist()
    targets = rng.integers(0, S + 1, (S, A, b))
    for position, chance in enumerate(rng.random(S)):
        earlier = [S, *order[:position]]
        targets[order[position], 0, 0] = earlier[int(chance * len(earlier))]
    weights = rng.standard_exponential((S, A, b))
    P = np.zeros((S, A, S + 1))
    for s, a, i in np.ndindex(S, A, b):
        P[s, a, targets[s, a, i]] += weights[s, a, i] / weights[s, a].sum()
    np.testing.assert_allclose(world.to_dense(), P, rtol=1e-13)
    np.testing.assert_array_equal(world.costs, 0.2 + 0.8 * rng.random((S, A)))


def test_large_sparse_worlds_reach_the_goal_from_everywhere():
    world = sparse_mdp(states=20_000, actions=2, successors=2)
    assert len(world.successors) <= 80_000
    assert len(structure(world).dead_ends) == 0


def test_layers_lead_to_the_next_one_or_back():
    P = layers(depth=4, width=3, actions=2, slip=0.25, seed=1).to_dense()
    for state in range(12):
        ahead = range(3 * (state // 3 + 1), 3 * (state // 3 + 2)) if state < 9 else [12]
        np.testing.assert_allclose(P[state][:, ahead].sum(axis=1), 0.75)
        np.testing.assert_allclose(P[state][:, 0], 0.25)


def test_clusters_are_left_by_bridges_only():
    world = clusters(blocks=3, size=5, actions=4, bridge=0.1, seed=2)
    P = world.to_dense()
    crossing = 0
    for state in range(15):
        block = state // 5
        inside = P[state][:, 5 * block : 5 * block + 5]
        outside = 1.0 - inside.sum(axis=1)
        following = P[state][:, 5 * block + 5 : 5 * block + 10] if block < 2 else P[state][:, 15:]
        assert (inside > 0.0).all()
        np.testing.assert_allclose(following.sum(axis=1), outside, atol=1e-15)
        assert (np.count_nonzero(following, axis=1) <= 1).all()
        assert (outside < 0.2).all()
        crossing += np.count_nonzero(following.sum(axis=1))
    # 60 pairs, a fourth of them: 15 with a standard deviation of 3.4.
    assert 3 <= crossing <= 30
    assert (P[::5, 0, :5].sum(axis=1) < 1.0).all()
    assert len(structure(world).dead_ends) == 0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sparse_mdp(successors=0), "successors is 0"),
        (lambda: layers(slip=1.0), "slip is 1.0"),
        (lambda: clusters(bridge=0.0), "bridge is 0.0"),
        (lambda: clusters(seed=-1), "seed is -1"),
    ],
)
def test_settings_that_make_no_world(build, message):
    with pytest.raises(SettingError, match=message):
        build()
