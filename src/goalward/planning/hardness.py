"""The quantities that say how hard a problem is to learn.

    B* = max_s V*(s)                                   the largest value
    T* = max_s h_π*(s)                                 the largest expected number of steps of the optimal policy; of
                                                       several optimal policies, the fastest counts
    D  = max_s min_π h_π(s)                            the SSP-diameter: the largest expected number of steps of the
                                                       fastest policy
    c_min = min c(s, a)                                the smallest cost of an available action
    gap(s, a) = c(s, a) + Σ p V* - V*(s)               the extra cost of playing action a once

The maxima are over the sure states. A state is sure if some policy reaches the goal from this state almost surely. In a
proper model, all states are sure. In a model without sure states, B*, T* and D are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from goalward.arrays import Floats
from goalward.planning.evaluate import action_values
from goalward.planning.solve import proved, solve_all
from goalward.ssp.model import SSP, check_model, restrict_actions
from goalward.table import ShownAsFacts

WANTED, NEEDED = 1e-10, 1e-6  # relative precision of the values: the target, and what must be proved
TIE = 1e-9  # gaps below this, relative to the action's value, count as ties


@dataclass(frozen=True, eq=False)
class Hardness(ShownAsFacts):
    """Quantities that say how hard a problem is to learn.

    Attributes
    ----------
    B_star, T_star, D, c_min
        The quantities B*, T*, D and c_min that `goalward.planning.hardness` defines.
    smallest_gap
        The smallest gap that is not a tie; infinity if all actions tie.
    gaps
        ``gaps[s, a]``: zero for ties; infinity for unavailable actions, and if Q*(s, a) is infinite.
    proper
        Whether some policy reaches the goal almost surely from every state.
    states, sure_states
        The number of all states, and the number of states from which some policy reaches the goal almost surely.
    """

    B_star: float
    T_star: float
    D: float
    c_min: float
    smallest_gap: float
    proper: bool
    states: int
    sure_states: int
    gaps: Floats = field(repr=False)

    def _facts(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.repr}


def hardness(ssp: SSP) -> Hardness:
    """Compute B*, T*, the SSP-diameter, the smallest cost and the gaps of `ssp`."""
    check_model(ssp)
    ones = np.ones(ssp.costs.shape)
    values = proved(solve_all(ssp, WANTED), NEEDED, "the values").values
    sure = np.isfinite(values)
    Q = action_values(ssp, values)
    gaps = np.full(Q.shape, np.inf)
    np.subtract(Q, values[:, None], out=gaps, where=sure[:, None] & np.isfinite(Q))
    gaps[np.isfinite(Q) & (gaps <= TIE * Q)] = 0.0
    optimal = restrict_actions(ssp, gaps == 0.0).with_costs(ones)
    times = proved(solve_all(optimal, WANTED), NEEDED, "the hitting times of optimal policies").values
    fastest = proved(solve_all(ssp.with_costs(ones), WANTED), NEEDED, "the shortest hitting times").values
    return Hardness(
        B_star=largest(values[sure]),
        T_star=largest(times[sure]),
        D=largest(fastest[sure]),
        c_min=float(ssp.costs.min()),
        smallest_gap=float(gaps[gaps > 0.0].min(initial=np.inf)),
        proper=bool(sure.all()),
        states=ssp.states,
        sure_states=int(np.count_nonzero(sure)),
        gaps=gaps,
    )


def largest(values: Floats) -> float:
    """Return the largest of `values`, or infinity if the array is empty."""
    return float(values.max()) if len(values) else np.inf
