"""What a solution promises, checked in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from goalward import SSP, Solution, solve
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.planning.solve import solve_all
from oracles import Exact, Vector, exact_policy_values

__all__ = ["check_promises", "check_solve"]


# Rounding once a step, policies of more than some thousand steps may leave the last promised digits in doubt.
UNLIKELY = 5e-4
UNIT = 2.0**-53


def check_promises(ssp: SSP, solution: Solution, tolerance: float | None, exact: Vector) -> None:
    """Hold every promise of a solution against the exact values; without a tolerance the bounds may be far apart."""
    S = ssp.states
    finite = np.array([value is not None for value in exact])
    assert [array.dtype for array in (solution.values, solution.lower, solution.upper)] == [np.float64] * 3
    assert solution.policy.dtype == np.int64
    arrays = (solution.values, solution.policy, solution.lower, solution.upper)
    assert [array.shape for array in arrays] == [(S,)] * 4
    for values in (solution.values, solution.lower):
        assert np.array_equal(np.isposinf(values), ~finite), "infinite exactly at the dead ends"
        assert not np.isnan(values).any()
    assert np.array_equal(solution.policy == -1, ~finite), "an action exactly where there is a way"
    assert not np.isnan(solution.upper).any()

    played = exact_policy_values(ssp, solution.policy.tolist())
    for state in np.flatnonzero(finite).tolist():
        best, cost = exact[state], played[state]
        assert best is not None
        lower, upper = float(solution.lower[state]), float(solution.upper[state])
        assert cost is not None, f"the policy is not proper in state {state}"
        assert Fraction(lower) <= best, f"lower bound of state {state}: {lower} > {float(best)}"
        assert upper == np.inf or cost <= Fraction(upper), f"upper bound of state {state}: {upper} < {float(cost)}"
        assert lower <= solution.values[state] <= upper, f"the value of state {state} lies outside its bounds"
        if tolerance is not None:
            assert upper - lower <= tolerance * upper, f"the bounds of state {state} are {lower} and {upper}"


def check_solve(ssp: SSP, tolerance: float, start: Solution | None = None) -> Solution:
    """Solve a model and check the solution.

    Bounds may stay apart only where some steps are very unlikely, or where a loop may cost less than the last digit of
    a value.
    """
    exact, _ = Exact.of(ssp).best()
    try:
        solution = solve(ssp, tolerance, start)
        assert exact[ssp.initial_state] is not None, "a start that cannot reach the goal went unnoticed"
    except UnreachableGoalError:
        assert exact[ssp.initial_state] is None, "a start that can reach the goal was refused"
        solution = solve_all(ssp, tolerance, start)
    except PrecisionError as error:
        solution = error.solution
    proved = solution.width <= tolerance
    if not proved:
        largest = max(float(value) for value in exact if value is not None)
        cheap = ssp.costs[ssp.costs > 0.0].min(initial=np.inf) < UNIT * largest
        assert cheap or ssp.probabilities.min() < UNLIKELY, f"the bounds are {solution.width} apart"
    check_promises(ssp, solution, tolerance if proved else None, exact)
    return solution
