"""Cells of continuous observations."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import goalward as gw
from goalward.errors import SettingError, StateError


def car(**options: Any) -> gw.Discretize:
    return gw.Discretize(gymnasium.make("MountainCar-v0").unwrapped, **options)


def test_cells_are_of_equal_size() -> None:
    """Against the arithmetic of rows and columns, for points inside the cells."""
    env = car(bins=(18, 7))
    rng = np.random.default_rng(0)
    for position, velocity in zip(rng.uniform(-1.2, 0.6, 200), rng.uniform(-0.07, 0.07, 200), strict=True):
        expected = int((position + 1.2) / 0.1) * 7 + int((velocity + 0.07) / 0.02)
        assert env.observation(np.array([position, velocity])) == expected
    assert env.observation(np.array([-9.0, -9.0])) == 0
    assert env.observation(np.array([9.0, 9.0])) == 125


def test_points_to_cut_at() -> None:
    env = car(bins=([-0.5, 0.0], 2))
    assert env.observation_space.n == 6
    assert [env.observation(np.array([x, 0.01])) for x in (-0.6, -0.5, -0.1, 0.0)] == [1, 3, 3, 5]


def test_infinite_bounds_need_others() -> None:
    pole = gymnasium.make("CartPole-v1")
    with pytest.raises(SettingError, match=r"dimension 1 goes from -inf to inf; .* with low= and high="):
        gw.Discretize(pole, bins=3)
    env = gw.Discretize(pole, bins=3, low=[-2.4, -1.0, -0.2, -1.0], high=[2.4, 1.0, 0.2, 1.0])
    assert env.observation_space == gymnasium.spaces.Discrete(81)
    assert env.reset(seed=0)[0] == 40


def test_it_is_an_environment() -> None:
    env = car(bins=4)
    env.observation_space.seed(0)
    assert env.reset(seed=0)[0] in env.observation_space
    assert env.step(1)[0] in env.observation_space
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(env, skip_render_check=True, skip_close_check=True)


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (0, r"bins\[0\] is 0 and dimension 0 goes from -1.2 to 0.6; pass a number of equal cells"),
        ((3,), "bins has 1 entries, .* the observations have 2"),
        ((3, [1.0, 0.5]), r"bins\[1\] is \[1.0, 0.5\] .* or increasing points at which to cut"),
        ((3, "ab"), r"bins\[1\] is 'ab'"),
        (10_000, "bins make 100,000,000 cells"),
    ],
)
def test_bins(bins: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        car(bins=bins)


def test_other_things_cannot_be_cut() -> None:
    with pytest.raises(SettingError, match=r"FrozenLake-v1 are Discrete\(16\); Discretize cuts a Box"):
        gw.Discretize(gymnasium.make("FrozenLake-v1"), bins=3)
    with pytest.raises(SettingError, match="observations of int are None; Discretize cuts a Box"):
        gw.Discretize(3, bins=3)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="low 1 and high 2; the observations have 2"):
        car(bins=3, low=[0.0])
    with pytest.raises(StateError, match="NaN belongs to no cell"):
        car(bins=3).observation(np.array([np.nan, 0.0]))
