"""The intervals and known pairs into which the analysis divides a run.

In the paper, a pair is known if it has been visited at least

    alpha (B S / c_min) log(B S A / (delta c_min))

times. The paper does not give alpha; it must be "large enough" for a lemma that needs A_l(s, a) <= c_min / (4096 S B),
which makes 8 sqrt(theta A_l) + 136 A_l at most sqrt(c_min theta / (S B)) / 8 + c_min / (4 S B). So here a pair is known
after the smallest number of visits with this A_l (`sufficient_visits`). Visits are counted at the start of the epoch,
as in the lemma.

Epochs are divided into intervals. An interval ends when

    its costs have reached B,
    the pair to be played next is not known,
    the goal is reached, or
    the epoch ends.

So all pairs of an interval except the first are known, and an interval costs less than B plus one step. Let C be the
sum of all costs. The number of intervals is

    M <= C / B + K + L + (plays of unknown pairs),       plays of unknown pairs <= S A (2 threshold + 1).

Lemma (variance): E[sum of V_l(s_t, a_t) over an interval] <= 44 B², where V_l is the variance of V(s'; theta_l) under
theta_*. The paper restricts the sum to the event that both kernels are in their confidence sets. Here the sum is
computed without the restriction, which can only make it larger.

With the proof's constants, a pair is known after millions of visits, so in runs as long as the paper's, every step is a
separate interval. A smaller `known_after` shows what happens when pairs are known.
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
    """The intervals of a run, and the quantities that the analysis bounds with them."""

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
        """The mean over intervals of the sum of variances, divided by the lemma's bound 44 B²."""
        return float(self.variances.mean() / (44.0 * self.B**2))


def sufficient_visits(S: int, A: int, B: float, c_min: float, delta: float) -> float:
    """Return the smallest number of visits n with log(S A n / delta) / n <= c_min / (4096 S B)."""
    if not c_min > 0.0:
        raise TheoryError(
            f"c_min={c_min:g}: no pair becomes known without positive costs; raise the costs (perturb_costs=True)"
        )
    needed = c_min / (4096.0 * S * B)

    def excess(logarithm: float) -> float:
        n = np.exp(logarithm)
        return float(np.log(S * A * n / delta) / n - needed)

    # The rate is too large after one visit, and decreases like log(n) / n.
    return float(np.exp(optimize.brentq(excess, 0.0, 60.0, xtol=1e-12)))


def cut_into_intervals(trace: Trace, *, known_after: float | None = None) -> Intervals:
    """Return the intervals of a run of PSRL-SSP, given by its `trace`.

    B is the largest value of any model in the run, and delta is 1/K, as in the proof of Theorem 1. `known_after` is the
    number of visits after which a pair is known; by default, the smallest number that the proof allows.
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
    # The steps at which an interval ends whatever its costs are; the last step of the run ends an epoch.
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
        # The costs of an interval reach B up to the rounding of the sums.
        end = min(int(np.searchsorted(sums, (before + B) * (1.0 - 1e-12))), int(forced[piece]))
        piece += int(end == forced[piece])
        start = end + 1
    return np.array(starts, dtype=np.int64)


def variances(trace: Trace) -> Floats:
    """Return V_l(s_t, a_t), the variance of V(s'; theta_l) under the true kernel, at each step."""
    with np.errstate(invalid="ignore"):
        squares = np.array([step_mean(trace.world, V[:-1] ** 2, 0.0) for V in trace.values])[trace.pairs]
        spread = squares - np.array([step_mean(trace.world, V[:-1], 0.0) for V in trace.values])[trace.pairs] ** 2
    # The variance is infinite if a successor is a dead end in the sampled model. Rounding must not make it negative.
    return np.where(np.isnan(spread), np.inf, np.maximum(spread, 0.0))
