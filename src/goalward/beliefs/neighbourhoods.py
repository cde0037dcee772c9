"""Nested neighbourhoods: a prior for worlds in which few successors are possible, and nobody says which.

Prior
    n = S + 1 successors, the goal among them. Two unknown laws of sizes are shared by the whole world: h1, of the sizes
    of neighbourhoods, and h2, of the sizes of rows. All pairs of laws have the same weight
    (`neighbourhood_laws.laws`).

        each state:    k_s from h1 on 1..n;  B_s a uniform subset of size k_s of the successors
        each action:   l from h2 on 1..k_s;  R_sa a uniform subset of size l of B_s
                       theta(. | s, a) is Dirichlet(1, ..., 1) on R_sa

    All of this is conditioned on the event that the goal can be reached from every state. Where giving up leads is
    known; it is no part of a neighbourhood, but counts as a way.

Posterior
    Given l, the probability of what was seen in a row depends on R_sa only through l, so sums over subsets are ratios
    of binomial coefficients; `neighbourhood_evidence` has the formulas. Draw the pair of laws, the sizes, the subsets
    that contain what was seen; repeat all of it until the goal can be reached from every state; then draw the rows from
    Dirichlet(1 + counts). This is exact.

Cost
    Samples are sparse. A draw takes time and memory for what was seen and what is sampled, not for S² A numbers: what
    the counts say about sizes is kept for each state and computed anew where they have changed. Pairs of laws whose
    samples would have more than a million transitions in the mean are left out of the prior. With 4 actions this leaves
    nothing out up to 500 states; the laws that remain still give every subset a positive probability.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from goalward.acting.task import Steps, Task
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.base import Belief, Prior, checked_sharpness, register, update_and_sample
from goalward.beliefs.counts import Counts
from goalward.beliefs.dirichlet_sampling import dirichlet_rows
from goalward.beliefs.neighbourhood_evidence import Memory, observe, refresh
from goalward.beliefs.neighbourhood_laws import laws
from goalward.beliefs.neighbourhood_mean import expected_rows
from goalward.beliefs.neighbourhood_sets import draw_sets, sort_rows, unreached
from goalward.beliefs.neighbourhood_sizes import draw_sizes
from goalward.beliefs.supports import all_rows, give_up_rows
from goalward.errors import UnreachableGoalError
from goalward.jit import exercise
from goalward.ssp.model import SSP

__all__ = ["Neighbourhoods", "NeighbourhoodsBelief"]

DRAWS = 10_000
"""How many draws in a row may leave a state without a way to the goal."""


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
                f"in state {int(np.argmax(idle))} no action is available; this prior assumes that the goal can be"
                " reached from every state: leave the state out, or give it an action"
            )
        return NeighbourhoodsBelief(task)

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this prior from others, as plain data."""
        return {"kind": self.kind}

    def to_state(self) -> dict[str, Any]:
        """Return all of the prior as names with plain data and arrays."""
        return {"kind": self.kind}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Neighbourhoods:
        """Build the prior that `to_state` described."""
        return cls()

    def __repr__(self) -> str:
        return "Neighbourhoods()"


class NeighbourhoodsBelief(Belief):
    """What was counted, and what it says about the sizes of neighbourhoods and rows."""

    def __init__(self, task: Task):
        self.task, self.counts = task, Counts(task)
        self.n = task.states + 1
        self.learnt: Bools = task.available.copy()  # the pairs whose rows are unknown
        if task.give_up is not None:
            self.learnt[:, task.give_up] = False
        self.laws = laws(self.n, int(np.count_nonzero(self.learnt)))
        self.forget()

    def forget(self) -> None:
        """Compute everything about sizes anew at the next draw."""
        shape = (self.task.states, len(self.laws.ratio))
        self.memory = Memory(
            seen=np.zeros(shape[0], dtype=np.int64),
            best=np.zeros(shape[0]),
            evidence=np.zeros(shape),
            spread=np.zeros(shape),
            stale=np.zeros(shape, dtype=np.bool_),
            changed=np.asarray(self.counts.visits.any(axis=1)),
        )

    def update(self, steps: Steps) -> None:
        """Count the steps; where giving up leads is known."""
        if self.task.give_up is not None:
            unknown = steps.actions != self.task.give_up
            steps = Steps(*(column[unknown] for column in steps))
        done, end = 0, len(steps.states)
        while done < end:
            done = observe(self.task.actions, steps, done, self.counts.rows, self.memory)
            if done < end:
                self.counts.widen()

    def posterior(self) -> Floats:
        """Return the probability of each pair of laws."""
        found = np.empty(len(self.laws.ratio))
        refresh(self.task.actions, self.n, self.laws, self.counts.rows, self.memory, found)
        return found

    def sample(self, rng: np.random.Generator, sharpness: float = 1.0) -> SSP:
        """Draw a model; sharpness multiplies the counts in the rows, and leaves sizes and subsets as they are."""
        sharpness = checked_sharpness(sharpness)
        indptr, successors, counts = self.draw_support(rng)
        indptr.flags.writeable = False  # as in other beliefs: kernels have one specialisation
        return self.task.model(indptr, successors, dirichlet_rows(rng, indptr, counts, 1.0, sharpness))

    def mean(self) -> SSP:
        """Return the expected model, dense; the expectation leaves the condition on reachable goals out.

        That condition ties all rows together, so the expectation under it has no closed form.
        """
        indptr, successors, _ = give_up_rows(self.task, *all_rows(self.task), self.task.costs.shape)
        rows = self.mean_rows()
        if self.task.give_up is not None:
            rows[self.task.give_up :: self.task.actions, self.task.initial_state] = 1.0
        pairs = np.repeat(np.arange(len(rows)), np.diff(indptr))
        return self.task.model(indptr, successors, rows[pairs, successors])

    def mean_rows(self) -> Floats:
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
                    found = expected_rows(n, visits[state], size[here], K0, ratio, row_ratio)
                    unseen = np.where(shown.any(axis=0), found.near[:, np.newaxis], found.far[:, np.newaxis])
                    seen = (1.0 + dense[here]) * found.seen[:, np.newaxis]
                    rows[here] += weight * np.where(shown, seen, unseen)
        return rows

    def draw_support(self, rng: np.random.Generator) -> tuple[Int64s, Int32s, Int64s]:
        """Draw the rows' successors; return them with how often each was seen."""
        A, n, rows, posterior = self.task.actions, self.n, self.counts.rows, self.posterior()
        lengths, indptr = np.empty(len(rows.size), dtype=np.int64), np.zeros(len(rows.size) + 1, dtype=np.int64)
        neighbourhood, start = np.empty(n - 1, dtype=np.int64), np.empty(n + 2, dtype=np.int64)
        lost = np.zeros(n - 1, dtype=np.int64)
        for _ in range(DRAWS):
            entries, choices = draw_sizes(
                rng.random(n + len(lengths)), posterior, A, n, self.learnt.ravel(), self.laws, rows, self.memory,
                neighbourhood, lengths,
            )  # fmt: skip
            successors = np.empty(entries, dtype=np.int32)
            draw_sets(rng.random(choices), A, n, neighbourhood, lengths, rows, indptr, successors)
            indptr, successors, _ = give_up_rows(self.task, indptr, successors, self.task.costs.shape)
            leading = np.empty(len(successors), dtype=np.int32)
            state = unreached(A, indptr, successors, start, leading)
            if state < 0:
                counts = np.empty(len(successors), dtype=np.int64)
                sort_rows(start, leading, indptr, rows, successors, counts)
                return indptr, successors, counts
            lost[state] += 1
        raise UnreachableGoalError(
            f"{DRAWS} draws in a row left state {np.argmax(lost)} or others without a way to the goal, which can hardly"
            " be reached from there after what was seen: give the state an action that leads away, or leave it out"
        )

    def to_state(self) -> dict[str, Any]:
        """Return what was learnt as names with plain data and arrays."""
        return self.counts.to_state()

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `to_state` returned; raises ValueError where it does not fit."""
        self.counts.restore(state)
        wrong = (self.counts.visits > 0) & ~self.learnt
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


@exercise
def exercise_neighbourhoods() -> None:
    """Count and draw on a model of one state."""
    update_and_sample(Neighbourhoods())
