"""Two-sided bounds on the optimal values.

By ratio
    One pass over all rows bounds every residual by a multiple of its row's cost. V scaled down and up by these
    multiples is below V* and above V_policy (see `bellman.certify`). This needs positive costs that are not too small
    beside the rounding of V.

By covering
    Where some rows cost next to nothing, the errors there are carried on to rows whose cost pays for them (see
    `bellman.cover`). This takes a few passes.

By elimination
    Elimination without subtraction has an error bound of its own: each component of the solution is off by at most a
    cubic in the number of states times the unit roundoff, however ill-conditioned the system (O'Cinneide 1996: a
    backward error of n² units in each entry, and entries off by one unit move the solution by 2 n). If that error
    cannot hide a row better than that of the policy, the policy is optimal and its values are V*. This needs products
    that do not underflow.

By propagation
    Let e(s) bound by how much Bellman's inequality fails at s, rounding included, and let E = e + P E under the policy
    that is greedy there: the failures summed on the way to the goal. Then V + 2 E and V - 2 E are checked by a pass of
    their own. Where the check fails (near-ties that lead a longer way), the step is repeated from there. This needs no
    lower bound on the costs. Only what a check has confirmed is returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.planning import bellman
from goalward.planning.elimination import aggregate, eliminate
from goalward.planning.policy_chain import REPEATS, PolicyChain
from goalward.planning.reduction import DEAD, GOAL, Reduction
from goalward.planning.workspace import workspace

__all__ = ["Bounds", "Certifier", "trivial_bounds"]

COVER_PASSES = 24
OUTWARD = 4.0 * bellman.UNIT  # pushes the rounding of a final multiplication or addition to the safe side


class Bounds(NamedTuple):
    """Proved bounds, in the extended form of `Reduction.extended`, and the largest (upper - lower) / upper."""

    lower: Floats
    upper: Floats
    width: float


class Certifier:
    """Proves bounds for one reduced problem."""

    def __init__(self, reduction: Reduction, chain: PolicyChain):
        self.problem = reduction.problem
        self.longest = reduction.longest
        self.parts = reduction.parts if reduction.parts is not None else np.array([0, reduction.states])
        self.chain = chain
        self.low, self.high = workspace(empty_errors, reduction.states)

    def by_ratio(self, extended: Floats, policy: Int64s, *, greedy: bool) -> Bounds:
        """Bound by scaling V; with `greedy`, the policy is taken from V."""
        if greedy:
            policy.fill(-1)
        below, above = bellman.certify(self.problem, self.longest, extended[:DEAD], policy, self.low, self.high)
        lower = extended * ((1.0 - OUTWARD) / (1.0 + below))
        upper = extended * ((1.0 + OUTWARD) / (1.0 - above) if above < 1.0 else np.inf)
        lower[GOAL] = upper[GOAL] = 0.0
        lower[DEAD] = upper[DEAD] = np.inf
        return Bounds(lower, upper, bellman.relative_width(below, above) + 4.0 * OUTWARD)

    def by_covering(self, extended: Floats, policy: Int64s, tolerance: float, passes: int = COVER_PASSES) -> Bounds:
        """Bound by scaling V and adding errors that free rows carry on; the policy is taken from V."""
        share = 0.25 * tolerance
        policy.fill(-1)
        values = extended[:DEAD]
        if not bellman.cover(
            self.problem, self.longest, self.parts, values, policy, share, self.low, self.high, passes
        ):
            return trivial_bounds(extended)
        lower, upper = extended.copy(), extended.copy()
        lower[:DEAD] = np.maximum(values - self.low, 0.0) * ((1.0 - OUTWARD) / (1.0 + share))
        upper[:DEAD] = (values + self.high) * ((1.0 + OUTWARD) / (1.0 - share))
        return Bounds(lower, upper, float(np.max(1.0 - lower[:DEAD] / upper[:DEAD])))

    def by_elimination(self, extended: Floats, policy: Int64s) -> Bounds:
        """Bound values that came out of elimination by its own error, if no other row comes too close for that."""
        states = len(policy)
        error = 2.0 * states * (states**2 + self.longest + 8) * bellman.UNIT
        values = extended[:DEAD]
        in_range = values.min() > bellman.TINY and values.max() < bellman.HUGE
        in_range = in_range and not self.underflows(values, policy)
        if not in_range or not bellman.dominates(self.problem, values, policy, 4.0 * error):
            return trivial_bounds(extended)
        return Bounds(extended * (1.0 - error), extended * (1.0 + error), 2.0 * error)

    def underflows(self, values: Floats, policy: Int64s) -> bool:
        """Return whether the elimination that gave these values may have lost digits to products that underflow.

        It has n² products for each row. What they lose of its probabilities is weighed with values in the end, and
        what they lose must be less than rounding takes from the probability of leaving, and from that times the value.
        """
        equation = self.chain.equation
        aggregate(self.problem, policy, np.zeros_like(values), equation)
        if not eliminate(equation, np.empty_like(values)):
            return True
        lost, leave = len(policy) ** 2 * bellman.UNDERFLOW, equation.matrix.diagonal()
        return bool(
            lost > bellman.UNIT * leave.min() or lost * (1.0 + values.max()) > bellman.UNIT * (leave * values).min()
        )

    def by_propagation(self, extended: Floats, policy: Int64s) -> Bounds:
        """Bound by summing errors on the way to the goal; the policy is not changed."""
        if not extended[:DEAD].min() > bellman.TINY:
            return trivial_bounds(extended)
        lower, upper = extended.copy(), extended.copy()
        self.widen(upper[:DEAD], policy.copy(), above=True)
        self.widen(lower[:DEAD], policy.copy(), above=False)
        width = float(np.max(1.0 - lower[:DEAD] / upper[:DEAD]))
        return Bounds(lower, upper, width if width <= 1.0 else 1.0)

    def widen(self, bound: Floats, policy: Int64s, *, above: bool) -> None:
        """Raise V until a check proves it above V_policy, or lower it until below V*; to infinity or 0 on failure."""
        for _ in range(REPEATS):
            if not bound.max() < bellman.HUGE:
                break
            if not above:
                policy.fill(-1)
            bellman.certify(self.problem, self.longest, bound, policy, self.low, self.high)
            errors = np.maximum(self.high if above else self.low, 0.0)
            if not errors.any():
                return
            total = self.chain.accumulate(policy, errors + bellman.UNIT * bound, 0.25)
            if total is None:
                break
            bound += (2.0 if above else -2.0) * total
            np.maximum(bound, 0.0, out=bound)
        bound[:] = np.inf if above else 0.0


def empty_errors(states: int) -> tuple[Floats, Floats]:
    return np.empty(states), np.empty(states)


def trivial_bounds(extended: Floats) -> Bounds:
    """Return 0 and infinity."""
    lower, upper = extended.copy(), extended.copy()
    lower[:DEAD], upper[:DEAD] = 0.0, np.inf
    return Bounds(lower, upper, 1.0)
