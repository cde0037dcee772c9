"""Planning again and again on models that differ in their transitions only.

A posterior over one support gives sample after sample with the same graph. What `goalward.solve` finds out about a
graph needs to be found out once, and the policy of the last sample is proper in the next one, because it reaches the
goal along the same transitions. So one kernel writes the new probabilities into the rows and runs the policy iteration
and the certificate of `bellman.py` from that policy. Where the samples differ in their graph too, the rows are laid out
anew, and the policy is changed in the states from which it no longer reaches the goal.

Large models are planned on by sweeps (`large_plans.py`), if a looser tolerance than 1e-6 will do.

`goalward.solve` takes over for the first model, for models with zero costs, for large ones that ask for 1e-6, and where
the certificate does not prove the tolerance. Where it cannot prove the tolerance either, its best solution is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.jit import kernel
from goalward.planning.bellman import certify, policy_iteration, relative_width
from goalward.planning.elimination import Equation
from goalward.planning.large_plans import LargePlanner
from goalward.planning.reduced_problem import Problem
from goalward.planning.solve import DENSE_STATES, Solution, solve
from goalward.ssp.checks import ModelArrays
from goalward.ssp.model import SSP

__all__ = ["TOLERANCE", "Planned", "Replanner"]

TOLERANCE = 1e-6


class Planned(NamedTuple):
    """Optimal values, to a relative tolerance where double precision allows, and a policy that has them.

    Where the model has no way to the goal, the policy plays the first action there is.
    """

    values: Floats
    policy: Int64s


class Replanner:
    """Solves one model after the other, each from the solution of the one before.

    A copy starts afresh, so an agent plans the same way whether it was copied or saved and read back.
    """

    def __init__(self) -> None:
        self.large = LargePlanner()
        self.previous: Solution | None = None
        self.support: ModelArrays | None = None
        self.problem: Problem
        self.rows: Int64s

    def __deepcopy__(self, memo: dict[int, Any]) -> Replanner:
        return Replanner()

    def solve(self, model: SSP, tolerance: float = TOLERANCE) -> Planned:
        """Solve a model. A tolerance above 1e-6 makes this faster if the model has more than 128 states."""
        if tolerance > TOLERANCE and model.states > DENSE_STATES and model.costs.min() > 0.0:
            found = self.large.solve(model, tolerance)
            if found is not None:
                return Planned(found[0], playable(model, found[1]))
        if self.knows(model) or self.learns(model):
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

    def learns(self, model: SSP) -> bool:
        """Lay out a model that shares the costs of the one before; False if no policy reaches the goal everywhere."""
        if self.support is None or self.support.costs is not model.costs:
            return False
        self.support, self.problem = model.arrays, unreduced(model.arrays)
        if not make_proper(self.problem, self.rows):
            self.support = None
        return self.support is not None

    def solve_from_scratch(self, model: SSP) -> Planned:
        """Solve a model of which nothing is known, and get ready for its successors."""
        try:
            solution = solve(model, TOLERANCE, self.previous)
        except PrecisionError as error:
            solution = error.solution
        except UnreachableGoalError:
            raise UnreachableGoalError(
                "in the model that the agent plans with no policy reaches the goal almost surely; a prior that lets"
                " actions lead to states without a way out draws such models: let the agent give up"
                " (give_up_cost=20, or --give-up-cost 20), or rule such transitions out, as Dirichlet(support=world)"
                " does"
            ) from None
        policy, self.support = solution.policy, None
        if model.states <= DENSE_STATES and model.costs.min() > 0.0 and policy.min() >= 0:
            self.support, self.problem = model.arrays, unreduced(model.arrays)
            self.rows = np.searchsorted(self.problem.origin, np.arange(model.states) * model.actions + policy)
        self.previous = solution
        return Planned(solution.values, playable(model, policy))


def playable(model: SSP, policy: Int64s) -> Int64s:
    """Return a policy that plays the first action there is at dead ends."""
    return policy if policy.min() >= 0 else np.where(policy < 0, model.available.argmax(axis=1), policy)


@kernel
def unreduced(model: ModelArrays) -> Problem:
    """Return the rows of a model as they are, self-loops included, with room for probabilities."""
    indptr, successors, _, costs = model
    S, A = costs.shape
    rows = 0
    inner = 0
    for row in range(S * A):
        rows += indptr[row] < indptr[row + 1]
    for entry in range(successors.size):
        inner += successors[entry] < S
    problem = Problem(
        np.empty(S + 1, np.int64), np.empty(rows + 1, np.int64), np.empty(inner, np.int32), np.empty(inner),
        np.empty(rows), np.empty(rows), np.empty(rows, np.int32),
    )  # fmt: skip
    row = 0
    end = 0
    for state in range(S):
        problem.first[state] = row
        for action in range(A):
            origin = state * A + action
            if indptr[origin] == indptr[origin + 1]:
                continue
            problem.start[row] = end
            problem.cost[row] = costs[state, action]
            problem.origin[row] = origin
            for entry in range(indptr[origin], indptr[origin + 1]):
                if successors[entry] < S:
                    problem.target[end] = successors[entry]
                    end += 1
            # What is left of the row is the goal; `replan` fills in the probability.
            problem.to_goal[row] = end - problem.start[row] < indptr[origin + 1] - indptr[origin]
            row += 1
    problem.first[S] = row
    problem.start[row] = end
    return problem


@kernel
def leads_on(problem: Problem, row: int, reached: Bools) -> bool:
    """Return whether a row may lead to the goal or to one of these states."""
    found = problem.to_goal[row] > 0.0
    for entry in range(problem.start[row], problem.start[row + 1]):
        found |= reached[problem.target[entry]]
    return bool(found)


@kernel
def make_proper(problem: Problem, policy: Int64s) -> bool:
    """Change a policy, given as rows, where it would not reach the goal; False if no policy reaches it everywhere."""
    missing = policy.size
    reached = np.zeros(missing, dtype=np.bool_)
    while missing > 0:
        before = missing
        for state in range(policy.size):
            if not reached[state] and leads_on(problem, policy[state], reached):
                reached[state] = True
                missing -= 1
        if missing < before:
            continue
        for state in range(policy.size):
            for row in range(problem.first[state], problem.first[state + 1]):
                if not reached[state] and leads_on(problem, row, reached):
                    reached[state] = True
                    policy[state] = row
                    missing -= 1
        if missing == before:
            return False
    return True


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
