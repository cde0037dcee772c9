"""What counts say about the laws of sizes in the prior of neighbourhoods.

With n possible successors, a state with K0 seen successors and rows of N visits and k0 seen successors,

    L(l) = r^(l-1) l!/(l-k0)! (l-1)!/(l+N-1)!                       a row of l successors
    R(k) = (k-k0)!/k! (sum of L(l) over l = k0..k) / Z_r(k)         a row in a neighbourhood of k; Z_r(k) = sum r^(l-1)
           (k-1)!/(k+N-1)!  for ratio infinity
    X(k) = k!/(k-K0)! times the product of R(k) over the tried actions of the state
    w(k) = h(k) X(k)                                                h the law of the neighbourhood's size

The probability of what was seen from the state is c times the sum of w(k) over k = K0..n, where
c = (n-K0)!/n! times the product of n(s, a, s')! does not depend on the laws.

Everything is walked from k = K0 upwards by ratios of neighbouring terms. Sums end where the rest is below double
precision, so they take as long as the sizes that matter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from goalward.acting.task import Steps
from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.counts import RowCounts, enter
from goalward.beliefs.neighbourhood_laws import Laws, log_sum
from goalward.jit import kernel

__all__ = ["BIG", "LOG_BIG", "PRECISION", "Memory", "Walk", "grow", "observe", "refresh", "start_row", "start_state"]

NEGLIGIBLE = 40.0  # nats: e^-40 is below the resolution of a random number in [0, 1)
PRECISION = 2.0**-56
BIG = 1e200
LOG_BIG = math.log(BIG)


class Walk(NamedTuple):
    """Where a walk over k is, for one state.

    `last` holds L(k) and `total` the sum of L up to k for each action, in units of their own; one entry more of `last`
    holds r^k.
    """

    last: Floats
    total: Floats


class Memory(NamedTuple):
    """What is kept from draw to draw; one line for each state, one column for each pair of laws.

    Attributes
    ----------
    seen
        K0, the number of successors seen from each state.
    best
        The logarithm of a product over the steps from the state: (1 + c)/(k0 + N) for a successor that the row had
        shown c times, 1/(k0 + 1 + N) for a new one. No law gives a step a greater probability.
    evidence
        The logarithm of the probability of what was seen from the state, less `best`. It never rises as more is seen,
        so a stale figure is an upper bound.
    spread
        The logarithm of the sum of w(k) / w(K0).
    stale
        Where the counts have changed since.
    changed
        The states whose counts have changed since the last draw.
    """

    seen: Int64s
    best: Floats
    evidence: Floats
    spread: Floats
    stale: Bools
    changed: Bools


@kernel
def start_row(k: int, N: int, k0: int, ratio: float) -> tuple[float, float, float]:
    """Return L(k) and the sum of L over k0..k, both divided by L(k0) times e to the third number returned."""
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
    """Begin the walk at k = K0; return the sum of the logarithms of its units."""
    if ratio == np.inf:
        return 0.0
    scales = 0.0
    walk.last[actions] = ratio**K0
    for action in range(actions):
        row = state * actions + action
        if rows.visits[row] > 0:
            walk.last[action], walk.total[action], scale = start_row(K0, rows.visits[row], rows.size[row], ratio)
            scales += scale
    return scales


@kernel
def log_start(state: int, actions: int, K0: int, ratio: float, rows: RowCounts, walk: Walk, scales: float) -> float:
    """Return log X(K0) from what `start_state` prepared."""
    logarithm = math.lgamma(K0 + 1.0) + scales
    for action in range(actions):
        row = state * actions + action
        N = rows.visits[row]
        k0 = rows.size[row]
        if N == 0:
            continue
        if ratio == np.inf:
            logarithm += math.lgamma(K0) - math.lgamma(K0 + N)
            continue
        logarithm += math.log(walk.total[action]) + (k0 - 1) * math.log(ratio) - log_sum(ratio, K0)
        logarithm += math.lgamma(k0 + 1.0) + math.lgamma(k0) - math.lgamma(k0 + N)
        logarithm += math.lgamma(K0 - k0 + 1.0) - math.lgamma(K0 + 1.0)
    return logarithm


@kernel
def grow(state: int, actions: int, k: int, K0: int, ratio: float, rows: RowCounts, walk: Walk) -> float:
    """Go from k to k + 1; return X(k + 1) / X(k)."""
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
        # L rises to a maximum and falls from there on: what is negligible stays so.
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
    state: int, actions: int, n: int, row_ratio: float, wanted: Bools, laws: Laws, rows: RowCounts, memory: Memory,
    walk: Walk, sums: Floats, decay: Floats, summing: Bools,
) -> None:  # fmt: skip
    """Compute the evidence of one state for the wanted pairs with one law of rows; the last four are room to work."""
    K0 = memory.seen[state]
    constant = math.lgamma(n - K0 + 1.0) - math.lgamma(n + 1.0) - memory.best[state]
    for row in range(state * actions, (state + 1) * actions):
        for entry in range(rows.size[row]):
            if rows.counts[row, entry] > 1:
                constant += math.lgamma(rows.counts[row, entry] + 1.0)
    scales = start_state(state, actions, K0, row_ratio, rows, walk)
    constant += log_start(state, actions, K0, row_ratio, rows, walk, scales)
    left = 0
    surely = -1
    for law in range(wanted.size):
        summing[law] = False
        if wanted[law] and laws.row_ratio[law] == row_ratio:
            memory.stale[state, law] = False
            if laws.ratio[law] == np.inf:
                surely = law
            else:
                summing[law] = True
                sums[law] = 1.0
                decay[law] = 1.0
                left += 1
    x = 1.0  # X(k) / X(K0), in units of e^scale
    scale = 0.0
    k = K0
    while left > 0 or (surely >= 0 and k < n):
        factor = 0.0
        if k < n:
            factor = grow(state, actions, k, K0, row_ratio, rows, walk)
        x *= factor
        k += 1
        for law in range(wanted.size):
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
            if k >= n or rest < PRECISION * sums[law]:
                summing[law] = False
                left -= 1
                spread = math.log(sums[law]) + scale
                memory.spread[state, law] = spread
                memory.evidence[state, law] = constant + (K0 - 1) * math.log(ratio) - log_sum(ratio, n) + spread
        if x > BIG:
            x /= BIG
            scale += LOG_BIG
            for law in range(wanted.size):
                if summing[law]:
                    sums[law] /= BIG
        elif left == 0 and x < 1.0 / BIG:
            x *= BIG
            scale -= LOG_BIG
    if surely >= 0:
        memory.spread[state, surely] = 0.0
        memory.evidence[state, surely] = constant + math.log(x) + scale


@kernel
def observe(actions: int, steps: Steps, begin: int, rows: RowCounts, memory: Memory) -> int:
    """Count the steps from `begin` on; return the first one for which its row has no room, or their number."""
    for i in range(begin, steps.states.size):
        state = steps.states[i]
        row = state * actions + steps.actions[i]
        if not enter(row, steps.next_states[i], rows.size, rows.successors, rows.counts):
            return i
        entry = 0
        while rows.successors[row, entry] != steps.next_states[i]:
            entry += 1
        memory.best[state] += math.log(rows.counts[row, entry] / (rows.size[row] + rows.visits[row]))
        rows.visits[row] += 1
        memory.changed[state] = True
    return int(steps.states.size)


@kernel
def count_seen(state: int, actions: int, rows: RowCounts, mark: Int64s) -> int:
    """Return how many different successors were seen from a state."""
    found = 0
    for row in range(state * actions, (state + 1) * actions):
        for entry in range(rows.size[row]):
            if mark[rows.successors[row, entry]] != state:
                mark[rows.successors[row, entry]] = state
                found += 1
    return found


@kernel
def refresh(actions: int, n: int, laws: Laws, rows: RowCounts, memory: Memory, posterior: Floats) -> None:
    """Bring the evidence up to date where it matters; write the posterior probabilities of the pairs of laws.

    The total of a pair with stale figures is an upper bound. The largest of these is computed anew, with the other
    pairs of the same law of rows that may matter, until every pair that is left stale is negligible.
    """
    pairs = posterior.size
    states = memory.seen.size
    mark = np.empty(n, dtype=np.int64)
    for successor in range(n):
        mark[successor] = -1
    walk = Walk(np.empty(actions + 1), np.empty(actions))
    sums = np.empty(pairs)
    decay = np.empty(pairs)
    summing = np.empty(pairs, dtype=np.bool_)
    wanted = np.empty(pairs, dtype=np.bool_)
    outdated = np.empty(pairs, dtype=np.bool_)
    for state in range(states):
        if memory.changed[state]:
            memory.changed[state] = False
            memory.seen[state] = count_seen(state, actions, rows, mark)
            for law in range(pairs):
                memory.stale[state, law] = True
    while True:
        for law in range(pairs):
            posterior[law] = laws.weight[law]
            outdated[law] = False
        for state in range(states):
            if memory.seen[state] > 0:
                for law in range(pairs):
                    posterior[law] += memory.evidence[state, law]
                    outdated[law] |= memory.stale[state, law]
        highest = -np.inf
        worst = -1  # the stale pair with the largest bound
        for law in range(pairs):
            if not outdated[law]:
                highest = max(highest, posterior[law])
            elif worst < 0 or posterior[law] > posterior[worst]:
                worst = law
        if worst < 0 or posterior[worst] < highest - NEGLIGIBLE:
            break
        least = max(highest, posterior[worst]) - NEGLIGIBLE
        for law in range(pairs):
            wanted[law] = outdated[law] and posterior[law] >= least
        for state in range(states):
            if memory.stale[state, worst]:
                row_ratio = laws.row_ratio[worst]
                weigh(state, actions, n, row_ratio, wanted, laws, rows, memory, walk, sums, decay, summing)
    whole = 0.0
    for law in range(pairs):
        posterior[law] = 0.0 if outdated[law] else math.exp(posterior[law] - highest)
        whole += posterior[law]
    for law in range(pairs):
        posterior[law] /= whole
