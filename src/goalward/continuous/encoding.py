"""Converts observations to points of a box, points to cells, and action numbers to actions of an environment.

A `BoxEncoding` can be stored in a file. The observations of Gymnasium's Acrobot and Pendulum contain cosines and sines
of angles; files store the names of the functions that compute these angles. Files do not store a user's own function,
so the user must pass this function again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError, StateError

StateFunction = Callable[[Any], ArrayLike]


def checked_point(value: Any, dimensions: int, name: str = "state") -> Floats:
    """Return the point `value` as an array; raises StateError unless `value` has `dimensions` finite numbers."""
    try:
        point = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        point = np.array(np.nan)
    if point.shape != (dimensions,) or not np.isfinite(point).all():
        raise StateError(f"the {name} is {value!r:.80}; it must be {dimensions} finite numbers")
    return point


class Cells:
    """The equal cells of a box, numbered in the order of `numpy.unravel_index`.

    `shape` has the number of cells on each axis. Points outside the box belong to the nearest cell.
    """

    def __init__(self, low: Floats, high: Floats, shape: Sequence[int]):
        self.low, self.shape = low, np.array(shape, dtype=np.int64)
        self.width: Floats = (high - low) / self.shape

    def of(self, points: Floats) -> Int64s:
        """Return, for each point in `points` ``[n, m]``, the number of its cell."""
        index = np.floor((points - self.low) / self.width).astype(np.int64).clip(0, self.shape - 1)
        return np.asarray(np.ravel_multi_index(tuple(index.T), tuple(self.shape)), dtype=np.int64)

    def one(self, point: Floats) -> int:
        return int(self.of(point[np.newaxis])[0])

    def centres(self) -> Floats:
        """Return the centre of each cell, ``[n, m]``."""
        corners = np.stack(np.unravel_index(np.arange(math.prod(self.shape)), tuple(self.shape)), axis=1)
        return np.asarray(self.low + (corners + 0.5) * self.width)


def with_angles(observation: Any, angles: int) -> Floats:
    """Return the angles and speeds from an observation with the cosine and sine of each angle and the speeds."""
    numbers = checked_point(observation, 3 * angles, "observation")
    pairs = numbers[: 2 * angles].reshape(-1, 2)
    return np.append(np.arctan2(pairs[:, 1], pairs[:, 0]), numbers[2 * angles :])


STATE_FUNCTIONS: dict[str, StateFunction] = {
    "observation": np.asarray,
    "acrobot": partial(with_angles, angles=2),
    "pendulum": partial(with_angles, angles=1),
}
"""Functions that files refer to by name; files use the name "function" for a user's function."""


@dataclass(frozen=True, eq=False)
class BoxEncoding:
    """Converts observations to states, and action numbers to actions of the environment.

    `actions` ``[A, ...]`` has the argument of ``env.step`` for each action. `function` is named `name`.
    """

    dimensions: int
    actions: NDArray[Any]
    name: str = "observation"
    function: StateFunction = np.asarray

    def state(self, observation: Any) -> Floats:
        """Return the state for an observation; raises StateError unless the state has `dimensions` finite numbers."""
        return checked_point(self.function(observation), self.dimensions)

    def action(self, number: int) -> Any:
        action = self.actions[number]
        return int(action) if isinstance(action, np.integer) else np.array(action)

    def to_state(self) -> dict[str, Any]:
        return {"dimensions": self.dimensions, "actions": self.actions, "state": self.name}

    @classmethod
    def from_state(cls, state: dict[str, Any], key: StateFunction | None = None) -> BoxEncoding:
        """Return the encoding that `to_state` saved; `key` computes states if the file has no function."""
        function = STATE_FUNCTIONS.get(state["state"], key)
        if function is None:
            raise SettingError("the function that computes states is not in the file; pass it as key=function")
        actions = np.array(state["actions"])
        if not actions.ndim or not len(actions) or actions.dtype.kind not in "iuf":
            raise ValueError(f"actions have shape {actions.shape} and dtype {actions.dtype}; they must be numbers")
        return cls(int(state["dimensions"]), actions, state["state"], function)
