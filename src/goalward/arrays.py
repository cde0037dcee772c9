"""Names for the array types that pass between functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt32s = NDArray[np.uint32]
Floats = NDArray[np.float64]

__all__ = ["Bools", "Bytes", "Floats", "Int32s", "Int64s", "UInt32s"]
