"""Regret: the cost of a run in excess of the optimal policy, measured in two ways.

Realised regret after k episodes
    The sum of all costs paid, minus k V*(s_init). This is the definition in the PSRL-SSP paper. It includes the random
    variation of the transitions.

Gap regret after k episodes
    The sum of Q*(s, a) - V*(s) over all pairs played, where Q*(s, a) = c(s, a) + sum of p(s' | s, a) V*(s'). Over one
    episode the costs are V*(s_init) + sum of gaps + sum of (V*(s') - E V*(s')), and the last sum is a martingale. So
    both have the same expectation, but the gap regret excludes the random variation of the transitions.

V* is computed in the true model with the true costs, to a relative tolerance of 1e-10, or up to 1e-6 if double
precision allows no better.

Rounding
    The planner proves V* to a relative width w (`Solution.width`, rounding included), so the error of a computed gap is
    at most w (Q*(s, a) + V*(s)). A gap within this error counts as zero; otherwise the errors of the optimal actions
    would add up over the episodes and look like regret. Gaps above 1e-10 of Q* + V* always count: w is larger than that
    only in worlds with very different costs, in which small gaps are real.
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
    """The optimal value V*(s_init) and the ``gaps[s, a]`` = Q*(s, a) - V*(s), from which regret is computed."""

    value: float
    gaps: Floats


def optimum(ssp: SSP) -> Optimum:
    """Solve the true model; raises UnreachableGoalError or PrecisionError if regret cannot be measured."""
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
