"""The base classes of priors and beliefs.

A prior is a distribution over kernels before any step is seen. ``prior.belief(task)`` returns a belief about the kernel
of a task. ``belief.update(steps)`` applies Bayes' rule to every step,

    mu_{t+1}(d theta)  proportional to  theta(s'_t | s_t, a_t) mu_t(d theta).

``belief.sample(rng)`` draws a complete model, and ``belief.mean()`` returns the expected model. Both models have the
costs and the start of the task. If the goal can be reached in the support of the prior, both models can reach it.

A row is the distribution of the next state for one state-action pair. A subclass of `Belief` only describes rows, with
the methods `learn`, `sample_rows` and `mean_rows`. Unknown costs have a separate posterior, which is the same for all
priors (`goalward.beliefs.costs`). The action that gives up always leads to the start, so its rows are known. The
function `with_known_rows` adds these rows, and `Belief.update` ignores steps in which the agent gave up.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from goalward.acting.contract import Steps, Task
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.costs import CostBelief
from goalward.errors import BeliefError, SettingError, ShapeError, UnreachableGoalError
from goalward.jit import kernel
from goalward.memory import Memory
from goalward.registry import Registry
from goalward.settings import Declared
from goalward.ssp.graph import structure
from goalward.ssp.model import SSP
from goalward.user_code import described

LARGEST_SUPPORT = 1 << 26
"""The limit on the number of transitions that `all_rows` creates."""

FLOOR = 1e-300
"""The smallest probability in a sampled model. Otherwise, underflow could remove transitions from the support."""


Sharpness = Annotated[float, Ge(1.0), Le(1e6)]
"""The type of `sharpness`, the number of times that each step counts. The upper limit prevents overflow."""


class Rows(NamedTuple):
    """Compressed rows. `indptr` and `successors` are as in `SSP`. `numbers` has one entry per transition."""

    indptr: Int64s
    successors: Int32s
    numbers: NDArray[Any]


class Prior(Declared, ABC):
    """A distribution over kernels before any step is seen.

    The parameters of the constructor are the settings. With the decorator ``@register("name")``, studies, commands and
    saved agents can refer to the prior by name. If plain data cannot describe the prior, `python_only` says why not.
    """

    kind: ClassVar[str]
    python_only: ClassVar[str] = ""
    registry: ClassVar[Priors]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Use the name of the class as `kind` until the prior is registered."""
        super().__init_subclass__(**arguments)
        cls.kind = cls.__name__

    @classmethod
    def owner(cls) -> str:
        return f"the {cls.kind} prior"

    @abstractmethod
    def belief(self, task: Task) -> Belief:
        """Return a belief about the kernel of `task` before any step is seen."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP | None = None) -> Prior:
        """Build a prior from plain-data `settings`. Some priors also use the true model `world`."""
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """Return the kind of the prior and its settings as plain data."""
        return {"kind": self.kind, **super().settings()}


class Priors(Registry[type[Prior]]):
    """The registry of priors.

    A setting for a prior can be a `Prior`, a registered name, or a table with the name as ``kind`` and some settings.
    """

    def complete(self, given: object) -> dict[str, Any]:
        """Return the prior `given` as a table of plain data with `kind` and all settings, including defaults."""
        name, settings = self.split(given)
        prior = self.find(name)
        if prior.python_only:
            raise SettingError(f"the {name} prior can be used in Python only: {prior.python_only}")
        return {"kind": name} | prior.complete(settings)

    def build(self, given: object, world: SSP | None = None) -> Prior:
        """Return the prior that `given` describes. Priors that depend on the true world also need `world`."""
        if isinstance(given, Prior):
            return given
        name, settings = self.split(self.complete(given))
        return self.find(name).from_settings(settings, world)

    def split(self, given: object) -> tuple[Any, dict[str, Any]]:
        """Return the name and the settings in `given`. Raises SettingError unless `given` is a name or a table."""
        if isinstance(given, str):
            return given, {}
        if not isinstance(given, Mapping) or "kind" not in given:
            raise SettingError(
                f'prior is {given!r}; pass a prior, a name (such as "dirichlet") or a table (such as'
                ' { kind = "dirichlet", concentration = 0.1 })'
            )
        return given["kind"], {name: value for name, value in given.items() if name != "kind"}


def enter(name: str, prior: type[Prior]) -> type[Prior]:
    """Check that `prior` is a subclass of `Prior`, and set ``prior.kind`` to `name`."""
    if not (isinstance(prior, type) and issubclass(prior, Prior)):
        raise SettingError(f"{described(name)} is not a prior; derive it from goalward.beliefs.Prior")
    prior.kind = name
    return prior


registry = Prior.registry = Priors("prior", ("goalward.beliefs",), enter)
register = registry.register


class Belief(Memory, ABC):
    """A distribution over kernels. `indptr` and `successors` hold its support in the format of `SSP`."""

    rows_learnt: ClassVar[tuple[str, ...]] = ("counts",)
    """The names of the attributes with learnt data about rows."""

    knows_support: ClassVar[bool] = True
    """Whether all samples have the same support. If not, the belief has no `indptr` and no `successors`."""

    task: Task
    indptr: Int64s
    successors: Int32s

    @property
    def learnt(self) -> Sequence[str]:
        return (*self.rows_learnt, "costs") if self.task.costs_unknown else self.rows_learnt

    @cached_property
    def costs(self) -> CostBelief:
        """The belief about unknown costs."""
        return CostBelief(self.task)

    def update(self, steps: Steps) -> None:
        """Update the posterior with `steps` by Bayes' rule. Steps in which the agent gave up are ignored."""
        self.costs.update(steps)
        if self.task.give_up is not None:
            unknown = steps.actions != self.task.give_up
            steps = Steps(*(column[unknown] for column in steps))
        self.learn(steps)

    @abstractmethod
    def learn(self, steps: Steps) -> None:
        """Learn from `steps`. The agent gave up in none of these steps."""

    @abstractmethod
    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Draw transition probabilities with `rng`, as canonical rows. See `sample` for the effect of `sharpness`."""

    @abstractmethod
    def mean_rows(self) -> Rows:
        """Return the expected transition probabilities, as canonical rows."""

    def sample(self, rng: np.random.Generator, sharpness: float = 1.0) -> SSP:
        """Draw a model from the posterior with `rng`.

        In the draw of probabilities, every step counts `sharpness` times. With a `sharpness` above 1, draws vary less
        than posterior samples. `sharpness` does not affect the draw of unknown costs.
        """
        rows = self.sample_rows(rng, sharpness)
        return self.task.model(*rows, self.costs.sample(rng) if self.task.costs_unknown else None)

    def mean(self) -> SSP:
        """Return the expected model. An unknown cost is estimated by the mean of the costs paid for the pair."""
        return self.task.model(*self.mean_rows(), self.costs.mean())

    def seen_mean(self) -> SSP:
        """Return the expected model, restricted to seen transitions unless `seen_rows` returns None."""
        rows = self.seen_rows()
        return self.mean() if rows is None else seen_model(self.task, rows, self.costs.mean())

    def seen_rows(self) -> Rows | None:
        """Return the seen transitions, with numbers proportional to the expected probabilities.

        A belief returns None if it learns about some state-action pairs from steps of other pairs.
        """
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy with its own learnt data. The task and all read-only arrays are shared."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Memory) or (isinstance(value, np.ndarray) and value.flags.writeable):
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin

    def locate(self, steps: Steps) -> Int64s:
        """Return the indices of `steps` in the support. Stop before the first step outside the support."""
        entries = np.empty(len(steps.states), dtype=np.int64)
        located = locate(
            self.indptr, self.successors, self.task.actions, steps.states, steps.actions, steps.next_states, entries
        )
        return entries[:located]


def all_rows(task: Task) -> Rows:
    """Return rows in which every unknown pair of `task` leads to each state and the goal with equal probability."""
    unknown, n = unknown_pairs(task), task.states + 1
    pairs = int(np.count_nonzero(unknown))
    if pairs * n > LARGEST_SUPPORT:
        raise SettingError(
            f"{pairs} state-action pairs that may lead to every state need {pairs * n} numbers, which is too many; pass"
            " the possible successors with Dirichlet(concentration, support=...), or use Neighbourhoods(), which needs"
            " far less memory"
        )
    indptr = np.append(0, np.cumsum(unknown.ravel() * n))
    successors = np.tile(np.arange(n, dtype=np.int32), pairs)
    return with_known_rows(task, Rows(indptr, successors, np.full(pairs * n, 1.0 / n)))


def fit_rows(task: Task, rows: Rows, shape: tuple[int, ...], what: str) -> Rows:
    """Return `rows` in which giving up leads to the start. Raises ShapeError if `rows` do not fit the `task`.

    `shape` is (states, actions), with or without the action that gives up. Error messages call the rows `what`.
    """
    S, A = task.costs.shape
    if shape != (S, A) and (task.give_up is None or shape != (S, A - 1)):
        raise ShapeError(f"{what} has {shape[0]} states and {shape[1]} actions, but the task has {S} and {A}")
    rows = with_known_rows(task, rows)
    wrong = (np.diff(rows.indptr) > 0).reshape(S, A) != task.available
    if wrong.any():
        state, action = np.argwhere(wrong)[0]
        fault = "needs a successor" if task.available[state, action] else "is not available and must have no successor"
        raise ShapeError(f"(state {state}, action {action}) {fault}; change {what} to fit the task")
    return rows


def with_known_rows(task: Task, rows: Rows) -> Rows:
    """Return `rows` in which the action that gives up leads to the start of `task`."""
    if task.give_up is None:
        return rows
    lengths = np.diff(rows.indptr).reshape(task.states, -1)
    kept = np.repeat(np.arange(lengths.size) % lengths.shape[1] < task.give_up, lengths.ravel())
    unknown, available = lengths[:, : task.give_up], task.available[:, task.give_up]
    # Giving up is the last action, so its transition comes after all others of the state.
    ends = np.cumsum(unknown.sum(axis=1))[available]
    return Rows(
        np.append(0, np.cumsum(np.column_stack([unknown, available]))),
        np.insert(rows.successors[kept], ends, task.initial_state),
        np.insert(rows.numbers[kept], ends, 1),
    )


def seen_model(task: Task, rows: Rows, costs: Floats | None = None) -> SSP:
    """Return the model of the seen transitions in `rows`, with probabilities proportional to ``rows.numbers``.

    Pairs that were never played are not available, except for giving up. If no action was played in a state, an episode
    was truncated in this state, and transitions to this state lead to the start instead. If no action was played in the
    start of `task`, the model starts in the first state with a played action. By default, `costs` are the costs of
    `task`.
    """
    rows = with_known_rows(task, rows)
    lengths = np.diff(rows.indptr)
    available = (lengths > 0).reshape(task.costs.shape)
    acts = np.asarray(available.any(axis=1))
    start = task.initial_state if acts[task.initial_state] else int(np.argmax(acts))
    successors = np.where(np.append(acts, True)[rows.successors], rows.successors, start)
    totals = np.add.reduceat(rows.numbers, rows.indptr[:-1][lengths > 0])
    shares = rows.numbers / np.repeat(totals, lengths[lengths > 0])
    costs = np.where(available, task.costs if costs is None else costs, np.inf)
    return SSP.from_rows(rows.indptr, successors, shares, costs, start, give_up=task.give_up)


def unknown_pairs(task: Task) -> Bools:
    """Return ``unknown[s, a]``, which is true if the pair is available and its row has to be learnt."""
    unknown: Bools = task.available.copy()
    if task.give_up is not None:
        unknown[:, task.give_up] = False
    return unknown


def check_reachable(model: SSP, what: str) -> None:
    """Raise UnreachableGoalError if no policy reaches the goal of `model` almost surely from the start."""
    if not structure(model).reaches_goal:
        raise UnreachableGoalError(
            f"in {what}, no policy reaches the goal almost surely from the start (state {model.initial_state}); add"
            f" transitions to {what}"
        )


def excluded(task: Task, steps: Steps, index: int, what: str, remedy: str) -> BeliefError:
    """Return the error for an observed step to which a belief gives probability 0."""
    state, action, successor = (int(column[index]) for column in (steps.states, steps.actions, steps.next_states))
    reached = "the goal" if successor == task.goal else f"state {successor}"
    return BeliefError(f"(state {state}, action {action}) led to {reached}, but {what} excludes this step; {remedy}")


@kernel
def locate(
    indptr: Int64s, successors: Int32s, A: int, states: Int64s, actions: Int64s, next_states: Int64s, entries: Int64s
) -> int:
    """Write the support indices to `entries`. Stop at the first step without an index. Return the count."""
    for i in range(len(states)):
        row = states[i] * A + actions[i]
        successor = next_states[i]
        low = indptr[row]
        end = indptr[row + 1]
        # If a row holds all successors, the number of a successor gives its index without a search.
        if low + successor < end and successors[low + successor] == successor:
            entries[i] = low + successor
            continue
        high = end
        while low < high:
            middle = (low + high) >> 1
            if successors[middle] < successor:
                low = middle + 1
            else:
                high = middle
        if low == end or successors[low] != successor:
            return i
        entries[i] = low
    return len(states)
