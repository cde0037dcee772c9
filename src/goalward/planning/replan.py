"""Planning again and again on models that differ in their probabilities only.

A posterior over one support gives sample after sample with the same graph. What `goalward.solve` finds out about a
graph needs to be found out once, and the policy of the last sample is proper in the next one, because it reaches the
goal along the same transitions. So one kernel writes the new probabilities into the rows and runs the policy iteration
and the certificate of `bellman.py` from that policy.

`goalward.solve` takes over for the first model, for models with zero costs, for large ones, and where the certificate
does not prove the tolerance. Where it cannot prove the tolerance either, its best solution is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward._jit import exercise, kernel
from goalward.arrays import Floats, Int64s
from goalward.errors import PrecisionError
from goalward.model.build import Rows
from goalward.model.ssp import SSP
from goalward.planning.bellman import Equation, Problem, certify, policy_iteration, relative_width
from goalward.planning.solve import DENSE_STATES, Solution, solve

__all__ = ["Planned", "Replanner"]

TOLERANCE = 1e-6


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
        self.support: Rows | None = None
        self.problem: Problem
        self.rows: Int64s

    def solve(self, model: SSP) -> Planned:
        """Solve a model."""
        if self.knows(model):
            planned = Planned(np.empty(model.states), np.empty(model.states, dtype=np.int64))
            width = replan(self.problem, model.indptr, model.probabilities, model.actions, self.rows, *planned)
            if width <= TOLERANCE:
                return planned
        return self.solve_from_scratch(model)

    def knows(self, model: SSP) -> bool:
        """Return whether a model has the very arrays of the one before, but for the probabilities."""
        known = self.support
        return (
            known is not None
            and known.indptr is model.indptr
            and known.successors is model.successors
            and known.costs is model.costs
        )

    def solve_from_scratch(self, model: SSP) -> Planned:
        """Solve a model of which nothing is known, and get ready for its successors."""
        try:
            solution = solve(model, TOLERANCE, self.previous)
        except PrecisionError as error:
            solution = error.solution
        policy, self.support = solution.policy, None
        if model.states <= DENSE_STATES and model.costs.min() > 0.0 and policy.min() >= 0:
            self.support, self.problem = model.rows, unreduced(model)
            self.rows = np.searchsorted(self.problem.origin, np.arange(model.states) * model.actions + policy)
        self.previous = solution
        return Planned(solution.values, np.where(policy < 0, model.available.argmax(axis=1), policy))


def unreduced(model: SSP) -> Problem:
    """Return the rows of a model as they are, self-loops included, with room for probabilities."""
    S, A = model.costs.shape
    length = np.diff(model.indptr)
    origin = np.flatnonzero(length).astype(np.int32)
    inner = model.successors != model.goal
    return Problem(
        first=np.searchsorted(origin, np.arange(S + 1) * A),
        start=np.append(0, np.cumsum(np.add.reduceat(inner, model.indptr[origin], dtype=np.int64))),
        target=model.successors[inner],
        weight=np.empty(np.count_nonzero(inner)),
        to_goal=np.empty(len(origin)),
        cost=model.costs.reshape(-1)[origin],
        origin=origin,
    )


@kernel
def replan(
    problem: Problem, indptr: Int64s, probabilities: Floats, actions: int, rows: Int64s, values: Floats, policy: Int64s
) -> float:
    """Iterate policies, given as rows, from a proper one; return the relative width of the bounds around the values."""
    _, start, _, weight, to_goal, _, origin = problem
    longest = start[1] + 1
    for row in range(origin.size):
        begin = indptr[origin[row]]
        length = start[row + 1] - start[row]
        longest = max(longest, length + 1)
        for entry in range(length):
            weight[start[row] + entry] = probabilities[begin + entry]
        # The goal is the last successor, if it is one.
        to_goal[row] = probabilities[begin + length] if begin + length < indptr[origin[row] + 1] else 0.0
    states = values.size
    equation = Equation(np.empty(states, np.int32), np.empty((states, states)), np.empty(states), np.empty(states))
    for state in range(states):
        equation.group[state] = state
    low = np.empty(states)
    high = np.empty(states)
    if policy_iteration(problem, equation, values, low, rows, policy) == 0:
        return 1.0
    for state in range(states):
        policy[state] = origin[rows[state]] - state * actions
    below, above = certify(problem, longest, values, rows, low, high)
    return relative_width(below, above)


@exercise
def exercise_replan() -> None:
    """Plan twice on a model of one state."""
    planner = Replanner()
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    planner.solve(ssp)
    planner.solve(ssp)
