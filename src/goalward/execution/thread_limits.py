"""One thread for linear algebra.

There are as many workers as cores, and the order of additions, hence the last bit of a result, must not depend on the
number of threads. The libraries read these variables when NumPy is first imported.
"""

from __future__ import annotations

import os

__all__ = ["use_one_thread"]


def use_one_thread() -> None:
    """Ask the libraries of linear algebra for one thread, unless the user has asked for another number."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
