"""Regret: the cost of a run minus the cost of the optimal policy, measured in two ways.

Realised regret after k episodes
    The sum of all costs paid, minus k V*(s_init). This is the definition in the PSRL-SSP paper. The realised regret
    includes the random variation of the transitions.

Gap regret after k episodes
    The sum of the gaps Q*(s, a) - V*(s) of all pairs played, where Q*(s, a) = c(s, a) + sum of p(s' | s, a) V*(s'). The
    costs of one episode are V*(s_init) + sum of gaps + sum of (V*(s') - E V*(s')), and the last sum is a martingale.
    Both regrets therefore have the same expectation, but the gap regret excludes this random variation.

V* is computed in the true model with the true costs, to a relative tolerance of 1e-10. If double precision does not
allow this, a tolerance of up to 1e-6 is accepted.

Rounding
    The planner proves V* to a relative width w (`Solution.width`, rounding included), so the error of a computed gap is
    at most w (Q*(s, a) + V*(s)). A gap within this error counts as zero, because the errors of optimal actions would
    add up over the episodes and look like regret. If w exceeds 1e-10, costs differ very much and small gaps are real,
    so gaps above 1e-10 (Q* + V*) still count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from goalward.arrays import Floats
from goalward.errors import PrecisionError
from goalward.planning.evaluate import action_values
from goalward.planning.solve import solve
from goalward.ssp.model import SSP

TOLERANCE, WORST_TOLERANCE = 1e-10, 1e-6


@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimal `value` V*(s_init) and the ``gaps[s, a]`` = Q*(s, a) - V*(s), which define regret."""

    value: float
    gaps: Floats


def optimum(ssp: SSP) -> Optimum:
    """Solve the true model `ssp`; raise UnreachableGoalError or PrecisionError if regret cannot be measured."""
    try:
        solution = solve(ssp, tolerance=TOLERANCE)
    except PrecisionError as error:
        solution = error.solution
        if not solution.width <= WORST_TOLERANCE:
            raise PrecisionError(
                f"the optimal values of the world are known only to a relative {solution.width:.1e}, but regret"
                f" needs {WORST_TOLERANCE:g}; use costs and probabilities of similar size",
                solution,
            ) from None
    Q, V = action_values(ssp, solution.values), np.broadcast_to(solution.values[:, np.newaxis], ssp.costs.shape)
    finite = np.isfinite(Q) & np.isfinite(V)
    gaps = np.full(ssp.costs.shape, np.inf)
    difference = Q[finite] - V[finite]
    uncertainty = min(solution.width, TOLERANCE) * (Q[finite] + V[finite])
    gaps[finite] = np.where(difference > uncertainty, difference, 0.0)
    gaps.flags.writeable = False
    return Optimum(float(solution.values[ssp.initial_state]), gaps)


known_optimum = lru_cache(maxsize=4)(optimum)
"""`optimum` with a cache, because the runs of a study share their worlds."""
