"""The Markov chain of one policy, and ways to solve it: sweeps, corrections on groups of states, Krylov steps."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, bicgstab

from goalward.arrays import Floats, Int32s, Int64s
from goalward.planning import bellman
from goalward.planning.elimination import Equation, add_correction, aggregate, eliminate
from goalward.planning.problem import Problem, copy_policy
from goalward.planning.reduction import Reduction
from goalward.planning.workspace import workspace

__all__ = ["POLICY_SWEEPS", "REPEATS", "PolicyChain"]

MAX_GROUPS = 512
POLICY_SWEEPS = 12
REPEATS = 30
KRYLOV_STEPS, KRYLOV_PRECISION = 100, 1e-4


class PolicyChain:
    """The chain of the policy that was chosen last. With `exact`, each state is its own group in `equation`."""

    def __init__(self, reduction: Reduction, *, exact: bool):
        self.problem = reduction.problem
        self.exact = exact
        self.rows = workspace(Problem.empty_chain, reduction.states, reduction.widest)
        group = np.arange(reduction.states, dtype=np.int32) if exact else distance_groups(reduction.distance)
        self.equation = Equation(group, *workspace(empty_equation, int(group[-1]) + 1))

    def choose(self, policy: Int64s) -> None:
        """Make the chain that of a policy."""
        copy_policy(self.problem, policy, self.rows)

    def optimal_sweep(self, values: Floats, policy: Int64s) -> float:
        """Sweep once over all rows of the problem, and choose the best; return the largest relative change."""
        return bellman.optimal_sweep(self.problem, values, policy, self.rows)

    def sweep(self, values: Floats) -> float:
        """Sweep once over the chain; return the largest relative change."""
        return bellman.policy_sweep(self.rows, values)

    def correct(self, values: Floats) -> bool:
        """Add the best correction that is constant on each group; return False if a value would become negative."""
        aggregate(self.rows, self.rows.first, values, self.equation)
        correction = np.empty_like(self.equation.right)
        return eliminate(self.equation, correction) and add_correction(self.equation.group, correction, values)

    def krylov_step(self, values: Floats) -> None:
        """Solve for the values by BiCGSTAB, preconditioned with a Gauss-Seidel sweep.

        With G the linear part of a sweep, V + d is the fixed point if (I - G) d = sweep(V) - V. If some V + d is
        negative, the values only get the sweep.
        """

        def operator(vector: Floats) -> Floats:
            swept = np.empty_like(values)
            bellman.linear_sweep(self.rows, vector.reshape(-1), swept)
            return vector.reshape(-1) - swept

        before = values.copy()
        self.sweep(values)
        system = LinearOperator((len(values), len(values)), matvec=operator, dtype=np.float64)
        right = values - before
        scale = np.abs(right).max()  # bicgstab gives up on right sides that are tiny in absolute terms
        if not 0.0 < scale < np.inf:
            return
        step, _ = bicgstab(system, right / scale, rtol=KRYLOV_PRECISION, maxiter=KRYLOV_STEPS)
        before += scale * step
        if np.isfinite(before).all() and before.min() >= 0.0:
            values[:] = before

    def accumulate(self, policy: Int64s, costs: Floats, precision: float) -> Floats | None:
        """Sum costs on the way to the goal under a policy, to a relative precision; None if that fails."""
        self.choose(policy)
        self.rows.cost[:] = costs
        total = np.zeros(len(costs))
        for repeat in range(REPEATS):
            if not self.correct(total) and self.exact:
                return None
            if repeat > REPEATS // 3:
                self.krylov_step(total)
            for _ in range(POLICY_SWEEPS):
                if self.sweep(total) <= precision:
                    return total
        return None


def empty_equation(groups: int) -> tuple[Floats, Floats, Floats]:
    return np.empty((groups, groups)), np.empty(groups), np.empty(groups)


def distance_groups(distance: Int32s) -> Int32s:
    """Group states by their distance to the goal; neighbouring distances share a group if there are many."""
    depth = int(distance[-1])
    groups: Int32s = ((distance - 1) * (min(MAX_GROUPS, depth) / depth)).astype(np.int32)
    return groups
