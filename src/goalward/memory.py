"""What learners have learnt, as named arrays and numbers: saving it, and restoring it from files.

A file may be damaged or forged, and kernels trust their arrays. So what goalward's own classes restore is checked
against an object that has learnt nothing yet: arrays keep their shape and type, and numbers never fall below their
values at the start. Classes of users get back whatever they saved.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalward.errors import SettingError

LARGEST_NUMBER = 2**53
"""The largest count that is read from a file: beyond it, adding one changes no double."""

LARGEST_ESTIMATE = 1e307
"""The largest estimate that is read from a file: the sum of some of them is still finite."""


class Memory:
    """An object with learnt attributes that can be saved and restored."""

    @property
    def learnt(self) -> Sequence[str]:
        """The names of the attributes that hold what was learnt: arrays, numbers, texts or memories themselves."""
        return ()

    def to_state(self) -> dict[str, Any]:
        """Return what was learnt as names with plain data and arrays, for saving."""
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
        """Restore what `to_state` returned, to an object that has learnt nothing; ValueError if it does not fit."""
        if set(self.learnt) != set(state):
            owner = getattr(self, "name", type(self).__name__)
            raise ValueError(f"{owner} needs the entries {sorted(self.learnt)}; the state has {sorted(state)}")
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
    """Return a copy of an array from a file; raises ValueError if it cannot have grown out of the one at the start."""
    array = np.array(value)
    if (array.shape, array.dtype) != (start.shape, start.dtype):
        raise ValueError(f"{name} must have shape {start.shape} and dtype {start.dtype}")
    if start.dtype.kind in "if":
        limit = LARGEST_NUMBER if start.dtype.kind == "i" else LARGEST_ESTIMATE
        if not ((array >= start) & ((array <= limit) | (start > limit))).all():
            raise ValueError(f"{name} must hold numbers up to {limit:g}, none below its value at the start")
    return array


def checked_number(name: str, value: Any, start: Any) -> Any:
    """Return a number or text from a file; raises ValueError if it cannot have grown out of the one at the start."""
    if start is not None and type(value) is not type(start):
        raise ValueError(f"{name} must be of type {type(start).__name__}")
    if type(start) in (int, float) and not start <= value <= max(start, LARGEST_NUMBER):
        raise ValueError(f"{name} is {value!r}; it must be a number from {start:g} to {LARGEST_NUMBER:g}")
    return value
