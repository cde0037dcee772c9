"""Working memory that planning uses again and again.

Fresh memory of megabytes costs more than the arithmetic on it, because the system clears each page on first touch.
Agents plan hundreds of times on models of one size. So the planner keeps its working arrays from one call to the next,
separately in each thread. Nothing that the planner returns lives here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["workspace"]

KEPT_BYTES = 1 << 26  # larger arrays are not kept: there the arithmetic takes the time

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class Kept(NamedTuple):
    """Arrays and the sizes they were allocated for."""

    sizes: tuple[int, ...]
    arrays: Any


class Workspace(threading.local):
    """The arrays that each allocating function returned last; their content is undefined."""

    def __init__(self) -> None:
        self.kept: dict[Callable[..., Any], Kept] = {}

    def __call__(self, allocate: Callable[..., Arrays], *sizes: int) -> Arrays:
        """Return arrays of these sizes; the ones returned before for this function must no longer be in use."""
        kept = self.kept.get(allocate)
        if kept is not None and kept.sizes == sizes:
            return kept.arrays  # type: ignore[no-any-return]
        arrays = allocate(*sizes)
        if sum(array.nbytes for array in arrays) <= KEPT_BYTES:
            self.kept[allocate] = Kept(sizes, arrays)
        return arrays


workspace = Workspace()
