import numpy as np
import pytest

import goalward as gw
from goalward.errors import SettingError
from goalward.worlds import cheap_loop_chain, combination_lock, river_swim


def upstream(states, forward, back):
    """The expected steps of always going on: the first passages from each place to the next, added up."""
    total = passage = 0.0
    for _ in range(states):
        passage = (1.0 + back * passage) / forward if total else 1.0 / forward
        total += passage
    return total


@pytest.mark.parametrize(("states", "forward", "back"), [(6, 0.35, 0.05), (12, 0.4, 0.05), (1, 0.2, 0.5)])
def test_values_of_the_river(states, forward, back):
    world = river_swim(states, forward, back, drift_cost=0.01)
    solution = gw.solve(world, 1e-9)
    assert solution.values[0] == pytest.approx(upstream(states, forward, back), rel=1e-9)
    assert (solution.policy == 1).all()


@pytest.mark.parametrize(("states", "forward", "cost"), [(10, 0.6, 0.1), (6, 0.6, 0.01), (30, 0.5, 0.1)])
def test_values_of_the_chain(states, forward, cost):
    world = cheap_loop_chain(states, forward, cost)
    solution = gw.solve(world, 1e-9)
    assert solution.values[0] == pytest.approx(upstream(states, forward, 1.0 - forward), rel=1e-9)
    assert world.costs[:, 0].tolist() == [cost] * states


def test_a_lock_has_one_right_action_everywhere():
    world = combination_lock(length=7, actions=5, success=0.8, seed=3)
    P = world.to_dense()
    right = P[np.arange(7), :, np.arange(1, 8)].argmax(axis=1)
    assert len(set(right.tolist())) > 1
    for place in range(7):
        for action in range(5):
            expected = np.zeros(8)
            if action == right[place]:
                expected[place], expected[place + 1] = 0.2, 0.8
            else:
                expected[0] = 1.0
            np.testing.assert_allclose(P[place, action], expected)
    assert gw.solve(world).values[0] == pytest.approx(7 / 0.8)
    assert combination_lock(seed=1) != combination_lock(seed=2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: river_swim(states=0), "states is 0"),
        (lambda: river_swim(forward=0.6, back=0.5), "back is 0.5"),
        (lambda: cheap_loop_chain(forward=1.5), "forward is 1.5"),
        (lambda: cheap_loop_chain(loop_cost=2.0), "loop_cost is 2.0"),
        (lambda: combination_lock(actions=0), "actions is 0"),
    ],
)
def test_settings_that_make_no_world(build, message):
    with pytest.raises(SettingError, match=message):
        build()
