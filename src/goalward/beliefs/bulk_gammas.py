"""Dirichlet rows of large worlds: gamma variates in bulk, most of them of a small shape.

A belief over many successors has seen few of them, so nearly all of its shapes are the concentration a < 1. What is
needed is the logarithm y of such a variate, with the density f(y) = exp(a y - e^y), which is log-concave. It is covered
by strips of equal area (Ahrens 1995, in the spirit of Marsaglia's ziggurat): from the top on, each strip reaches as far
as the area allows at the larger of the values of f at its ends. Beyond the last strips, a y bounds log f on the left
and a tangent does on the right. The strip and the place in it come from one random integer of 64 bits. Below the
smaller of its two ends a strip is accepted unseen, which is so for 98 % of all draws; otherwise two more numbers decide
by f itself.

Other shapes are at least 1 and come by the rejection of Marsaglia and Tsang (2000): with d = a - 1/3, z normal and
v = (1 + z/sqrt(9 d))^3 > 0, d v is accepted with probability exp(z²/2 + d (1 - v + log v)). Both methods are exact. The
logarithms are normalised row by row as in `dirichlet_sampling.py`, with an exponential function of its own: 2^(-k/64)
from tables times five terms of the series, to the last two bits.

Rows are drawn some at a time, so that Ctrl-C is answered and the random numbers fit into the cache.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import FLOOR
from goalward.jit import exercise, kernel
from goalward.long_work import Phase, phase

__all__ = ["bulk_rows", "strips"]

LONG_DRAW = 1_000_000  # draws of more entries show their progress
LONG_ROW = 64
FASTER = "; Dirichlet(support=...), Neighbourhoods() or TiedDirichlet would take hundreds of times fewer"
CHUNK = 1 << 16  # entries that are drawn at once, at least one row of them
CELLS = 1024  # of equal area: the left tail, the right tail, the strips
LEFT_TAIL, RIGHT_TAIL = 8, 9  # the cells below these belong to the tails
FRACTION = (1 << 53) - 1
FURTHEST = 700.0  # e^(-700) is below the least probability
STEP = math.log(2.0) / 64.0
COARSE_STEP = math.floor(STEP * 2.0**38) / 2.0**38  # short enough for exact products with 2^17
FINE_STEP = 2.9815858269852933e-12  # STEP - COARSE_STEP
PARTS = np.array([2.0 ** (-j / 64.0) for j in range(64)])
POWERS = np.array([2.0**-j for j in range(1024)])


class Strips(NamedTuple):
    """Cells of equal area that cover the density of the logarithm of a gamma variate.

    Cell i is the strip from ``left[i]`` on, of a width; up to the share of its height it lies below the density, and
    `scale` is its width over this share. Cells that are left over are infinitely wide, and never accepted. The density
    is taken to be 1 at its top.
    """

    left: Floats
    width: Floats
    share: Floats
    scale: Floats
    shape: float
    top: float
    area: float
    leftmost: float
    rightmost: float


@functools.lru_cache(maxsize=64)
def strips(shape: float) -> Strips:
    """Return strips for a shape below 1."""
    mode = math.log(shape)
    top = shape * mode - shape
    total = math.exp(math.lgamma(shape) - top)
    low, high = total / CELLS, 1.1 * total / CELLS
    for _ in range(16):
        area = 0.5 * (low + high)
        if len(cover(shape, mode, top, area)[0]) > CELLS - RIGHT_TAIL:
            low = area
        else:
            high = area
    found, leftmost, rightmost = cover(shape, mode, top, high)
    cells = np.zeros((3, CELLS))
    cells[1] = np.inf
    cells[:, RIGHT_TAIL : RIGHT_TAIL + len(found)] = np.array(found).T
    left, width, share = cells
    scale = np.divide(width, share, out=np.zeros(CELLS), where=share > 0.0)
    return Strips(left, width, share, scale, shape, top, high, leftmost, rightmost)


def cover(shape: float, mode: float, top: float, area: float) -> tuple[list[tuple[float, float, float]], float, float]:
    """Return strips of an area (left end, width, share that lies below the density) and where the tails begin."""
    found = []
    y, height = mode, 1.0
    while math.exp(shape * y - top) > LEFT_TAIL * area * shape:
        width, before = area / height, height
        y -= width
        height = math.exp(shape * y - math.exp(y) - top)
        found.append((y, width, height / before))
    leftmost, y, height = y, mode, 1.0
    while not height <= area * (math.exp(y) - shape):
        width, before = area / height, height
        height = math.exp(shape * (y + width) - math.exp(y + width) - top)
        found.append((y, width, height / before))
        y += width
    return found, leftmost, y


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
    table = strips(max(concentration, FLOOR))
    rows = len(indptr) - 1
    row = 0
    while row < rows:
        last = max(int(np.searchsorted(indptr, indptr[row] + CHUNK, side="right")) - 1, row + 1)
        begin, end = int(indptr[row]), int(indptr[last])
        few = int(np.count_nonzero(counts[begin:end]))
        block = end - begin - few + (end - begin - few) // 16 + 64
        more = few + few // 8 + 64
        integers = rng.integers(-(1 << 63), (1 << 63) - 1, block, endpoint=True)
        normals, levels = rng.standard_normal(more), rng.standard_exponential(more)
        reached = draw_logarithms(counts, begin, end, table, sharpness, integers, normals, levels, probabilities)
        if reached < end:
            last = int(np.searchsorted(indptr, reached, side="right")) - 1
        normalise_rows(indptr, row, last, probabilities)
        row = last
        if drawing is not None:
            drawing.advance(row)
    return probabilities


@kernel
def uniform(bits: int) -> float:
    """Return a number below 1 from the upper bits of an integer."""
    return float((bits >> 11) & FRACTION) * 2.0**-53


@kernel
def decline(y: float) -> float:
    """Return exp(-y) for y >= 0, to the last two bits."""
    y = y if y < FURTHEST else FURTHEST
    k = int(y * (1.0 / STEP) + 0.5)
    r = (k * COARSE_STEP - y) + k * FINE_STEP
    series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0)))))
    return PARTS[k & 63] * POWERS[k >> 6] * series  # type: ignore[no-any-return]


@kernel
def try_again(strips: Strips, cell: int, first: float, second: float) -> float:
    """Draw from what of a cell is not surely below the density; NaN if the draw is rejected."""
    shape, top, area = strips.shape, strips.top, strips.area
    if cell < LEFT_TAIL:
        y = strips.leftmost + math.log(1.0 - first) / shape
        bound = math.exp(shape * strips.leftmost - top) / shape
        return y if second * LEFT_TAIL * area < bound * math.exp(-math.exp(y)) else np.nan
    if cell < RIGHT_TAIL:
        slope = math.exp(strips.rightmost) - shape
        beyond = -math.log(1.0 - first) / slope
        y = strips.rightmost + beyond
        height = math.exp(shape * y - math.exp(y) - top + slope * beyond)
        return y if second * area * slope < height else np.nan
    if strips.width[cell] == np.inf:
        return np.nan
    y = strips.left[cell] + first * strips.width[cell]
    share = strips.share[cell]
    height = area / strips.width[cell] * (share + second * (1.0 - share))
    return y if height < math.exp(shape * y - math.exp(y) - top) else np.nan


@kernel
def draw_logarithms(
    counts: Int64s, begin: int, end: int, strips: Strips, sharpness: float, integers: Int64s, normals: Floats,
    levels: Floats, logarithms: Floats,
) -> int:  # fmt: skip
    """Draw the logarithms of gamma variates; return the entry for which random numbers did not suffice, or the end."""
    left, share, scale = strips.left, strips.share, strips.scale
    used = 0
    used_normals = 0
    count = 0
    d = c = logarithm_d = 0.0
    for entry in range(begin, end):
        if counts[entry] == 0:
            while True:
                if used > integers.size - 3:
                    return entry
                bits = integers[used]
                cell = bits & (CELLS - 1)
                u = uniform(bits)
                used += 1
                if u < share[cell]:
                    logarithms[entry] = left[cell] + u * scale[cell]
                    break
                y = try_again(strips, cell, uniform(integers[used]), uniform(integers[used + 1]))
                used += 2
                if not math.isnan(y):
                    logarithms[entry] = y
                    break
            continue
        if counts[entry] != count:
            count = counts[entry]
            d = sharpness * count + strips.shape - 1.0 / 3.0
            c = 1.0 / math.sqrt(9.0 * d)
            logarithm_d = math.log(d)
        while True:
            if used_normals == normals.size:
                return entry
            z = normals[used_normals]
            level = levels[used_normals]
            used_normals += 1
            root = 1.0 + c * z
            if root > 0.0:
                y = 3.0 * math.log(root)
                if 0.5 * z * z + d * (1.0 - root * root * root + y) > -level:
                    logarithms[entry] = logarithm_d + y
                    break
    return end


@kernel
def normalise_rows(indptr: Int64s, first: int, last: int, probabilities: Floats) -> None:
    """Turn the logarithms of rows into probabilities."""
    for row in range(first, last):
        largest = -np.inf
        for entry in range(indptr[row], indptr[row + 1]):
            largest = max(largest, probabilities[entry])
        for entry in range(indptr[row], indptr[row + 1]):
            probabilities[entry] = largest - probabilities[entry]
    for entry in range(indptr[first], indptr[last]):
        probabilities[entry] = decline(probabilities[entry])
    for row in range(first, last):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += probabilities[entry]
        whole = 1.0 / total if total > 0.0 else 0.0  # an action that is not available has no entries
        for entry in range(indptr[row], indptr[row + 1]):
            probabilities[entry] = max(probabilities[entry] * whole, FLOOR)


@exercise
def exercise_bulk_gammas() -> None:
    """Draw one row."""
    indptr = np.array([0, 2])
    indptr.flags.writeable = False  # as in a belief
    bulk_rows(np.random.default_rng(0), indptr, np.array([0, 1]), 0.1)
