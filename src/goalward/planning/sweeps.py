"""The solver for large problems: rounds of sweeps (`rounds.py`) until the values can be proved."""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.planning.bellman import initial_policy
from goalward.planning.certificate import Bounds, prove
from goalward.planning.reduction import Reduction
from goalward.planning.rounds import Rounds
from goalward.progress import Phase

THRESHOLD = 0.5  # a proof is tried when sweeps change values by less than this fraction of the tolerance
FREE_PRECISION = 0.1  # with zero-cost rows, the proof by propagation is tried below this fraction of the tolerance
PRECISION = 1e-3  # the same without zero-cost rows


def run_sweeps(
    reduction: Reduction,
    extended: Floats,
    policy: Int64s,
    tolerance: float,
    start: Floats | None = None,
    progress: Phase | None = None,
) -> tuple[Bounds, int]:
    """Solve a problem by sweeps; return bounds on the values, and the number of rounds.

    The bounds are within the tolerance unless sweeps stall. The values are written to `extended`, and the policy to
    `policy`. The sweeps start from `start`, the values of a similar model.
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
