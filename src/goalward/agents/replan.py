"""Planning again and again on models that differ in their probabilities only.

A posterior over one support gives sample after sample with the same graph. What `goalward.solve` finds out about a
graph needs to be found out once, and the policy of the last sample is proper in the next one: it reaches the goal along
the same transitions. So policy iteration can start from it at once, in one kernel:

Evaluation
    V = c + P V under the policy, by eliminating one state after the other. The probability of leaving a state is added
    up from the ways out, never taken as one minus the rest, so nothing cancels and even models that leave with
    probability 1e-200 come out with all digits.

Improvement
    Rows with gain_r(V) = c_r + Σ_t p_r(t) (V(t) - V(s)) below zero are taken. From a proper policy, with positive
    costs, this ends at an optimal proper policy.

Certificate
    With gain_r >= -below c_r for all rows and gain_r <= above c_r for those of the policy,
    V / (1 + below) <= V* <= V_policy <= V / (1 - above). The gains are counted with their rounding error against
    themselves.

Where the certificate is not below the tolerance, where a cost is zero or the model is large, and for the first model,
`goalward.solve` takes over. Where it cannot prove the tolerance, its best solution is taken; where the values are
beyond the range of double precision, those of the model with probabilities raised to 1e-12, or if need be more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import GoalwardError, PrecisionError, UnreachableGoalError
from goalward.model.ssp import SSP
from goalward.planning.solve import Solution, solve

__all__ = ["Planned", "Replanner"]

LARGEST = 128
TOLERANCE = 1e-6
ITERATIONS = 100
UNIT = 2.0**-52
HUGE = 1e290
FLOORS = (0.0, 1e-12, 1e-6, 1e-3)


class Planned(NamedTuple):
    """Optimal values, to a relative 1e-6 where double precision allows, and a policy that has them.

    Where the model has no way to the goal, the policy plays the first action there is.
    """

    values: Floats
    policy: Int64s


class Replanner:
    """Solves one model after the other, each from the solution of the one before."""

    def __init__(self) -> None:
        self.previous: Solution | None = None
        self.support: tuple[Int64s, Int32s] | None = None
        self.policy: Int64s = np.empty(0, dtype=np.int64)
        self.scratch: tuple[Floats, Floats] = (np.empty((0, 1)), np.empty(0))

    def solve(self, model: SSP) -> Planned:
        """Solve a model."""
        known = self.support
        if known is not None and known[0] is model.indptr and known[1] is model.successors:
            values, policy = np.empty(model.states), self.policy.copy()
            width = iterate(
                model.indptr, model.successors, model.probabilities, model.costs, policy, values, *self.scratch
            )
            if width <= TOLERANCE:
                self.policy = policy
                return Planned(values, policy)
        return self.solve_from_scratch(model)

    def solve_from_scratch(self, model: SSP) -> Planned:
        """Solve a model of which nothing is known, and get ready for its successors."""
        solution = self.best_solution(model)
        S, policy, self.support = model.states, solution.policy, None
        if S <= LARGEST and model.costs.min() > 0.0 and policy.min() >= 0:
            self.support, self.policy = (model.indptr, model.successors), policy
            self.scratch = np.empty((S, S + 1)), np.empty(S)
        self.previous = solution if S > LARGEST else None
        return Planned(solution.values, np.where(policy < 0, model.available.argmax(axis=1), policy))

    def best_solution(self, model: SSP) -> Solution:
        """Return the solution of a model, as near to it as double precision comes."""
        for floor in FLOORS:
            raised = raise_probabilities(model, floor)
            for start in (self.previous, None) if self.previous is not None else (None,):
                with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                    try:
                        solution = solve(raised, TOLERANCE, start)
                    except PrecisionError as error:
                        solution = error.solution
                    except UnreachableGoalError:
                        # The belief has seen to it that the goal can be reached: the values have overflowed.
                        if floor == FLOORS[-1]:
                            raise
                        continue
                if not np.isnan(solution.values).any():
                    return solution
        raise GoalwardError("a sampled model has values beyond double precision; raise the prior's concentration")


def raise_probabilities(model: SSP, floor: float) -> SSP:
    """Return a model with no probability below a floor, up to the rescaling of its rows."""
    if floor == 0.0:
        return model
    filled = np.flatnonzero(np.diff(model.indptr))
    raised = np.maximum(model.probabilities, floor)
    sums = np.add.reduceat(raised, model.indptr[filled])
    return model._replace(probabilities=raised / np.repeat(sums, np.diff(model.indptr)[filled]))


@kernel
def iterate(
    indptr: Int64s,
    successors: Int32s,
    probabilities: Floats,
    costs: Floats,
    policy: Int64s,
    values: Floats,
    matrix: Floats,
    rest: Floats,
) -> float:
    """Iterate policies from a proper one; return the relative width of the bounds around the values."""
    S, A = costs.shape
    for _ in range(ITERATIONS):
        for state in range(S):
            row = state * A + policy[state]
            rest[state] = costs[state, policy[state]]
            for other in range(S + 1):
                matrix[state, other] = 0.0
            for entry in range(indptr[row], indptr[row + 1]):
                matrix[state, successors[entry]] = probabilities[entry]
        eliminate(matrix, rest, values)
        for state in range(S):
            # Beyond this sums may overflow; where even the way out has underflowed, there are NaNs.
            if not values[state] < HUGE:
                return np.inf
        changed = False
        below = 0.0
        above = 0.0
        for state in range(S):
            chosen = -1
            best = 0.0
            for action in range(A):
                row = state * A + action
                if indptr[row] == indptr[row + 1]:
                    continue
                gain = costs[state, action]
                size = gain
                for entry in range(indptr[row], indptr[row + 1]):
                    there = successors[entry]
                    step = (values[there] if there < S else 0.0) - values[state]
                    gain += probabilities[entry] * step
                    size += probabilities[entry] * abs(step)
                error = UNIT * (indptr[row + 1] - indptr[row] + 4) * size
                below = max(below, (error - gain) / costs[state, action])
                if action == policy[state]:
                    above = max(above, (error + gain) / costs[state, action])
                elif gain < -error and gain < best:
                    best = gain
                    chosen = action
            if chosen >= 0:
                policy[state] = chosen
                changed = True
        if not changed:
            break
    if above >= 1.0:
        return np.inf
    return 1.0 - (1.0 - above) / (1.0 + below)


@kernel
def eliminate(matrix: Floats, rest: Floats, values: Floats) -> None:
    """Solve V = rest + matrix V, column S being the goal, by elimination without subtraction; destroys both."""
    S = len(values)
    for state in range(S - 1, -1, -1):
        leave = matrix[state, S]
        for other in range(state):
            leave += matrix[state, other]
        share = 1.0 / leave
        matrix[state, S] *= share
        rest[state] *= share
        for other in range(state):
            matrix[state, other] *= share
        for other in range(state):
            weight = matrix[other, state]
            if weight > 0.0:
                matrix[other, S] += weight * matrix[state, S]
                rest[other] += weight * rest[state]
                for there in range(state):
                    matrix[other, there] += weight * matrix[state, there]
    for state in range(S):
        total = rest[state]
        for other in range(state):
            total += matrix[state, other] * values[other]
        values[state] = total


@exercise
def exercise_replan() -> None:
    """Plan twice on a model of one state."""
    planner = Replanner()
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    planner.solve(ssp)
    planner.solve(ssp)
