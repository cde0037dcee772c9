import numpy as np
import pytest
from dense_oracle import best_values

import goalward as gw
from goalward.errors import SettingError
from goalward.worlds import needle, traps


def test_leaps_and_detours():
    world = traps(length=5, detour=4, stride=3, good=0.1, bad=0.6, seed=2)
    P = world.to_dense()
    risk = P[:5, 1, 5]
    assert set(risk.tolist()) == {0.1, 0.6}
    np.testing.assert_allclose(P[1, 1, 4], 1.0 - risk[1])
    np.testing.assert_allclose(P[2:5, 1, 9], 1.0 - risk[2:])
    assert P[:5, 0, [0, 1, 2, 3, 4]][np.arange(5), np.arange(5)].tolist() == [0.1] * 5
    assert P[8, :, 0].tolist() == [1.0, 1.0]
    assert world.action_names == ("walk", "leap")
    assert gw.solve(world, 1e-9).values == pytest.approx(best_values(P, world.costs), rel=1e-8)


def test_one_action_is_a_little_better_in_each_state():
    world = needle(states=3, actions=4, steps=8.0, advantage=0.25, seed=5)
    P = world.to_dense()
    assert P[0, :, 1:4] == pytest.approx(1.0 / 3.0)
    assert np.sort(P[1:, :, -1], axis=1) == pytest.approx(np.tile([1 / 8, 1 / 8, 1 / 8, 1.25 / 8], (3, 1)))
    assert gw.solve(world).values.tolist() == pytest.approx([7.4, 6.4, 6.4, 6.4])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: traps(length=0), "length is 0"),
        (lambda: traps(bad=1.2), "bad is 1.2"),
        (lambda: needle(steps=0.5), "steps is 0.5"),
        (lambda: needle(steps=2.0, advantage=1.5), "advantage is 1.5; it must be a number from 0 to 1"),
    ],
)
def test_settings_that_make_no_world(build, message):
    with pytest.raises(SettingError, match=message):
        build()
