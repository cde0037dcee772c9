"""Planning again and again on models that differ in their probabilities only.

A posterior over one support gives sample after sample with the same graph. What `goalward.solve` finds out about a
graph needs to be found out once, and the policy of the last sample is proper in the next one: it reaches the goal along
the same transitions. So policy iteration can start from it at once, in one kernel:

Evaluation
    V = c + P V under the policy, by elimination without subtraction (`bellman.eliminate`).

Improvement
    Rows with gain_r(V) = c_r + Σ_t p_r(t) (V(t) - V(s)) below zero are taken. From a proper policy, with positive
    costs, this ends at an optimal proper policy.

Certificate
    With gain_r >= -below c_r for all rows and gain_r <= above c_r for those of the policy,
    V / (1 + below) <= V* <= V_policy <= V / (1 - above). The gains are counted with their rounding error against
    themselves.

Where the certificate is not below the tolerance, where a cost is zero or the model is large, and for the first model,
`goalward.solve` takes over. Where it cannot prove the tolerance either, its best solution is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import PrecisionError
from goalward.model.ssp import SSP
from goalward.planning.bellman import HUGE, UNIT, eliminate
from goalward.planning.solve import DENSE_STATES, Solution, solve

__all__ = ["Planned", "Replanner"]

TOLERANCE = 1e-6
ITERATIONS = 100


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
        self.room: tuple[Floats, Floats, Floats] = (np.empty((0, 0)), np.empty(0), np.empty(0))

    def solve(self, model: SSP) -> Planned:
        """Solve a model."""
        known = self.support
        if known is not None and known[0] is model.indptr and known[1] is model.successors:
            values, policy = np.empty(model.states), self.policy.copy()
            width = iterate(
                model.indptr, model.successors, model.probabilities, model.costs, policy, values, *self.room
            )
            if width <= TOLERANCE:
                self.policy = policy
                return Planned(values, policy)
        return self.solve_from_scratch(model)

    def solve_from_scratch(self, model: SSP) -> Planned:
        """Solve a model of which nothing is known, and get ready for its successors."""
        try:
            solution = solve(model, TOLERANCE, self.previous)
        except PrecisionError as error:
            solution = error.solution
        S, policy, self.support = model.states, solution.policy, None
        if S <= DENSE_STATES and model.costs.min() > 0.0 and policy.min() >= 0:
            self.support, self.policy = (model.indptr, model.successors), policy
            self.room = np.empty((S, S)), np.empty(S), np.empty(S)
        self.previous = solution
        return Planned(solution.values, np.where(policy < 0, model.available.argmax(axis=1), policy))


@kernel
def iterate(
    indptr: Int64s,
    successors: Int32s,
    probabilities: Floats,
    costs: Floats,
    policy: Int64s,
    values: Floats,
    matrix: Floats,
    goal: Floats,
    right: Floats,
) -> float:
    """Iterate policies from a proper one; return the relative width of the bounds around the values."""
    S, A = costs.shape
    for _ in range(ITERATIONS):
        for state in range(S):
            row = state * A + policy[state]
            right[state] = costs[state, policy[state]]
            goal[state] = 0.0
            for other in range(S):
                matrix[state, other] = 0.0
            for entry in range(indptr[row], indptr[row + 1]):
                if successors[entry] == S:
                    goal[state] = probabilities[entry]
                else:
                    matrix[state, successors[entry]] = probabilities[entry]
        if not eliminate(matrix, goal, right, values):
            return np.inf
        for state in range(S):
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


@exercise
def exercise_replan() -> None:
    """Plan twice on a model of one state."""
    planner = Replanner()
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    planner.solve(ssp)
    planner.solve(ssp)
