"""Two-sided bounds on the optimal values, and proofs of them in double precision, rounding included.

`prove` takes any values V and a policy and returns proved bounds: lower <= V* <= V_policy <= upper. It tries one proof
after the other until the bounds are within the tolerance.

By ratio
    One pass over all rows bounds every residual by a multiple of its row's cost. Scaling V down and up accordingly
    gives a lower bound on V* and an upper bound on V_policy (see `certify`). This needs positive costs that are not too
    small compared with the rounding error of V.

By covering
    If some rows cost nothing, their errors are carried forward to rows whose cost covers them (see `cover`). This takes
    a few passes. Without it, the models csma and wlan take 1.7 to 2 times as long.

By elimination
    Elimination without subtraction has a known error bound: the relative error of each component of the solution is at
    most a cubic in the number of states times the unit roundoff, however ill-conditioned the system (O'Cinneide 1996: a
    backward error of n² units in each entry, where one unit in all entries moves the solution by 2 n units). If all
    other rows are worse than the policy's rows by more than this error, the policy is optimal and its values are V*.
    This needs products that do not underflow.

By propagation
    Let e(s) bound the violation of Bellman's inequality at s, rounding included. Let E = e + P E, under the policy for
    the upper bound and under the greedy policy for the lower one: the violations summed along the way to the goal.
    Another pass checks whether V + 2 E and V - 2 E are bounds. If the check fails, as when near-ties lead a longer way,
    the step is repeated from there. This needs no lower bound on the costs. Only checked bounds are returned.
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
COVER_PASSES = 8  # errors left then follow long zero-cost paths, for which the proof by propagation is better
OUTWARD = 4.0 * UNIT  # pushes the rounding of a final multiplication or addition to the safe side
REPEATS = 30  # attempts at a proof by propagation, or rounds without progress in its sums
UNDERFLOW = 2.0**-1074  # the least subnormal number: a bound on the rounding error of subnormal products


class Bounds(NamedTuple):
    """Proved bounds, in the extended form of `Reduction.extended`, and the largest (upper - lower) / upper."""

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
    """Return the first proved bounds on the values that are within the tolerance, or the best if none are.

    Where the policy is -1, the row of smallest residual is written to it. `exact` says that the values come from
    elimination, whose rounding errors are known. `patient` adds the slow proof by propagation.
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
    """Return bounds obtained by scaling V."""
    low, high = np.empty((2, len(policy)))
    below, above = certify(reduction.problem, reduction.longest, extended, policy, low, high)
    lower = extended * ((1.0 - OUTWARD) / (1.0 + below))
    upper = extended * ((1.0 + OUTWARD) / (1.0 - above) if above < 1.0 else np.inf)
    lower[GOAL] = upper[GOAL] = 0.0
    lower[DEAD] = upper[DEAD] = np.inf
    return Bounds(lower, upper, relative_width(below, above) + 4.0 * OUTWARD)


def by_covering(reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float) -> Bounds:
    """Return bounds obtained by scaling V and adding the errors that zero-cost rows carry forward."""
    low, high = np.zeros((2, len(extended)))
    share = 0.25 * tolerance
    width = cover(reduction.problem, reduction.blocks, reduction.longest, extended, policy, share, low, high)
    return Bounds(low, high, width) if width < 1.0 else trivial_bounds(extended)


def by_elimination(reduction: Reduction, extended: Floats, policy: Int64s, _: float) -> Bounds:
    """Return bounds from the error of elimination; trivial ones if another row is too close to optimal."""
    states, values = len(policy), extended[:DEAD]
    error = 2.0 * states * (states**2 + reduction.longest + 8) * UNIT
    in_range = values.min() > TINY and values.max() < HUGE and not underflows(reduction.problem, extended, policy)
    if not in_range or not dominates(reduction.problem, extended, policy, 4.0 * error):
        return trivial_bounds(extended)
    return Bounds(extended * (1.0 - error), extended * (1.0 + error), 2.0 * error)


def underflows(problem: Problem, extended: Floats, policy: Int64s) -> bool:
    """Return whether the elimination that gave these values may have lost digits to products that underflow.

    Elimination takes n² products for each row, each of which may lose UNDERFLOW. Their total loss must be below the
    rounding error of the probability of leaving. Multiplied by the largest value, the loss must also be below the
    rounding error of that probability times the state's value.
    """
    equation, values = policy_equation(len(policy)), extended[:DEAD]
    aggregate(problem, policy, 0, np.zeros_like(extended), equation)
    if not eliminate(equation, np.empty_like(extended)):
        return True
    lost, leave = len(policy) ** 2 * UNDERFLOW, equation.matrix.diagonal()
    return bool(lost > UNIT * leave.min() or lost * (1.0 + values.max()) > UNIT * (leave * values).min())


def by_propagation(reduction: Reduction, extended: Floats, policy: Int64s, _: float, *, exact: bool = False) -> Bounds:
    """Return bounds obtained by summing errors along the way to the goal; the policy is not changed."""
    if not extended[:DEAD].min() > TINY:
        return trivial_bounds(extended)
    lower, upper = extended.copy(), extended.copy()
    widen(reduction, upper, policy.copy(), exact=exact, above=True)
    widen(reduction, lower, policy.copy(), exact=exact, above=False)
    width = float(np.max(1.0 - lower[:DEAD] / upper[:DEAD]))
    return Bounds(lower, upper, width if width <= 1.0 else 1.0)


def widen(reduction: Reduction, bound: Floats, policy: Int64s, *, exact: bool, above: bool) -> None:
    """Raise `bound` until it is proved above V_policy, or lower it until proved below V*; else set infinity or 0."""
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
    """Return the expected sum of costs up to the goal under a policy, to a relative precision; None on failure.

    With `exact`, it is computed by elimination, whose time is cubic in the number of states.
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
    """Return the bounds 0 and infinity."""
    lower, upper = extended.copy(), extended.copy()
    lower[:DEAD], upper[:DEAD] = 0.0, np.inf
    return Bounds(lower, upper, 1.0)


@kernel
def certify(
    problem: Problem, longest: int, values: Floats, policy: Int64s, low: Floats, high: Floats
) -> tuple[float, float]:
    """Return ratios (below, above) with V / (1 + below) <= V* <= V_policy <= V / (1 - above).

    Let L = V / (1 + below). If residual_r >= -below c_r for all rows, then c_r + P_r L >= L, so L lies below V*. Let U
    = V / (1 - above) with above < 1. If residual_r <= above c_r for the rows of the policy, then c_r + P_r U <= U, so U
    lies above V_policy. As U is also a finite Lyapunov function, the policy is proper.

    Where the policy is -1, the row of smallest residual is written. `low` gets for each state by how much the smallest
    residual may be below zero, and `high` by how much the policy's residual may be above zero, rounding included.
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
            # A subnormal cost was rounded when divided by 1 - q; so is its product with `below` or `above`.
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
    """Return the relative width of the bounds that `certify` proves; 1 without an upper bound."""
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

    With residual_r the residual of V in row r, Bellman's inequalities for these bounds are

        E-(s) >= P_r E- - residual_r - share c_r  for all rows r of s,
        E+(s) >= P_r E+ + residual_r - share c_r  for the row of the policy.

    So a share of the costs covers the errors. E is needed only where rows cost next to nothing: it carries an error on
    to the next row with a cost. E starts at zero, and passes over a block raise it where it is too small. A pass that
    raises nothing proves the bounds; if every row leads only to earlier states, a single pass suffices. Where the
    policy is -1, the row of smallest residual is written to it.

    `low` and `high`, zero at first, get the bounds. Returns their relative width; 1 if a block needs too many passes.
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
    """Cover the errors of a block; return whether that succeeded within the given number of passes."""
    first, start, target, weight, cost, _ = problem
    padding = 1.0 + (longest + 8) * UNIT
    least = np.inf
    for number in range(passes):
        if end - begin > ASK_EVERY and interrupted(0):
            return False
        spare = 0.02 * share * least if number > 1 and least < np.inf else 0.0  # otherwise loops need a pass per digit
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
