"""A wrapper that turns continuous observations into finitely many states."""

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
    """Cuts a `Box` observation space into equal cells; each observation is replaced by its cell number.

    A cell contains many true states. So the world looks random to the agent even if the environment is deterministic,
    and the cells do not have the Markov property. No bound on regret covers this case.

    Parameters
    ----------
    env
        An environment whose observation space is a Box with one axis.
    bins
        The number of cells on each axis: one number for all axes, or a list with one number per axis.
    low, high
        The bounds of the cells on each axis. The default is the bounds of the observation space; if these are infinite
        or too wide, pass your own. An observation outside the bounds belongs to the nearest cell.

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
            raise SettingError(f"the observations of {name_of(env)} are {space}; Discretize needs a Box with one axis")
        super().__init__(env)
        self.dimensions = space.shape[0]
        lower, upper = checked_box(space.low if low is None else low, space.high if high is None else high)
        shape = per_axis("bins", bins, self.dimensions, MOST_CELLS)
        self.cells = Cells(lower, upper, shape)
        self.observation_space = spaces.Discrete(math.prod(shape))

    def observation(self, observation: Any) -> int:
        return self.cells.one(checked_point(observation, self.dimensions, "observation"))
