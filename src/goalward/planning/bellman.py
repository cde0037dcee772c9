"""The kernels of Bellman's equation, on the arrays of a reduced problem.

Row r of state s has cost c_r, weights w_r(t) on other states t and a goal probability g_r that sum to one. With

    residual_r(V) = c_r + Σ_t w_r(t) (V(t) - V(s)) - g_r V(s),

V solves Bellman's equation if and only if the smallest residual among the rows of each state is zero. In this form the
rounding error is relative to the differences of values, not to the values, so that values of 1e12 steps can be proved
in double precision.
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.jit import interrupted, kernel
from goalward.planning.elimination import Equation, aggregate, eliminate
from goalward.planning.reduced_problem import LEAST_NORMAL, Problem, copy_row

__all__ = [
    "HUGE",
    "TINY",
    "UNIT",
    "certify",
    "cover",
    "dominates",
    "improve",
    "linear_sweep",
    "optimal_sweep",
    "policy_iteration",
    "policy_sweep",
    "policy_sweeps",
    "relative_width",
]

UNIT = 2.0**-52
TINY, HUGE = 1e-290, 1e290  # beyond these, rounding is no longer relative or sums may overflow
UNDERFLOW = 2.0**-1074  # the least subnormal number, and the rounding error of products that are subnormal or zero


@kernel
def optimal_sweep(problem: Problem, values: Floats, policy: Int64s, chain: Problem) -> float:
    """Sweep once over all rows, Gauss-Seidel; return the largest change, relative to the cost of the best row.

    The best rows are written to `policy` and copied into its chain. On Ctrl-C the change is infinite, and values and
    rows of the states that are left stay as they were.
    """
    first, start, target, weight, _, cost, _ = problem
    change = 0.0
    chain.start[0] = 0
    stopped = False
    for state in range(values.size):
        stopped = stopped or interrupted(state)
        if stopped:
            change = np.inf
            copy_row(problem, policy[state], state, chain)
            continue
        best = np.inf
        choice = first[state]
        for row in range(first[state], first[state + 1]):
            total = cost[row]
            for entry in range(start[row], start[row + 1]):
                total += weight[entry] * values[target[entry]]
            if total < best:
                best = total
                choice = row
        scale = cost[choice] if cost[choice] > 0.0 else max(best, TINY)
        if abs(best - values[state]) > change * scale:
            change = abs(best - values[state]) / scale
        values[state] = best
        policy[state] = choice
        copy_row(problem, choice, state, chain)
    return change


@kernel
def policy_sweep(chain: Problem, values: Floats) -> float:
    """Sweep once over a chain; return the largest change, relative to the cost of the row; infinity on Ctrl-C."""
    _, start, target, weight, _, cost, _ = chain
    change = 0.0
    for state in range(values.size):
        if interrupted(state):
            return np.inf
        total = cost[state]
        for entry in range(start[state], start[state + 1]):
            total += weight[entry] * values[target[entry]]
        scale = cost[state] if cost[state] > 0.0 else max(total, TINY)
        if abs(total - values[state]) > change * scale:
            change = abs(total - values[state]) / scale
        values[state] = total
    return change


@kernel
def policy_sweeps(chain: Problem, values: Floats, enough: float, most: int) -> tuple[int, float]:
    """Sweep over a chain until a sweep changes it by little enough; return the number of sweeps and the last change."""
    sweeps = 1
    change = policy_sweep(chain, values)
    while sweeps < most and not change <= enough:
        change = policy_sweep(chain, values)
        sweeps += 1
    return sweeps, change


@kernel
def linear_sweep(chain: Problem, values: Floats, swept: Floats) -> None:
    """Sweep once over a chain as if its rows cost nothing: the linear part of a Gauss-Seidel sweep."""
    _, start, target, weight, _, _, _ = chain
    for state in range(values.size):
        total = 0.0
        for entry in range(start[state], start[state + 1]):
            near = target[entry]
            total += weight[entry] * (swept[near] if near < state else values[near])
        swept[state] = total


@kernel
def residual(problem: Problem, values: Floats, state: int, row: int) -> tuple[float, float]:
    """Return the residual of a row of the state, and the sum of the values in it, to which their error is relative."""
    _, start, target, weight, to_goal, cost, _ = problem
    here = values[state]
    gain = cost[row] - to_goal[row] * here
    size = cost[row] + here
    for entry in range(start[row], start[row + 1]):
        gain += weight[entry] * (values[target[entry]] - here)
        size += weight[entry] * values[target[entry]]
    return gain, size


@kernel
def improve(problem: Problem, values: Floats, policy: Int64s) -> bool:
    """Switch states to their row of smallest residual where it beats the present row by more than the rounding of V."""
    changed = False
    for state in range(values.size):
        present = policy[state]
        best, _ = residual(problem, values, state, present)
        for row in range(problem.first[state], problem.first[state + 1]):
            if row != present:
                gain, size = residual(problem, values, state, row)
                if gain < best - (4.0 * UNIT) * size:
                    best = gain
                    policy[state] = row
                    changed = True
    return changed


@kernel
def policy_iteration(
    problem: Problem, equation: Equation, values: Floats, before: Floats, policy: Int64s, proper: Int64s
) -> int:
    """Iterate policies with exact evaluation; each state is its own group in `equation`.

    Returns the number of evaluations, 0 if the first policy is not proper. Stops when no row is better or no value fell
    by more than rounding, so ties cannot make it cycle. Rounding may make an improved policy improper; then the one
    before is kept. `before` and `proper` are working memory.
    """
    evaluations = 0
    while True:
        for state in range(values.size):
            before[state] = values[state] if evaluations > 0 else np.inf
            values[state] = 0.0
        aggregate(problem, policy, values, equation)
        if not eliminate(equation, values):
            for state in range(values.size):
                values[state] = before[state]
                policy[state] = proper[state]
            return evaluations
        evaluations += 1
        fell = False
        for state in range(values.size):
            proper[state] = policy[state]
            if values[state] < before[state] * (1.0 - values.size * UNIT):
                fell = True
        if not fell or not improve(problem, values, policy):
            return evaluations


@kernel
def dominates(problem: Problem, values: Floats, policy: Int64s, error: float) -> bool:
    """Return whether no row can beat that of the policy, given that its values have at most this relative error."""
    for state in range(values.size):
        for row in range(problem.first[state], problem.first[state + 1]):
            gain, size = residual(problem, values, state, row)
            if row != policy[state] and not gain > error * size:
                return False
    return True


@kernel
def rounded_residual(problem: Problem, longest: int, values: Floats, state: int, row: int) -> tuple[float, float]:
    """Return the residual of a row of the state, and a bound of its rounding error."""
    _, start, target, weight, to_goal, cost, _ = problem
    here = values[state]
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
    return gain, (longest + 8) * UNIT * size + lost


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
    the smallest residual may be negative and that of the policy positive, rounding included. On Ctrl-C the ratios are
    infinite, and the states that are left are taken to have any error.
    """
    first, start, target, weight, to_goal, cost, _ = problem
    below = 0.0
    above = 0.0
    stopped = False
    for state in range(values.size):
        stopped = stopped or interrupted(state)
        if stopped:
            below = above = low[state] = high[state] = np.inf
            if policy[state] < 0:
                policy[state] = first[state]
            continue
        here = values[state]
        best = np.inf
        greedy = policy[state] < 0
        if greedy:
            policy[state] = first[state]
        low[state] = 0.0
        high[state] = np.inf
        for row in range(first[state], first[state + 1]):
            # `rounded_residual`, written out because the compiler would not: twice as fast.
            gain = cost[row] - to_goal[row] * here
            size = cost[row] + to_goal[row] * here
            lost = 2.0 * UNDERFLOW if 0.0 < cost[row] < LEAST_NORMAL else 0.0
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
            low[state] = max(low[state], excess)
            if not excess < np.inf:  # NaN where values have overflowed
                below = np.inf
            elif excess > 0.0 and not excess <= below * cost[row]:
                below = excess / cost[row]
            if (greedy and gain < best) or (not greedy and row == policy[state]):
                best = gain
                policy[state] = row
                high[state] = rounding + gain
        if not (high[state] < np.inf and here > TINY):
            above = np.inf
        elif high[state] > 0.0 and not high[state] <= above * cost[policy[state]]:
            above = high[state] / cost[policy[state]]
    return below, above


@kernel
def expected_error(problem: Problem, row: int, errors: Floats) -> float:
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
    problem: Problem, longest: int, parts: Int64s, values: Floats, policy: Int64s, share: float, low: Floats,
    high: Floats, passes: int,
) -> bool:  # fmt: skip
    """Find errors E- (`low`) and E+ (`high`) with (V - E-) / (1 + share) <= V* <= V_policy <= (V + E+) / (1 - share).

    With residual_r that of V, Bellman's inequalities for these bounds are

        E-(s) >= P_r E- - residual_r - share c_r  for all rows r of s,
        E+(s) >= P_r E+ + residual_r - share c_r  for the row of the policy.

    So a share of the costs pays for the errors, and E is only needed where rows cost next to nothing, to carry an error
    on to the next row that costs something. Passes over a component raise E where it is too small; the bounds are
    proved by a pass that raises nothing, or by the first one where the component is a single state: E depends on
    earlier components only. Where the policy has -1, the row of smallest residual is written. Returns False if that
    many passes did not suffice, and on Ctrl-C.
    """
    first, cost = problem.first, problem.cost
    padding = 1.0 + (longest + 8) * UNIT
    least = np.inf
    for row in range(first[values.size]):
        if cost[row] > 0.0:
            least = min(least, cost[row])
    for state in range(values.size):
        if not TINY < values[state] < HUGE:
            return False
        low[state] = 0.0
        high[state] = 0.0
    steps = 0
    for part in range(parts.size - 1):
        begin, end = parts[part], parts[part + 1]
        proved = False
        for number in range(passes):
            spare = 0.02 * share * least if number > 1 else 0.0  # so that loops need no pass for each digit
            proved = True
            for state in range(begin, end):
                steps += 1
                if interrupted(steps):
                    return False
                best = np.inf
                best_rounding = 0.0
                played = policy[state]
                if played < 0:
                    policy[state] = first[state]
                error = low[state]
                for row in range(first[state], first[state + 1]):
                    gain, rounding = rounded_residual(problem, longest, values, state, row)
                    carried = expected_error(problem, row, low)
                    failure = rounding - gain - share * cost[row]
                    if not carried * padding + failure <= error:
                        error = carried * padding * padding + failure + max(0.5 * failure, spare)
                        proved = False
                    if (played < 0 and gain < best) or row == played:
                        best = gain
                        best_rounding = rounding
                        policy[state] = row
                low[state] = error
                row = policy[state]
                carried = expected_error(problem, row, high)
                failure = best_rounding + best - share * cost[row]
                if not carried * padding + failure <= high[state]:
                    high[state] = carried * padding * padding + failure + max(0.5 * failure, spare)
                    proved = False
            if end == begin + 1:
                proved = True
            if proved:
                break
        if not proved:
            return False
    return True


@kernel
def relative_width(below: float, above: float) -> float:
    """Return the relative width of the bounds that `certify` proves; 1 without an upper bound."""
    return 1.0 - max(1.0 - above, 0.0) / (1.0 + below)
