"""The bound on the number of epochs of PSRL-SSP, and invariants that each epoch satisfies.

Lemma (number of epochs). Let a run have L epochs, K episodes and T steps. If S, A and T are at least 2, then

    L <= sqrt(2 S A K log2 T) + S A log2 T.

Which logarithm
    The paper writes log without a base. The proof counts how often the visits of a pair can double, so the base must be
    2. With the natural logarithm, the lemma is false. For example, play one pair after the other in a single episode,
    each pair until it has ended j epochs. Then L = S A j and T = S A (2^j - 1). For S = A = 2 and j = 30, L is larger
    than the bound.

Macro-epochs
    Some epochs end because the visits of a pair have doubled. A macro-epoch starts after each of these epochs and at
    the beginning of the run. Let N be the number of macro-epochs. Within a macro-epoch, each epoch reaches the goal
    once more than the previous epoch, so L <= N + sqrt(2 N K).

How often a pair ends epochs
    The paper claims that n visits of a pair end at most log n epochs. But visits 1, 3, 7, ... end epochs, so
    n = 2^j - 1 visits end j epochs. The correct bound is log2(n + 1). So if S, A and T are at least 2,

        N <= 1 + sum over pairs of log2(n + 1) <= 1 + S A log2(1 + T / (S A)) <= S A log2 T.

Invariants
    Let K_l be the number of goals in epoch l, and K_0 = 1 (line 7 of the algorithm). Then K_l <= K_{l-1} + 1. At every
    step t of epoch l, n_t(s, a) <= 2 n_{t_l}(s, a), so epoch l plays a pair at most n_{t_l}(s, a) + 1 times.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, sqrt
from typing import NamedTuple

import numpy as np

from goalward.acting.stop_conditions import Ended
from goalward.errors import TheoryError
from goalward.learning.run import Epochs
from goalward.theory.trace import Trace


@dataclass(frozen=True)
class EpochCount:
    """The number of epochs and of macro-epochs of a run, with their bounds."""

    K: int  # episodes that reached the goal
    T: int  # steps
    L: int  # epochs
    N: int  # macro-epochs
    bound: float  # the lemma's bound on L, with the logarithm to base 2
    macro_bound: float  # 1 + S A log2(1 + T / (S A)), the bound on N
    goals_grow_by_one: bool  # whether K_l <= K_{l-1} + 1 at every epoch

    @property
    def holds(self) -> bool:
        """Whether the lemma and the steps of its proof hold in this run."""
        bound = min(self.bound, self.N + sqrt(2.0 * self.N * self.K))
        return self.goals_grow_by_one and bound >= self.L and self.macro_bound >= self.N


class Invariants(NamedTuple):
    """Whether the invariants hold in all epochs of a run."""

    doubling: bool  # whether every epoch l plays every pair at most n_{t_l}(s, a) + 1 times
    triggers_rarely: bool  # whether every pair ended at most log2(n + 1) epochs


def epoch_bound(S: int, A: int, K: int, T: int) -> float:
    """Return the lemma's bound on the number of epochs, sqrt(2 S A K log2 T) + S A log2 T.

    >>> round(epoch_bound(11, 4, 10_000, 60_000))
    4436
    """
    if min(S, A, T) < 2:
        raise TheoryError(f"S={S}, A={A}, T={T}: the bound on the number of epochs needs S >= 2, A >= 2 and T >= 2")
    doublings = S * A * log2(T)
    return sqrt(2.0 * doublings * K) + doublings


def macro_epoch_bound(S: int, A: int, T: int) -> float:
    """Return 1 + S A log2(1 + T / (S A)), an upper bound on the number of macro-epochs."""
    return 1.0 + S * A * log2(1.0 + T / (S * A))


def count_epochs(epochs: Epochs, S: int, A: int) -> EpochCount:
    """Count the epochs of a run of PSRL-SSP with S states and A actions; raises TheoryError if epochs are missing."""
    # Each epoch must begin where the previous one ends; the stored records of long runs have gaps.
    if not np.array_equal(epochs.start_step[1:], epochs.start_step[:-1] + epochs.steps[:-1]):
        raise TheoryError(
            f"these {len(epochs):,} epochs are only a part of the run, because stored files of long runs omit epochs;"
            " pass learn(...).epochs, which has all epochs"
        )
    # Only episodes that reached the goal count, because the proof adds up the goals of the epochs.
    K, T = int(epochs.goals.sum()), int(epochs.steps.sum())
    return EpochCount(
        K=K,
        T=T,
        L=len(epochs),
        N=1 + int(np.count_nonzero(epochs.ended_by(Ended.AFTER_VISITS)[:-1])),  # no epoch follows the last one
        bound=epoch_bound(S, A, K, T),
        macro_bound=macro_epoch_bound(S, A, T),
        goals_grow_by_one=bool((epochs.goals <= np.append(1, epochs.goals[:-1]) + 1).all()),
    )


def check_invariants(trace: Trace) -> Invariants:
    """Return whether the invariants hold in the run of `trace`; only PSRL-SSP must satisfy these invariants."""
    visits, doubled = trace.visits, trace.run.epochs.ended_by(Ended.AFTER_VISITS)
    triggers = np.count_nonzero((visits[1:] > 2 * visits[:-1]) & doubled[:, None, None], axis=0)
    # Compare integers to avoid rounding: j triggers need 2^j - 1 visits.
    rarely = ((1 << triggers) <= visits[-1] + 1).all()
    return Invariants(bool((visits[1:] <= 2 * visits[:-1] + 1).all()), bool(rarely))
