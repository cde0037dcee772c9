"""Repeated planning on models that differ in their transition probabilities and costs.

Posterior samples with the same support have the same graph. If all costs are positive, the reduction of a model depends
only on the graph. So the reduction is reused, and only its probabilities and costs are replaced. For up to 128 states,
one kernel replaces these numbers, runs policy iteration from the last policy, and proves the result. The last policy is
proper in the next sample, because both samples have the same transitions. Larger models are solved by `sweeps.py`.

`goalward.solve` solves models with zero costs or dead ends, and models for which the fast methods do not prove the
tolerance. If `goalward.solve` cannot prove the tolerance, its best solution is used.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.jit import completed, kernel
from goalward.planning.bellman import adopt_policy, initial_policy
from goalward.planning.certificate import certify, relative_width
from goalward.planning.policy_iteration import Equation, policy_iteration
from goalward.planning.reduction import Problem, Reduction, write_problem
from goalward.planning.solve import DENSE_STATES, Solution, solve
from goalward.planning.sweeps import run_sweeps
from goalward.signals import interruptible
from goalward.ssp.checks import ModelArrays
from goalward.ssp.model import SSP

TOLERANCE = 1e-6


class Planned(NamedTuple):
    """Optimal values and an optimal policy, to a relative tolerance if double precision is sufficient.

    At dead ends, the policy plays the first available action.
    """

    values: Floats
    policy: Int64s


class Replanner:
    """Solves a sequence of models; the solution of each model is the starting point for the next model.

    A copied replanner starts from scratch, as after saving and loading an agent. A checkpoint stores the starting point
    of the next plan, because the last bits of the plan depend on this point.
    """

    def __init__(self) -> None:
        self.model: SSP | None = None  # the last model whose graph was reduced
        self.reduction: Reduction
        self.policy: Int64s | None = None
        self.values: Floats | None = None
        self.previous: Solution | None = None
        self.order: tuple[str, Int32s] | None = None  # the digest and order of a graph, from a checkpoint

    def __deepcopy__(self, memo: dict[int, Any]) -> Replanner:
        return Replanner()

    def to_state(self) -> dict[str, Any]:
        """Return the starting point of the next plan."""
        previous = None if self.previous is None else {"V": self.previous.values, "pi": self.previous.policy}
        state: dict[str, Any] = {"policy": self.policy, "values": self.values, "previous": previous, "graph": None}
        if self.model is not None and self.model.states > DENSE_STATES:
            state |= {"graph": graph_digest(self.model), "members": self.reduction.members}
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a starting point that `to_state` returned."""
        self.model, self.policy, self.values = None, state["policy"], state["values"]
        self.previous = state["previous"] and Solution.to_start_from(state["previous"]["V"], state["previous"]["pi"])
        self.order = None if state["graph"] is None else (state["graph"], state["members"])

    @interruptible()
    def solve(self, model: SSP, tolerance: float = TOLERANCE) -> Planned:
        """Return the solution of `model`. A `tolerance` above 1e-6 saves time if there are more than 128 states."""
        if model.costs.min() > 0.0:
            small = model.states <= DENSE_STATES
            last = self.model
            if last is None or last.indptr is not model.indptr or last.successors is not model.successors:
                same_graph = self.order is not None and self.order[0] == graph_digest(model)
                members = self.order[1] if self.order is not None and same_graph else None
                self.reduction, self.model, self.order = Reduction.of(model, DENSE_STATES, members), model, None
                if self.policy is None or len(self.policy) != model.states:
                    self.policy, self.values = np.full(model.states, -1, dtype=np.int64), None
            elif not small:
                _, _, reduced, members, usable, *_ = reduction = self.reduction
                completed(write_problem, model.arrays, usable, reduced, members, reduction.problem)
            planned = self.iterate(model) if small else self.sweep(model, tolerance)
            if planned is not None:
                return planned
        return self.solve_from_scratch(model)

    def iterate(self, model: SSP) -> Planned | None:
        """Solve a small model by policy iteration; return None if the solution cannot be proved."""
        if self.policy is None or self.reduction.states < model.states:
            return None
        reduction, values, policy = self.reduction, np.empty(model.states), self.policy.copy()
        width = replan(
            model.arrays, reduction.usable, reduction.reduced, reduction.members, reduction.problem, values, policy
        )
        self.policy = policy
        return Planned(values, policy) if width <= TOLERANCE else None

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def sweep(self, model: SSP, tolerance: float) -> Planned | None:
        """Solve a large model by sweeps; return None if the solution cannot be proved."""
        reduction = self.reduction
        extended, rows = reduction.extended(), np.empty(reduction.states, dtype=np.int64)
        if reduction.states == 0 or reduction.reduced[model.initial_state] < 0:
            return None
        bounds, _ = run_sweeps(reduction, extended, rows, tolerance, self.values)
        self.values = reduction.expand(extended) if bounds.width <= tolerance else None
        if self.values is None:
            return None
        return Planned(self.values, playable(model, reduction.expand_policy(model, rows)))

    def solve_from_scratch(self, model: SSP) -> Planned:
        """Solve a model by `goalward.solve`, with the solution of the previous call as `start`."""
        try:
            self.previous = solve(model, TOLERANCE, self.previous)
        except PrecisionError as error:
            self.previous = error.solution
        except UnreachableGoalError:
            raise UnreachableGoalError(
                "no policy reaches the goal almost surely in the model that the agent plans with, because the agent's"
                " prior allows transitions to dead ends. Let the agent give up (give_up_cost=20 or --give-up-cost 20),"
                " or choose a prior without these transitions, such as Dirichlet(support=world)"
            ) from None
        return Planned(self.previous.values, playable(model, self.previous.policy))


def graph_digest(model: SSP) -> str:
    """Return the SHA-256 digest of a model's graph (the possible transitions)."""
    return hashlib.sha256(model.indptr.tobytes() + model.successors.tobytes()).hexdigest()


def playable(model: SSP, policy: Int64s) -> Int64s:
    """Return `policy` with the first available action in place of -1 at dead ends."""
    return policy if policy.min() >= 0 else np.where(policy < 0, model.available.argmax(axis=1), policy)


@kernel
def replan(
    model: ModelArrays,
    usable: Bools,
    reduced: Int32s,
    members: Int32s,
    problem: Problem,
    values: Floats,
    policy: Int64s,
) -> float:
    """Solve `model` by policy iteration; return the relative width of the bounds on `values`.

    The problem must contain all states of the model. If `policy` is proper, the iteration starts from this policy.
    """
    states, actions = model.costs.shape
    longest = write_problem(model, usable, reduced, members, problem)
    equation = Equation(np.empty(states, np.int32), np.empty((states, states)), np.empty(states), np.empty(states))
    for state in range(states):
        equation.group[state] = state
    solution = np.zeros(states + 2)
    low = np.empty(states)
    high = np.empty(states)
    rows = np.empty(states, np.int64)
    proper = np.empty(states, np.int64)
    initial_policy(problem, 0 * states, states, solution, rows)  # a literal 0 would compile `initial_policy` twice
    for state in range(states):
        proper[state] = rows[state]
    adopt_policy(problem, actions, policy, rows)
    # If the adopted policy is not proper, the first call returns 0 and writes the initial policy back to `rows`.
    evaluations = policy_iteration(problem, equation, solution, low, rows, proper)
    if evaluations == 0 and policy_iteration(problem, equation, solution, low, rows, proper) == 0:
        return 1.0
    below, above = certify(problem, longest, solution, rows, low, high)
    for position in range(states):
        values[members[position]] = solution[position]
        policy[members[position]] = problem.origin[rows[position]] - members[position] * actions
    return relative_width(below, above)
