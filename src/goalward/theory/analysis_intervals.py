"""The intervals into which the analysis divides a run, and the state-action pairs that count as known.

In the paper, a pair is known if it has been visited at least

    alpha (B S / c_min) log(B S A / (delta c_min))

times. The paper does not give alpha, which must be "large enough" for a lemma. The lemma needs A_l(s, a) <= c_min /
(4096 S B), because then 8 sqrt(theta A_l) + 136 A_l <= sqrt(c_min theta / (S B)) / 8 + c_min / (4 S B). So here, a pair
is known after the smallest number of visits with such a small A_l (`sufficient_visits`). As in the lemma, only visits
before the epoch count.

Epochs are divided into intervals. An interval ends when

    its costs have reached B,
    the pair to be played next is not known,
    the goal is reached, or
    the epoch ends.

So all pairs of an interval except the first pair are known. An interval costs less than B plus the cost of one step.
Let C be the sum of all costs, and n the number of visits after which a pair is known. The number M of intervals is

    M <= C / B + K + L + (plays of unknown pairs),       plays of unknown pairs <= S A (2 n + 1).

Lemma (variance): E[sum of V_l(s_t, a_t) over an interval] <= 44 B², where V_l is the variance of V(s'; theta_l) under
theta_*. The paper restricts the sum to the event that both kernels are in their confidence sets. Without this
restriction, the sum can only be larger. This module computes the larger sum.

With the constants of the proof, a pair is known only after millions of visits. So in runs as long as the paper's runs,
every step is a separate interval. To see longer intervals, set a smaller `known_after`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

import numpy as np
from scipy import optimize

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import TheoryError
from goalward.planning.evaluate import step_mean
from goalward.theory.confidence import rate
from goalward.theory.regret_bounds import third_term_bound
from goalward.theory.trace import Trace


@dataclass(frozen=True, eq=False)
class Intervals:
    """The intervals of a run, and the quantities that are computed from the intervals."""

    B: float
    delta: float
    known_after: float  # the number of visits after which a pair is known
    M: int  # the number of intervals
    starts: Int64s = field(repr=False)  # the first step t_m of each interval
    variances: Floats = field(repr=False)  # the sum of V_l(s_t, a_t) over each interval
    known_pairs: int  # the number of known pairs at the end of the run
    rates: float  # the sum of A_l(s_t, a_t)
    rates_bound: float  # 6 S A log²(S A T / delta), which bounds `rates` if T >= 3
    bound: float  # C / B + K + L + unknown plays, the bound on M
    third_term_bound: float  # the bound on R3

    @property
    def variance_ratio(self) -> float:
        """The mean of `variances` over all intervals, divided by the lemma's bound 44 B²."""
        return float(self.variances.mean() / (44.0 * self.B**2))


def sufficient_visits(S: int, A: int, B: float, c_min: float, delta: float) -> float:
    """Return the smallest number of visits n with log(S A n / delta) / n <= c_min / (4096 S B)."""
    if not c_min > 0.0:
        raise TheoryError(
            f"c_min is {c_min:g}, but intervals need positive costs; let the agent raise costs (perturb_costs=True)"
        )
    needed = c_min / (4096.0 * S * B)

    def excess(logarithm: float) -> float:
        n = np.exp(logarithm)
        return float(np.log(S * A * n / delta) / n - needed)

    # The rate is too large after one visit, and decreases like log(n) / n.
    return float(np.exp(optimize.brentq(excess, 0.0, 60.0, xtol=1e-12)))


def cut_into_intervals(trace: Trace, *, known_after: float | None = None) -> Intervals:
    """Return the intervals of a run of PSRL-SSP, computed from the `trace` of the run.

    B is the largest value of any model in the run, and delta is 1/K, as in the proof of Theorem 1. `known_after` is the
    number of visits after which a pair is known. The default is the smallest number that the proof allows.
    """
    S, A = trace.world.costs.shape
    bound, confidence = trace.B, 1.0 / max(trace.run.episodes, 2)
    if known_after is None:
        known_after = sufficient_visits(S, A, bound, float(trace.planning_costs.min()), confidence)
    visits = trace.visits[trace.pairs]
    known = visits >= known_after
    paid = trace.planning_costs[trace.steps.states, trace.steps.actions]
    starts = cut(trace, known, paid, bound)
    unknown, L, T = int(np.count_nonzero(~known)), len(trace.models), len(paid)
    return Intervals(
        B=bound,
        delta=confidence,
        known_after=known_after,
        M=len(starts),
        starts=starts,
        variances=np.add.reduceat(variances(trace), starts),
        known_pairs=int(np.count_nonzero(trace.visits[-1] >= known_after)),
        rates=float(rate(visits, S, A, confidence).sum()),
        rates_bound=6.0 * S * A * log(S * A * T / confidence) ** 2,
        bound=float(paid.sum() / bound + trace.run.episodes + L + unknown),
        third_term_bound=third_term_bound(S, A, bound, len(starts), T, L, confidence),
    )


def cut(trace: Trace, known: Bools, paid: Floats, B: float) -> Int64s:
    """Return the first step of each interval."""
    # True at steps that end an interval of any cost. The last step of the run ends an epoch.
    ends = trace.steps.next_states == len(trace.planning_costs)
    ends[:-1] |= ~known[1:] | (np.diff(trace.epoch) > 0)
    ends[-1] = True
    forced = np.flatnonzero(ends)
    sums = np.cumsum(paid)
    starts = []
    start, piece = 0, 0
    while start < len(paid):
        starts.append(start)
        before = sums[start - 1] if start else 0.0
        # The factor allows for rounding errors of the sums.
        end = min(int(np.searchsorted(sums, (before + B) * (1.0 - 1e-12))), int(forced[piece]))
        piece += int(end == forced[piece])
        start = end + 1
    return np.array(starts, dtype=np.int64)


def variances(trace: Trace) -> Floats:
    """Return the variance V_l(s_t, a_t) of V(s'; theta_l) under the true kernel, for each step t."""
    with np.errstate(invalid="ignore"):
        squares = np.array([step_mean(trace.world, V[:-1] ** 2, 0.0) for V in trace.values])[trace.pairs]
        spread = squares - np.array([step_mean(trace.world, V[:-1], 0.0) for V in trace.values])[trace.pairs] ** 2
    # The variance is infinite if a successor is a dead end in the sampled model. Rounding must not make it negative.
    return np.where(np.isnan(spread), np.inf, np.maximum(spread, 0.0))
