"""Dirichlet rows of large worlds: gamma variates in bulk, most of them of a small shape.

A belief over many successors has seen few of them, so nearly all of its shapes are the concentration, which is below 1.
For a shape a < 1 the density x^(a-1) e^(-x) lies below x^(a-1) on (0, 1) and below e^(-x) beyond (Ahrens and Dieter
1974, GS). The two have the masses 1/a and 1/e. So with probability e/(e + a)

    x = exp(-E/a) with E exponential, accepted with probability e^(-x),
    and otherwise x = 1 + E, accepted with probability x^(a-1).

One exponential number E and one uniform number u decide an attempt, because u, rescaled, is uniform again within either
case. At a = 0.1 an attempt succeeds with probability 0.92, and that without any logarithm: the logarithm of x is what
is needed, and a table of lower bounds on e^(-x) accepts nearly all x that will be accepted unseen.

Shapes from 1 on come by the rejection of Marsaglia and Tsang (2000): with d = a - 1/3, z normal and
v = (1 + z/sqrt(9 d))^3 > 0, d v is accepted with probability exp(z²/2 + d (1 - v + log v)). Both methods are exact. The
logarithms are normalised row by row as in `dirichlet_sampling.py`.

Rows are drawn some at a time, so that Ctrl-C is answered and the random numbers fit into the cache.
"""

from __future__ import annotations

import math

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Floats, Int64s
from goalward.beliefs.dirichlet_sampling import normalise_row
from goalward.phases import Phase, phase

__all__ = ["bulk_rows"]

LONG_DRAW = 1_000_000  # entries from which on those who wait are told
LONG_ROW = 64
FASTER = "; Dirichlet(support=...), Neighbourhoods() or TiedDirichlet would take hundreds of times fewer"
CHUNK = 1 << 16  # entries that are drawn at once, at least one row of them
STEPS = 8.0  # of the table for one unit of -log x
LAST = 56
SURELY = np.array([math.exp(-math.exp(-i / STEPS)) for i in range(LAST + 1)])  # e^(-x) is at least this from i steps on


def bulk_rows(
    rng: np.random.Generator, indptr: Int64s, counts: Int64s, concentration: float, sharpness: float = 1.0
) -> Floats:
    """Draw one Dirichlet vector for each row, with parameters sharpness * counts + concentration."""
    if len(counts) < LONG_DRAW:
        return draw_in_blocks(rng, indptr, counts, concentration, sharpness, None)
    dense = len(counts) > LONG_ROW * (len(indptr) - 1)
    with phase(f"drawing {len(counts):,} probabilities{FASTER if dense else ''}", len(indptr) - 1, "rows") as drawing:
        return draw_in_blocks(rng, indptr, counts, concentration, sharpness, drawing)


def draw_in_blocks(
    rng: np.random.Generator,
    indptr: Int64s,
    counts: Int64s,
    concentration: float,
    sharpness: float,
    drawing: Phase | None,
) -> Floats:
    """Draw rows some at a time, and note how far it is."""
    probabilities = np.empty(len(counts))
    rows = len(indptr) - 1
    row = 0
    while row < rows:
        last = max(int(np.searchsorted(indptr, indptr[row] + CHUNK, side="right")) - 1, row + 1)
        begin, end = int(indptr[row]), int(indptr[last])
        many = end - begin
        few = int(np.count_nonzero(sharpness * counts[begin:end] + concentration >= 1.0))
        block = many - few + (many - few) // 6 + 64
        more = few + few // 8 + 64
        row = draw_bulk(
            indptr, counts, concentration, sharpness, row, last, rng.standard_exponential(block), rng.random(block),
            rng.standard_normal(more), rng.standard_exponential(more), probabilities,
        )  # fmt: skip
        if drawing is not None:
            drawing.advance(row)
    return probabilities


@kernel
def draw_bulk(
    indptr: Int64s, counts: Int64s, concentration: float, sharpness: float, first: int, last: int,
    exponentials: Floats, uniforms: Floats, normals: Floats, levels: Floats, probabilities: Floats,
) -> int:  # fmt: skip
    """Draw rows up to the last; return the row for which the random numbers did not suffice, or the last."""
    used = 0
    used_normals = 0
    count = -1
    alpha = inverse = share = d = c = logarithm_d = logarithm = 0.0
    for row in range(first, last):
        largest = -np.inf
        for entry in range(indptr[row], indptr[row + 1]):
            if counts[entry] != count:
                count = counts[entry]
                alpha = sharpness * count + concentration
                if alpha < 1.0:
                    inverse = 1.0 / alpha
                    share = math.e / (math.e + alpha)
                else:
                    d = alpha - 1.0 / 3.0
                    c = 1.0 / math.sqrt(9.0 * d)
                    logarithm_d = math.log(d)
            accepted = False
            if alpha < 1.0:
                while not accepted:
                    if used == exponentials.size:
                        return row
                    u = uniforms[used]
                    below = exponentials[used] * inverse
                    logarithm = -below
                    accepted = u < share * SURELY[int(min(below * STEPS, LAST))]
                    if not accepted and u < share:
                        accepted = u <= share * math.exp(-math.exp(logarithm))
                    elif not accepted:
                        logarithm = math.log(1.0 + exponentials[used])
                        accepted = u - share <= (1.0 - share) * math.exp((alpha - 1.0) * logarithm)
                    used += 1
            else:
                while not accepted:
                    if used_normals == normals.size:
                        return row
                    z = normals[used_normals]
                    root = 1.0 + c * z
                    if root > 0.0:
                        logarithm = 3.0 * math.log(root)
                        accepted = 0.5 * z * z + d * (1.0 - root * root * root + logarithm) > -levels[used_normals]
                        logarithm += logarithm_d
                    used_normals += 1
            probabilities[entry] = logarithm
            largest = max(largest, logarithm)
        normalise_row(probabilities, indptr[row], indptr[row + 1], largest)
    return last


@exercise
def exercise_bulk_gammas() -> None:
    """Draw one row."""
    bulk_rows(np.random.default_rng(0), np.array([0, 2]), np.array([0, 1]), 0.1)
