"""Continuous observations as finitely many states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from goalward.environments.rules import name_of
from goalward.environments.spaces import equal_cuts
from goalward.errors import SettingError, StateError

__all__ = ["Discretize"]

MOST_CELLS = 1_000_000


class Discretize(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Cuts `Box` observations into cells; the cell is the state that an agent sees.

    Several true states share a cell, so to the agent the world is random even if it is not, and what happens next
    depends on more than the cell. No bound on regret covers this.

    Parameters
    ----------
    env
        An environment whose observations are a Box of one axis.
    bins
        How many cells each dimension has: one number for all, or one for each; or for each the increasing points at
        which it is cut. Observations beyond the last cell belong to it.
    low, high
        Where the cells of equal size begin and end in each dimension, for bounds that are infinite or too wide.

    Examples
    --------
    >>> import goalward as gw, gymnasium
    >>> car = gw.Discretize(gymnasium.make("MountainCar-v0").unwrapped, bins=(18, 7))
    >>> car.observation_space
    Discrete(126)
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        bins: int | Sequence[Any],
        *,
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
    ):
        if not isinstance(env, gymnasium.Env):
            raise SettingError(f"env is {env!r}; Discretize wraps a Gymnasium environment")
        space = env.observation_space
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise SettingError(f"the observations of {name_of(env)} are {space}; Discretize cuts a Box of one axis")
        super().__init__(env)
        dimensions = space.shape[0]
        given = [bins] * dimensions if isinstance(bins, int | np.integer) else list(bins)
        if len(given) != dimensions:
            raise SettingError(f"bins has {len(given)} entries, the observations have {dimensions}; one for each")
        ends = [bound(name, given_end, space_end) for name, given_end, space_end in
                (("low", low, space.low), ("high", high, space.high))]  # fmt: skip
        self.cuts = [
            equal_cuts(each, float(ends[0][i]), float(ends[1][i]), i)
            if isinstance(each, int | np.integer)
            else given_cuts(each, i)
            for i, each in enumerate(given)
        ]
        self.sizes = [len(cuts) + 1 for cuts in self.cuts]
        if math.prod(self.sizes) > MOST_CELLS:
            raise SettingError(f"bins make {math.prod(self.sizes):,} cells; at most {MOST_CELLS:,} can be learnt")
        self.observation_space = spaces.Discrete(math.prod(self.sizes))

    def observation(self, observation: Any) -> int:
        """Return the cell of an observation."""
        cell = 0
        for value, cuts, size in zip(observation, self.cuts, self.sizes, strict=True):
            if math.isnan(value):
                raise StateError(f"{name_of(self.env)} observed {observation}; NaN belongs to no cell")
            cell = cell * size + int(np.searchsorted(cuts, value, side="right"))
        return cell


def bound(name: str, given: Sequence[float] | None, own: Any) -> Any:
    if given is None:
        return own
    array = np.asarray(given, dtype=np.float64)
    if array.shape != own.shape:
        raise SettingError(f"{name} has shape {array.shape}; it must be one number for each of {len(own)} dimensions")
    return array


def given_cuts(points: Any, dimension: int) -> Any:
    try:
        cuts = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.array(np.nan)
    if cuts.ndim != 1 or not np.isfinite(cuts).all() or not (np.diff(cuts) > 0.0).all():
        raise SettingError(
            f"bins[{dimension}] is {points!r}; it must be a number, or increasing points at which to cut"
        )
    return cuts
