"""Rounds of sweeps that compute the values of a problem, one block of states after the other.

A round consists of up to twelve Gauss-Seidel sweeps over the rows of the policy, and one sweep over all rows, which
improves the policy. If twelve sweeps are not enough, later rounds begin with a correction: states with similar values
form groups, and all values of a group change by the same amount. If rounds hardly change the policy, and the matrix of
the policy has little fill-in, a sparse LU replaces the sweeps (policy iteration).

A block leads only to itself and to earlier blocks. So the values of each block converge before the next block begins,
and the rows of the block stay in the processor's cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import ASK_EVERY, int64, interrupted, kernel
from goalward.planning.bellman import Chain, hurry, initial_policy, optimal_sweep, policy_sweeps
from goalward.planning.policy_iteration import Equation, aggregate, eliminate
from goalward.planning.reduction import Blocks, Problem
from goalward.progress import Phase

if TYPE_CHECKING:
    from scipy import sparse

# Limit on the groups of a correction, which needs a dense matrix. With 512 groups, chains take twice as long. With 64,
# a model with 200 components (parts1e5) takes 5.6 times as long.
GROUPS = 256
# The least number of the policy's transitions per group. With 1, models with many components take twice as long.
PER_GROUP = 64
POLICY_SWEEPS = 12  # limit per round; with a limit of 1, mazes, chains and consensus take 1.7 to 3 times as long
SETTLED = 0.02  # sweeps over the policy stop at this fraction of the change in the last sweep over all rows
MOST_HARM = 2  # stop making corrections after this many have doubled the change
DIRECT_AFTER = 12  # rounds before a sparse LU is considered; on dense samples, an early LU takes 1.6 times as long
PATIENCE = 300  # stop sweeping after this many rounds without progress
PROGRESS = 0.9  # a change counts as progress if it is below this fraction of the smallest change so far
MOST_DIRECT_WORK = 1e9  # limit on the work of a sparse LU, about a second
# The work of a sparse LU, in units of one multiplication of a sweep: per state, and per multiplication in `level_work`.
# Measured on mazes, grids in two and three dimensions, clusters and posterior samples.
LU_STATE, LU_LEVELS = 300.0, 1.0 / 30.0
AT_ONCE = 1 << 22  # multiplications between two reports of progress, which take a few hundredths of a second

# Facts about the block in progress: the number of rounds, the change of the last sweep over all rows, the change of the
# last sweep over the policy, the first change, the smallest change and its round, the number of harmful corrections,
# whether sweeps over the policy did not converge, and the number of multiplications.
ROUND, CHANGE, SWEPT, FIRST, SMALLEST, SMALLEST_AT, HARM, STALLED, WORK, FACTS = range(10)


class Rounds:
    """Computes the values and the policy of a problem by rounds of sweeps."""

    def __init__(self, problem: Problem, blocks: Blocks, values: Floats, policy: Int64s):
        self.problem, self.blocks, self.values, self.policy = problem, blocks, values, policy
        self.chain = Chain.empty(len(problem.first) - 1, int(problem.start[problem.first[-1]]))
        self.count = 0
        """The number of rounds of the slowest block."""

    def settle(
        self, threshold: float, *, fresh: bool = False, progress: Phase | None = None, patience: int = PATIENCE
    ) -> bool:
        """Sweep until no value changes by more than `threshold`, relative to cost; return False on failure.

        With `fresh`, each block starts from the initial policy. Without `fresh`, blocks start from the current values.
        """
        block, settled, states = 0, True, int(self.blocks.bounds[-1])
        while block < len(self.blocks.cyclic):
            facts = np.zeros(FACTS)
            block, rounds = settle_blocks(
                self.problem, self.blocks, block, self.values, self.policy, self.chain, facts, threshold,
                GROUPS, POLICY_SWEEPS, fresh,
            )  # fmt: skip
            self.count = max(self.count, rounds)
            if facts[ROUND] > 0.0:  # this block takes many rounds, or a round takes long
                settled &= self.settle_block(block, facts, threshold, progress, patience)
                block += 1
            if progress:
                progress.advance(int(100 * self.blocks.bounds[block] / states), self.count)
        return settled

    def settle_block(self, block: int, facts: Floats, threshold: float, progress: Phase | None, patience: int) -> bool:
        """Continue the rounds on one block; return whether the values of the block have converged."""
        begin, end = self.blocks.bounds[block : block + 2].tolist()
        work, lost, settled = np.inf, False, False
        while not settled and facts[ROUND] - facts[SMALLEST_AT] <= patience:
            limit = min(facts[WORK], MOST_DIRECT_WORK)
            solved = False
            if facts[ROUND] >= DIRECT_AFTER and not lost and facts[CHANGE] <= 2.0 * facts[SWEPT]:
                # The values still change, but not because of better rows.
                work = direct_work(self.chain, begin, end, limit) if work == np.inf else work
                if work <= limit:
                    solved = direct_step(self.chain, begin, end, self.values)
                    if not solved:  # the policy has an almost free cycle, or drifts away from the goal
                        hurry(self.problem, begin, end, self.policy)
                        chain = Chain.of(self.problem, self.policy[begin:end])
                        solved = direct_step(chain, begin, end, self.values)
                    lost = not solved
            settled = settle(
                self.problem, begin, end, self.values, self.policy, self.chain, facts, threshold,
                0 if solved else GROUPS, 1 if solved else POLICY_SWEEPS, 1,
            )  # fmt: skip
            self.count = max(self.count, int(facts[ROUND]))
            if progress:
                done = begin + (end - begin) * digits_done(facts[FIRST], facts[CHANGE], threshold)
                progress.advance(int(100 * done / self.blocks.bounds[-1]), self.count)
        return settled


def digits_done(first: float, change: float, threshold: float) -> float:
    """Return the progress of `change` on the way from `first` to `threshold`, as a fraction of the digits.

    >>> digits_done(1.0, 1e-3, 1e-6), digits_done(1.0, 2.0, 1e-6), digits_done(1.0, 0.0, 1e-6)
    (0.5, 0.0, 1.0)
    """
    if not first > threshold or not change > threshold:
        return 1.0
    if threshold == 0.0 or first == np.inf or change == np.inf:
        return 0.0  # sums overflowed, or the threshold is zero
    # Logarithms, because a quotient of changes may overflow.
    return max(0.0, float((np.log(first) - np.log(change)) / (np.log(first) - np.log(threshold))))


@kernel
def settle_blocks(
    problem: Problem,
    blocks: Blocks,
    block: int,
    values: Floats,
    policy: Int64s,
    chain: Chain,
    facts: Floats,
    threshold: float,
    groups: int,
    sweeps: int,
    fresh: bool,
) -> tuple[int, int]:
    """Solve one block after the other, from `block` on; stop early if a block or all blocks together take long.

    Returns the index of the first unsolved block, and the largest number of rounds of a solved block.
    """
    work = 0
    rounds = 0
    while block < blocks.cyclic.size and work < AT_ONCE:
        begin, end = blocks.bounds[block], blocks.bounds[block + 1]
        if fresh:
            initial_policy(problem, begin, end, values, policy)
        entries = int64(problem.start[problem.first[end]] - problem.start[problem.first[begin]])
        work += entries
        if blocks.cyclic[block] or not fresh:
            for fact in range(FACTS):
                facts[fact] = 0.0
            change = optimal_sweep(problem, begin, end, values, policy, chain)
            if end - begin > ASK_EVERY and interrupted(0):
                return block, rounds
            facts[CHANGE] = facts[FIRST] = facts[SMALLEST] = change
            if change > threshold and blocks.cyclic[block]:
                most = min(DIRECT_AFTER, 1 + AT_ONCE // max(entries, 1))
                if not settle(problem, begin, end, values, policy, chain, facts, threshold, groups, sweeps, most):
                    return block, rounds
                work += int(facts[WORK])
            rounds = max(rounds, int(facts[ROUND]) + 1)
            facts[ROUND] = 0.0
        block += 1
    return block, rounds


@kernel
def settle(
    problem: Problem,
    begin: int,
    end: int,
    values: Floats,
    policy: Int64s,
    chain: Chain,
    facts: Floats,
    threshold: float,
    groups: int,
    sweeps: int,
    most: int,
) -> bool:
    """Do up to `most` rounds on a block; return whether the values of the block have converged.

    A round has up to `sweeps` sweeps over the policy, and a correction with up to `groups` groups.
    """
    for _ in range(most):
        facts[ROUND] += 1.0
        before = facts[CHANGE]
        lately = facts[ROUND] - facts[SMALLEST_AT] < PATIENCE // 4
        corrected = groups > 0 and facts[STALLED] > 0.0 and facts[HARM] < MOST_HARM and lately
        if corrected:
            correct(problem, policy, begin, end, values, min(groups, 2 + chain.start[end - begin] // PER_GROUP))
        swept, facts[SWEPT] = policy_sweeps(chain, begin, end, values, max(SETTLED * before, threshold), sweeps)
        if end - begin > ASK_EVERY and interrupted(0):
            return False
        if swept == sweeps:
            facts[STALLED] = 1.0
        change = optimal_sweep(problem, begin, end, values, policy, chain)
        facts[WORK] += swept * chain.start[end - begin]
        facts[WORK] += problem.start[problem.first[end]] - problem.start[problem.first[begin]]
        if corrected and change > 2.0 * before:
            facts[HARM] += 1.0
        if change < PROGRESS * facts[SMALLEST]:
            facts[SMALLEST] = change
            facts[SMALLEST_AT] = facts[ROUND]
        facts[CHANGE] = change
        if change <= threshold:
            return True
    return False


@kernel
def correct(problem: Problem, policy: Int64s, begin: int, end: int, values: Floats, most: int) -> bool:
    """Add the best correction that is constant on groups of states with similar values; return False on failure."""
    group = np.empty(end - begin, np.int32)
    count = value_groups(values, begin, most, group)
    equation = Equation(group, np.empty((count, count)), np.empty(count), np.empty(count))
    aggregate(problem, policy, begin, values, equation)
    correction = np.empty(count)
    if not eliminate(equation, correction):
        return False
    for index in range(group.size):
        if not values[begin + index] + correction[group[index]] >= 0.0:
            return False
    for index in range(group.size):
        values[begin + index] += correction[group[index]]
    return True


@kernel
def value_groups(values: Floats, begin: int, most: int, group: Int32s) -> int:
    """Divide a block into groups of states with similar values; return the number of groups."""
    least = np.inf
    largest = 0.0
    for index in range(group.size):
        least = min(least, values[begin + index])
        largest = max(largest, values[begin + index])
    steps = most / (largest - least) if largest > least else 0.0
    number = np.zeros(most, dtype=np.int32)
    for index in range(group.size):
        group[index] = min(int((values[begin + index] - least) * steps), most - 1)
        number[group[index]] = 1
    count = 0
    for step in range(most):
        if number[step] > 0:
            number[step] = count
            count += 1
    for index in range(group.size):
        group[index] = number[group[index]]
    return count


def inner_weights(chain: Chain, begin: int, end: int) -> sparse.csr_array:
    """Return the matrix of a chain's transitions between the states of the block."""
    from scipy import sparse

    states, start = end - begin, chain.start[: end - begin + 1].astype(np.int32)
    target, weight = chain.target[: start[-1]].astype(np.int64) - begin, chain.weight[: start[-1]]
    inside = (target >= 0) & (target < states)
    entries = (np.where(inside, weight, 0.0), np.where(inside, target, 0), start)
    matrix = sparse.csr_array(entries, shape=(states, states))
    matrix.eliminate_zeros()
    return matrix


def direct_work(chain: Chain, begin: int, end: int, limit: float = np.inf) -> float:
    """Estimate the work of a sparse LU of a chain, in sweep multiplications; return inf if clearly over `limit`."""
    work = LU_STATE * (end - begin)
    if work > limit:
        return np.inf
    graph = inner_weights(chain, begin, end)
    graph = graph + graph.T.tocsr()
    return work + LU_LEVELS * level_work(graph.indptr, graph.indices)


def direct_step(chain: Chain, begin: int, end: int, values: Floats) -> bool:
    """Compute the values of a block by a sparse LU, with one refinement; return False on failure.

    I - P is an M-matrix without negative row sums, so pivots on the diagonal are stable.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    start = chain.start[: end - begin + 1]
    leave = np.add.reduceat(chain.weight[: start[-1]], start[:-1])
    matrix = sparse.csc_array(sparse.diags_array(leave) - inner_weights(chain, begin, end))
    try:
        factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return False
    solved = values.copy()
    solved[begin:end] = 0.0
    for _ in range(2):
        solved[begin:end] += factors.solve(residuals(chain, begin, end, solved))
    # Where a policy drifts away from the goal, values may be so large that the residual exceeds the costs.
    left = np.abs(residuals(chain, begin, end, solved)).max()
    if not (left < chain.cost[: end - begin].max() and solved[begin:end].min() > 0.0):
        return False
    values[begin:end] = solved[begin:end]
    return True


@kernel
def residuals(chain: Chain, begin: int, end: int, values: Floats) -> Floats:
    """Return the residual of each row of a chain."""
    gains = np.empty(end - begin)
    for index in range(end - begin):
        gains[index] = chain.cost[index]
        for entry in range(chain.start[index], chain.start[index + 1]):
            gains[index] += chain.weight[entry] * (values[chain.target[entry]] - values[begin + index])
    return gains


@kernel
def level_work(start: Int32s, neighbour: Int32s) -> float:
    """Return the number of multiplications of an elimination that goes through an undirected graph level by level.

    The levels come from a breadth-first search from the last state of each connected component. A level of n states,
    with m states in the next level, takes about n (n + m)² multiplications. So narrow graphs (chains, queues, mazes,
    grids) take few multiplications.
    """
    states = start.size - 1
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
                for entry in range(start[state], start[state + 1]):
                    near = neighbour[entry]
                    if not seen[near]:
                        seen[near] = True
                        queue[count] = near
                        count += 1
        work += float(before) ** 3
    return work
