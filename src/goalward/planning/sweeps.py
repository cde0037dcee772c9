"""Solving large problems: rounds of sweeps (`rounds.py`) until their values can be proved."""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.planning.bellman import initial_policy
from goalward.planning.certificate import Bounds, prove
from goalward.planning.reduction import Reduction
from goalward.planning.rounds import Rounds
from goalward.progress import Phase

THRESHOLD = 0.5  # share of the tolerance: a proof is tried when sweeps change values by less
FREE_PRECISION = 0.1  # share of the tolerance: with zero-cost rows, propagation is tried below it
PRECISION = 1e-3  # the same without zero-cost rows


def run_sweeps(
    reduction: Reduction,
    extended: Floats,
    policy: Int64s,
    tolerance: float,
    start: Floats | None = None,
    progress: Phase | None = None,
) -> tuple[Bounds, int]:
    """Solve a problem; return bounds within the tolerance, or the best when sweeps stall, and the number of rounds.

    Values are written to `extended` and the policy to `policy`. `start` has values of a similar model.
    """
    rounds = Rounds(reduction.problem, reduction.blocks, extended, policy)
    if start is not None:
        initial_policy(reduction.problem, 0, reduction.states, extended, policy)
        reduced = reduction.reduced[:-1]
        known = (reduced >= 0) & np.isfinite(start) & (start > 0.0)
        extended[reduced[known]] = start[known]
    threshold, fresh = THRESHOLD * tolerance, start is None
    precision = FREE_PRECISION if reduction.has_free_rows else PRECISION
    while True:
        settled = rounds.settle(threshold, fresh=fresh, progress=progress)
        exhausted = not settled or threshold < 1e-15
        patient = exhausted or threshold < precision * tolerance  # a proof by propagation takes as long as many rounds
        policy.fill(-1)
        bounds = prove(reduction, extended, policy, tolerance, patient=patient)
        if bounds.width <= tolerance or exhausted:
            return bounds, max(rounds.count, 1)
        threshold *= max(0.1, min(0.5, 0.5 * tolerance / bounds.width))
        fresh = False
