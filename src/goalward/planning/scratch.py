"""Memory that planning uses again and again.

Fresh memory of megabytes costs more than the arithmetic on it: the system clears each page on first touch. Agents plan
hundreds of times on models of one size, so the planner's working arrays are kept, per thread, from one call to the
next. Nothing that leaves the planner lives here.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["scratch"]

KEPT_BYTES = 1 << 24  # larger arrays are not kept: there the arithmetic is what takes the time


class Scratch(threading.local):
    """Named arrays that grow when needed; what is in them is undefined."""

    def __init__(self) -> None:
        self.blocks: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, size: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return an array of that size; the one returned before under this name must no longer be in use."""
        block = self.blocks.get(name)
        if block is None or len(block) < size:
            block = np.empty(size, dtype=dtype)
            if block.nbytes <= KEPT_BYTES:
                self.blocks[name] = block
        return block[:size]


scratch = Scratch()
