"""Rows that share one unknown distribution.

Prior
    What an action does is one of m outcomes, such as "as intended", "to the left of it"; which one is drawn from phi,
    one unknown distribution for all pairs, Dirichlet with one concentration. The outcome and the pair decide the
    successor. So every pair teaches all the others: the slip of a grid has four outcomes, wherever one stands.

Posterior
    Where different outcomes lead to the same successor, at a wall, a step shows only the set B of outcomes it may have
    been. With n_j steps that show their outcome and n_B that show a set,

        density of phi  proportional to  product over j of phi_j^(concentration - 1 + n_j)
                                         times product over B of (sum over j in B of phi_j)^(n_B).

    Without sets this is Dirichlet. With sets it is sampled by Gibbs: given phi, the n_B steps of a set are split among
    its outcomes by a multinomial; given the split, phi is Dirichlet. Each draw starts a chain of its own from the
    Dirichlet of the known outcomes, which is exact already about outcomes that no step distinguishes, and runs `sweeps`
    times. Where most steps show their outcome ten sweeps are plenty; where none does and different sets contradict each
    other at a small concentration, a few hundred are needed. `mean` averages over 2,000 such chains with a generator of
    its own, so it is a function of what was seen, with a Monte Carlo error of a few per cent of the standard deviation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from scipy.special import softmax

from goalward.acting.contract import Steps, Task
from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.base import (
    FLOOR,
    CountedBelief,
    Prior,
    Rows,
    check_reachable,
    excluded,
    fit_rows,
    register,
)  # fmt: skip
from goalward.beliefs.dirichlet import log_gammas
from goalward.errors import SettingError, ShapeError
from goalward.seeds import generator
from goalward.settings import Positive
from goalward.ssp.checks import number_array
from goalward.ssp.layout import DIRECTIONS, GridLayout, neighbours
from goalward.ssp.model import SSP

CHAINS = 2000
MOST_SWEEPS = 10_000


@register("tied")
class TiedDirichlet(Prior):
    """Rows that share one unknown distribution over outcomes.

    Parameters
    ----------
    outcomes
        ``outcomes[s, a, j]``: the successor that outcome j of the pair leads to; -1 throughout where the action is not
        available.
    concentration
        The parameter of each outcome.
    sweeps
        The length of the Gibbs chains; see the module.

    Examples
    --------
    >>> import goalward as gw
    >>> gw.TiedDirichlet.slip(gw.worlds.grid_world())
    TiedDirichlet(4 outcomes, 44 pairs, concentration=0.1)
    """

    python_only: ClassVar[str] = "it holds a table of outcomes; use gw.TiedDirichlet(outcomes)"

    def __init__(
        self,
        outcomes: NDArray[Any] | Sequence[Any],
        concentration: Positive = 0.1,
        sweeps: Annotated[int, Ge(1), Le(MOST_SWEEPS)] = 50,
    ):
        self.outcomes = number_array("outcomes", outcomes, integer=True).astype(np.int64)
        self.concentration, self.sweeps = concentration, sweeps
        if self.outcomes.ndim != 3 or not self.outcomes.size:
            raise ShapeError(f"outcomes has shape {self.outcomes.shape}; it must be integers in 3 dimensions")
        S, missing = len(self.outcomes), self.outcomes == -1
        wrong = ((self.outcomes < -1) | (self.outcomes > S) | (missing != missing[:, :, :1])).any(axis=2)
        if wrong.any():
            state, action = np.argwhere(wrong)[0]
            raise ShapeError(
                f"the outcomes of (state {state}, action {action}) are {self.outcomes[state, action].tolist()}; each"
                f" must be a successor, 0..{S}, or all of them -1 where the action is not available"
            )

    @classmethod
    def slip(cls, world: SSP, concentration: float = 0.1, sweeps: int = 50) -> TiedDirichlet:
        """Return the prior of a grid on which every cell slips alike: ahead, right, back or left.

        The directions come from the layout of `world`. `concentration` and `sweeps` are those of the prior.
        """
        directions = (world.action_names or ())[: world.give_up]
        if world.layout is None or set(directions) != set(TURNS):
            raise SettingError(
                f"the world needs a layout and the actions {', '.join(TURNS)}; others can give outcomes themselves"
            )
        outcomes = slips(world, world.layout, directions)
        check_outcomes(world, outcomes)
        return cls(outcomes, concentration, sweeps)

    def belief(self, task: Task) -> TiedBelief:
        belief = TiedBelief(task, self)
        weights = np.full(belief.masks.shape[1], 1.0 / belief.masks.shape[1])
        check_reachable(
            task.model(belief.indptr, belief.successors, (belief.masks @ weights)[belief.cells]), "the prior"
        )
        return belief

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this prior from others, as plain data; its outcomes by their digest."""
        digest = hashlib.sha256(f"{self.outcomes.shape}".encode())
        digest.update(self.outcomes.astype("<i8").tobytes())
        return super().settings() | {"outcomes": digest.hexdigest()}

    def __repr__(self) -> str:
        pairs = int(np.count_nonzero(self.outcomes[:, :, 0] >= 0))
        return f"TiedDirichlet({self.outcomes.shape[2]} outcomes, {pairs} pairs, concentration={self.concentration!r})"


@register("slip")
def slip_prior(world: SSP, concentration: Positive = 0.1) -> TiedDirichlet:
    """One unknown distribution of slips for all cells of a grid."""
    return TiedDirichlet.slip(world, concentration)


class TiedBelief(CountedBelief):
    """The shared distribution and what was counted.

    Every transition of the support belongs to one cell, a set of outcomes; only cells are counted.
    """

    def __init__(self, task: Task, prior: TiedDirichlet):
        self.task, self.concentration, self.sweeps = task, prior.concentration, prior.sweeps
        unknown = slice(task.give_up)  # the actions before giving up, which is the last one
        rows, masks = sort_outcomes(prior.outcomes[:, unknown])
        # Known transitions belong to the last cell, which has all outcomes and so the probability 1.
        self.masks = np.vstack([masks, np.ones_like(masks[:1])])
        shape = prior.outcomes.shape[:2]
        self.indptr, self.successors, self.cells = fit_rows(task, rows, shape, "the table of outcomes", len(masks))
        self.counts = np.zeros(len(self.masks), dtype=np.int64)

    def learn(self, steps: Steps) -> None:
        entries = self.locate(steps)
        if len(entries) < len(steps.states):
            remedy = "give the pair an outcome that leads there"
            raise excluded(self.task, steps, len(entries), "the prior", remedy)
        self.counts += np.bincount(self.cells[entries], minlength=len(self.counts))

    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Draw rows; sharpness multiplies the counts in the last draw, not those that the chain splits."""
        alpha = self.chains(rng, 1)
        if sharpness != 1.0:
            alpha = self.concentration + sharpness * (alpha - self.concentration)
        of_cell = self.masks @ softmax(log_gammas(rng, alpha[0]))
        return Rows(self.indptr, self.successors, np.maximum(of_cell, FLOOR)[self.cells])

    def mean_rows(self) -> Rows:
        alpha = self.chains(generator(0), CHAINS)
        means = alpha @ self.masks.T / alpha.sum(axis=1, keepdims=True)
        return Rows(self.indptr, self.successors, np.clip(means.mean(axis=0), FLOOR, 1.0)[self.cells])

    def chains(self, rng: np.random.Generator, count: int) -> Floats:
        """Return Dirichlet parameters at the ends of Gibbs chains, one row each; one row if none are needed."""
        cells = np.flatnonzero(self.counts > 0)
        sizes = self.masks[cells].sum(axis=1)
        single = cells[sizes == 1]
        alpha = self.concentration + self.counts[single] @ self.masks[single]
        sets = cells[(sizes > 1) & (sizes < self.masks.shape[1])]  # the set of all outcomes says nothing
        if not len(sets):
            return np.asarray(alpha)[np.newaxis]
        splits = np.zeros((count, self.masks.shape[1]))
        for _ in range(self.sweeps):
            logarithms = log_gammas(rng, (alpha + splits).ravel()).reshape(splits.shape)
            splits.fill(0.0)
            for cell in sets:
                members = np.flatnonzero(self.masks[cell])
                splits[:, members] += rng.multinomial(self.counts[cell], softmax(logarithms[:, members], axis=1))
        return np.asarray(alpha + splits)

    def __repr__(self) -> str:
        return f"TiedBelief(outcomes={self.masks.shape[1]}, observed={int(self.counts.sum())})"


def sort_outcomes(outcomes: Int64s) -> tuple[Rows, Bools]:
    """Return rows with the cell of each transition, and the set of outcomes of each cell."""
    S, A, m = outcomes.shape
    indptr = np.zeros(S * A + 1, dtype=np.int64)
    successors: list[int] = []
    cells: list[int] = []
    numbers: dict[tuple[bool, ...], int] = {}
    for row, reached in enumerate(outcomes.reshape(S * A, m)):
        for successor in np.unique(reached[reached >= 0]).tolist():
            successors.append(successor)
            cells.append(numbers.setdefault(tuple((reached == successor).tolist()), len(numbers)))
        indptr[row + 1] = len(successors)
    rows = Rows(indptr, np.array(successors, dtype=np.int32), np.array(cells, dtype=np.int64))
    return rows, np.array(list(numbers))


# Each direction and what lies to the right of it.
TURNS = {"up": "right", "right": "down", "down": "left", "left": "up"}


def slips(world: SSP, layout: GridLayout, directions: Sequence[str]) -> Int64s:
    """Return the outcomes of a slippery grid: ahead, right, back, left of the action's direction, with the wind."""
    reached = neighbours(layout.states_of_cells(), layout.cells.astype(np.intp), layout.wind)
    outcomes = np.empty((world.states, len(directions), 4), dtype=np.int64)
    for action, name in enumerate(directions):
        for turn in range(4):
            outcomes[:, action, turn] = reached[:, DIRECTIONS.index(name)]
            name = TURNS[name]
    outcomes[~world.available[:, : len(directions)]] = -1
    return outcomes


def check_outcomes(world: SSP, outcomes: Int64s) -> None:
    """Raise SettingError if the world has a transition that is none of the outcomes."""
    states, actions = np.divmod(np.repeat(np.arange(world.available.size), np.diff(world.indptr)), world.actions)
    known = actions < outcomes.shape[1]
    states, actions, successors = states[known], actions[known], world.successors[known]
    strange = (outcomes[states, actions] != successors[:, np.newaxis]).all(axis=1)
    if strange.any():
        first = int(np.argmax(strange))
        reached = "the goal" if successors[first] == world.goal else f"state {successors[first]}"
        raise SettingError(
            f"(state {states[first]}, action {actions[first]}) can lead to {reached}, which no slip explains: a step to"
            " a neighbouring cell, shifted by the wind of the column; give the outcomes with TiedDirichlet(outcomes)"
        )
