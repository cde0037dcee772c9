"""Nested neighbourhoods: a prior for worlds in which each state has few, but unknown, successors.

Prior
    There are n = S + 1 successors, including the goal. The whole world shares two unknown distributions of sizes, which
    are called laws. The sizes of neighbourhoods have the law h1, and the sizes of rows have the law h2. All pairs of
    laws have the same prior weight. A law on 1..m gives the weight r^(j-1) to size j, and Z_r(m) is the sum of the
    weights. With r = 1 the law is uniform, and with r = infinity the size is always m.

        each state:    k_s from h1 on 1..n;  B_s a uniform subset of size k_s of the successors
        each action:   l from h2 on 1..k_s;  R_sa a uniform subset of size l of B_s
                       theta(. | s, a) is Dirichlet(1, ..., 1) on R_sa

    The prior is conditioned on the event that the goal can be reached from every state, by giving up if necessary. The
    rows of giving up are known, so they use no neighbourhood.

Posterior
    The probability of the observed steps of a row depends on R_sa only through its size l. So sums over subsets are
    ratios of binomial coefficients, and `neighbourhood_kernels` has the formulas. Draws from the posterior are exact.
    First draw a pair of laws, all sizes, and subsets that contain all seen successors. Repeat this until the goal can
    be reached from every state. Then draw the rows from Dirichlet(1 + counts).

Complexity
    Samples are sparse. The time and memory of a draw are proportional to the number of seen and sampled transitions,
    not to S² A. The evidence about sizes is stored for each state, and is recomputed only for states with new counts. A
    pair of laws is left out if its samples would have more than a million transitions on average. With 4 actions and at
    most 500 states, no pair is left out. The remaining laws always give every subset a positive probability.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy import sparse

from goalward.acting.contract import Steps, Task
from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import (
    Belief,
    Prior,
    Rows,
    register,
    unknown_pairs,
    with_known_rows,
)  # fmt: skip
from goalward.beliefs.counts import Counts
from goalward.beliefs.dirichlet import dirichlet_rows
from goalward.beliefs.neighbourhood_kernels import (
    Evidence,
    Laws,
    draw_sets,
    draw_sizes,
    refresh,
    sort_rows,
    unreached,
)  # fmt: skip
from goalward.errors import UnreachableGoalError
from goalward.seeds import generator

DRAWS = 10_000
"""The number of consecutive draws that may be rejected because some state cannot reach the goal."""

MEAN_DRAWS = 200
"""The number of draws that `mean_rows` averages."""

LARGEST = 1 << 20
"""A pair of laws is left out if its samples have more transitions than this on average."""

ROW_RATIOS = (0.2, 0.5, 0.75, 1.0, math.inf)
GEOMETRIC_LAWS = 5


@register("neighbourhoods")
class Neighbourhoods(Prior):
    """A prior for few possible successors: each row is a subset of an unknown neighbourhood.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world(rows=6, columns=6)
    >>> run = gw.learn(gw.agents.PSRL(gw.Neighbourhoods()), world, episodes=2)
    """

    def belief(self, task: Task) -> NeighbourhoodsBelief:
        idle = ~task.available.any(axis=1)
        if idle.any():
            raise UnreachableGoalError(
                f"no action is available in state {int(np.argmax(idle))}, but the prior Neighbourhoods() assumes that"
                " the goal can be reached from every state; set give_up_cost=20 (--give-up-cost 20)"
            )
        return NeighbourhoodsBelief(task)

    def __repr__(self) -> str:
        return "Neighbourhoods()"


class NeighbourhoodsBelief(Belief):
    """The posterior of `Neighbourhoods`, which stores transition counts and their evidence about sizes."""

    knows_support = False

    def __init__(self, task: Task):
        self.task, self.counts = task, Counts(task)
        self.n = task.states + 1
        self.unknown = unknown_pairs(task)
        self.laws = laws(self.n, int(np.count_nonzero(self.unknown)))
        self.forget()

    def forget(self) -> None:
        """Discard the stored evidence about sizes, so that the next draw computes it again."""
        shape = (self.task.states, len(self.laws.ratio))
        self.evidence = Evidence(
            seen=np.zeros(shape[0], dtype=np.int64),
            evidence=np.zeros(shape),
            spread=np.zeros(shape),
            changed=np.asarray(self.counts.visits.any(axis=1)),
        )

    def learn(self, steps: Steps) -> None:
        self.counts.add(steps)
        self.evidence.changed[steps.states] = True

    def posterior(self) -> Floats:
        """Return the posterior probability of each pair of laws."""
        probabilities = np.empty(len(self.laws.ratio))
        refresh(self.task.actions, self.n, self.laws, self.counts.rows, self.evidence, probabilities)
        return probabilities

    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Draw rows. `sharpness` multiplies the counts of the rows, but does not affect sizes and subsets."""
        indptr, successors, counts = self.draw_support(rng)
        indptr.flags.writeable = False  # as in other beliefs, so that kernels are compiled once
        return Rows(indptr, successors, dirichlet_rows(rng, indptr, sharpness * counts + 1.0))

    def mean_rows(self) -> Rows:
        """Return the expected rows, estimated from `MEAN_DRAWS` draws of the successors.

        Given l successors, a row has the mean (1 + counts)/(l + visits). The draws use a generator with a fixed seed.
        """
        rng, shape = generator(0), (self.unknown.size, self.n)
        total = sparse.csr_array(shape)
        for _ in range(MEAN_DRAWS):
            indptr, successors, counts = self.draw_support(rng)
            drawn = sparse.csr_array((counts + 1.0, successors, indptr), shape=shape)
            drawn.data /= np.repeat(drawn.sum(axis=1), np.diff(indptr))
            total = total + drawn
        total.sort_indices()
        return Rows(total.indptr.astype(np.int64), total.indices.astype(np.int32), total.data / MEAN_DRAWS)

    def seen_rows(self) -> Rows:
        return self.counts.seen_rows(1.0)

    def draw_support(self, rng: np.random.Generator) -> Rows:
        """Draw the possible successors of all rows. The `numbers` of the result are the counts of the transitions."""
        A, n, seen, posterior = self.task.actions, self.n, self.counts.rows, self.posterior()
        neighbourhood, start = np.empty(n - 1, dtype=np.int64), np.empty(n + 2, dtype=np.int64)
        lengths = np.empty(self.unknown.size, dtype=np.int64)
        lost = np.zeros(n - 1, dtype=np.int64)
        for _ in range(DRAWS):
            entries = draw_sizes(
                rng, posterior, A, n, self.unknown.ravel(), self.laws, seen, self.evidence, neighbourhood, lengths
            )
            indptr, successors = np.zeros(len(lengths) + 1, dtype=np.int64), np.empty(entries, dtype=np.int32)
            draw_sets(rng, A, n, neighbourhood, lengths, seen, indptr, successors)
            rows = with_known_rows(self.task, Rows(indptr, successors, np.empty(entries, dtype=np.int64)))
            leading = np.empty(len(rows.successors), dtype=np.int32)
            state = unreached(A, rows.indptr, rows.successors, start, leading)
            if state < 0:
                sort_rows(start, leading, rows.indptr, seen, rows.successors, rows.numbers)
                return rows
            lost[state] += 1
        raise UnreachableGoalError(
            f"in {DRAWS} consecutive posterior samples, the goal could not be reached from some state, most often from"
            f" state {np.argmax(lost)}; set give_up_cost=20 (--give-up-cost 20), or use another prior, such as"
            " Dirichlet(0.1)"
        )

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        wrong = (self.counts.visits > 0) & ~self.unknown
        if wrong.any():
            row = np.argwhere(wrong)[0]
            raise ValueError(f"(state {row[0]}, action {row[1]}) has visits, but the action is unavailable or gives up")
        self.forget()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = super().__deepcopy__(memo)
        twin.forget()
        return twin


def laws(n: int, pairs: int) -> Laws:
    """Return the pairs of laws for `n` successors, except for pairs whose samples would exceed `LARGEST`.

    The law of neighbourhoods is geometric (with a mean between 2 and n before truncation), uniform, or fixed at n.
    `pairs` is the number of state-action pairs with unknown rows.
    """
    means = 2.0 * max(n / 2.0, 1.0) ** (np.arange(GEOMETRIC_LAWS) / GEOMETRIC_LAWS)
    neighbourhoods = [*(1.0 - 1.0 / means), 1.0, math.inf]
    sizes = np.arange(1, n + 1)
    pairs_of_ratios = []
    for ratio in neighbourhoods:
        weights = law_weights(ratio, n)
        for row_ratio in ROW_RATIOS:
            mean = float(weights @ mean_size(row_ratio, sizes))
            if pairs * mean <= max(LARGEST, 4 * pairs):
                pairs_of_ratios.append((ratio, row_ratio))
    table = np.array(pairs_of_ratios)
    return Laws(table[:, 0].copy(), table[:, 1].copy(), np.unique(table[:, 1]))


def law_weights(ratio: float, m: int) -> Floats:
    """Return the probabilities of the sizes 1..m under the law with this `ratio`."""
    if ratio == math.inf:
        return np.asarray(np.arange(1, m + 1) == m, dtype=np.float64)
    weights = ratio ** np.arange(m, dtype=np.float64)
    return np.asarray(weights / weights.sum())


def mean_size(ratio: float, sizes: Int64s) -> Floats:
    """Return, for each m in `sizes`, the mean of the law on 1..m with this `ratio`."""
    if ratio == math.inf:
        return np.asarray(sizes, dtype=np.float64)
    if ratio == 1.0:
        return np.asarray((sizes + 1.0) / 2.0, dtype=np.float64)
    powers = ratio ** sizes.astype(np.float64)
    return np.asarray(1.0 / (1.0 - ratio) - sizes * powers / (1.0 - powers))
