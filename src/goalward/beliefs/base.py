"""The base classes of priors and beliefs.

A prior is a distribution over kernels before any step is seen. ``prior.belief(task)`` starts a belief about the kernel
of a task. Its method `update` learns from steps by Bayes' rule,

    mu_{t+1}(d theta)  proportional to  theta(s'_t | s_t, a_t) mu_t(d theta).

`sample` draws a complete model from the belief, and `mean` returns the expected model. Both models have the costs and
the start of the task, and their goal can be reached if it can be reached in the prior's support.

A row is the distribution of the next state for one state-action pair. A prior describes only rows: its belief
implements `learn`, `sample_rows` and `mean_rows`. Unknown costs have a separate posterior, the same for all priors
(`goalward.beliefs.costs`). The action that gives up always leads to the start, so nothing about it has to be learnt:
`with_known_rows` adds its rows, and `Belief.update` ignores steps that gave up.
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
"""The largest number of transitions for which `all_rows` makes every successor possible."""

FLOOR = 1e-300
"""The smallest probability in a sampled model: without it, underflow could remove transitions from the support."""


Sharpness = Annotated[float, Ge(1.0), Le(1e6)]
"""The type of `sharpness`: how many times each observation counts. The bound prevents overflow."""


class Rows(NamedTuple):
    """Transitions in compressed rows: `indptr` and `successors` as in `SSP`, and one of `numbers` per transition."""

    indptr: Int64s
    successors: Int32s
    numbers: NDArray[Any]


class Prior(Declared, ABC):
    """A distribution over kernels before any step is seen.

    The parameters of the constructor are the settings. The decorator ``@register("name")`` lets studies, the command
    line and saved agents refer to the prior by name. If plain data cannot describe the prior, `python_only` says why.
    """

    kind: ClassVar[str]
    python_only: ClassVar[str] = ""
    registry: ClassVar[Priors]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Name the prior after its class, until it is registered."""
        super().__init_subclass__(**arguments)
        cls.kind = cls.__name__

    @classmethod
    def owner(cls) -> str:
        return f"the {cls.kind} prior"

    @abstractmethod
    def belief(self, task: Task) -> Belief:
        """Start a belief about the kernel of a task."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP | None = None) -> Prior:
        """Build the prior from settings given as plain data; some priors also use the model of the `world`."""
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """Return the kind of the prior and its settings as plain data."""
        return {"kind": self.kind, **super().settings()}


class Priors(Registry[type[Prior]]):
    """The registry of priors.

    A setting that expects a prior accepts a `Prior`, its name, or a table with the name as ``kind`` and some settings.
    """

    def complete(self, given: object) -> dict[str, Any]:
        """Return a prior as a table of plain data: its kind and all settings, defaults included."""
        name, settings = self.split(given)
        prior = self.find(name)
        if prior.python_only:
            raise SettingError(f"the {name} prior can be used in Python only: {prior.python_only}")
        return {"kind": name} | prior.complete(settings)

    def build(self, given: object, world: SSP | None = None) -> Prior:
        """Return the prior that a setting describes; priors that depend on the true world also need `world`."""
        if isinstance(given, Prior):
            return given
        name, settings = self.split(self.complete(given))
        return self.find(name).from_settings(settings, world)

    def split(self, given: object) -> tuple[Any, dict[str, Any]]:
        """Return the name and the settings in `given`; raises SettingError unless `given` is a name or a table."""
        if isinstance(given, str):
            return given, {}
        if not isinstance(given, Mapping) or "kind" not in given:
            raise SettingError(
                f'prior is {given!r}; it must be a prior, a name, such as "dirichlet", or a table such as'
                ' { kind = "dirichlet", concentration = 0.1 }'
            )
        return given["kind"], {name: value for name, value in given.items() if name != "kind"}


def enter(name: str, prior: type[Prior]) -> type[Prior]:
    """Check a class that is registered as a prior, and set its `kind` to the name."""
    if not (isinstance(prior, type) and issubclass(prior, Prior)):
        raise SettingError(f"{described(name)} is not a prior; derive it from goalward.beliefs.Prior")
    prior.kind = name
    return prior


registry = Prior.registry = Priors("prior", ("goalward.beliefs",), enter)
register = registry.register


class Belief(Memory, ABC):
    """A distribution over kernels; `indptr` and `successors` hold its support, in the format of `SSP`."""

    rows_learnt: ClassVar[tuple[str, ...]] = ("counts",)
    """The names of the attributes that hold what was learnt about rows."""

    knows_support: ClassVar[bool] = True
    """Whether all samples have the same support; if not, the belief has no `indptr` and `successors`."""

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
        """Update the posterior with steps by Bayes' rule; steps that gave up are ignored."""
        self.costs.update(steps)
        if self.task.give_up is not None:
            unknown = steps.actions != self.task.give_up
            steps = Steps(*(column[unknown] for column in steps))
        self.learn(steps)

    @abstractmethod
    def learn(self, steps: Steps) -> None:
        """Learn from steps, none of which gave up."""

    @abstractmethod
    def sample_rows(self, rng: np.random.Generator, sharpness: float) -> Rows:
        """Draw transition probabilities with `rng`, as canonical rows; `sample` explains `sharpness`."""

    @abstractmethod
    def mean_rows(self) -> Rows:
        """Return the expected transition probabilities, as canonical rows."""

    def sample(self, rng: np.random.Generator, sharpness: float = 1.0) -> SSP:
        """Draw a model from the posterior with `rng`.

        With a `sharpness` above 1, every observation counts that many times in the draw of the probabilities. Such a
        draw varies less than the posterior and is not a sample of it. Unknown costs are drawn without sharpness.
        """
        rows = self.sample_rows(rng, sharpness)
        return self.task.model(*rows, self.costs.sample(rng) if self.task.costs_unknown else None)

    def mean(self) -> SSP:
        """Return the expected model; an unknown cost is the mean of the costs paid for the pair."""
        return self.task.model(*self.mean_rows(), self.costs.mean())

    def seen_mean(self) -> SSP:
        """Return the expected model on the transitions that were seen, or on all if `seen_rows` returns None."""
        rows = self.seen_rows()
        return self.mean() if rows is None else seen_model(self.task, rows, self.costs.mean())

    def seen_rows(self) -> Rows | None:
        """Return the transitions that were seen, weighted in proportion to their expected probabilities.

        The result is None if a step of one state-action pair also tells the belief something about other pairs.
        """
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy what was learnt; the copy shares the task, the support and other read-only arrays with the original."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Memory) or (isinstance(value, np.ndarray) and value.flags.writeable):
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin

    def locate(self, steps: Steps) -> Int64s:
        """Return the index of each of the `steps` in the support, up to the first step outside the support."""
        entries = np.empty(len(steps.states), dtype=np.int64)
        located = locate(
            self.indptr, self.successors, self.task.actions, steps.states, steps.actions, steps.next_states, entries
        )
        return entries[:located]


def all_rows(task: Task) -> Rows:
    """Return rows in which every unknown pair of `task` leads to all states and the goal with equal probability."""
    unknown, n = unknown_pairs(task), task.states + 1
    pairs = int(np.count_nonzero(unknown))
    if pairs * n > LARGEST_SUPPORT:
        raise SettingError(
            f"if {pairs} state-action pairs may each lead to every state, the prior needs {pairs * n} numbers; pass"
            " the possible successors with Dirichlet(concentration, support=...), or use Neighbourhoods(), which needs"
            " far less memory"
        )
    indptr = np.append(0, np.cumsum(unknown.ravel() * n))
    successors = np.tile(np.arange(n, dtype=np.int32), pairs)
    return with_known_rows(task, Rows(indptr, successors, np.full(pairs * n, 1.0 / n)))


def fit_rows(task: Task, rows: Rows, shape: tuple[int, ...], what: str) -> Rows:
    """Return the rows of a prior and the rows of giving up; raises ShapeError if they do not fit the task.

    `shape` holds the numbers of states and actions, with or without giving up. `what` names the rows in messages.
    """
    S, A = task.costs.shape
    if shape != (S, A) and (task.give_up is None or shape != (S, A - 1)):
        raise ShapeError(f"{what} has {shape[0]} states and {shape[1]} actions, but the task has {S} and {A}")
    rows = with_known_rows(task, rows)
    wrong = (np.diff(rows.indptr) > 0).reshape(S, A) != task.available
    if wrong.any():
        state, action = np.argwhere(wrong)[0]
        fault = f"has no successor in {what}" if task.available[state, action] else "is not available"
        raise ShapeError(f"(state {state}, action {action}) {fault}; {what} must fit the available actions of the task")
    return rows


def with_known_rows(task: Task, rows: Rows) -> Rows:
    """Return `rows` with rows for giving up, which lead to the start; existing rows for giving up are replaced."""
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
    """Return the model of the transitions that were seen, with probabilities proportional to the numbers of the rows.

    Pairs that were never played are not available, except giving up, which is known. A transition to a state in which
    no action was ever played leads to the start instead, because an episode was truncated there. If no action was
    played in the start of the task, the first state with a played action is the start of the model. By default, `costs`
    are those of the task.
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
    """Return ``unknown[s, a]``: whether the pair is available and its row has to be learnt."""
    unknown: Bools = task.available.copy()
    if task.give_up is not None:
        unknown[:, task.give_up] = False
    return unknown


def check_reachable(model: SSP, what: str) -> None:
    """Raise UnreachableGoalError if no policy reaches the goal almost surely from the start."""
    if not structure(model).reaches_goal:
        raise UnreachableGoalError(
            f"in {what}, no policy reaches the goal almost surely from the start, state {model.initial_state}; add"
            " transitions to it"
        )


def excluded(task: Task, steps: Steps, index: int, what: str, remedy: str) -> BeliefError:
    """Return the error for an observed step to which a belief gives probability 0."""
    state, action, successor = (int(column[index]) for column in (steps.states, steps.actions, steps.next_states))
    reached = "the goal" if successor == task.goal else f"state {successor}"
    return BeliefError(f"(state {state}, action {action}) led to {reached}, which {what} excludes; {remedy}")


@kernel
def locate(
    indptr: Int64s, successors: Int32s, A: int, states: Int64s, actions: Int64s, next_states: Int64s, entries: Int64s
) -> int:
    """Write the index of each step in the rows; return the number of steps before the first one that has no index."""
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
