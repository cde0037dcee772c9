"""Independent Dirichlet rows.

Prior
    For every available pair (s, a) the row theta(. | s, a) is Dirichlet with the same concentration for each possible
    successor: all states and the goal, or those of a known support. The goal may have a concentration of its own. Rows
    are independent.

Posterior
    Dirichlet with parameters alpha(s, a, s') = concentration + n(s, a, s').
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from goalward.acting.task import Steps, Task
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.base import (
    FLOOR,
    CountedBelief,
    Marginals,
    Prior,
    check_reachable,
    checked_sharpness,
    excluded,
    find_entry,
    register,
    update_and_sample,
)
from goalward.beliefs.bulk_gammas import bulk_rows
from goalward.beliefs.dirichlet_sampling import dirichlet_rows, uneven_rows
from goalward.beliefs.supports import all_rows, check_support, give_up_rows, support_rows
from goalward.errors import SettingError
from goalward.jit import exercise, kernel
from goalward.settings import checked_number
from goalward.ssp.checks import canonical_rows
from goalward.ssp.model import SSP

__all__ = ["Dirichlet", "DirichletBelief"]

FEW_STATES = 128  # with more of them, `bulk_gammas.py` draws the variates of small shape, by a faster method


@register("dirichlet")
class Dirichlet(Prior):
    """Independent Dirichlet rows with one concentration.

    Parameters
    ----------
    concentration
        The parameter of each successor; the paper's experiments take 0.1.
    support
        Which successors are possible: a model, whose successors count and whose probabilities do not, or booleans
        ``[S, A, S + 1]``. All of them, if not given. With a support, memory and time go with its size.
    goal
        The parameter of the goal where it may follow, if it has one of its own. ``Dirichlet(0.001, goal=1.0)`` is
        optimistic: next to nothing is known, but that every pair has reached the goal once.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> gw.Dirichlet(0.1), gw.Dirichlet(1.0, support=world)
    (Dirichlet(0.1), Dirichlet(1.0, support of 164 transitions))
    """

    def __init__(self, concentration: float = 0.1, support: SSP | Bools | None = None, goal: float | None = None):
        self.concentration = checked_number("concentration", concentration, open=True, note=", such as 0.1")
        self.support = None if support is None else support_rows(support)
        self.goal = None if goal is None else checked_number("goal", goal, open=True, note=" or None")

    def belief(self, task: Task) -> DirichletBelief:
        """Start a belief about the kernel of a task."""
        if self.support is None:
            indptr, successors = give_up_rows(task, *all_rows(task), task.costs.shape)[:2]
        else:
            indptr, successors, shape = give_up_rows(task, *self.support)
            check_support(task, indptr, successors, shape)
            weights = 1.0 / np.repeat(np.diff(indptr), np.diff(indptr))
            check_reachable(task.model(indptr, successors, weights), "the support")
        return DirichletBelief(task, indptr, successors, self.concentration, self.goal)

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this prior from others, as plain data."""
        given = None
        if self.support is not None:
            indptr, successors, shape = self.support
            given = SSP._trusted(indptr, successors, np.ones(len(successors)), np.ones(shape), 0).digest
        return {"kind": self.kind, "concentration": self.concentration, "support": given, "goal": self.goal}

    def to_state(self) -> dict[str, Any]:
        """Return all of the prior as names with plain data and arrays."""
        state: dict[str, Any] = {"kind": self.kind, "concentration": self.concentration}
        if self.goal is not None:
            state["goal"] = self.goal
        if self.support is not None:
            indptr, successors, shape = self.support
            state["support"] = {"indptr": indptr, "successors": successors, "states": shape[0], "actions": shape[1]}
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Dirichlet:
        """Make the prior again from what `to_state` gave."""
        prior = cls(state["concentration"])
        if "goal" in state:
            prior.goal = checked_number("goal", state["goal"], open=True)
        if "support" in state:
            given = state["support"]
            shape = (int(given["states"]), int(given["actions"]))
            weights = np.ones(len(given["successors"]))
            rows = canonical_rows(given["indptr"], given["successors"], weights, np.ones(shape), normalize=True)
            prior.support = (rows[0], rows[1], shape)
        return prior

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP) -> Dirichlet:
        """Build the prior of plain settings; ``support="world"`` takes the successors of the true world."""
        support = settings.get("support")
        if support not in (None, "world"):
            raise SettingError(f'support is {support!r}; it must be "world", the successors of the true world')
        return cls(**{**settings, "support": None if support is None else world})

    def __repr__(self) -> str:
        known = "" if self.support is None else f", support of {len(self.support[1])} transitions"
        goal = "" if self.goal is None else f", goal={self.goal!r}"
        return f"Dirichlet({self.concentration!r}{known}{goal})"


class DirichletBelief(CountedBelief):
    """Independent Dirichlet rows and what was counted."""

    def __init__(self, task: Task, indptr: Int64s, successors: Int32s, concentration: float, goal: float | None = None):
        self.task, self.indptr, self.successors = task, indptr, successors
        self.concentration, self.goal = concentration, goal
        self.counts = np.zeros(len(successors), dtype=np.int64)
        for array in (indptr, successors):
            array.flags.writeable = False

    @property
    def alpha(self) -> Floats:
        """The parameters of the posterior, one for each possible transition."""
        return self.counts + self.prior_alpha()

    def prior_alpha(self) -> Floats:
        """Return the parameters of the prior, one for each possible transition."""
        other = self.concentration if self.goal is None else self.goal
        return np.where(self.successors == self.task.goal, other, self.concentration)

    def update(self, steps: Steps) -> None:
        """Count the steps."""
        known = tally(
            self.indptr, self.successors, self.task.actions, steps.states, steps.actions, steps.next_states, self.counts
        )
        if known < len(steps.states):
            raise excluded(
                self.task, steps, known, "the support of the prior", "add this transition to it, or give none"
            )

    def sample(self, rng: np.random.Generator, sharpness: float = 1.0) -> SSP:
        """Draw a model; its rows have the parameters concentration + sharpness times the counts."""
        sharpness = checked_sharpness(sharpness)
        if self.goal is not None:
            rows = uneven_rows(rng, self.indptr, sharpness * self.counts + self.prior_alpha())
        elif self.task.states > FEW_STATES and self.concentration < 1.0:
            rows = bulk_rows(rng, self.indptr, self.counts, self.concentration, sharpness)
        else:
            rows = dirichlet_rows(rng, self.indptr, self.counts, self.concentration, sharpness)
        return self.task.model(self.indptr, self.successors, rows)

    def mean(self) -> SSP:
        """Return the expected model."""
        alpha = self.alpha
        filled = np.flatnonzero(np.diff(self.indptr))
        sums = np.add.reduceat(alpha, self.indptr[filled])
        rows = np.maximum(alpha / np.repeat(sums, np.diff(self.indptr)[filled]), FLOOR)
        return self.task.model(self.indptr, self.successors, rows)

    def marginals(self, state: int, action: int) -> Marginals:
        """Return the mean and the variance of each probability in a row: those of beta variates."""
        row = self.row(state, action)
        alpha = self.alpha[row]
        mean = alpha / alpha.sum()
        return Marginals(self.successors[row], mean, mean * (1.0 - mean) / (alpha.sum() + 1.0))

    def __repr__(self) -> str:
        return (
            f"DirichletBelief(concentration={self.concentration!r}, transitions={len(self.successors)}, "
            f"observed={int(self.counts.sum())})"
        )


@kernel
def tally(
    indptr: Int64s,
    successors: Int32s,
    A: int,
    states: Int64s,
    actions: Int64s,
    next_states: Int64s,
    counts: Int64s,
) -> int:
    """Count the steps among the entries of the rows; return the number of steps before the first that has no entry."""
    for i in range(len(states)):
        entry = find_entry(indptr, successors, states[i] * A + actions[i], next_states[i])
        if entry < 0:
            return i
        counts[entry] += 1
    return len(states)


@exercise
def exercise_dirichlet() -> None:
    """Count and draw on a model of one state."""
    update_and_sample(Dirichlet())
