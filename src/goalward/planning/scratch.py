"""Memory that planning uses again and again.

Fresh memory of megabytes costs more than the arithmetic on it: the system clears each page on first touch. Agents plan
hundreds of times on models of one size, so the planner's working arrays are kept, per thread, from one call to the
next. Nothing that leaves the planner lives here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["scratch"]

KEPT_BYTES = 1 << 26  # more than that is not kept: there the arithmetic is what takes the time

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class Kept(NamedTuple):
    """Arrays and the sizes they were made for."""

    sizes: tuple[int, ...]
    arrays: Any


class Scratch(threading.local):
    """What each maker of arrays made last; what is in them is undefined."""

    def __init__(self) -> None:
        self.kept: dict[Callable[..., Any], Kept] = {}

    def __call__(self, make: Callable[..., Arrays], *sizes: int) -> Arrays:
        """Return arrays of these sizes; those returned before from this maker must no longer be in use."""
        kept = self.kept.get(make)
        if kept is not None and kept.sizes == sizes:
            return kept.arrays  # type: ignore[no-any-return]
        arrays = make(*sizes)
        if sum(array.nbytes for array in arrays) <= KEPT_BYTES:
            self.kept[make] = Kept(sizes, arrays)
        return arrays


scratch = Scratch()
