"""Cells of continuous observations."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import goalward as gw
from goalward.errors import SettingError, ShapeError, StateError


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


def test_infinite_bounds_need_others() -> None:
    pole = gymnasium.make("CartPole-v1")
    with pytest.raises(SettingError, match=r"coordinate 1 goes from -inf to inf; .* Pass low= and high="):
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
        (0, "bins is 0; it must be an integer of at least 1"),
        ((3,), "the box has 2 dimensions: pass 2 numbers"),
        ((3, 2.5), "bins is 2.5; it must be an integer"),
        (10_000, "which makes 100,000,000 bins in total; at most 1,000,000 are allowed"),
    ],
)
def test_bins(bins: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        car(bins=bins)


def test_other_things_cannot_be_cut() -> None:
    with pytest.raises(SettingError, match=r"FrozenLake-v1 are Discrete\(16\); Discretize needs a Box"):
        gw.Discretize(gymnasium.make("FrozenLake-v1"), bins=3)
    with pytest.raises(SettingError, match="observations of int are None; Discretize needs a Box"):
        gw.Discretize(3, bins=3)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="pass two lists of the same length"):
        car(bins=3, low=[0.0])
    with pytest.raises(StateError, match="must be 2 finite numbers"):
        car(bins=3).observation(np.array([np.nan, 0.0]))
