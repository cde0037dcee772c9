"""How observations become points of a box, points become cells of it, and action numbers what ``env.step`` takes.

An encoding is plain data, as that of tables is (`goalward.acting.encoding`). Gymnasium's Acrobot and Pendulum observe
cosines and sines of angles. The functions that compute the angles have names, so a file can refer to them. A function
of the user's has to be passed again when a file is read.
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
    """Return some finite numbers as an array; raises StateError if there are not `dimensions` of them."""
    try:
        point = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        point = np.array(np.nan)
    if point.shape != (dimensions,) or not np.isfinite(point).all():
        raise StateError(f"the {name} is {value!r:.80}; it must be {dimensions} finite numbers")
    return point


class Cells:
    """The equal cells of a box, numbered in the order of `numpy.unravel_index`.

    `shape` is the number of cells on each axis. Points beyond the box belong to the nearest cell.
    """

    def __init__(self, low: Floats, high: Floats, shape: Sequence[int]):
        self.low, self.shape = low, np.array(shape, dtype=np.int64)
        self.width: Floats = (high - low) / self.shape

    def of(self, points: Floats) -> Int64s:
        """Return the numbers of the cells in which some points ``[n, m]`` lie."""
        index = np.floor((points - self.low) / self.width).astype(np.int64).clip(0, self.shape - 1)
        return np.asarray(np.ravel_multi_index(tuple(index.T), tuple(self.shape)), dtype=np.int64)

    def one(self, point: Floats) -> int:
        return int(self.of(point[np.newaxis])[0])

    def centres(self) -> Floats:
        """Return the middle of each cell, ``[n, m]``."""
        corners = np.stack(np.unravel_index(np.arange(math.prod(self.shape)), tuple(self.shape)), axis=1)
        return np.asarray(self.low + (corners + 0.5) * self.width)


def with_angles(observation: Any, angles: int) -> Floats:
    """Return the state of an observation that begins with the cosine and the sine of some angles; speeds follow."""
    numbers = checked_point(observation, 3 * angles, "observation")
    pairs = numbers[: 2 * angles].reshape(-1, 2)
    return np.append(np.arctan2(pairs[:, 1], pairs[:, 0]), numbers[2 * angles :])


STATE_FUNCTIONS: dict[str, StateFunction] = {
    "observation": np.asarray,
    "acrobot": partial(with_angles, angles=2),
    "pendulum": partial(with_angles, angles=1),
}
"""Functions that files refer to by name; "function" stands for the user's own."""


@dataclass(frozen=True, eq=False)
class BoxEncoding:
    """How observations become states and action numbers actions.

    `actions` ``[A, ...]`` holds what the environment takes for each action. `name` is that of the state function.
    """

    dimensions: int
    actions: NDArray[Any]
    name: str = "observation"
    function: StateFunction = np.asarray

    def state(self, observation: Any) -> Floats:
        """Return the state of an observation; raises StateError if it has none."""
        return checked_point(self.function(observation), self.dimensions)

    def action(self, number: int) -> Any:
        action = self.actions[number]
        return int(action) if isinstance(action, np.integer) else np.array(action)

    def to_state(self) -> dict[str, Any]:
        return {"dimensions": self.dimensions, "actions": self.actions, "state": self.name}

    @classmethod
    def from_state(cls, state: dict[str, Any], key: StateFunction | None = None) -> BoxEncoding:
        """Return the encoding that `to_state` saved; `key` is the function that was passed as ``state=``."""
        function = STATE_FUNCTIONS.get(state["state"], key)
        if function is None:
            raise SettingError("the states were computed by a function; pass it again: key=function")
        actions = np.array(state["actions"])
        if not actions.ndim or not len(actions) or actions.dtype.kind not in "iuf":
            raise ValueError(f"actions have shape {actions.shape} and dtype {actions.dtype}")
        return cls(int(state["dimensions"]), actions, state["state"], function)
