"""Independent Dirichlet rows.

Prior
    For every available pair (s, a) the row theta(. | s, a) is Dirichlet with the same concentration for each possible
    successor. By default, all states and the goal are possible. A known support restricts them. Rows are independent.

Posterior
    The rows are Dirichlet with the parameters alpha(s, a, s') = concentration + n(s, a, s').

Drawing
    A Dirichlet vector is a vector of independent gamma variates divided by its sum. The logarithm of a gamma variate of
    shape a has the distribution of log G - X/a, where G is gamma with shape a + 1 and X is exponential. The code works
    with logarithms, and shifts the largest logarithm of each row to 0 before it takes exponentials. This avoids
    underflow: plain gamma variates of shape 0.0001 would all be zero in most rows. Probabilities below 1e-300 are set
    to 1e-300. This keeps the support of the prior and does not change the sum of a row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from goalward.acting.contract import Steps, Task
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.base import (
    FLOOR,
    Belief,
    Prior,
    Rows,
    all_rows,
    check_reachable,
    excluded,
    fit_rows,
    register,
)  # fmt: skip
from goalward.errors import SettingError
from goalward.jit import kernel
from goalward.settings import Positive
from goalward.ssp.model import SSP


@register("dirichlet")
class Dirichlet(Prior):
    """Independent Dirichlet rows with one concentration.

    Parameters
    ----------
    concentration
        The Dirichlet parameter of each possible successor. The experiments in the PSRL-SSP paper use 0.1.
    support
        A model with all possible transitions. The probabilities are ignored. By default, every pair may lead to every
        state. Memory and time are proportional to the number of possible transitions.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> gw.Dirichlet(0.1), gw.Dirichlet(1.0, support=world)
    (Dirichlet(0.1), Dirichlet(1.0, support of 164 transitions))
    """

    def __init__(self, concentration: Positive = 0.1, support: SSP | None = None):
        self.concentration, self.support = concentration, support

    def belief(self, task: Task) -> DirichletBelief:
        if self.support is None:
            rows = all_rows(task)
        else:
            lengths = np.diff(self.support.indptr)
            uniform = Rows(self.support.indptr, self.support.successors, 1.0 / np.repeat(lengths, lengths))
            rows = fit_rows(task, uniform, self.support.costs.shape, "the support")
            check_reachable(task.model(*rows), "the support")
        return DirichletBelief(task, rows.indptr, rows.successors, self.concentration)

    @classmethod
    def complete(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data. The setting `support` is either left out or "world"."""
        support = settings.get("support")
        if support not in (None, "world"):
            raise SettingError(f'support is {support!r}; leave it out, or set it to "world" for the true successors')
        rest = {name: value for name, value in settings.items() if name != "support"}
        return super().complete(rest) | ({} if support is None else {"support": support})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP | None = None) -> Prior:
        if settings.get("support") != "world":
            return cls(**settings)
        if world is None:
            raise SettingError('support is "world", but no world is known here; pass a model: Dirichlet(support=model)')
        return cls(**{**settings, "support": world})

    def __repr__(self) -> str:
        known = "" if self.support is None else f", support of {len(self.support.successors)} transitions"
        return f"Dirichlet({self.concentration!r}{known})"


class DirichletBelief(Belief):
    """The posterior of independent Dirichlet rows, given the counts of transitions."""

    def __init__(self, task: Task, indptr: Int64s, successors: Int32s, concentration: float):
        self.task, self.indptr, self.successors = task, indptr, successors
        self.concentration = concentration
        self.counts = np.zeros(len(successors), dtype=np.int64)
        for array in (indptr, successors):
            array.flags.writeable = False

    @property
    def alpha(self) -> Floats:
        """The parameters of the posterior, one for each possible transition."""
        return self.sharpened(1.0)

    def sharpened(self, sharpness: float) -> Floats:
        """Return the posterior parameters as if every step had been observed `sharpness` times."""
        return np.asarray(sharpness * self.counts + self.concentration)

    def learn(self, steps: Steps) -> None:
        entries = self.locate(steps)
        if len(entries) < len(steps.states):
            remedy = "add this transition to the support, or pass no support"
            raise excluded(self.task, steps, len(entries), "the support of the prior", remedy)
        np.add.at(self.counts, entries, 1)

    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        alpha = self.sharpened(sharpness)
        return Rows(self.indptr, self.successors, dirichlet_rows(rng, self.indptr, alpha))

    def mean_rows(self) -> Rows:
        alpha = self.alpha
        filled = np.flatnonzero(np.diff(self.indptr))
        sums = np.add.reduceat(alpha, self.indptr[filled])
        rows = np.maximum(alpha / np.repeat(sums, np.diff(self.indptr)[filled]), FLOOR)
        return Rows(self.indptr, self.successors, rows)

    def seen_rows(self) -> Rows:
        seen = self.counts > 0
        ends = np.append(0, np.cumsum(seen))
        return Rows(ends[self.indptr], self.successors[seen], self.alpha[seen])


def dirichlet_rows(rng: np.random.Generator, indptr: Int64s, alpha: Floats) -> Floats:
    """Draw one Dirichlet vector for each row. `alpha` holds the parameter of each entry."""
    variates = rng.standard_gamma(alpha + 1.0)
    normalise_rows(indptr, alpha, rng.standard_exponential(len(alpha)), variates)
    return variates


@kernel
def normalise_rows(indptr: Int64s, alpha: Floats, exponentials: Floats, variates: Floats) -> None:
    """Turn `variates`, which are gamma with shapes `alpha` + 1, into Dirichlet probabilities in place."""
    for row in range(len(indptr) - 1):
        largest = -np.inf
        for entry in range(indptr[row], indptr[row + 1]):
            # With shapes below FLOOR, the quotient could overflow and produce NaN.
            variates[entry] = math.log(variates[entry]) - exponentials[entry] / max(alpha[entry], FLOOR)
            largest = max(largest, variates[entry])
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            variates[entry] = math.exp(variates[entry] - largest)
            total += variates[entry]
        for entry in range(indptr[row], indptr[row + 1]):
            variates[entry] = max(variates[entry] / total, FLOOR)
