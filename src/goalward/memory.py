"""Save and restore the learnt data of agents, as named arrays and numbers.

A file may be damaged or forged, and kernels do not check their arrays. Therefore goalward's own classes compare
restored values with the initial values before learning: arrays must have the same shape and dtype, and no number may be
below its initial value. Classes of users get back their saved values without checks.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalward.errors import SettingError

LARGEST_NUMBER = 2**53
"""The largest count accepted from a file: adding one to a larger double may have no effect."""

LARGEST_ESTIMATE = 1e307
"""The largest estimate accepted from a file: sums of a few such numbers are finite."""


class Memory:
    """The base of objects whose learnt attributes can be saved and restored."""

    @property
    def learnt(self) -> Sequence[str]:
        """The names of the learnt attributes: arrays, numbers, strings or `Memory` objects."""
        return ()

    def to_state(self) -> dict[str, Any]:
        """Return the learnt attributes as a dict of plain data and arrays."""
        state: dict[str, Any] = {}
        for name in self.learnt:
            value = getattr(self, name)
            if hasattr(value, "to_state"):
                state[name] = value.to_state()
            elif value is None or isinstance(value, np.ndarray | np.generic | int | float | str):
                state[name] = value
            else:
                kind, owner = type(value).__name__, getattr(self, "name", type(self).__name__)
                raise SettingError(f"{owner} cannot be saved: {name} is of type {kind}, not an array or a number")
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a `state` from `to_state` in an object that has not learnt; raise ValueError for a wrong state."""
        if set(self.learnt) != set(state):
            owner = getattr(self, "name", type(self).__name__)
            raise ValueError(f"the state has the entries {sorted(state)}, but {owner} needs {sorted(self.learnt)}")
        trusted = not type(self).__module__.startswith("goalward.")
        for name in self.learnt:
            start, value = getattr(self, name), state[name]
            if hasattr(start, "restore"):
                start.restore(value)
            elif trusted:
                setattr(self, name, copy.copy(value))
            elif isinstance(start, np.ndarray):
                setattr(self, name, checked_array(name, value, start))
            else:
                setattr(self, name, checked_number(name, value, start))


def checked_array(name: str, value: Any, start: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of the array `value` from a file after comparing it with the initial value `start`."""
    array = np.array(value)
    if (array.shape, array.dtype) != (start.shape, start.dtype):
        raise ValueError(f"{name} must have shape {start.shape} and dtype {start.dtype}")
    if start.dtype.kind in "if":
        limit = LARGEST_NUMBER if start.dtype.kind == "i" else LARGEST_ESTIMATE
        if not ((array >= start) & ((array <= limit) | (start > limit))).all():
            raise ValueError(f"all numbers in {name} must lie between their initial values and {limit:g}")
    return array


def checked_number(name: str, value: Any, start: Any) -> Any:
    """Return the number or string `value` from a file after comparing it with the initial value `start`."""
    if start is not None and type(value) is not type(start):
        raise ValueError(f"{name} must be of type {type(start).__name__}")
    if type(start) in (int, float) and not start <= value <= max(start, LARGEST_NUMBER):
        raise ValueError(f"{name} is {value!r}; it must be a number from {start:g} to {LARGEST_NUMBER:g}")
    return value
