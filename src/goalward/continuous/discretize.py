"""Continuous observations as finitely many states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium import spaces

from goalward.continuous.encoding import Cells, checked_point
from goalward.continuous.task import checked_box, per_axis
from goalward.environments.goal_and_cost_rules import name_of
from goalward.errors import SettingError

MOST_CELLS = 1_000_000


class Discretize(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Cuts `Box` observations into equal cells; the cell is the state that an agent sees.

    Several true states share a cell, so to the agent the world is random even if it is not, and what happens next
    depends on more than the cell. No bound on regret covers this.

    Parameters
    ----------
    env
        An environment whose observations are a Box of one axis.
    bins
        The number of cells on each axis: one number for all, or one for each.
    low, high
        Where the cells begin and end on each axis, for bounds that are infinite or too wide. Observations beyond the
        last cell belong to it.

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
        bins: int | Sequence[int],
        *,
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
    ):
        space = getattr(env, "observation_space", None)
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise SettingError(f"the observations of {name_of(env)} are {space}; Discretize cuts a Box of one axis")
        super().__init__(env)
        self.dimensions = space.shape[0]
        lower, upper = checked_box(space.low if low is None else low, space.high if high is None else high)
        shape = per_axis("bins", bins, self.dimensions, MOST_CELLS)
        self.cells = Cells(lower, upper, shape)
        self.observation_space = spaces.Discrete(math.prod(shape))

    def observation(self, observation: Any) -> int:
        return self.cells.one(checked_point(observation, self.dimensions, "observation"))
