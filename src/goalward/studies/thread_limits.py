"""One thread for linear algebra.

There are as many workers as cores. And the number of threads decides the order of additions, hence the last bit of a
result. The libraries read these variables when NumPy is first imported.
"""

from __future__ import annotations

import os

__all__ = ["use_one_thread"]


def use_one_thread() -> None:
    """Make the libraries of linear algebra use one thread, unless the user has set a number."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
