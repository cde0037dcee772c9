"""Continuous observations as finitely many states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from goalward.arrays import Floats
from goalward.environments.goal_and_cost_rules import name_of
from goalward.errors import SettingError, StateError

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
        The number of cells in each dimension: one number for all, or one for each; or for each dimension the
        increasing points at which it is cut. Observations beyond the last cell belong to it.
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
        space = getattr(env, "observation_space", None)
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise SettingError(f"the observations of {name_of(env)} are {space}; Discretize cuts a Box of one axis")
        super().__init__(env)
        m = space.shape[0]
        lows, highs = (
            np.asarray(bounds, dtype=float).tolist()
            for bounds in (space.low if low is None else low, space.high if high is None else high)
        )
        columns = ([bins] * m if isinstance(bins, int | np.integer) else bins, lows, highs)
        if [len(column) for column in columns] != [m] * 3:
            lengths = "bins has {} entries, low {} and high {}".format(*map(len, columns))
            raise SettingError(f"{lengths}; the observations have {m}")
        self.cuts = [cut_points(*entries, i) for i, entries in enumerate(zip(*columns, strict=True))]
        self.sizes = tuple(len(cuts) + 1 for cuts in self.cuts)
        if math.prod(self.sizes) > MOST_CELLS:
            raise SettingError(f"bins make {math.prod(self.sizes):,} cells; at most {MOST_CELLS:,} can be learnt")
        self.observation_space = spaces.Discrete(math.prod(self.sizes))

    def observation(self, observation: Any) -> int:
        if np.isnan(observation).any():
            raise StateError(f"{name_of(self.env)} observed {observation}; NaN belongs to no cell")
        cell = [np.searchsorted(cuts, value, side="right") for cuts, value in zip(self.cuts, observation, strict=True)]
        return int(np.ravel_multi_index(cell, self.sizes))


def cut_points(bins: Any, low: float, high: float, dimension: int) -> Floats:
    """Return the increasing points that cut a dimension: those of a number of equal cells, or the ones given."""
    equal = isinstance(bins, int | np.integer)
    try:
        with np.errstate(invalid="ignore"):
            cuts = low + (high - low) / bins * np.arange(1, bins) if equal else np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError, ZeroDivisionError):
        cuts = np.array(np.nan)
    if cuts.ndim != 1 or not np.isfinite(cuts).all() or not (np.diff(cuts) > 0.0).all() or (equal and bins < 1):
        raise SettingError(
            f"bins[{dimension}] is {bins!r} and dimension {dimension} goes from {low:g} to {high:g}; pass a number of"
            " equal cells, with low= and high= where a bound is infinite, or increasing points at which to cut"
        )
    return np.asarray(cuts, dtype=np.float64)
