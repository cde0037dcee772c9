"""Two-sided bounds on the optimal values, and the linear algebra under one policy that they and the sweeps share.

By ratio
    One pass over all rows bounds every residual by a multiple of its row's cost; V scaled down and up by these
    multiples is below V* and above V_policy (see `bellman.certify`). Needs positive costs, and costs not too small
    beside the rounding of V.

By elimination
    Elimination without subtraction has an error bound of its own: each component of the solution is off by at most a
    cubic in the number of states times the unit roundoff, however ill-conditioned the system (O'Cinneide 1996: a
    backward error of n² units in each entry, and entries off by one unit move the solution by 2 n). If that error
    cannot hide a row better than the policy's, the policy is optimal and its values are V*.

By propagation
    Let e(s) bound by how much Bellman's inequality fails at s, rounding included, and let E = e + P E under the policy
    that is greedy there: the failures summed along the way to the goal. V + 2 E above and V - 2 E below are then
    checked by a pass of their own; where the check fails (near-ties that lead a longer way), the step is repeated from
    there. It needs no lower bound on the costs. What has been checked is proved, whatever the route to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, bicgstab

from goalward.arrays import Floats, Int32s, Int64s
from goalward.planning import bellman
from goalward.planning.bellman import Equation, Problem
from goalward.planning.reduce import DEAD, GOAL, Reduction
from goalward.planning.scratch import scratch

__all__ = ["POLICY_SWEEPS", "Bounds", "Certifier"]

MAX_GROUPS = 512
POLICY_SWEEPS = 12
REPEATS = 30
LEAP_STEPS, LEAP_PRECISION = 100, 1e-4
OUTWARD = 4.0 * bellman.UNIT  # pushes the rounding of a final multiplication or addition to the safe side


class Bounds(NamedTuple):
    """Proved bounds, in the extended form of `Reduction.extended`, and the largest (upper - lower) / upper."""

    lower: Floats
    upper: Floats
    width: float


def make_equation(groups: int) -> tuple[Floats, Floats, Floats]:
    """Make room for an equation on groups."""
    return np.empty((groups, groups)), np.empty(groups), np.empty(groups)


def make_spare(states: int) -> tuple[Floats, Floats, Floats]:
    """Make room for numbers of each state."""
    return np.empty(states), np.empty(states), np.empty(states)


class Certifier:
    """Bounds, and policy sweeps and corrections, for one reduced problem; owns their memory."""

    def __init__(self, reduction: Reduction, *, exact: bool):
        self.problem = reduction.problem
        self.longest = reduction.longest
        self.exact = exact
        states = reduction.states
        self.chain = scratch(Problem.empty_chain, states, reduction.widest)
        self.spare, self.low, self.high = scratch(make_spare, states)
        group = np.arange(states, dtype=np.int32) if exact else level_groups(reduction.distance)
        self.equation = Equation(group, *scratch(make_equation, int(group[-1]) + 1))

    def follow(self, policy: Int64s) -> None:
        """Lay out the rows of a policy for what follows."""
        bellman.follow(self.problem, policy, self.chain)

    def optimal_sweep(self, values: Floats, policy: Int64s) -> float:
        """Sweep once over all rows, and lay out those of the new policy; returns the largest relative change."""
        return bellman.optimal_sweep(self.problem, values, policy, self.chain)

    def policy_sweep(self, values: Floats) -> float:
        """Sweep once over the rows laid out; returns the largest relative change."""
        return bellman.policy_sweep(self.chain, values)

    def correct(self, values: Floats) -> bool:
        """Add the best correction that is constant on each group, if no value becomes negative by it."""
        bellman.aggregate(self.chain, self.chain.first, values, self.equation)
        correction = np.empty_like(self.equation.right)
        return bellman.eliminate(self.equation, correction) and bellman.shift(self.equation.group, correction, values)

    def leap(self, values: Floats) -> None:
        """Solve for the values of the policy laid out by BiCGSTAB, preconditioned with a Gauss-Seidel sweep.

        With G the linear part of a sweep, V + d is the fixed point if (I - G) d = sweep(V) - V. The values are left
        alone if a negative one would come out.
        """

        def operator(vector: Floats) -> Floats:
            relaxed = np.empty_like(values)
            bellman.relax(self.chain, vector.reshape(-1), relaxed)
            return vector.reshape(-1) - relaxed

        before = values.copy()
        self.policy_sweep(values)
        system = LinearOperator((len(values), len(values)), matvec=operator, dtype=np.float64)
        right = values - before
        scale = np.abs(right).max()  # bicgstab gives up on right sides that are tiny in absolute terms
        if not 0.0 < scale < np.inf:
            return
        step, _ = bicgstab(system, right / scale, rtol=LEAP_PRECISION, maxiter=LEAP_STEPS)
        before += scale * step
        if np.isfinite(before).all() and before.min() >= 0.0:
            values[:] = before

    def accumulate(self, policy: Int64s, costs: Floats, precision: float) -> Floats | None:
        """Sum costs along the way to the goal under a policy, to a relative precision; None if that fails."""
        self.follow(policy)
        self.chain.cost[:] = costs
        total = np.zeros(len(costs))
        for repeat in range(REPEATS):
            if not self.correct(total) and self.exact:
                return None
            if repeat > REPEATS // 3:
                self.leap(total)
            for _ in range(POLICY_SWEEPS):
                if self.policy_sweep(total) <= precision:
                    return total
        return None

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

    def by_elimination(self, extended: Floats, policy: Int64s) -> Bounds:
        """Bound values that came out of elimination by its own error, if no other row comes too close for that."""
        states = len(policy)
        error = 2.0 * states * (states**2 + self.longest + 8) * bellman.UNIT
        values = extended[:DEAD]
        in_range = values.min() > bellman.TINY and values.max() < bellman.HUGE
        if not in_range or not bellman.dominates(self.problem, values, policy, 4.0 * error):
            return nothing(extended)
        return Bounds(extended * (1.0 - error), extended * (1.0 + error), 2.0 * error)

    def by_propagation(self, extended: Floats, policy: Int64s) -> Bounds:
        """Bound by summing errors along the way; the policy stays as it is."""
        if not extended[:DEAD].min() > bellman.TINY:
            return nothing(extended)
        lower, upper = extended.copy(), extended.copy()
        self.shift(upper[:DEAD], policy.copy(), above=True)
        self.shift(lower[:DEAD], policy.copy(), above=False)
        width = float(np.max(1.0 - lower[:DEAD] / upper[:DEAD]))
        return Bounds(lower, upper, width if width <= 1.0 else 1.0)

    def shift(self, bound: Floats, policy: Int64s, *, above: bool) -> None:
        """Move V up until it bounds V_policy, or down until it bounds V*, checked; to infinity or 0 if that fails."""
        for _ in range(REPEATS):
            if not bound.max() < bellman.HUGE:
                break
            if not above:
                policy.fill(-1)
            bellman.certify(self.problem, self.longest, bound, policy, self.low, self.high)
            errors = np.maximum(self.high if above else self.low, 0.0)
            if not errors.any():
                return
            total = self.accumulate(policy, errors + bellman.UNIT * bound, 0.25)
            if total is None:
                break
            bound += (2.0 if above else -2.0) * total
            np.maximum(bound, 0.0, out=bound)
        bound[:] = np.inf if above else 0.0


def nothing(extended: Floats) -> Bounds:
    """Return the bounds that need no proof: 0 and infinity."""
    lower, upper = extended.copy(), extended.copy()
    lower[:DEAD], upper[:DEAD] = 0.0, np.inf
    return Bounds(lower, upper, 1.0)


def level_groups(distance: Int32s) -> Int32s:
    """Put states of equal distance to the goal into one group; neighbouring distances share one if there are many."""
    depth = int(distance[-1])
    groups: Int32s = ((distance - 1) * (min(MAX_GROUPS, depth) / depth)).astype(np.int32)
    return groups
