"""Proved lower and upper bounds on the optimal values; the proofs account for the rounding errors of double precision.

`prove` takes values V and a policy, and returns bounds with lower <= V* <= V_policy <= upper. These proofs are tried
one after the other, until the bounds are within the tolerance.

By ratio
    One pass over all rows compares each residual with the cost of the row. The largest ratios show by how much V must
    be scaled down to lie below V*, and scaled up to lie above V_policy (see `certify`). This proof needs positive costs
    that are not too small compared with the rounding error of V.

By covering
    Rows of zero cost pass their errors on to later rows, until the cost of a row covers the errors (see `cover`). This
    proof takes a few passes. Without it, the models csma and wlan take 1.7 to 2 times as long to solve.

By elimination
    Elimination without subtraction has a known error bound, even for ill-conditioned systems. The relative error of
    each component of the solution is at most the unit roundoff times a cubic polynomial in the number n of states.
    (O'Cinneide 1996: the backward error is n² units in each entry, and one unit in all entries moves the solution by
    2 n units.) If all other rows are worse than the policy's rows by more than this error, the policy is optimal, and
    its values are V*. This proof needs products that do not underflow.

By propagation
    Let e(s) bound the violation of Bellman's inequality at s. Let E(s) be the expected sum of e on the way from s to
    the goal: under the policy for the upper bound, under the greedy policy for the lower bound. Another pass checks
    whether V + 2 E and V - 2 E are bounds. If the check fails, the step is repeated from V + 2 E or V - 2 E. This proof
    needs no lower bound on the costs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import ASK_EVERY, ONE, interrupted, kernel, uint64
from goalward.planning.bellman import HUGE, TINY, UNIT, Chain
from goalward.planning.policy_iteration import aggregate, dominates, eliminate, policy_equation
from goalward.planning.reduction import LEAST_NORMAL, Blocks, Problem, Reduction
from goalward.planning.rounds import Rounds
from goalward.planning.state_order import DEAD, GOAL

Proof = Callable[[Reduction, Floats, Int64s, float], "Bounds"]
COVER_PASSES = 8  # if a block needs more passes, its zero-cost paths are long, and the proof by propagation is better
OUTWARD = 4.0 * UNIT  # pushes the rounding of a final multiplication or addition to the safe side
REPEATS = 30  # limit on the attempts at a proof by propagation, and on the rounds without progress in `policy_values`
UNDERFLOW = 2.0**-1074  # the least subnormal number: a bound on the rounding error of subnormal products


class Bounds(NamedTuple):
    """Proved bounds in arrays like `Reduction.extended`; `width` is the largest (upper - lower) / upper."""

    lower: Floats
    upper: Floats
    width: float


def prove(
    reduction: Reduction,
    extended: Floats,
    policy: Int64s,
    tolerance: float,
    *,
    exact: bool = False,
    patient: bool = True,
) -> Bounds:
    """Return proved bounds that are within the tolerance, or the narrowest bounds that can be proved.

    If `policy` is -1 in a state, the row of smallest residual is written to `policy`. `exact` means that elimination
    computed the values, so the proof by elimination can be tried. `patient` adds the slow proof by propagation.
    """
    bounds = (by_covering if reduction.has_free_rows else by_ratio)(reduction, extended, policy, tolerance)
    if bounds.width <= tolerance:
        return bounds
    proofs: list[Proof] = []
    proofs += [by_ratio] if reduction.has_free_rows else []
    proofs += [by_elimination] if exact else []
    proofs += [partial(by_propagation, exact=exact)] if patient else []
    for proof in proofs:
        if not bounds.width <= tolerance:
            other = proof(reduction, extended, policy, tolerance)
            bounds = other if other.width < bounds.width else bounds
    return bounds


def by_ratio(reduction: Reduction, extended: Floats, policy: Int64s, _: float) -> Bounds:
    """Return the bounds of the proof by ratio."""
    low, high = np.empty((2, len(policy)))
    below, above = certify(reduction.problem, reduction.longest, extended, policy, low, high)
    lower = extended * ((1.0 - OUTWARD) / (1.0 + below))
    upper = extended * ((1.0 + OUTWARD) / (1.0 - above) if above < 1.0 else np.inf)
    lower[GOAL] = upper[GOAL] = 0.0
    lower[DEAD] = upper[DEAD] = np.inf
    return Bounds(lower, upper, relative_width(below, above) + 4.0 * OUTWARD)


def by_covering(reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float) -> Bounds:
    """Return the bounds of the proof by covering, or trivial bounds if the proof fails."""
    low, high = np.zeros((2, len(extended)))
    share = 0.25 * tolerance
    width = cover(reduction.problem, reduction.blocks, reduction.longest, extended, policy, share, low, high)
    return Bounds(low, high, width) if width < 1.0 else trivial_bounds(extended)


def by_elimination(reduction: Reduction, extended: Floats, policy: Int64s, _: float) -> Bounds:
    """Return the bounds of the proof by elimination, or trivial bounds if the proof fails."""
    states, values = len(policy), extended[:DEAD]
    error = 2.0 * states * (states**2 + reduction.longest + 8) * UNIT
    in_range = values.min() > TINY and values.max() < HUGE and not underflows(reduction.problem, extended, policy)
    if not in_range or not dominates(reduction.problem, extended, policy, 4.0 * error):
        return trivial_bounds(extended)
    return Bounds(extended * (1.0 - error), extended * (1.0 + error), 2.0 * error)


def underflows(problem: Problem, extended: Floats, policy: Int64s) -> bool:
    """Return whether underflow may have made the values from elimination inaccurate.

    Elimination computes n² products for each row, and underflow may change each product by UNDERFLOW. Let d be the sum
    of these errors, p the probability of leaving a state, and V the value of the state. Two conditions prove that the
    values are accurate: d is below the rounding error of p, and d times the largest value is below that of p V.
    """
    equation, values = policy_equation(len(policy)), extended[:DEAD]
    aggregate(problem, policy, 0, np.zeros_like(extended), equation)
    if not eliminate(equation, np.empty_like(extended)):
        return True
    lost, leave = len(policy) ** 2 * UNDERFLOW, equation.matrix.diagonal()
    return bool(lost > UNIT * leave.min() or lost * (1.0 + values.max()) > UNIT * (leave * values).min())


def by_propagation(reduction: Reduction, extended: Floats, policy: Int64s, _: float, *, exact: bool = False) -> Bounds:
    """Return the bounds of the proof by propagation, or trivial bounds if the proof fails."""
    if not extended[:DEAD].min() > TINY:
        return trivial_bounds(extended)
    lower, upper = extended.copy(), extended.copy()
    widen(reduction, upper, policy.copy(), exact=exact, above=True)
    widen(reduction, lower, policy.copy(), exact=exact, above=False)
    width = float(np.max(1.0 - lower[:DEAD] / upper[:DEAD]))
    return Bounds(lower, upper, width if width <= 1.0 else 1.0)


def widen(reduction: Reduction, bound: Floats, policy: Int64s, *, exact: bool, above: bool) -> None:
    """Increase `bound` until it is proved to be above V_policy. Without `above`, decrease `bound` to below V*."""
    low, high = np.empty((2, len(policy)))
    values = bound[:DEAD]
    for _ in range(REPEATS):
        if not values.max() < HUGE:
            break
        if not above:
            policy.fill(-1)
        certify(reduction.problem, reduction.longest, bound, policy, low, high)
        errors = np.maximum(high if above else low, 0.0)
        if not errors.any():
            return
        total = policy_values(reduction, policy, errors + UNIT * values, 0.25, exact=exact)
        if total is None:
            break
        values += (2.0 if above else -2.0) * total
        np.maximum(values, 0.0, out=values)
    values[:] = np.inf if above else 0.0


def policy_values(
    reduction: Reduction, policy: Int64s, costs: Floats, precision: float, *, exact: bool
) -> Floats | None:
    """Return the expected sum of `costs` up to the goal under a policy, or None on failure.

    `precision` is relative. With `exact`, elimination computes the sum, in time cubic in the number of states.
    """
    start, target, weight, _ = Chain.of(reduction.problem, policy)
    states = reduction.states
    each = np.arange(states + 1, dtype=np.uint32)
    chain = Problem(each, start, target, weight, costs, each.astype(np.int32))
    total, own = np.zeros(states + 2), np.arange(states)
    if exact:
        equation = policy_equation(states)
        aggregate(chain, own, 0, total, equation)
        return total[:DEAD] if eliminate(equation, total) else None
    rounds = Rounds(chain, reduction.blocks, total, own)
    return total[:DEAD] if rounds.settle(precision, patience=REPEATS) else None


def trivial_bounds(extended: Floats) -> Bounds:
    """Return the lower bound 0 and the upper bound infinity for all states."""
    lower, upper = extended.copy(), extended.copy()
    lower[:DEAD], upper[:DEAD] = 0.0, np.inf
    return Bounds(lower, upper, 1.0)


@kernel
def certify(
    problem: Problem, longest: int, values: Floats, policy: Int64s, low: Floats, high: Floats
) -> tuple[float, float]:
    """Return ratios (below, above) with V / (1 + below) <= V* <= V_policy <= V / (1 - above).

    Let L = V / (1 + below). If residual_r >= -below c_r for all rows r, then c_r + P_r L >= L, so L <= V*. Let
    U = V / (1 - above) with above < 1. If residual_r <= above c_r for the rows r of the policy, then c_r + P_r U <= U,
    so U >= V_policy. The finite function U also proves that the policy is proper (as a Lyapunov function).

    If `policy` is -1 in a state, the row of smallest residual is written to `policy`. Rounding included, all residuals
    of state s are at least ``-low[s]``, and the residual of the policy's row is at most ``high[s]``.
    """
    first, start, target, weight, cost, _ = problem
    below = 0.0
    above = 0.0
    for state in range(policy.size):
        here = values[state]
        own = policy[state]
        smallest = np.inf
        worst = 0.0
        failure = np.inf
        for row in range(first[state], first[state + 1]):
            gain = cost[row]
            size = cost[row]
            # The division by 1 - q has rounded a subnormal cost, and the product with `below` or `above` rounds it.
            lost = 2.0 * UNDERFLOW if 0.0 < cost[row] < LEAST_NORMAL else 0.0
            for entry in range(start[row], start[row + ONE]):
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
    """Return the relative width of the bounds that `certify` proves, or 1 if the upper bound is infinite."""
    return 1.0 - max(1.0 - above, 0.0) / (1.0 + below)


@kernel
def cover(
    problem: Problem,
    blocks: Blocks,
    longest: int,
    values: Floats,
    policy: Int64s,
    share: float,
    low: Floats,
    high: Floats,
) -> float:
    """Find errors E- and E+ with (V - E-) / (1 + share) <= V* <= V_policy <= (V + E+) / (1 - share).

    Let residual_r be the residual of V in row r. Bellman's inequalities for these bounds are

        E-(s) >= P_r E- - residual_r - share c_r  for all rows r of s,
        E+(s) >= P_r E+ + residual_r - share c_r  for the row of the policy.

    If a row has a cost, the term share c_r covers the row's error. The error of a zero-cost row is carried by E to rows
    with a cost. E starts at zero, and each pass over a block raises E where an inequality fails. A pass without changes
    proves the bounds. If every row leads only to earlier states, a single pass is enough. If `policy` is -1 in a state,
    the row of smallest residual is written to `policy`.

    `low` and `high` must be zero at first. Both get the bounds. Returns the width of the bounds, or 1 on failure.
    """
    for block in range(blocks.cyclic.size):
        begin, end = blocks.bounds[block], blocks.bounds[block + 1]
        passes = COVER_PASSES if blocks.cyclic[block] else 1
        if not cover_block(problem, begin, end, longest, values, policy, share, passes, low, high):
            return 1.0
    width = 0.0
    for state in range(values.size):
        low[state] = max(values[state] - low[state], 0.0) * ((1.0 - OUTWARD) / (1.0 + share))
        high[state] = (values[state] + high[state]) * ((1.0 + OUTWARD) / (1.0 - share))
        if state < policy.size:
            width = max(width, 1.0 - low[state] / high[state])
    return width


@kernel
def cover_block(
    problem: Problem,
    begin: int,
    end: int,
    longest: int,
    values: Floats,
    policy: Int64s,
    share: float,
    passes: int,
    low: Floats,
    high: Floats,
) -> bool:
    """Write the errors E- and E+ of a block to `low` and `high`; return whether `passes` passes were enough."""
    first, start, target, weight, cost, _ = problem
    padding = 1.0 + (longest + 8) * UNIT
    least = np.inf
    for number in range(passes):
        if end - begin > ASK_EVERY and interrupted(0):
            return False
        spare = 0.02 * share * least if number > 1 and least < np.inf else 0.0  # else loops need a pass per digit
        proved = True
        for state in range(begin, end):
            here = values[state]
            if not TINY < here < HUGE:
                return False
            own = policy[state]
            smallest = np.inf
            above = 0.0
            error = low[state]
            for row in range(first[state], first[state + 1]):
                gain = cost[row]
                size = cost[row]
                lost = 2.0 * UNDERFLOW if 0.0 < cost[row] < LEAST_NORMAL else 0.0
                carried = 0.0
                for entry in range(start[row], start[row + ONE]):
                    there = values[target[entry]]
                    term = weight[entry] * (there - here)
                    gain += term
                    size += abs(term)
                    if abs(term) < LEAST_NORMAL and there != here:
                        lost += UNDERFLOW
                    product = weight[entry] * low[target[entry]]
                    carried += product
                    if product < LEAST_NORMAL and low[target[entry]] > 0.0:
                        carried += UNDERFLOW
                rounding = (longest + 8) * UNIT * size + lost
                failure = rounding - gain - share * cost[row]
                if not carried * padding + failure <= error:
                    error = carried * padding * padding + failure + max(0.5 * failure, spare)
                    proved = False
                if own == row or (own < 0 and (gain < smallest or row == first[state])):
                    smallest = gain
                    above = rounding + gain - share * cost[row]
                    policy[state] = row
                if 0.0 < cost[row] < least:
                    least = cost[row]
            low[state] = error
            carried = 0.0
            row = uint64(policy[state])
            for entry in range(start[row], start[row + ONE]):
                product = weight[entry] * high[target[entry]]
                carried += product
                if product < LEAST_NORMAL and high[target[entry]] > 0.0:
                    carried += UNDERFLOW
            if not carried * padding + above <= high[state]:
                high[state] = carried * padding * padding + above + max(0.5 * above, spare)
                proved = False
        if proved or passes == 1:
            return True
    return False
