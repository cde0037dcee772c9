import numpy as np
import pytest
from dense_oracle import best_policy, best_values, policy_cost

from goalward.errors import SettingError
from goalward.worlds import random_mdp


def uniform_gap(world):
    P, costs = world.to_dense(), world.costs
    _, values = best_policy(P, costs)
    return policy_cost(P, costs, np.full(costs.shape, 1.0 / world.actions))[0] - values[0]


def test_known_values_of_the_default_instance():
    """What the published figure tells of its instance: smallest cost 0.04, ULCVI's slope 1.52, EB-SSP's first 2.91."""
    world = random_mdp()
    P, costs = world.to_dense(), world.costs
    values = best_values(P, costs)
    assert (world.states, world.actions) == (7, 2)
    assert costs.min() == pytest.approx(0.0423, abs=5e-5)
    assert values[[0]] == pytest.approx(1.8366, abs=5e-5)
    assert values.max() == pytest.approx(2.3211, abs=5e-5)
    assert policy_cost(P, costs, np.full((7, 2), 0.5))[0] == pytest.approx(3.2868, abs=5e-5)
    assert uniform_gap(world) == pytest.approx(1.52, rel=0.05)
    second = np.tile([0.0, 1.0], (7, 1))
    assert policy_cost(P, costs, second)[0] - values[0] == pytest.approx(2.91, rel=0.05)


@pytest.mark.parametrize("rows", ["uniform", "dirichlet"])
def test_draws_are_those_documented(rows):
    world = random_mdp(states=5, actions=3, seed=17, rows=rows, cost_min=0.25)
    rng = np.random.default_rng(17)
    draw = rng.random if rows == "uniform" else rng.standard_exponential
    P = draw((5, 3, 6))
    np.testing.assert_allclose(world.to_dense(), P / P.sum(axis=2, keepdims=True), rtol=1e-15)
    np.testing.assert_array_equal(world.costs, 0.25 + 0.75 * rng.random((5, 3)))


def test_row_laws_differ_as_they_should():
    # Mean of sum p^2 over 2000 rows of 11: Dirichlet(1) has 2/12 exactly; normalised uniforms about 0.120. The standard
    # errors are below 0.002, so a false alarm at these distances has probability under 1e-12.
    def concentration(rows):
        P = random_mdp(states=10, actions=200, seed=1, rows=rows).to_dense()
        return (P**2).sum(axis=2).mean()

    assert concentration("dirichlet") == pytest.approx(2 / 12, abs=0.015)
    assert concentration("uniform") == pytest.approx(0.120, abs=0.015)


def test_the_goal_is_one_step_away_everywhere():
    assert (random_mdp(states=30, actions=4, seed=3).to_dense()[:, :, -1] > 0.0).all()


def test_seeds_make_different_worlds():
    assert random_mdp(seed=1) == random_mdp(seed=1)
    assert random_mdp(seed=1) != random_mdp(seed=2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"states": 0}, "states is 0"),
        ({"actions": 0}, "actions is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"rows": "normal"}, "rows is 'normal'; it must be 'dirichlet' or 'uniform'"),
        ({"cost_min": 1.5}, "cost_min is 1.5"),
        ({"cost_min": -0.5}, "cost_min is -0.5"),
    ],
)
def test_bad_settings_are_named(setting, message):
    with pytest.raises(SettingError, match=message):
        random_mdp(**setting)
