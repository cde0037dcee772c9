"""Two-sided bounds on the optimal values, and the linear algebra under one policy that they and the sweeps share.

By ratio
    One pass over all rows bounds every residual by a multiple of its row's cost; V scaled down and up by these
    multiples is below V* and above V_policy (see `bellman.certify`). Needs positive costs, and costs not too small
    beside the rounding of V.

By propagation
    Let e(s) bound by how much Bellman's inequality fails at s, rounding included, and let E = e + P E under the policy
    that is greedy there: the failures summed along the way to the goal. V + 2 E above and V - 2 E below are then
    checked by a pass of their own; where the check fails (near-ties that lead a longer way), the step is repeated from
    there. It needs no lower bound on the costs. What has been checked is proved, whatever the route to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.planning import bellman
from goalward.planning.reduce import Reduced, Reduction

__all__ = ["Bounds", "Certifier"]

MAX_GROUPS = 512
REPEATS = 30
OUTWARD = 4.0 * bellman.UNIT  # pushes the rounding of a final multiplication or addition to the safe side


class Bounds(NamedTuple):
    """Proved bounds and the largest (upper - lower) / upper."""

    lower: Floats
    upper: Floats
    width: float


class Rows(NamedTuple):
    """One row per state, side by side."""

    start: Int64s
    target: Int32s
    weight: Floats
    to_goal: Floats
    cost: Floats


class Groups(NamedTuple):
    """The group of each state and room for the equation on groups."""

    group: Int32s
    matrix: Floats
    goal: Floats
    right: Floats


class Certifier:
    """Bounds, and policy sweeps and corrections, for one reduced problem; owns their memory."""

    def __init__(self, problem: Reduced, reduction: Reduction, longest: int):
        self.problem = problem
        self.longest = longest
        self.has_free_rows = bool((problem.cost == 0.0).any())
        states = len(problem.first) - 1
        widest = np.maximum.reduceat(np.diff(problem.start), problem.first[:-1]).sum()
        self.rows = Rows(
            np.empty(states + 1, dtype=np.int64),
            np.empty(widest, dtype=np.int32),
            np.empty(widest),
            np.empty(states),
            np.empty(states),
        )
        group = reduction.groups(MAX_GROUPS)
        count = int(group[-1]) + 1
        self.groups = Groups(group, np.empty((count, count)), np.empty(count), np.empty(count))
        self.spare = np.empty(states)

    def follow(self, policy: Int64s) -> None:
        """Lay out the rows of a policy for what follows."""
        bellman.follow(*self.problem[1:6], policy, *self.rows)

    def policy_sweep(self, values: Floats) -> float:
        """Sweep once over the rows laid out; returns the largest relative change."""
        rows = self.rows
        return bellman.policy_sweep(rows.start, rows.target, rows.weight, rows.cost, values)

    def correct(self, values: Floats) -> bool:
        """Add the best correction that is constant on each group, if it keeps the values positive."""
        bellman.aggregate(*self.rows, values, *self.groups)
        shift = np.empty_like(self.groups.right)
        if not bellman.eliminate(*self.groups[1:], shift):
            return False
        np.take(shift, self.groups.group, out=self.spare)
        self.spare += values
        if not self.spare.min() > 0.0:
            return False
        values[:] = self.spare
        return True

    def accumulate(self, policy: Int64s, errors: Floats) -> Floats | None:
        """Sum errors along the way to the goal under a policy, to a quarter; None if it does not get there."""
        self.follow(policy)
        self.rows.cost[:] = errors
        total = np.zeros(len(errors))
        for _ in range(REPEATS * REPEATS):
            if not self.correct(total) and len(self.groups.goal) == len(total):
                return None
            for _ in range(8):
                if self.policy_sweep(total) <= 0.25:
                    return total
        return None

    def by_ratio(self, values: Floats, policy: Int64s, *, greedy: bool) -> Bounds:
        """Bound by scaling V; with `greedy`, the policy is taken from V."""
        low, high = np.empty(len(values)), np.empty(len(values))
        below, above = bellman.certify(*self.problem[:6], self.longest, values, policy, greedy, low, high)
        lower = values * ((1.0 - OUTWARD) / (1.0 + below))
        if not above < 1.0:
            return Bounds(lower, np.full(len(values), np.inf), np.inf)
        upper = values * ((1.0 + OUTWARD) / (1.0 - above))
        return Bounds(lower, upper, 1.0 - (1.0 - above) / (1.0 + below) + 4.0 * OUTWARD)

    def by_propagation(self, values: Floats, policy: Int64s) -> Bounds:
        """Bound by summing errors along the way; the policy stays as it is."""
        upper = self.shift(values, policy.copy(), above=True)
        lower = np.maximum(self.shift(values, policy.copy(), above=False), 0.0)
        with np.errstate(invalid="ignore"):
            width = float(np.max(1.0 - lower / upper))
        return Bounds(lower, upper, width if np.isfinite(width) else np.inf)

    def shift(self, values: Floats, policy: Int64s, *, above: bool) -> Floats:
        """Move V up until it bounds V_policy, or down until it bounds V*, checked; infinity or 0 if that fails."""
        bound = values.copy()
        low, high = np.empty(len(values)), np.empty(len(values))
        for _ in range(REPEATS):
            bellman.certify(*self.problem[:6], self.longest, bound, policy, not above, low, high)
            errors = np.maximum(high if above else low, 0.0)
            if not errors.any():
                return bound
            total = self.accumulate(policy, errors)
            if total is None:
                break
            bound += (2.0 if above else -2.0) * total
        return np.full(len(values), np.inf if above else 0.0)
