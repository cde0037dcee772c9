"""One thread for linear algebra.

There are as many workers as cores. And the number of threads decides the order of additions, hence the last bit of a
result. A number that the user has set is kept.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["one_thread", "use_one_thread"]

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The OpenBLAS that comes with NumPy, and that of SciPy: a module that is linked to it, and the names of its functions.
LIBRARIES = (
    ("numpy.linalg._umath_linalg", "scipy_openblas_{}_num_threads64_"),
    ("scipy.linalg._fblas", "scipy_openblas_{}_num_threads"),
)


def use_one_thread() -> None:
    """Make the libraries use one thread in this process, if they are not loaded yet, and in those it starts."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")


@contextmanager
def one_thread() -> Iterator[None]:
    """Make the libraries use one thread inside the block, although NumPy is loaded already.

    This works with the OpenBLAS of the wheels of NumPy and SciPy; others read their variable when they are loaded.
    """
    found = []
    if all(os.environ.get(name, "1") == "1" for name in VARIABLES):
        for module, name in LIBRARIES:
            with suppress(ImportError, OSError, AttributeError):
                library = ctypes.CDLL(importlib.import_module(module).__file__ or "")
                found.append((library[name.format("set")], library[name.format("get")]()))
    for set_threads, _ in found:
        set_threads(1)
    try:
        yield
    finally:
        for set_threads, before in found:
            set_threads(before)
