"""Independent Dirichlet rows.

Prior
    For every available pair (s, a) the row theta(. | s, a) is Dirichlet with the same concentration for each possible
    successor: all states and the goal, or those of a known support. The goal may have a concentration of its own. Rows
    are independent.

Posterior
    Dirichlet with parameters alpha(s, a, s') = concentration + n(s, a, s').

Drawing
    A Dirichlet vector is a vector of independent gamma variates divided by its sum. A gamma variate of shape a is
    G U^(1/a) in law, with G of shape a + 1 and U uniform, so its logarithm is log G - X/a with X exponential. Working
    with logarithms, and shifting the largest of a row to 0 before taking exponentials, loses nothing at any
    concentration: gamma variates of shape 0.0001 themselves would all be zero in most rows. Probabilities below 1e-300
    are set to 1e-300, which keeps the support of the prior and does not change the sum of a row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from goalward.acting.contract import Steps, Task
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.base import (
    FLOOR,
    CountedBelief,
    Marginals,
    Prior,
    Rows,
    all_rows,
    check_reachable,
    excluded,
    fit_rows,
    register,
)  # fmt: skip
from goalward.errors import SettingError, ShapeError
from goalward.jit import kernel
from goalward.progress import phase
from goalward.settings import Positive
from goalward.ssp.checks import canonical_rows
from goalward.ssp.model import SSP

__all__ = ["Dirichlet", "DirichletBelief", "dirichlet_rows", "log_gammas"]

LONG_DRAW = 1_000_000  # larger draws are made in pieces of this many entries, and report their progress
LONG_ROW = 64  # where rows are longer on average, a long draw recommends other priors


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

    def __init__(self, concentration: Positive = 0.1, support: SSP | Bools | None = None, goal: Positive | None = None):
        self.concentration, self.goal = concentration, goal
        self.support = None if support is None else support_rows(support)

    def belief(self, task: Task) -> DirichletBelief:
        """Start a belief about the kernel of a task."""
        if self.support is None:
            rows = all_rows(task)
        else:
            indptr, successors, shape = self.support
            lengths = np.diff(indptr)
            rows = fit_rows(task, Rows(indptr, successors, 1.0 / np.repeat(lengths, lengths)), shape, "the support")
            check_reachable(task.model(*rows), "the support")
        return DirichletBelief(task, rows.indptr, rows.successors, self.concentration, self.goal)

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this prior from others, as plain data; the support by its digest."""
        digest = None
        if self.support is not None:
            indptr, successors, shape = self.support
            digest = SSP._trusted(indptr, successors, np.ones(len(successors)), np.ones(shape), 0).digest
        return {"kind": self.kind, "concentration": self.concentration, "support": digest, "goal": self.goal}

    def to_state(self) -> dict[str, Any]:
        """Return all of the prior as names with plain data and arrays."""
        state = super().to_state()
        if self.support is not None:
            indptr, successors, shape = self.support
            state["support"] = {"indptr": indptr, "successors": successors, "states": shape[0], "actions": shape[1]}
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Dirichlet:
        """Build the prior that `to_state` described."""
        prior = cls(**{name: value for name, value in state.items() if name not in ("kind", "support")})
        if state.get("support") is not None:
            support = state["support"]
            shape = (int(support["states"]), int(support["actions"]))
            weights = np.ones(len(support["successors"]))
            rows = canonical_rows(support["indptr"], support["successors"], weights, np.ones(shape), normalize=True)
            prior.support = (rows[0], rows[1], shape)
        return prior

    @classmethod
    def complete(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data; ``support="world"`` takes the successors of the true world."""
        support = settings.get("support")
        if support not in (None, "world"):
            raise SettingError(f'support is {support!r}; it must be "world", the successors of the true world')
        rest = {name: value for name, value in settings.items() if name != "support"}
        return super().complete(rest) | ({} if support is None else {"support": support})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP | None = None) -> Prior:
        """Build the prior of plain settings."""
        if settings.get("support") != "world":
            return cls(**settings)
        if world is None:
            raise SettingError('support is "world", and no world is known here; pass a model: Dirichlet(support=world)')
        return cls(**{**settings, "support": world})

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
        return self.sharpened(1.0)

    def sharpened(self, sharpness: float) -> Floats:
        """Return the parameters if everything observed had been observed `sharpness` times."""
        prior: float | Floats = self.concentration
        if self.goal is not None:
            prior = np.where(self.successors == self.task.goal, self.goal, self.concentration)
        return np.asarray(sharpness * self.counts + prior)

    def learn(self, steps: Steps) -> None:
        """Count the steps."""
        entries = self.locate(steps)
        if len(entries) < len(steps.states):
            remedy = "add this transition to it, or give none"
            raise excluded(self.task, steps, len(entries), "the support of the prior", remedy)
        np.add.at(self.counts, entries, 1)

    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Draw rows with the parameters concentration + sharpness times the counts."""
        alpha = self.sharpened(sharpness)
        return Rows(self.indptr, self.successors, dirichlet_rows(rng, self.indptr, alpha))

    def mean_rows(self) -> Rows:
        """Return the expected rows."""
        alpha = self.alpha
        filled = np.flatnonzero(np.diff(self.indptr))
        sums = np.add.reduceat(alpha, self.indptr[filled])
        rows = np.maximum(alpha / np.repeat(sums, np.diff(self.indptr)[filled]), FLOOR)
        return Rows(self.indptr, self.successors, rows)

    def seen_rows(self) -> Rows:
        """Return the transitions that were seen, with their parameters."""
        seen = self.counts > 0
        ends = np.append(0, np.cumsum(seen))
        return Rows(ends[self.indptr], self.successors[seen], self.alpha[seen])

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


def support_rows(support: SSP | Bools) -> tuple[Int64s, Int32s, tuple[int, int]]:
    """Return the rows of a support, and its numbers of states and actions."""
    if isinstance(support, SSP):
        return support.indptr, support.successors, (support.states, support.actions)
    mask = np.asarray(support)
    if mask.dtype != np.bool_ or mask.ndim != 3 or mask.shape[2] != mask.shape[0] + 1:
        raise ShapeError(
            f"support has dtype {mask.dtype} and shape {mask.shape}; it must be a model or booleans of shape"
            " (S, A, S + 1), the last column being the goal"
        )
    S, A, n = mask.shape
    indptr = np.append(0, np.cumsum(np.count_nonzero(mask, axis=2)))
    return indptr, np.nonzero(mask.reshape(S * A, n))[1].astype(np.int32), (S, A)


def dirichlet_rows(rng: np.random.Generator, indptr: Int64s, alpha: Floats) -> Floats:
    """Draw one Dirichlet vector for each row; `alpha` holds the parameter of each entry."""
    rows = len(indptr) - 1
    if len(alpha) <= LONG_DRAW:
        probabilities = log_gammas(rng, alpha)
        normalise_rows(indptr, 0, rows, probabilities)
        return probabilities
    probabilities = np.empty(len(alpha))
    starts = np.searchsorted(indptr, np.arange(0, len(alpha), LONG_DRAW))
    advice = "; Dirichlet(support=...), Neighbourhoods() or TiedDirichlet would take hundreds of times fewer"
    text = f"drawing {len(alpha):,} probabilities{advice if len(alpha) > LONG_ROW * rows else ''}"
    with phase(text, rows, "rows") as drawing:
        for first, last in itertools.pairwise(np.unique([*starts, rows]).tolist()):
            entries = slice(indptr[first], indptr[last])
            probabilities[entries] = log_gammas(rng, alpha[entries])
            normalise_rows(indptr, first, last, probabilities)
            drawing.advance(last)
    return probabilities


def log_gammas(rng: np.random.Generator, alpha: Floats) -> Floats:
    """Draw the logarithms of gamma variates of the shapes `alpha`, an array of one dimension."""
    variates = rng.standard_gamma(alpha + 1.0)
    take_logarithms(alpha, rng.standard_exponential(len(alpha)), variates)
    return variates


@kernel
def take_logarithms(alpha: Floats, exponentials: Floats, variates: Floats) -> None:
    """Turn gamma variates of the shapes alpha + 1 into logarithms of those of the shapes alpha."""
    for entry in range(len(alpha)):
        # With shapes below FLOOR the quotient could overflow and make NaN.
        variates[entry] = math.log(variates[entry]) - exponentials[entry] / max(alpha[entry], FLOOR)


@kernel
def normalise_rows(indptr: Int64s, first: int, last: int, weights: Floats) -> None:
    """Turn the logarithms of weights into probabilities, in the rows from `first` up to `last`."""
    for row in range(first, last):
        largest = -np.inf
        for entry in range(indptr[row], indptr[row + 1]):
            largest = max(largest, weights[entry])
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            weights[entry] = math.exp(weights[entry] - largest)
            total += weights[entry]
        for entry in range(indptr[row], indptr[row + 1]):
            weights[entry] = max(weights[entry] / total, FLOOR)
