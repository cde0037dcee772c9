"""The linear algebra of Bayesian regression, compiled.

These loops take the place of a library of linear algebra because a run must be a pure function of its seed. The sums of
such a library depend on its number of threads and on the processor; these do not. Inner loops run over independent
entries, so that the compiler vectorises them without changing the order of any sum.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import kernel


@kernel
def cosines(z: Floats, frequencies: Floats, phases: Floats, length: float, phi: Floats) -> None:
    """Write the features of embedded states: the cosines, 1, and the state itself."""
    count = len(phases)
    scale = math.sqrt(2.0 / count)
    for row in range(len(z)):
        for j in range(count):
            phi[row, j] = 0.0
        for i in range(z.shape[1]):
            share = z[row, i] / length
            for j in range(count):
                phi[row, j] += share * frequencies[i, j]
        for j in range(count):
            phi[row, j] = scale * math.cos(phi[row, j] + phases[j])
        phi[row, count] = 1.0
        for i in range(z.shape[1]):
            phi[row, count + 1 + i] = z[row, i]


@kernel
def add_steps(phi: Floats, actions: Int64s, changes: Floats, gram: Floats, moments: Floats) -> None:
    """Add phi phi^T and phi y^T of each step to those of its action; of the first, the lower half alone."""
    for row in range(len(phi)):
        action = actions[row]
        for i in range(phi.shape[1]):
            share = phi[row, i]
            for j in range(i + 1):
                gram[action, i, j] += share * phi[row, j]
            for j in range(changes.shape[1]):
                moments[action, i, j] += share * changes[row, j]


@kernel
def update_inverse(inverse: Floats, phi: Floats, direction: Floats) -> float:
    """Turn the inverse of a matrix H into that of H + phi phi^T; return phi^T H^-1 phi before.

    `direction` is room for d numbers.
    """
    size = len(phi)
    for j in range(size):
        direction[j] = 0.0
    for i in range(size):
        share = phi[i]
        for j in range(size):
            direction[j] += share * inverse[i, j]
    gain = 0.0
    for i in range(size):
        gain += phi[i] * direction[i]
    for i in range(size):
        share = direction[i] / (1.0 + gain)
        for j in range(size):
            inverse[i, j] -= share * direction[j]
    return gain


@kernel
def cholesky(matrix: Floats, diagonal: float, factor: Floats) -> float:
    """Write the lower factor of the lower half of a matrix plus a multiple of the identity; return log det, or NaN.

    The factor is written by columns, ``factor[j, i]`` for i >= j: row j of the array is column j of the factor.
    """
    size = len(matrix)
    for j in range(size):
        for i in range(j, size):
            factor[j, i] = matrix[i, j]
        factor[j, j] += diagonal
    logarithm = 0.0
    for j in range(size):
        for k in range(j):
            share = factor[k, j]
            for i in range(j, size):
                factor[j, i] -= share * factor[k, i]
        pivot = factor[j, j]
        if not pivot > 0.0:
            return np.nan
        logarithm += math.log(pivot)
        root = math.sqrt(pivot)
        for i in range(j, size):
            factor[j, i] /= root
    return logarithm


@kernel
def solve_lower(factor: Floats, right: Floats) -> None:
    """Solve L X = R in place; the factor is by columns, R is ``[d, m]``."""
    for j in range(len(factor)):
        for c in range(right.shape[1]):
            right[j, c] /= factor[j, j]
        for i in range(j + 1, len(factor)):
            share = factor[j, i]
            for c in range(right.shape[1]):
                right[i, c] -= share * right[j, c]


@kernel
def solve_upper(factor: Floats, right: Floats) -> None:
    """Solve L^T X = R in place; the factor is by columns, R is ``[d, m]``."""
    for j in range(len(factor) - 1, -1, -1):
        for i in range(j + 1, len(factor)):
            share = factor[j, i]
            for c in range(right.shape[1]):
                right[j, c] -= share * right[i, c]
        for c in range(right.shape[1]):
            right[j, c] /= factor[j, j]


@kernel
def products(phi: Floats, weights: Floats, out: Floats) -> None:
    """Write the product of features ``[n, d]`` and weights ``[d, c]``."""
    for row in range(len(phi)):
        for c in range(weights.shape[1]):
            out[row, c] = 0.0
        for i in range(phi.shape[1]):
            share = phi[row, i]
            for c in range(weights.shape[1]):
                out[row, c] += share * weights[i, c]
