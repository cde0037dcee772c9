"""Two-sided bounds on the optimal values, and proofs of them in double precision, rounding included.

`prove` takes any values V and a policy and returns bounds that hold: lower <= V* <= V_policy <= upper. It tries one
proof after the other until the bounds are as close as asked for.

By ratio
    One pass over all rows bounds every residual by a multiple of its row's cost. V scaled down and up by these
    multiples is below V* and above V_policy (see `certify`). This needs positive costs that are not too small beside
    the rounding of V.

By covering
    Where some rows cost nothing, the errors there are carried on to rows whose cost pays for them (see `cover`). This
    takes a few passes. Without it, csma and wlan take 1.7 to 2 times as long.

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

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.planning.bellman import HUGE, TINY, UNIT
from goalward.planning.policy_chain import REPEATS, PolicyChain
from goalward.planning.policy_iteration import aggregate, dominates, eliminate
from goalward.planning.reduction import DEAD, GOAL, LEAST_NORMAL, Problem

__all__ = [
    "Bounds", "by_covering", "by_elimination", "by_propagation", "by_ratio", "certify", "prove", "relative_width",
]  # fmt: skip

COVER_PASSES = 8  # what is not covered by then has long ways without costs, for which errors are better summed up
OUTWARD = 4.0 * UNIT  # pushes the rounding of a final multiplication or addition to the safe side
UNDERFLOW = 2.0**-1074  # the least subnormal number, and the rounding error of products that are subnormal or zero


class Bounds(NamedTuple):
    """Proved bounds, in the extended form of `Reduction.extended`, and the largest (upper - lower) / upper."""

    lower: Floats
    upper: Floats
    width: float


def prove(chain: PolicyChain, extended: Floats, policy: Int64s, tolerance: float, *, patient: bool = True) -> Bounds:
    """Return the best bounds of the values that the proofs give, or the first that are within the tolerance.

    Where the policy has -1, it gets the row of smallest residual. Only with `patient` are errors summed on the way to
    the goal, which takes as long as many sweeps.
    """
    proofs: list[Callable[[PolicyChain, Floats, Int64s, float], Bounds]] = []
    proofs += [by_covering] if chain.reduction.has_free_rows else []
    proofs += [by_ratio]
    proofs += [by_elimination] if chain.exact else []
    proofs += [by_propagation] if patient else []
    bounds = proofs[0](chain, extended, policy, tolerance)
    for proof in proofs[1:]:
        if not bounds.width <= tolerance:
            other = proof(chain, extended, policy, tolerance)
            bounds = other if other.width < bounds.width else bounds
    return bounds


def by_ratio(chain: PolicyChain, extended: Floats, policy: Int64s, _: float) -> Bounds:
    """Bound by scaling V."""
    low, high = np.empty((2, len(policy)))
    below, above = certify(chain.problem, chain.reduction.longest, extended[:DEAD], policy, low, high)
    lower = extended * ((1.0 - OUTWARD) / (1.0 + below))
    upper = extended * ((1.0 + OUTWARD) / (1.0 - above) if above < 1.0 else np.inf)
    lower[GOAL] = upper[GOAL] = 0.0
    lower[DEAD] = upper[DEAD] = np.inf
    return Bounds(lower, upper, relative_width(below, above) + 4.0 * OUTWARD)


def by_covering(chain: PolicyChain, extended: Floats, policy: Int64s, tolerance: float) -> Bounds:
    """Bound by scaling V and adding errors that free rows carry on."""
    share, values = 0.25 * tolerance, extended[:DEAD]
    low, high = np.zeros((2, len(policy)))
    passes = 1 if chain.reduction.acyclic else COVER_PASSES
    if not cover(chain.problem, chain.reduction.longest, values, policy, share, passes, low, high):
        return trivial_bounds(extended)
    lower, upper = extended.copy(), extended.copy()
    lower[:DEAD] = np.maximum(values - low, 0.0) * ((1.0 - OUTWARD) / (1.0 + share))
    upper[:DEAD] = (values + high) * ((1.0 + OUTWARD) / (1.0 - share))
    return Bounds(lower, upper, float(np.max(1.0 - lower[:DEAD] / upper[:DEAD])))


def by_elimination(chain: PolicyChain, extended: Floats, policy: Int64s, _: float) -> Bounds:
    """Bound values that came out of elimination by its own error, if no other row comes too close for that."""
    states, values = len(policy), extended[:DEAD]
    error = 2.0 * states * (states**2 + chain.reduction.longest + 8) * UNIT
    in_range = values.min() > TINY and values.max() < HUGE and not underflows(chain, values, policy)
    if not in_range or not dominates(chain.problem, values, policy, 4.0 * error):
        return trivial_bounds(extended)
    return Bounds(extended * (1.0 - error), extended * (1.0 + error), 2.0 * error)


def underflows(chain: PolicyChain, values: Floats, policy: Int64s) -> bool:
    """Return whether the elimination that gave these values may have lost digits to products that underflow.

    It has n² products for each row. What they lose of its probabilities is weighed with values in the end, and what
    they lose must be less than rounding takes from the probability of leaving, and from that times the value.
    """
    aggregate(chain.problem, policy, np.zeros_like(values), chain.equation)
    if not eliminate(chain.equation, np.empty_like(values)):
        return True
    lost, leave = len(policy) ** 2 * UNDERFLOW, chain.equation.matrix.diagonal()
    return bool(lost > UNIT * leave.min() or lost * (1.0 + values.max()) > UNIT * (leave * values).min())


def by_propagation(chain: PolicyChain, extended: Floats, policy: Int64s, _: float) -> Bounds:
    """Bound by summing errors on the way to the goal; the policy is not changed."""
    if not extended[:DEAD].min() > TINY:
        return trivial_bounds(extended)
    lower, upper = extended.copy(), extended.copy()
    widen(chain, upper[:DEAD], policy.copy(), above=True)
    widen(chain, lower[:DEAD], policy.copy(), above=False)
    width = float(np.max(1.0 - lower[:DEAD] / upper[:DEAD]))
    return Bounds(lower, upper, width if width <= 1.0 else 1.0)


def widen(chain: PolicyChain, bound: Floats, policy: Int64s, *, above: bool) -> None:
    """Raise V until a check proves it above V_policy, or lower it until below V*; to infinity or 0 on failure."""
    low, high = np.empty((2, len(policy)))
    for _ in range(REPEATS):
        if not bound.max() < HUGE:
            break
        if not above:
            policy.fill(-1)
        certify(chain.problem, chain.reduction.longest, bound, policy, low, high)
        errors = np.maximum(high if above else low, 0.0)
        if not errors.any():
            return
        total = chain.accumulate(policy, errors + UNIT * bound, 0.25)
        if total is None:
            break
        bound += (2.0 if above else -2.0) * total
        np.maximum(bound, 0.0, out=bound)
    bound[:] = np.inf if above else 0.0


def trivial_bounds(extended: Floats) -> Bounds:
    """Return 0 and infinity."""
    lower, upper = extended.copy(), extended.copy()
    lower[:DEAD], upper[:DEAD] = 0.0, np.inf
    return Bounds(lower, upper, 1.0)


@kernel
def residuals(problem: Problem, longest: int, values: Floats, residual: Floats, rounding: Floats) -> None:
    """Write the residual of each row, and a bound of its rounding error."""
    first, start, target, weight, to_goal, cost, _ = problem
    for state in range(values.size):
        here = values[state]
        for row in range(first[state], first[state + 1]):
            gain = cost[row] - to_goal[row] * here
            size = cost[row] + to_goal[row] * here
            lost = 0.0
            if 0.0 < cost[row] < LEAST_NORMAL:
                lost += 2.0 * UNDERFLOW  # of its product with 1 / (1 - q), and of one with a share of it
            if to_goal[row] > 0.0 and to_goal[row] * here < LEAST_NORMAL:
                lost += UNDERFLOW
            for entry in range(start[row], start[row + 1]):
                there = values[target[entry]]
                term = weight[entry] * (there - here)
                gain += term
                size += abs(term)
                if abs(term) < LEAST_NORMAL and there != here:
                    lost += UNDERFLOW
            residual[row] = gain
            rounding[row] = (longest + 8) * UNIT * size + lost


@kernel
def certify(
    problem: Problem, longest: int, values: Floats, policy: Int64s, low: Floats, high: Floats
) -> tuple[float, float]:
    """Return ratios (below, above) with V / (1 + below) <= V* <= V_policy <= V / (1 - above).

    If residual_r >= -below c_r for all rows, then a V with a = 1 / (1 + below) satisfies c_r + P_r a V >= a V, so it
    lies below V*. If residual_r <= above c_r with above < 1 for the rows of the policy, then b V with
    b = 1 / (1 - above) satisfies c_r + P_r b V <= b V, so it lies above V_policy; it is also a finite Lyapunov
    function, so the policy is proper.

    Where the policy has -1, the row of smallest residual is written. `low` and `high` get, for each state, by how much
    the smallest residual may be negative and that of the policy positive, rounding included.
    """
    first, start, target, weight, to_goal, cost, _ = problem
    below = 0.0
    above = 0.0
    for state in range(values.size):
        here = values[state]
        own = policy[state]
        smallest = np.inf
        worst = 0.0
        failure = np.inf
        for row in range(first[state], first[state + 1]):
            # As in `residuals`, without the arrays: these take as long as the sums.
            gain = cost[row] - to_goal[row] * here
            size = cost[row] + to_goal[row] * here
            lost = 0.0
            if 0.0 < cost[row] < LEAST_NORMAL:
                lost += 2.0 * UNDERFLOW
            if to_goal[row] > 0.0 and to_goal[row] * here < LEAST_NORMAL:
                lost += UNDERFLOW
            for entry in range(start[row], start[row + 1]):
                there = values[target[entry]]
                term = weight[entry] * (there - here)
                gain += term
                size += abs(term)
                if abs(term) < LEAST_NORMAL and there != here:
                    lost += UNDERFLOW
            rounding = (longest + 8) * UNIT * size + lost
            excess = rounding - gain
            worst = max(worst, excess)
            if not excess < np.inf:  # NaN where values have overflowed
                below = np.inf
            elif excess > 0.0 and not excess <= below * cost[row]:
                below = excess / cost[row]
            if own == row or (own < 0 and (gain < smallest or row == first[state])):
                smallest = gain
                failure = gain + rounding
                policy[state] = row
        low[state] = worst
        high[state] = failure
        if not (failure < np.inf and here > TINY):
            above = high[state] = np.inf
        elif failure > 0.0 and not failure <= above * cost[policy[state]]:
            above = failure / cost[policy[state]]
    return below, above


@kernel
def relative_width(below: float, above: float) -> float:
    """Return the relative width of the bounds that `certify` proves; 1 without an upper bound."""
    return 1.0 - max(1.0 - above, 0.0) / (1.0 + below)


@kernel
def carry(problem: Problem, row: int, errors: Floats) -> float:
    """Return the error that a row carries on from the states it leads to."""
    carried = 0.0
    for entry in range(problem.start[row], problem.start[row + 1]):
        there = errors[problem.target[entry]]
        product = problem.weight[entry] * there
        carried += product
        if there > 0.0 and product < LEAST_NORMAL:
            carried += UNDERFLOW
    return carried


@kernel
def cover(
    problem: Problem, longest: int, values: Floats, policy: Int64s, share: float, passes: int, low: Floats, high: Floats
) -> bool:
    """Find errors E- (`low`) and E+ (`high`) with (V - E-) / (1 + share) <= V* <= V_policy <= (V + E+) / (1 - share).

    With residual_r that of V, Bellman's inequalities for these bounds are

        E-(s) >= P_r E- - residual_r - share c_r  for all rows r of s,
        E+(s) >= P_r E+ + residual_r - share c_r  for the row of the policy.

    So a share of the costs pays for the errors, and E is only needed where rows cost next to nothing, to carry an error
    on to the next row that costs something. Passes raise E, zero at first, where it is too small; the bounds are proved
    by a pass that raises nothing, or by a single pass (`passes` is 1) if every row leads to earlier states only.
    Returns False if that many passes did not suffice. Where the policy has -1, it gets the row of smallest residual.
    """
    first, cost = problem.first, problem.cost
    residual = np.empty(first[values.size])
    rounding = np.empty(first[values.size])
    residuals(problem, longest, values, residual, rounding)
    padding = 1.0 + (longest + 8) * UNIT
    least = np.inf
    for row in range(first[values.size]):
        if cost[row] > 0.0:
            least = min(least, cost[row])
    for state in range(values.size):
        if not TINY < values[state] < HUGE:
            return False
        if policy[state] < 0:
            policy[state] = first[state]
            for row in range(first[state], first[state + 1]):
                if residual[row] < residual[policy[state]]:
                    policy[state] = row
    for number in range(passes):
        spare = 0.02 * share * least if number > 1 else 0.0  # so that loops need no pass for each digit
        proved = True
        for state in range(values.size):
            error = low[state]
            for row in range(first[state], first[state + 1]):
                carried = 0.0  # as `carry` does, which the compiler would not inline
                for entry in range(problem.start[row], problem.start[row + 1]):
                    there = low[problem.target[entry]]
                    product = problem.weight[entry] * there
                    carried += product
                    if there > 0.0 and product < LEAST_NORMAL:
                        carried += UNDERFLOW
                failure = rounding[row] - residual[row] - share * cost[row]
                if not carried * padding + failure <= error:
                    error = carried * padding * padding + failure + max(0.5 * failure, spare)
                    proved = False
            low[state] = error
            row = policy[state]
            carried = carry(problem, row, high)
            failure = rounding[row] + residual[row] - share * cost[row]
            if not carried * padding + failure <= high[state]:
                high[state] = carried * padding * padding + failure + max(0.5 * failure, spare)
                proved = False
        if proved or passes == 1:
            return True
    return False
