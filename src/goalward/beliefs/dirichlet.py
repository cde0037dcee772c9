"""Independent Dirichlet rows.

Prior
    For every available pair (s, a) the row theta(. | s, a) is Dirichlet with the same concentration for each possible
    successor: all states and the goal, or those of a known support. The goal may have a concentration of its own. Rows
    are independent.

Posterior
    Dirichlet with parameters alpha(s, a, s') = concentration + n(s, a, s').

Sampling
    A Dirichlet vector is a vector of independent gamma variates, divided by its sum. A gamma variate of shape a has the
    law of G U^(1/a) with G of shape a + 1 and U uniform, so its logarithm is log G - X/a with X exponential. Taken in
    logarithms, with the largest of a row brought to 0 before the exponential, nothing is lost at any concentration:
    gamma variates of shape 0.0001 would all be zero in most rows. A probability below 1e-300 is set to 1e-300, which
    keeps the support of the prior; the sum of a row does not feel it.

    G comes by the rejection of Marsaglia and Tsang (2000): with d = a + 2/3, x normal and v = (1 + x/sqrt(9 d))^3 > 0,
    d v is accepted with probability exp(x²/2 + d (1 - v + log v)), at least 0.95 of the time. NumPy draws the normal
    and exponential numbers in blocks, the kernel uses them up; where a block ends inside a row, the row is drawn anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from goalward._jit import exercise, kernel
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
)
from goalward.beliefs.bulk_gammas import bulk_rows
from goalward.errors import SettingError, ShapeError
from goalward.model.checks import canonical_rows
from goalward.model.dense import dense_to_rows
from goalward.model.ssp import SSP
from goalward.model.task import Steps, Task
from goalward.registry import Schema
from goalward.settings import checked_number

__all__ = ["Dirichlet", "DirichletBelief", "all_rows", "dirichlet_rows"]

LARGEST = 1 << 28
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
        settings = {"kind": self.kind, "concentration": self.concentration, "support": given}
        return settings if self.goal is None else settings | {"goal": self.goal}

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
    def schema(cls) -> Schema:
        """Return the settings that a study can give."""
        schema = super().schema()
        later = {name: replace(each, added_later=name == "goal") for name, each in schema.settings.items()}
        return replace(schema, settings=later)

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
        return self.task.model(self.indptr, self.successors, alpha / np.repeat(sums, np.diff(self.indptr)[filled]))

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
    if mask.dtype != np.bool_:
        raise ShapeError(f"support has dtype {mask.dtype}; it must be a model or booleans of shape (S, A, S + 1)")
    indptr, successors, _ = dense_to_rows(mask.astype(np.float64))
    return indptr, successors.astype(np.int32), (mask.shape[0], mask.shape[1])


def check_support(task: Task, indptr: Int64s, successors: Int32s, shape: tuple[int, ...]) -> None:
    """Refuse a support that is not one of the task's."""
    if shape != task.costs.shape:
        raise ShapeError(
            f"the support has {shape[0]} states and {shape[1]} actions, the task {task.states} and {task.actions}"
        )
    wrong = (np.diff(indptr) > 0).reshape(shape) != task.available
    if wrong.any():
        state, action = np.argwhere(wrong)[0]
        verb = "has no successor in the support" if task.available[state, action] else "is not available"
        raise ShapeError(f"(state {state}, action {action}) {verb}; the support must fit the available actions")


def all_rows(task: Task) -> tuple[Int64s, Int32s]:
    """Return rows in which every state and the goal can follow every available pair."""
    pairs = int(np.count_nonzero(task.available))
    if pairs * (task.states + 1) > LARGEST:
        raise SettingError(
            f"a row over all successors for each of {pairs} pairs needs {pairs * (task.states + 1)} numbers; give the"
            " possible ones, Dirichlet(concentration, support=...), or take a prior that needs hundreds of times less:"
            " Neighbourhoods(), or TiedDirichlet where pairs share what they do, such as the slips of a grid"
        )
    indptr = np.zeros(task.available.size + 1, dtype=np.int64)
    np.cumsum(task.available.ravel() * (task.states + 1), out=indptr[1:])
    return indptr, np.tile(np.arange(task.states + 1, dtype=np.int32), pairs)


def give_up_rows(
    task: Task, indptr: Int64s, successors: Int32s, shape: tuple[int, ...]
) -> tuple[Int64s, Int32s, tuple[int, ...]]:
    """Return rows in which giving up leads to the start: this is known. They may come without the action."""
    S, A = task.costs.shape
    if task.give_up is None or shape not in ((S, A), (S, A - 1)):
        return indptr, successors, shape
    lengths = np.diff(indptr).reshape(shape)
    kept = np.ones(shape, dtype=np.bool_)
    kept[:, task.give_up :] = False
    others = lengths[:, : task.give_up]
    known = task.available[:, task.give_up]
    ends = np.cumsum(others.sum(axis=1))[known]
    rows = np.column_stack([others, known])
    entries = np.insert(successors[np.repeat(kept.ravel(), lengths.ravel())], ends, task.initial_state)
    return np.append(0, np.cumsum(rows)), entries, (S, A)


def uneven_rows(rng: np.random.Generator, indptr: Int64s, alpha: Floats) -> Floats:
    """Draw one Dirichlet vector for each row, with any parameters."""
    filled = np.flatnonzero(np.diff(indptr))
    starts, lengths = indptr[filled], np.diff(indptr)[filled]
    logarithms = np.log(rng.standard_gamma(alpha + 1.0)) - rng.standard_exponential(len(alpha)) / alpha
    weights = np.exp(logarithms - np.repeat(np.maximum.reduceat(logarithms, starts), lengths))
    sums = np.add.reduceat(weights, starts)
    return np.asarray(np.maximum(weights / np.repeat(sums, lengths), FLOOR))


def dirichlet_rows(
    rng: np.random.Generator, indptr: Int64s, counts: Int64s, concentration: float, sharpness: float = 1.0
) -> Floats:
    """Draw one Dirichlet vector for each row, with parameters sharpness * counts + concentration."""
    size = len(counts)
    probabilities = np.empty(size)
    boosts = rng.standard_exponential(size)
    block = size + size // 8 + 16
    row = 0
    while row < len(indptr) - 1:
        normals, levels = rng.standard_normal(block), rng.standard_exponential(block)
        row = draw_rows(indptr, counts, concentration, sharpness, boosts, row, normals, levels, probabilities)
    return probabilities


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


@kernel
def draw_rows(
    indptr: Int64s,
    counts: Int64s,
    concentration: float,
    sharpness: float,
    boosts: Floats,
    first: int,
    normals: Floats,
    levels: Floats,
    probabilities: Floats,
) -> int:
    """Draw rows from the first on; return the row for which the random numbers did not suffice."""
    used = 0
    count = -1
    alpha = d = c = logarithm_d = logarithm_v = 0.0
    for row in range(first, len(indptr) - 1):
        largest = -np.inf
        for entry in range(indptr[row], indptr[row + 1]):
            if counts[entry] != count:
                count = counts[entry]
                alpha = sharpness * count + concentration
                d = alpha + 2.0 / 3.0
                c = 1.0 / np.sqrt(9.0 * d)
                logarithm_d = math.log(d)
            accepted = False
            while not accepted:
                if used == len(normals):
                    return row
                x = normals[used]
                root = 1.0 + c * x
                if root > 0.0:
                    logarithm_v = 3.0 * math.log(root)
                    accepted = 0.5 * x * x + d * (1.0 - root * root * root + logarithm_v) > -levels[used]
                used += 1
            probabilities[entry] = logarithm_d + logarithm_v - boosts[entry] / alpha
            largest = max(largest, probabilities[entry])
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            probabilities[entry] = math.exp(probabilities[entry] - largest)
            total += probabilities[entry]
        share = 1.0 / total if total > 0.0 else 0.0  # an action that is not available has no entries
        for entry in range(indptr[row], indptr[row + 1]):
            probabilities[entry] = max(probabilities[entry] * share, FLOOR)
    return len(indptr) - 1


@exercise
def exercise_dirichlet() -> None:
    """Count and draw on a model of one state."""
    costs = np.ones((1, 1))
    costs.flags.writeable = False
    belief = Dirichlet().belief(Task(costs, 0, 1))
    one = np.zeros(1, dtype=np.int64)
    belief.update(Steps(one, one, np.ones(1), one))
    belief.sample(np.random.default_rng(0))
