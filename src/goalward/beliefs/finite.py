"""A prior over a finite set of candidate models.

Prior
    Model i is the true one with probability w_i.

Posterior
    The weight of model i is proportional to w_i times the product of theta_i(s' | s, a) over the observed steps.
    Weights are stored as logarithms, shifted so that the largest is 0. If a model gives probability 0
    to an observed step, the model is excluded for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from goalward.acting.contract import Steps, Task
from goalward.arrays import Floats
from goalward.beliefs.base import (
    Belief,
    Prior,
    Rows,
    check_reachable,
    excluded,
    fit_rows,
    register,
)  # fmt: skip
from goalward.errors import SettingError
from goalward.ssp.checks import LEAST_PROBABILITY, canonical_rows, number_array
from goalward.ssp.model import SSP


@register("finite")
class FinitePrior(Prior):
    """A prior over a finite set of candidate models.

    Parameters
    ----------
    models
        The candidate models. All models must have the start and the known costs of the task.
    weights
        The probability of each model, up to a common factor. By default, all weights are equal.

    Examples
    --------
    >>> import goalward as gw
    >>> gw.FinitePrior([gw.worlds.grid_world(success=p) for p in (0.7, 0.8, 0.9)])
    FinitePrior(3 models)
    """

    python_only: ClassVar[str] = "its models cannot be written in a study; use gw.FinitePrior(models)"

    def __init__(self, models: Sequence[SSP], weights: NDArray[Any] | Sequence[Any] | None = None):
        self.models = tuple(models)
        if not self.models:
            raise SettingError("models is empty; pass at least one SSP")
        self.weights = checked_weights(weights, len(self.models))

    def belief(self, task: Task) -> FiniteBelief:
        candidates = []
        for i, model in enumerate(self.models):
            rows = Rows(model.indptr, model.successors, model.probabilities)
            candidate = task.model(*fit_rows(task, rows, model.costs.shape, f"model {i}"))
            learnt = slice(task.give_up)  # the actions before giving up, which is the last one
            stated, costs = task.costs[:, learnt], model.costs[:, learnt]
            if not ((costs == stated) | np.isnan(stated)).all() or model.initial_state != task.initial_state:
                raise SettingError(
                    f"the costs or the start of model {i} differ from the task; change the model with"
                    " SSP.with_costs and SSP.with_initial_state"
                )
            check_reachable(candidate, f"model {i}")
            candidates.append(candidate)
        return FiniteBelief(task, tuple(candidates), self.weights)

    def __repr__(self) -> str:
        return f"FinitePrior({len(self.models)} models)"


class FiniteBelief(Belief):
    """The posterior weights of the candidate models."""

    rows_learnt = ("log_weights",)

    def __init__(self, task: Task, models: tuple[SSP, ...], weights: Floats):
        self.task, self.models = task, models
        S, A = task.costs.shape
        union = sum(matrix(model, np.ones(len(model.successors))) for model in models)
        union.sort_indices()
        self.indptr, self.successors = union.indptr.astype(np.int64), union.indices.astype(np.int32)
        for array in (self.indptr, self.successors):
            array.flags.writeable = False
        rows = np.repeat(np.arange(S * A), np.diff(self.indptr))
        kernels = [matrix(model, model.probabilities) for model in models]
        self.probabilities = np.array([np.asarray(kernel[rows, self.successors]).ravel() for kernel in kernels])
        with np.errstate(divide="ignore"):
            self.log_probabilities = np.log(self.probabilities)
            self.log_weights = np.log(weights)
        self.log_prior = self.log_weights
        self.log_prior.flags.writeable = False

    @property
    def weights(self) -> Floats:
        """The posterior probability of each model."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def learn(self, steps: Steps) -> None:
        entries = self.locate(steps)
        observed, counts = np.unique(entries, return_counts=True)
        log_weights = self.log_weights + self.log_probabilities[:, observed] @ counts
        if len(entries) < len(steps.states) or not np.isfinite(log_weights).any():
            possible = np.isfinite(self.log_weights[:, np.newaxis] + self.log_probabilities[:, entries])
            explained = int(np.logical_and.accumulate(possible, axis=1).any(axis=0).sum())
            what = "every model that fits the earlier steps"
            raise excluded(self.task, steps, explained, what, "add a model in which this transition is possible")
        self.log_weights = log_weights - log_weights.max()

    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Return the rows of a randomly drawn model. `sharpness` is the exponent of the likelihoods."""
        sums = np.cumsum(self.weights if sharpness == 1.0 else self.sharpened(sharpness))
        model = self.models[int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))]
        return Rows(model.indptr, model.successors, model.probabilities)

    def sharpened(self, sharpness: float) -> Floats:
        """Return unnormalised weights of the models, as if every step had been observed `sharpness` times."""
        possible = np.isfinite(self.log_weights)
        logarithms = np.full(len(self.models), -np.inf)
        likelihoods = self.log_weights[possible] - self.log_prior[possible]
        logarithms[possible] = self.log_prior[possible] + sharpness * likelihoods
        return np.asarray(np.exp(logarithms - logarithms.max()))

    def mean_rows(self) -> Rows:
        mixture = self.weights @ self.probabilities
        mixture[mixture < LEAST_PROBABILITY] = 0.0  # possible only in models of negligible weight
        shape = np.where(self.task.available, 1.0, np.inf)
        indptr, successors, rows, _ = canonical_rows(self.indptr, self.successors, mixture, shape, normalize=True)
        return Rows(indptr, successors, rows)

    def restore(self, state: dict[str, Any]) -> None:
        log_weights = np.array(state["log_weights"], dtype=np.float64)
        if log_weights.shape != self.log_weights.shape or np.isnan(log_weights).any():
            raise ValueError(f"log_weights must hold {len(self.models)} numbers")
        if not self.log_prior.max() <= log_weights.max() <= 0.0:
            raise ValueError("log_weights must be at most 0, and their maximum must be at least that of the prior")
        if (log_weights[np.isneginf(self.log_prior)] > -np.inf).any():
            raise ValueError("log_weights must be -inf for models of weight 0")
        super().restore(state | {"log_weights": self.log_weights})
        self.log_weights = log_weights


def checked_weights(weights: ArrayLike | None, count: int) -> Floats:
    """Return `weights` divided by their sum. If `weights` is None, all `count` weights are equal."""
    numbers = np.ones(count) if weights is None else number_array("weights", weights)
    if numbers.shape != (count,) or not (numbers >= 0.0).all() or not 0.0 < numbers.sum() < np.inf:
        raise SettingError(f"weights is {weights!r}; pass {count} numbers that are not negative and not all zero")
    return np.asarray(numbers / numbers.sum())


def matrix(model: SSP, entries: Floats) -> Any:
    """Return a sparse matrix of pairs by successors. `entries` has one value for each transition of `model`."""
    shape = (model.states * model.actions, model.states + 1)
    return sparse.csr_array((entries, model.successors, model.indptr), shape=shape)
