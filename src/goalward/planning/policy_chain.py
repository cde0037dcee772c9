"""The Markov chain of one policy, and ways to solve for its values: sweeps, corrections on groups, a sparse LU."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import kernel
from goalward.planning import bellman
from goalward.planning.policy_iteration import Equation, add_correction, aggregate, eliminate, residual
from goalward.planning.reduction import Problem, Reduction
from goalward.ssp.graph import ALL_ENTRIES, Predecessors, list_predecessors

__all__ = ["MOST_DIRECT_WORK", "POLICY_SWEEPS", "REPEATS", "PolicyChain"]

# Groups of a correction. Their matrix is dense: with 512 groups, chains take twice as long. With 64, a model of 200
# components (parts1e5) takes 5.6 times as long. When corrections came in every round, also where sweeps settle, chains
# took 0.21 of the time without them, tireworld 0.55 and queues 0.7: a correction cost more than the sweeps it saved.
GROUPS = 256
POLICY_SWEEPS = 12  # at most in a round; with one, mazes, chains and consensus take 1.7 to 3 times as long
REPEATS = 30  # attempts of a proof, or of sums on the way to the goal; what takes more is not worth its time
MOST_DIRECT_WORK = 1e9  # about a second
# What a sparse LU takes, in units of one multiplication of a sweep: for each state, and for each multiplication of an
# elimination level by level. Measured on mazes, grids in two and three dimensions, clusters and posterior samples.
LU_STATE, LU_LEVELS = 300.0, 1.0 / 30.0


class PolicyChain:
    """The chain of the policy that was chosen last.

    With `exact`, each state is its own group in `equation`; otherwise states are grouped by their values.
    """

    def __init__(self, reduction: Reduction, *, exact: bool):
        self.reduction, self.problem, self.exact = reduction, reduction.problem, exact

    @cached_property
    def rows(self) -> Problem:
        """The rows of the policy."""
        states = self.reduction.states
        chain = Problem.empty(states, states, int(self.problem.start[self.problem.first[-1]]))
        chain.first[:] = np.arange(states + 1)
        return chain

    @cached_property
    def equation(self) -> Equation:
        """Working memory for corrections."""
        states = self.reduction.states
        return empty_equation(np.arange(states, dtype=np.int32) if self.exact else np.zeros(states, dtype=np.int32))

    @property
    def entries(self) -> int:
        """The multiplications of one sweep."""
        return int(self.rows.start[-1])

    def group_by_value(self, values: Floats) -> None:
        """Make groups of the states whose values are alike."""
        value_groups(values, GROUPS, self.equation.group)
        self.equation = empty_equation(self.equation.group)

    def choose(self, policy: Int64s) -> None:
        """Make the chain that of a policy."""
        bellman.copy_policy(self.problem, policy, self.rows)

    def optimal_sweep(self, values: Floats, policy: Int64s) -> float:
        """Sweep once over all rows of the problem, and choose the best; return the largest relative change."""
        return bellman.optimal_sweep(self.problem, values, policy, self.rows)

    def sweep_until(self, values: Floats, enough: float, most: int) -> tuple[int, float]:
        """Sweep until a sweep changes the values by little enough; return the number of sweeps and the last change."""
        return bellman.policy_sweeps(self.rows, values, enough, most)

    def correct(self, values: Floats) -> bool:
        """Add the best correction that is constant on each group; return False if a value would become negative."""
        aggregate(self.rows, self.rows.first, values, self.equation)
        correction = np.empty_like(self.equation.right)
        return eliminate(self.equation, correction) and add_correction(self.equation.group, correction, values)

    def direct_work(self, limit: float = np.inf) -> float:
        """Estimate what a sparse LU of the chain would take, in multiplications of sweeps; infinity if over a limit."""
        if LU_STATE * self.rows.cost.size > limit:
            return np.inf
        start, target = self.rows.start.view(), self.rows.target[: self.entries]
        start.flags.writeable = target.flags.writeable = False  # one type for the kernel, that of a model's arrays
        every_row = np.ones(self.reduction.states, dtype=np.bool_)
        predecessors = list_predecessors(start, target, every_row, self.reduction.states, ALL_ENTRIES)
        levels = level_work(self.rows, predecessors)
        return LU_STATE * self.rows.cost.size + LU_LEVELS * levels

    def direct_step(self, values: Floats) -> bool:
        """Solve for the values by a sparse LU, and once more for what is left; return False if that fails.

        I - P is an M-matrix with rows that sum to at least zero, so pivots on the diagonal are stable.
        """
        from scipy import sparse
        from scipy.sparse.linalg import splu

        states = len(values)
        _, start, target, weight, to_goal, cost, _ = self.rows
        entries = int(start[states])
        share = sparse.csr_array((weight[:entries], target[:entries], start[: states + 1]), shape=(states, states))
        matrix = sparse.csc_array(sparse.diags_array(to_goal + share.sum(axis=1)) - share)
        try:
            factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return False
        solved = factors.solve(cost)
        solved += factors.solve(residuals(self.rows, solved))
        if not (np.isfinite(solved).all() and solved.min() > 0.0):
            return False
        values[:] = solved
        return True

    def accumulate(self, policy: Int64s, costs: Floats, precision: float) -> Floats | None:
        """Sum costs on the way to the goal under a policy, to a relative precision; None if that fails."""
        self.choose(policy)
        self.rows.cost[:] = costs
        total = np.zeros(len(costs))
        for repeat in range(REPEATS):
            if not self.exact:
                self.group_by_value(total)
            if not self.correct(total) and self.exact:
                return None
            if repeat == REPEATS // 3 and self.direct_work() <= MOST_DIRECT_WORK:
                self.direct_step(total)
            if self.sweep_until(total, precision, POLICY_SWEEPS)[1] <= precision:
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
    gains = np.empty(values.size)
    for state in range(values.size):
        gains[state], _ = residual(chain, values, state, state)
    return gains


@kernel
def level_work(chain: Problem, predecessors: Predecessors) -> float:
    """Return what an elimination takes that goes through the undirected graph of a chain level by level.

    Levels are those of a breadth-first search from the last state of each connected part. A level of n states before
    one of m takes about n (n + m)² multiplications: narrow graphs (chains, queues, mazes, grids) take few, while graphs
    without a narrow cut fill their matrix.
    """
    states = chain.cost.size
    seen = np.zeros(states, dtype=np.bool_)
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
                for entry in range(predecessors.start[state], predecessors.start[state + 1]):
                    near = predecessors.state[entry]
                    if not seen[near]:
                        seen[near] = True
                        queue[count] = near
                        count += 1
        work += float(before) ** 3
    return work


def empty_equation(group: Int32s) -> Equation:
    """Allocate an equation for groups."""
    count = int(group.max()) + 1
    return Equation(group, np.empty((count, count)), np.empty(count), np.empty(count))
