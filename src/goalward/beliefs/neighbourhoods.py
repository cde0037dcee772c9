"""Nested neighbourhoods: a prior for worlds in which few successors are possible, and nobody says which.

Prior
    n = S + 1 successors, the goal among them. Two unknown laws of sizes are shared by the whole world: h1, of the sizes
    of neighbourhoods, and h2, of the sizes of rows. All pairs of laws have the same weight. A law on 1..m is geometric:
    weight r^(j-1) for size j, with the sum Z_r(m). Ratio 1 makes it uniform; ratio infinity stands for the size m.

        each state:    k_s from h1 on 1..n;  B_s a uniform subset of size k_s of the successors
        each action:   l from h2 on 1..k_s;  R_sa a uniform subset of size l of B_s
                       theta(. | s, a) is Dirichlet(1, ..., 1) on R_sa

    All of this is conditioned on the event that the goal can be reached from every state. Giving up is not part of a
    neighbourhood, but counts as a way.

Posterior
    Given l, the probability of what was seen in a row depends on R_sa only through l, so sums over subsets are ratios
    of binomial coefficients; `neighbourhood_kernels` has the formulas. Draw the pair of laws, the sizes, the subsets
    that contain what was seen; repeat all of it until the goal can be reached from every state; then draw the rows from
    Dirichlet(1 + counts). This is exact.

Cost
    Samples are sparse. A draw takes time and memory for what was seen and what is sampled, not for S² A numbers: what
    the counts say about sizes is stored for each state and computed again where they have changed. Pairs of laws whose
    samples would have more than a million transitions in the mean are left out of the prior. With 4 actions this leaves
    nothing out up to 500 states; the laws that remain still give every subset a positive probability.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from goalward.acting.contract import Steps, Task
from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import (
    Belief,
    Prior,
    Rows,
    all_rows,
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

__all__ = ["Neighbourhoods", "NeighbourhoodsBelief"]

DRAWS = 10_000
"""How many draws in a row may leave a state without a way to the goal."""

LARGEST = 1 << 20
"""The largest mean number of transitions in a sample that a pair of laws may have."""

ROW_RATIOS = (0.2, 0.5, 0.75, 1.0, math.inf)
GEOMETRIC_LAWS = 5


@register("neighbourhoods")
class Neighbourhoods(Prior):
    """Rows on unknown subsets of an unknown neighbourhood of each state; it has no settings.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world(rows=6, columns=6)
    >>> run = gw.learn(gw.agents.PSRL(gw.Neighbourhoods()), world, episodes=2)
    """

    def belief(self, task: Task) -> NeighbourhoodsBelief:
        """Start a belief about the kernel of a task."""
        idle = ~task.available.any(axis=1)
        if idle.any():
            raise UnreachableGoalError(
                f"in state {int(np.argmax(idle))} no action is available; the prior Neighbourhoods() assumes that the"
                " goal can be reached from every state: let the agent give up (give_up_cost=20, or --give-up-cost 20)"
            )
        return NeighbourhoodsBelief(task)

    def __repr__(self) -> str:
        return "Neighbourhoods()"


class NeighbourhoodsBelief(Belief):
    """What was counted, and what it says about the sizes of neighbourhoods and rows."""

    def __init__(self, task: Task):
        self.task, self.counts = task, Counts(task)
        self.n = task.states + 1
        self.unknown = unknown_pairs(task)
        self.laws = laws(self.n, int(np.count_nonzero(self.unknown)))
        self.forget()

    def forget(self) -> None:
        """Have everything about sizes computed again at the next draw."""
        shape = (self.task.states, len(self.laws.ratio))
        self.evidence = Evidence(
            seen=np.zeros(shape[0], dtype=np.int64),
            evidence=np.zeros(shape),
            spread=np.zeros(shape),
            changed=np.asarray(self.counts.visits.any(axis=1)),
        )

    def learn(self, steps: Steps) -> None:
        """Count the steps."""
        self.counts.add(steps)
        self.evidence.changed[steps.states] = True

    def posterior(self) -> Floats:
        """Return the probability of each pair of laws."""
        probabilities = np.empty(len(self.laws.ratio))
        refresh(self.task.actions, self.n, self.laws, self.counts.rows, self.evidence, probabilities)
        return probabilities

    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Draw rows; sharpness multiplies the counts in the rows, and leaves sizes and subsets as they are."""
        indptr, successors, counts = self.draw_support(rng)
        indptr.flags.writeable = False  # as in other beliefs: kernels have one specialisation
        return Rows(indptr, successors, dirichlet_rows(rng, indptr, sharpness * counts + 1.0))

    def mean_rows(self) -> Rows:
        """Return the expected rows, dense; the expectation leaves the condition on reachable goals out.

        That condition ties all rows together, so the expectation under it has no closed form.
        """
        indptr, successors, _ = all_rows(self.task)
        pairs = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        rows = Rows(indptr, successors, self.dense_mean()[pairs, successors])
        return with_known_rows(self.task, rows)

    def seen_rows(self) -> Rows:
        """Return the transitions that were seen, with one more than their counts."""
        return self.counts.seen_rows(1.0)

    def dense_mean(self) -> Floats:
        """Return the expected rows as an array ``[S A, n]``."""
        A, n, size, visits = self.task.actions, self.n, self.counts.size, self.counts.visits
        posterior, dense = self.posterior(), self.counts.to_dense().reshape(-1, n)
        rows = np.zeros(dense.shape)
        for state in range(self.task.states):
            here = slice(state * A, (state + 1) * A)
            shown = dense[here] > 0.0
            K0 = int(shown.any(axis=0).sum())
            for weight, ratio, row_ratio in zip(posterior, *self.laws[:2], strict=True):
                if weight > 0.0:
                    expected = expected_rows(n, visits[state], size[here], K0, ratio, row_ratio)
                    unseen = np.where(shown.any(axis=0), expected.near[:, np.newaxis], expected.far[:, np.newaxis])
                    seen = (1.0 + dense[here]) * expected.seen[:, np.newaxis]
                    rows[here] += weight * np.where(shown, seen, unseen)
        return rows

    def draw_support(self, rng: np.random.Generator) -> Rows:
        """Draw the successors of all rows, with how often each was seen."""
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
            f"{DRAWS} draws in a row left state {np.argmax(lost)} or others without a way to the goal; after what was"
            " seen, it can hardly be reached from there: let the agent give up (give_up_cost=20, or --give-up-cost 20),"
            " or take another prior, such as Dirichlet(0.1)"
        )

    def rows_to_state(self) -> dict[str, Any]:
        """Return what was learnt as names with plain data and arrays."""
        return self.counts.to_state()

    def restore_rows(self, state: dict[str, Any]) -> None:
        """Restore what `rows_to_state` returned; raises ValueError where it does not fit."""
        self.counts.restore(state)
        wrong = (self.counts.visits > 0) & ~self.unknown
        if wrong.any():
            row = np.argwhere(wrong)[0]
            raise ValueError(f"(state {row[0]}, action {row[1]}) has visits, but is not available, or known")
        self.forget()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = super().__deepcopy__(memo)
        twin.counts = copy.deepcopy(self.counts, memo)
        twin.forget()
        return twin

    def __repr__(self) -> str:
        return f"NeighbourhoodsBelief(states={self.task.states}, observed={int(self.counts.visits.sum())})"


def laws(n: int, pairs: int) -> Laws:
    """Return the pairs of laws for n successors.

    The laws of neighbourhoods are geometric with means 2 .. towards n before truncation, uniform, and n always. Pairs
    of laws whose samples would have more than `LARGEST` transitions in the mean are left out.
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
    """Return the probabilities of the sizes 1..m."""
    if ratio == math.inf:
        return np.asarray(np.arange(1, m + 1) == m, dtype=np.float64)
    weights = ratio ** np.arange(m, dtype=np.float64)
    return np.asarray(weights / weights.sum())


def mean_size(ratio: float, sizes: Int64s) -> Floats:
    """Return the mean of the law on 1..m for each m."""
    if ratio == math.inf:
        return np.asarray(sizes, dtype=np.float64)
    if ratio == 1.0:
        return np.asarray((sizes + 1.0) / 2.0, dtype=np.float64)
    powers = ratio ** sizes.astype(np.float64)
    return np.asarray(1.0 / (1.0 - ratio) - sizes * powers / (1.0 - powers))


class Expected(NamedTuple):
    """The expected probability of a successor in the rows of a state, one number for each action.

    Attributes
    ----------
    seen
        Of one that the row has shown, divided by 1 + its count.
    near
        Of one that other actions of the state have shown.
    far
        Of one that the state has never shown.
    """

    seen: Floats
    near: Floats
    far: Floats


def expected_rows(n: int, visits: Int64s, size: Int64s, K0: int, ratio: float, row_ratio: float) -> Expected:
    """Return the expectation for one pair of laws and a state whose rows have these visits and numbers of successors.

    Given the sizes k and l, a successor seen c times in a row has the mean (1 + c)/(l + N). The other l - k0 members of
    the row are uniform among the k - k0 of the neighbourhood that the row has not shown, and share (l - k0)/(l + N).
    What the state has never shown lies in the neighbourhood with probability (k - K0)/(n - K0). The expectation over
    sizes is a sum over k and l, in logarithms, in the notation of `neighbourhood_kernels`.
    """
    k = np.arange(max(K0, 1), n + 1)
    N, k0 = visits[:, np.newaxis], size[:, np.newaxis]
    if row_ratio == math.inf:
        log_rows = gammaln(k) - gammaln(k + N)
        seen, others = 1.0 / (k + N), (k - k0) / (k + N)
    else:
        l = np.arange(1, n + 1)  # noqa: E741
        with np.errstate(divide="ignore", invalid="ignore"):
            log_L = (l - 1) * math.log(row_ratio) + gammaln(l + 1) - gammaln(l - k0 + 1) + gammaln(l) - gammaln(l + N)
        log_L = np.where(l >= k0, log_L, -np.inf)
        log_Z = np.logaddexp.accumulate((l - 1) * math.log(row_ratio))
        sums = cumulated(log_L)[:, k - 1]
        log_rows = gammaln(k - k0 + 1) - gammaln(k + 1) + sums - log_Z[k - 1]
        seen = np.exp(cumulated(log_L - np.log(l + N))[:, k - 1] - sums)
        others = 1.0 - (k0 + N) * seen
    log_h = np.where(k == n, 0.0, -np.inf) if ratio == math.inf else (k - 1) * math.log(ratio)
    log_w = log_h + gammaln(k + 1) - gammaln(k - K0 + 1) + log_rows.sum(axis=0)
    weights = np.exp(log_w - log_w.max())
    weights /= weights.sum()
    near = np.where(k > k0, others / np.maximum(k - k0, 1), 0.0)
    inside = (k - K0) / max(n - K0, 1)
    return Expected(seen @ weights, near @ weights, (near * inside) @ weights)


def cumulated(logarithms: Floats) -> Floats:
    """Return the logarithms of the cumulated sums of each line."""
    return np.asarray(np.logaddexp.accumulate(logarithms, axis=1))
