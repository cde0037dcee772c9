"""Kernels of the prior `Neighbourhoods`. They compute the evidence about sizes, and draw sizes and successors.

Evidence
    Of n possible successors, K0 were seen from the state. A row has N visits and k0 seen successors. Then

        L(l) = r^(l-1) l!/(l-k0)! (l-1)!/(l+N-1)!                   a row of l successors
        R(k) = (k-k0)!/k! (sum of L(l) over l = k0..k) / Z_r(k)     a row in a neighbourhood of k; Z_r(k) = sum r^(l-1)
               (k-1)!/(k+N-1)!  for ratio infinity
        X(k) = k!/(k-K0)! times the product of R(k) over the tried actions of the state
        w(k) = h(k) X(k)                                            h is the law of the neighbourhood's size

    The probability of the observed steps from the state is c times the sum of w(k) over k = K0..n. The factor c, which
    is (n-K0)!/n! times the product of n(s, a, s')!, does not depend on the laws. The evidence leaves out c. It also
    leaves out the factor (k0-1)!/(k0+N-1)! of each row, so that the log evidence stays small after many steps. Terms
    are computed from k = K0 upwards by ratios of neighbouring terms. A sum ends when the remaining terms are below
    double precision. If the counts of a state have changed, the evidence of this state is recomputed for all pairs of
    laws. Skipping pairs of negligible weight would take twice as long.

Sizes
    A pair of laws is drawn first. Then the size of each neighbourhood is drawn with the weights w(k), and the size of
    each row is drawn with the weights L(l). Both draws use inversion and start at the number of seen successors.

Successors
    All states share one permutation of the successors. Its first k positions are the neighbourhood of the state. These
    positions hold the successors seen from the state, followed by members drawn one by one from the rest. Rows are
    drawn in the same way inside the neighbourhood. The subsets are uniform for any initial order. Members are drawn
    only when rows need them, so the time of a draw does not depend on the sizes of the neighbourhoods.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.counts import RowCounts
from goalward.jit import kernel

PRECISION = 2.0**-56
BIG = 1e200
LOG_BIG = math.log(BIG)


class Laws(NamedTuple):
    """Pairs of laws, with `ratio` for neighbourhoods and `row_ratio` for rows. `row_ratios` has no duplicates."""

    ratio: Floats
    row_ratio: Floats
    row_ratios: Floats


class Walk(NamedTuple):
    """The terms of one state at the current k.

    For each action, `last` holds L(k), and `total` holds the sum of L up to k. Both are scaled by the same factor. The
    last entry of `last` holds r^k.
    """

    last: Floats
    total: Floats


class Evidence(NamedTuple):
    """The evidence about sizes. Array rows are states, and array columns are pairs of laws.

    Attributes
    ----------
    seen
        K0, the number of successors seen from each state.
    evidence
        The log probability of the observed steps from the state, up to terms that do not depend on the laws.
    spread
        The logarithm of the sum of w(k) / w(K0).
    changed
        Whether the counts of the state have changed since its evidence was computed.
    """

    seen: Int64s
    evidence: Floats
    spread: Floats
    changed: Bools


@kernel
def log_sum(ratio: float, m: int) -> float:
    """Return log Z_r(m), where Z_r(m) is the sum of the weights of the law on 1..m."""
    if ratio == np.inf:
        return 0.0
    if ratio == 1.0:
        return math.log(m)
    return math.log1p(-(ratio**m)) - math.log1p(-ratio)


@kernel
def draw_from_law(chance: float, ratio: float, m: int) -> int:
    """Draw a size from the law on 1..m by inversion. `chance` is uniform on [0, 1)."""
    if ratio == np.inf:
        return m
    if ratio == 1.0:
        return 1 + int(chance * m)
    return min(m, 1 + int(math.log1p(-chance * (1.0 - ratio**m)) / math.log(ratio)))


@kernel
def start_row(k: int, N: int, k0: int, ratio: float) -> tuple[float, float, float]:
    """Return L(k), the sum of L over k0..k, and x. The first two results are divided by L(k0) e^x."""
    last = 1.0
    total = 1.0
    scale = 0.0
    for l in range(k0, k):  # noqa: E741
        last *= ratio * (l + 1) / (l + 1 - k0) * l / (l + N)
        total += last
        if total > BIG:
            last /= BIG
            total /= BIG
            scale += LOG_BIG
    return last, total, scale


@kernel
def start_state(state: int, actions: int, K0: int, ratio: float, rows: RowCounts, walk: Walk) -> float:
    """Set `walk` to the terms at k = K0. Return log X(K0), up to terms that do not depend on the laws."""
    logarithm = math.lgamma(K0 + 1.0)
    walk.last[actions] = ratio**K0
    for action in range(actions):
        row = state * actions + action
        N = rows.visits[row]
        k0 = rows.size[row]
        if N > 0 and ratio == np.inf:
            logarithm += math.lgamma(K0) - math.lgamma(K0 + N) - math.lgamma(k0) + math.lgamma(k0 + N)
        elif N > 0:
            walk.last[action], walk.total[action], scale = start_row(K0, N, k0, ratio)
            logarithm += math.log(walk.total[action]) + scale + (k0 - 1) * math.log(ratio) - log_sum(ratio, K0)
            logarithm += math.lgamma(k0 + 1.0) + math.lgamma(K0 - k0 + 1.0) - math.lgamma(K0 + 1.0)
    return logarithm


@kernel
def grow(state: int, actions: int, k: int, K0: int, ratio: float, rows: RowCounts, walk: Walk) -> float:
    """Advance `walk` from k to k + 1. Return X(k + 1) / X(k)."""
    last, total = walk
    factor = (k + 1) / (k + 1 - K0)
    if ratio == np.inf:
        for row in range(state * actions, (state + 1) * actions):
            if rows.visits[row] > 0:
                factor *= k / (k + rows.visits[row])
        return factor
    shrink = k / (k + 1)
    if ratio < 1.0:
        shrink = (1.0 - last[actions]) / (1.0 - last[actions] * ratio)
        last[actions] *= ratio
    shrink /= k + 1
    for action in range(actions):
        row = state * actions + action
        if rows.visits[row] == 0:
            continue
        k0 = rows.size[row]
        factor *= shrink * (k + 1 - k0)
        # L rises to a maximum and then falls, so a negligible term is followed only by negligible terms.
        if last[action] > PRECISION * total[action]:
            before = total[action]
            last[action] *= ratio * ((k + 1) * k) / ((k + 1 - k0) * (k + rows.visits[row]))
            total[action] += last[action]
            factor *= total[action] / before
            if total[action] > BIG:
                last[action] /= BIG
                total[action] /= BIG
    return factor


@kernel
def weigh(
    state: int, actions: int, n: int, row_ratio: float, laws: Laws, rows: RowCounts, known: Evidence, walk: Walk,
    sums: Floats, decay: Floats, summing: Bools,
) -> None:  # fmt: skip
    """Compute the evidence of one `state` for all laws with `row_ratio`. The last four arguments are workspace."""
    K0 = known.seen[state]
    start = start_state(state, actions, K0, row_ratio, rows, walk)
    left = 0
    fixed = -1  # the pair whose neighbourhoods have the size n
    for law in range(sums.size):
        summing[law] = laws.row_ratio[law] == row_ratio and laws.ratio[law] < np.inf
        if summing[law]:
            sums[law] = 1.0
            decay[law] = 1.0
            known.spread[state, law] = 0.0
            left += 1
        elif laws.row_ratio[law] == row_ratio:
            fixed = law
    x = 1.0  # X(k) / X(K0), in units of e^scale
    scale = 0.0
    k = K0
    while k < n and (left > 0 or fixed >= 0):
        factor = grow(state, actions, k, K0, row_ratio, rows, walk)
        x *= factor
        k += 1
        for law in range(sums.size):
            if not summing[law]:
                continue
            ratio = laws.ratio[law]
            decay[law] *= ratio
            term = x * decay[law]
            sums[law] += term
            # The ratios of neighbouring terms tend to `ratio` from one side.
            faster = max(ratio, ratio * factor)
            rest = term * faster / (1.0 - faster) if faster < 1.0 else np.inf
            if factor <= 1.0:
                rest = min(rest, term * (n - k))
            if k == n or rest < PRECISION * sums[law]:
                summing[law] = False
                left -= 1
                known.spread[state, law] = math.log(sums[law]) + scale
        if x > BIG:
            x /= BIG
            scale += LOG_BIG
            for law in range(sums.size):
                if summing[law]:
                    sums[law] /= BIG
        elif left == 0 and x < 1.0 / BIG:
            x *= BIG
            scale -= LOG_BIG
    for law in range(sums.size):
        ratio = laws.ratio[law]
        if law == fixed:
            known.evidence[state, law] = start + math.log(x) + scale
        elif laws.row_ratio[law] == row_ratio:
            before = start + (K0 - 1) * math.log(ratio) - log_sum(ratio, n)
            known.evidence[state, law] = before + known.spread[state, law]


@kernel
def count_seen(state: int, actions: int, rows: RowCounts, mark: Int64s) -> int:
    """Return the number of distinct successors seen from a state. `mark` is workspace."""
    seen = 0
    for row in range(state * actions, (state + 1) * actions):
        for entry in range(rows.size[row]):
            if mark[rows.successors[row, entry]] != state:
                mark[rows.successors[row, entry]] = state
                seen += 1
    return seen


@kernel
def refresh(actions: int, n: int, laws: Laws, rows: RowCounts, known: Evidence, posterior: Floats) -> None:
    """Update the evidence `known`, and write the probabilities of the pairs of laws to `posterior`."""
    mark = np.empty(n, dtype=np.int64)
    for successor in range(n):
        mark[successor] = -1
    walk = Walk(np.empty(actions + 1), np.empty(actions))
    sums = np.empty(posterior.size)
    decay = np.empty(posterior.size)
    summing = np.empty(posterior.size, dtype=np.bool_)
    for law in range(posterior.size):
        posterior[law] = 0.0
    for state in range(known.seen.size):
        if known.changed[state]:
            known.changed[state] = False
            known.seen[state] = count_seen(state, actions, rows, mark)
            for row_ratio in laws.row_ratios:
                weigh(state, actions, n, row_ratio, laws, rows, known, walk, sums, decay, summing)
        for law in range(posterior.size):
            posterior[law] += known.evidence[state, law]
    highest = -np.inf
    for law in range(posterior.size):
        highest = max(highest, posterior[law])
    total = 0.0
    for law in range(posterior.size):
        posterior[law] = math.exp(posterior[law] - highest)
        total += posterior[law]
    for law in range(posterior.size):
        posterior[law] /= total


@kernel
def draw_neighbourhood(
    chance: float, state: int, actions: int, n: int, K0: int, ratio: float, row_ratio: float, spread: float,
    rows: RowCounts, walk: Walk,
) -> int:  # fmt: skip
    """Draw the size k of a neighbourhood with weights w(k), by inversion. `chance` is uniform on [0, 1)."""
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
    """Draw the size l of a row with weights L(l) on k0..k, by inversion. `chance` is uniform on [0, 1)."""
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
    rng: np.random.Generator, posterior: Floats, actions: int, n: int, unknown: Bools, laws: Laws, rows: RowCounts,
    known: Evidence, neighbourhood: Int64s, lengths: Int64s,
) -> int:  # fmt: skip
    """Draw a pair of laws, the `neighbourhood` sizes and the `lengths` of rows. Return the sum of `lengths`."""
    walk = Walk(np.empty(actions + 1), np.empty(actions))
    chance = rng.random()
    law = 0
    below = posterior[0]
    while chance >= below and law < posterior.size - 1:
        law += 1
        below += posterior[law]
    ratio = laws.ratio[law]
    row_ratio = laws.row_ratio[law]
    entries = 0
    for state in range(neighbourhood.size):
        chance = rng.random()
        K0 = known.seen[state]
        if K0 == 0 or ratio == np.inf:
            k = draw_from_law(chance, ratio, n)
        else:
            spread = known.spread[state, law]
            k = draw_neighbourhood(chance, state, actions, n, K0, ratio, row_ratio, spread, rows, walk)
        neighbourhood[state] = k
        for row in range(state * actions, (state + 1) * actions):
            if not unknown[row]:
                lengths[row] = 0
            elif rows.visits[row] == 0 or row_ratio == np.inf:
                lengths[row] = draw_from_law(rng.random(), row_ratio, k)
            else:
                lengths[row] = draw_length(rng.random(), k, rows.visits[row], rows.size[row], row_ratio)
            entries += lengths[row]
    return entries


@kernel
def exchange(order: Int64s, position: Int64s, one: int, other: int) -> None:
    """Swap two positions of the permutation `order`, and update its inverse `position`."""
    first = order[one]
    second = order[other]
    order[one] = second
    order[other] = first
    position[second] = one
    position[first] = other


@kernel
def reveal(rng: np.random.Generator, order: Int64s, position: Int64s, front: int) -> int:
    """Draw the next member of a neighbourhood into position `front`. Return `front` + 1."""
    exchange(order, position, front, front + int(rng.random() * (order.size - front)))
    return front + 1


@kernel
def draw_sets(
    rng: np.random.Generator, actions: int, n: int, neighbourhood: Int64s, lengths: Int64s, rows: RowCounts,
    indptr: Int64s, successors: Int32s,
) -> None:  # fmt: skip
    """Draw the `successors` of every row, in no particular order."""
    size = rows.size
    seen = rows.successors
    order = np.empty(n, dtype=np.int64)
    position = np.empty(n, dtype=np.int64)
    for successor in range(n):
        order[successor] = successor
        position[successor] = successor
    end = 0
    for state in range(neighbourhood.size):
        k = neighbourhood[state]
        # A plain 0 has another type in Numba, for which `exchange` would be compiled again.
        front: int = np.int64(0)  # type: ignore[assignment]
        for row in range(state * actions, (state + 1) * actions):
            for entry in range(size[row]):
                if position[seen[row, entry]] >= front:
                    exchange(order, position, position[seen[row, entry]], front)
                    front += 1
        # Positions before `front` hold known members; members at positions from `front` to k are still to be drawn.
        for row in range(state * actions, (state + 1) * actions):
            length = lengths[row]
            if length == k:
                while front < k:
                    front = reveal(rng, order, position, front)
            else:
                for entry in range(size[row]):
                    exchange(order, position, position[seen[row, entry]], entry)
                for entry in range(size[row], length):
                    chosen = entry + int(rng.random() * (k - entry))
                    if chosen >= front:
                        chosen = front
                        front = reveal(rng, order, position, front)
                    exchange(order, position, entry, chosen)
            for entry in range(length):
                successors[end] = order[entry]
                end += 1
            indptr[row + 1] = end


@kernel
def unreached(actions: int, indptr: Int64s, successors: Int32s, start: Int64s, leading: Int32s) -> int:
    """Return a state from which the goal cannot be reached, or -1 if the goal can be reached from all states.

    The rows that may lead to successor y are written to ``leading[start[y] : start[y + 1]]``.
    """
    S = (indptr.size - 1) // actions
    for successor in range(S + 3):
        start[successor] = 0
    for entry in range(indptr[-1]):
        start[successors[entry] + 2] += 1
    for successor in range(S + 2):
        start[successor + 1] += start[successor]
    # Filling moves each start to the end of its list, which is the start of the next list.
    for row in range(indptr.size - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            successor = successors[entry]
            leading[start[successor + 1]] = row
            start[successor + 1] += 1
    reached = np.zeros(S, dtype=np.bool_)
    queue = np.empty(S, dtype=np.int32)
    count = 0
    head = -1
    while head < count:
        target = S if head < 0 else queue[head]
        for position in range(start[target], start[target + 1]):
            state = leading[position] // actions
            if not reached[state]:
                reached[state] = True
                queue[count] = state
                count += 1
        head += 1
    for state in range(S):
        if not reached[state]:
            return state
    return -1


@kernel
def sort_rows(
    start: Int64s, leading: Int32s, indptr: Int64s, rows: RowCounts, successors: Int32s, counts: Int64s
) -> None:
    """Write the `successors` and `counts` of each row in increasing order. `unreached` has filled `leading`."""
    filled = np.empty(indptr.size - 1, dtype=np.int64)
    matched = np.zeros(indptr.size - 1, dtype=np.int64)
    for row in range(filled.size):
        filled[row] = indptr[row]
    for successor in range(start.size - 2):
        for position in range(start[successor], start[successor + 1]):
            row = leading[position]
            entry = filled[row]
            successors[entry] = successor
            counts[entry] = 0
            if matched[row] < rows.size[row] and rows.successors[row, matched[row]] == successor:
                counts[entry] = rows.counts[row, matched[row]]
                matched[row] += 1
            filled[row] = entry + 1
