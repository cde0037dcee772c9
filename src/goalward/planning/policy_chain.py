"""The Markov chain of one policy, and ways to solve it: sweeps, corrections on groups, Krylov steps, a sparse LU."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, bicgstab, splu

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.jit import kernel
from goalward.planning import bellman
from goalward.planning.elimination import Equation, add_correction, aggregate, eliminate
from goalward.planning.reduced_problem import Problem, copy_policy
from goalward.planning.reduction import Reduction
from goalward.planning.workspace import workspace

__all__ = ["MOST_WORK", "POLICY_SWEEPS", "REPEATS", "PolicyChain"]

MOST_WORK = 10**8  # multiplications of one call of a kernel: a fraction of a second, after which Ctrl-C is answered
MAX_GROUPS = 512
VALUE_GROUPS = 64  # in graphs in which fewer steps than that lead to the goal, distances tell little about values
POLICY_SWEEPS = 12
REPEATS = 30
KRYLOV_STEPS, KRYLOV_PRECISION = 100, 1e-4
# What a sparse LU takes, in units of one multiplication of a sweep: for each state, and for each multiplication of an
# elimination level by level. Measured on mazes, grids in two and three dimensions, clusters and posterior samples.
LU_STATE, LU_LEVELS = 300.0, 1.0 / 30.0


class PolicyChain:
    """The chain of the policy that was chosen last. With `exact`, each state is its own group in `equation`.

    Otherwise states are grouped by their distance, unless groups are given.
    """

    def __init__(self, reduction: Reduction, *, exact: bool, group: Int32s | None = None):
        self.reduction, self.problem = reduction, reduction.problem
        self.exact, self.group = exact, group

    @cached_property
    def rows(self) -> Problem:
        """The rows of the policy."""
        return workspace(Problem.empty_chain, self.reduction.states, self.reduction.widest)

    @cached_property
    def equation(self) -> Equation:
        """Working memory for corrections."""
        group = self.group
        if group is None:
            by_state = np.arange(self.reduction.states, dtype=np.int32)
            group = by_state if self.exact else distance_groups(self.reduction.levels)
        return Equation(group, *workspace(empty_equation, int(group.max()) + 1))

    @property
    def entries(self) -> int:
        """The multiplications of one sweep."""
        return int(self.rows.start[-1])

    @property
    def shallow(self) -> bool:
        """Whether distances make too few groups to tell values apart."""
        return self.equation.goal.size < VALUE_GROUPS // 2

    def group_by_value(self, values: Floats) -> None:
        """Make groups of the states whose values are alike."""
        group = self.equation.group
        self.equation = Equation(group, *workspace(empty_equation, value_groups(values, VALUE_GROUPS, group)))

    def choose(self, policy: Int64s) -> None:
        """Make the chain that of a policy."""
        copy_policy(self.problem, policy, self.rows)

    def optimal_sweep(self, values: Floats, policy: Int64s) -> float:
        """Sweep once over all rows of the problem, and choose the best; return the largest relative change."""
        return bellman.optimal_sweep(self.problem, values, policy, self.rows)

    def sweep(self, values: Floats) -> float:
        """Sweep once over the chain; return the largest relative change."""
        return bellman.policy_sweep(self.rows, values)

    def sweep_until(self, values: Floats, enough: float, most: int) -> tuple[int, float]:
        """Sweep until a sweep changes the values by little enough; return the number of sweeps and the last change."""
        if self.entries * most < MOST_WORK:
            return bellman.policy_sweeps(self.rows, values, enough, most)
        sweeps, change = 1, self.sweep(values)
        while sweeps < most and not change <= enough:
            change = self.sweep(values)
            sweeps += 1
        return sweeps, change

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

    def direct_work(self, limit: float = np.inf) -> float:
        """Estimate what a sparse LU of the chain would take, in multiplications of sweeps; infinity if over a limit."""
        if LU_STATE * self.rows.cost.size > limit:
            return np.inf
        levels = level_work(self.rows, np.zeros(self.rows.cost.size, dtype=np.bool_))
        return LU_STATE * self.rows.cost.size + LU_LEVELS * levels

    def direct_step(self, values: Floats) -> bool:
        """Solve for the values by a sparse LU, and once more for what is left; return False if that fails.

        I - P is an M-matrix with rows that sum to at least zero, so pivots on the diagonal are stable.
        """
        states = len(values)
        _, start, target, weight, to_goal, cost, _ = self.rows
        entries = int(start[states])
        share = sparse.csr_array((weight[:entries], target[:entries], start[: states + 1]), shape=(states, states))
        matrix = sparse.csc_array(sparse.diags_array(to_goal + share.sum(axis=1)) - share)
        try:
            factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return False
        found = factors.solve(cost)
        found += factors.solve(residuals(self.rows, found))
        if not (np.isfinite(found).all() and found.min() > 0.0):
            return False
        values[:] = found
        return True

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


@kernel
def value_groups(values: Floats, most: int, group: Int32s) -> int:
    """Group states by values, in equal steps from the smallest to the largest; return how many groups there are."""
    least = np.inf
    largest = 0.0
    for state in range(values.size):
        least = min(least, values[state])
        largest = max(largest, values[state])
    steps = most / (largest - least) if largest > least else 0.0
    number = np.zeros(most, dtype=np.int32)
    for state in range(values.size):
        group[state] = min(int((values[state] - least) * steps), most - 1)
        number[group[state]] = 1
    count = 0
    for step in range(most):
        if number[step] > 0:
            number[step] = count
            count += 1
    for state in range(values.size):
        group[state] = number[group[state]]
    return count


@kernel
def residuals(chain: Problem, values: Floats) -> Floats:
    """Return by how much the backup of each state differs from its value."""
    _, start, target, weight, to_goal, cost, _ = chain
    found = np.empty(values.size)
    for state in range(values.size):
        gain = cost[state] - to_goal[state] * values[state]
        for entry in range(start[state], start[state + 1]):
            gain += weight[entry] * (values[target[entry]] - values[state])
        found[state] = gain
    return found


@kernel
def level_work(chain: Problem, seen: Bools) -> float:
    """Return what an elimination takes that goes through the undirected graph of a chain level by level.

    Levels are those of a breadth-first search from the last state of each connected part. A level of n states before
    one of m takes about n (n + m)² multiplications: narrow graphs (chains, queues, mazes, grids) take few, while graphs
    without a narrow cut fill their matrix. `seen` must be all False.
    """
    states = seen.size
    begin = np.zeros(states + 2, dtype=np.int64)
    for entry in range(chain.start[states]):
        begin[chain.target[entry] + 1] += 1
    for state in range(states):
        begin[state + 1] += begin[state]
    sources = np.empty(chain.start[states], dtype=np.int32)
    for state in range(states):
        for entry in range(chain.start[state], chain.start[state + 1]):
            sources[begin[chain.target[entry]]] = state
            begin[chain.target[entry]] += 1
    # Each begin has moved to its end.
    queue = np.empty(states, dtype=np.int32)
    work = 0.0
    count = 0
    for position in range(states):
        root = states - 1 - position
        if seen[root]:
            continue
        seen[root] = True
        queue[count] = root
        head = count
        count += 1
        before = 0
        while head < count:
            width = count - head
            work += before * float(before + width) ** 2
            before = width
            for _ in range(width):
                state = queue[head]
                head += 1
                for entry in range(chain.start[state], chain.start[state + 1]):
                    near = chain.target[entry]
                    if not seen[near]:
                        seen[near] = True
                        queue[count] = near
                        count += 1
                for entry in range(begin[state - 1] if state > 0 else 0, begin[state]):
                    near = sources[entry]
                    if not seen[near]:
                        seen[near] = True
                        queue[count] = near
                        count += 1
        work += float(before) ** 3
    return work


def empty_equation(groups: int) -> tuple[Floats, Floats, Floats]:
    return np.empty((groups, groups)), np.empty(groups), np.empty(groups)


def distance_groups(distance: Int32s) -> Int32s:
    """Group states by their distance to the goal; neighbouring distances share a group if there are many."""
    depth = int(distance.max())
    groups: Int32s = ((distance - 1) * (min(MAX_GROUPS, depth) / depth)).astype(np.int32)
    return groups
