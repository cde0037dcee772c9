"""What a prior and a belief are.

A prior is settings: what was believed before anything was seen. ``prior.belief(task)`` starts a belief about the kernel
of a task, and the belief is carried along by Bayes' rule

    mu_{t+1}(d theta)  proportional to  theta(s'_t | s_t, a_t) mu_t(d theta)

through `update`. `sample` draws a whole model from it, `mean` is the expected one. Every model that a belief gives has
the costs and the start of the task, and the goal can be reached in it if it can in the prior's support.
"""

from __future__ import annotations

import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from goalward.acting.task import Steps, Task
from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import BeliefError, StateError, UnreachableGoalError
from goalward.jit import exercise, kernel
from goalward.registry import Builder, Registry, Schema, signature_schema
from goalward.settings import checked_number
from goalward.ssp.graph import structure
from goalward.ssp.model import SSP

LARGEST_NUMBER = 2**53
"""The largest count or value that is read from a file: beyond it, adding one changes no double."""

__all__ = [
    "FLOOR",
    "LARGEST_NUMBER",
    "Belief",
    "CountedBelief",
    "Marginals",
    "Prior",
    "check_reachable",
    "checked_sharpness",
    "excluded",
    "find_entry",
    "locate",
    "register",
    "registry",
    "restored_array",
    "restored_number",
    "update_and_sample",
]

FLOOR = 1e-300
"""The least probability in a sampled model, so that its support is that of the prior whatever underflows."""


class Marginals(NamedTuple):
    """What is believed about one row: the mean and the variance of the probability of each successor."""

    successors: Int32s
    mean: Floats
    variance: Floats


class Prior(ABC):
    """What is believed about a kernel before anything is seen.

    A prior below ``@register("name")`` is known to studies, the command line and saved agents. Its settings there are
    the parameters of its constructor. `python_only` says why they cannot be written as plain data, if that is so.
    """

    kind: ClassVar[str]
    python_only: ClassVar[str] = ""

    @abstractmethod
    def belief(self, task: Task) -> Belief:
        """Start a belief about the kernel of a task."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this prior from others, as plain data."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return all of the prior as names with plain data and arrays."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Prior:
        """Make the prior again from what `to_state` gave; what is wrong with it is said as if it were typed in."""

    @classmethod
    def schema(cls) -> Schema:
        """Return the settings that a study can give."""
        return signature_schema(f"the {cls.kind} prior", cls, cls.python_only)

    @classmethod
    def complete(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data."""
        return cls.schema().complete(settings)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP) -> Prior:
        """Build the prior of plain settings for a world."""
        return cls(**settings)


class NamedPrior(Builder):
    """A registered function that builds a prior for a world."""

    def schema(self) -> Schema:
        """Return the settings of the function."""
        return signature_schema(f"the {self.name} prior", self.build)


def enter(name: str, thing: type[Prior] | Callable[..., Prior]) -> type[Prior] | NamedPrior:
    """Return the entry of a prior's class, or of a function that builds a prior."""
    if isinstance(thing, type) and issubclass(thing, Prior):
        thing.kind = name
        return thing
    return NamedPrior(name, thing)


registry: Registry[type[Prior] | NamedPrior] = Registry("prior", ("goalward.beliefs",), enter)
register = registry.register


class Belief(ABC):
    """A distribution over kernels, on the support given by `indptr` and `successors` (rows as in `SSP`)."""

    task: Task
    indptr: Int64s
    successors: Int32s

    @abstractmethod
    def update(self, steps: Steps) -> None:
        """Learn from steps by Bayes' rule."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, sharpness: float = 1.0) -> SSP:
        """Draw a model from the posterior.

        With a `sharpness` above 1 what was observed counts so many times in the draw of the probabilities. Such a draw
        varies less than the posterior and is no sample of it.
        """

    @abstractmethod
    def mean(self) -> SSP:
        """Return the expected model."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return what was learnt as names with plain data and arrays."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `to_state` gave; raises ValueError where it does not fit."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy what is learnt and share what never changes: the support, the task, the read-only arrays."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                setattr(twin, name, value.copy())
        return twin

    def row(self, state: int, action: int) -> slice:
        """Return where the entries of a row lie."""
        if not (0 <= state < self.task.states and 0 <= action < self.task.actions):
            raise StateError(
                f"there is no pair (state {state}, action {action}): the task has states 0..{self.task.states - 1} and"
                f" actions 0..{self.task.actions - 1}"
            )
        start, end = self.indptr[state * self.task.actions + action : state * self.task.actions + action + 2]
        return slice(int(start), int(end))


class CountedBelief(Belief):
    """A belief that is decided by how often each thing was seen."""

    counts: Int64s

    def to_state(self) -> dict[str, Any]:
        """Return what was learnt as names with plain data and arrays."""
        return {"counts": self.counts}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `to_state` gave."""
        self.counts = restored_array("counts", state["counts"], self.counts)


def restored_array(name: str, given: Any, fresh: NDArray[Any], limit: float = LARGEST_NUMBER) -> NDArray[Any]:
    """Return a copy of an array from a file; raises ValueError if it cannot have grown out of the `fresh` one.

    What learners count and estimate keeps its shape and type and never falls below its value at the start. Counts are
    at most `LARGEST_NUMBER`, estimates at most `limit`, and both are finite unless they started at infinity.
    """
    array = np.array(given)
    if (array.shape, array.dtype) != (fresh.shape, fresh.dtype):
        raise ValueError(f"{name} must have shape {fresh.shape} and dtype {fresh.dtype}")
    if fresh.dtype.kind in "if":
        limit = min(limit, sys.float_info.max) if fresh.dtype.kind == "f" else LARGEST_NUMBER
        if not ((array >= fresh) & ((array <= limit) | (fresh > limit))).all():
            raise ValueError(f"{name} must hold numbers up to {limit:g}, none below its value at the start")
    return array


def restored_number(name: str, given: Any, fresh: Any) -> Any:
    """Return a number or text from a file; raises ValueError if it cannot have grown out of the `fresh` one."""
    if fresh is not None and type(given) is not type(fresh):
        raise ValueError(f"{name} must be of type {type(fresh).__name__}")
    if type(fresh) in (int, float) and not fresh <= given <= max(fresh, LARGEST_NUMBER):
        raise ValueError(f"{name} is {given!r}; it must be a number from {fresh:g} to {LARGEST_NUMBER:g}")
    return given


def checked_sharpness(sharpness: object) -> float:
    """Return a sharpness as a float, so that no product with counts overflows; raises SettingError."""
    return checked_number("sharpness", sharpness, 1.0, 1e6, note="; 1 draws from the posterior")


def check_reachable(model: SSP, what: str) -> None:
    """Refuse a support in which no policy reaches the goal surely from the start."""
    if not structure(model).reaches_goal:
        raise UnreachableGoalError(
            f"{what} leaves the start, state {model.initial_state}, without a sure way to the goal; widen it"
        )


def excluded(task: Task, steps: Steps, entry: int, what: str, remedy: str) -> BeliefError:
    """Return the error for an observed step that a belief holds impossible."""
    state, action, successor = (int(array[entry]) for array in (steps.states, steps.actions, steps.next_states))
    reached = "the goal" if successor == task.goal else f"state {successor}"
    return BeliefError(
        f"(state {state}, action {action}) led to {reached}, which {what} holds impossible; widen the support: {remedy}"
    )


@kernel
def find_entry(indptr: Int64s, successors: Int32s, row: int, successor: int) -> int:
    """Return where a successor stands among the entries of a row; -1 if it does not."""
    low = indptr[row]
    end = indptr[row + 1]
    # In a row of all successors the entry is where the number of the successor says.
    guess = low + successor
    if guess < end and successors[guess] == successor:
        return int(guess)
    high = end
    while low < high:
        middle = (low + high) >> 1
        if successors[middle] < successor:
            low = middle + 1
        else:
            high = middle
    if low == end or successors[low] != successor:
        return -1
    return int(low)


@kernel
def locate(
    indptr: Int64s,
    successors: Int32s,
    A: int,
    states: Int64s,
    actions: Int64s,
    next_states: Int64s,
    entries: Int64s,
) -> int:
    """Write the entry of each step among the rows; return the number of steps before the first that has none."""
    for i in range(len(states)):
        entries[i] = find_entry(indptr, successors, states[i] * A + actions[i], next_states[i])
        if entries[i] < 0:
            return i
    return len(states)


def update_and_sample(prior: Prior) -> None:
    """Count and draw on a model of one state: what the exercises of priors do."""
    costs = np.ones((1, 1))
    costs.flags.writeable = False
    belief = prior.belief(Task(costs, 0, 1))
    one = np.zeros(1, dtype=np.int64)
    belief.update(Steps(one, one, np.ones(1), one))
    belief.sample(np.random.default_rng(0))


@exercise
def exercise_beliefs() -> None:
    """Locate one step."""
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    one = np.zeros(1, dtype=np.int64)
    locate(ssp.indptr, ssp.successors, 1, one, one, one, one.copy())
