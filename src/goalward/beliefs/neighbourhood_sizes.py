"""Draws of sizes in the prior of neighbourhoods: a pair of laws, then how many successors each state and row has.

Sizes are drawn by inversion with the weights w(k) and L(l) of `neighbourhood_evidence`, from the number of seen
successors upwards, in as many steps as the size is large.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.counts import RowCounts
from goalward.beliefs.neighbourhood_evidence import (
    BIG,
    LOG_BIG,
    PRECISION,
    Memory,
    Walk,
    grow,
    start_row,
    start_state,
)
from goalward.beliefs.neighbourhood_laws import Laws, draw_from_law
from goalward.jit import kernel

__all__ = ["draw_sizes"]


@kernel
def draw_neighbourhood(
    chance: float, state: int, actions: int, n: int, K0: int, ratio: float, row_ratio: float, spread: float,
    rows: RowCounts, walk: Walk,
) -> int:  # fmt: skip
    """Draw k with weights w(k), by inversion from k = K0 on."""
    start_state(state, actions, K0, row_ratio, rows, walk)
    scale = -spread
    share = math.exp(scale)
    below = 0.0
    x = 1.0
    k = K0
    while True:
        below += x * share
        # Rounding may leave the sum a little below 1.
        if chance < below or k == n or (below > 0.5 and x * share < PRECISION * PRECISION):
            return k
        x *= ratio * grow(state, actions, k, K0, row_ratio, rows, walk)
        k += 1
        if x > BIG:
            x /= BIG
            scale += LOG_BIG
            share = math.exp(scale)


@kernel
def draw_length(chance: float, k: int, N: int, k0: int, ratio: float) -> int:
    """Draw l with weights L(l) on k0..k, by inversion."""
    _, whole, scale = start_row(k, N, k0, ratio)
    last = 1.0
    total = 1.0
    for l in range(k0, k):  # noqa: E741
        if scale < 0.5 and chance * whole < total:
            return l
        last *= ratio * (l + 1) / (l + 1 - k0) * l / (l + N)
        total += last
        if total > BIG:
            last /= BIG
            total /= BIG
            scale -= LOG_BIG
    return k


@kernel
def draw_sizes(
    chances: Floats, posterior: Floats, actions: int, n: int, available: Bools,
    laws: Laws, rows: RowCounts, memory: Memory, neighbourhood: Int64s, lengths: Int64s,
) -> tuple[int, int]:  # fmt: skip
    """Draw a pair of laws, the size of each neighbourhood and of each row.

    The first number decides the laws, the next ones the neighbourhoods, the others the rows. Returns the sum of the
    lengths and how many random choices it takes at most to fill the sets.
    """
    walk = Walk(np.empty(actions + 1), np.empty(actions))
    law = 0
    below = posterior[0]
    while chances[0] >= below and law < posterior.size - 1:
        law += 1
        below += posterior[law]
    ratio = laws.ratio[law]
    row_ratio = laws.row_ratio[law]
    entries = 0
    choices = 0
    for state in range(neighbourhood.size):
        chance = chances[1 + state]
        K0 = memory.seen[state]
        if K0 == 0 or ratio == np.inf:
            k = draw_from_law(chance, ratio, n)
        else:
            spread = memory.spread[state, law]
            k = draw_neighbourhood(chance, state, actions, n, K0, ratio, row_ratio, spread, rows, walk)
        neighbourhood[state] = k
        revealed = 0
        for row in range(state * actions, (state + 1) * actions):
            chance = chances[1 + neighbourhood.size + row]
            if not available[row]:
                lengths[row] = 0
                continue
            if rows.visits[row] == 0 or row_ratio == np.inf:
                lengths[row] = draw_from_law(chance, row_ratio, k)
            else:
                lengths[row] = draw_length(chance, k, rows.visits[row], rows.size[row], row_ratio)
            entries += lengths[row]
            if lengths[row] < k:
                choices += lengths[row] - rows.size[row]
                revealed += lengths[row] - rows.size[row]
            else:
                revealed = k
        choices += min(revealed, k - K0)
    return entries, choices
