"""The exceptions that goalward raises.

A message names the wrong value, the allowed values and the next step.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goalward.planning.solve import Solution

MOST_NAMES = 12
"""How many known names a message lists."""
COMPARED = 5000
"""How many names are searched for the nearest one."""


class GoalwardError(Exception):
    """The base class of all errors that goalward raises."""


class ModelError(GoalwardError, ValueError):
    """The data does not describe a stochastic shortest path problem."""


class ShapeError(ModelError):
    """An array has the wrong shape, size or dtype, or the model is empty."""


class ProbabilityError(ModelError):
    """A probability is NaN, negative or above one, or the probabilities of a row do not sum to one."""


class CostError(ModelError):
    """A cost is negative, NaN or infinite."""


class StateError(ModelError):
    """A state, an action or a name does not exist in the model."""


class UnreachableGoalError(ModelError):
    """No policy reaches the goal with probability one from the initial state."""


class EndlessRunError(ModelError):
    """A run might never end, because a dead end or a loop of zero costs can be reached from the start."""


class BeliefError(GoalwardError, ValueError):
    """An observation is impossible under the prior."""


class PolicyError(GoalwardError, ValueError):
    """The policy does not fit the model."""


class PrecisionError(GoalwardError):
    """The proved bounds are wider than the tolerance; ``error.solution`` has the best bounds."""

    def __init__(self, message: str, solution: Solution):
        super().__init__(message, solution)
        self.solution = solution

    def __str__(self) -> str:
        return str(self.args[0])


class ConvergenceError(GoalwardError):
    """The optimistic planning of an agent did not converge."""


class FileError(GoalwardError):
    """A file cannot be read or written, is damaged, or has another format or version."""


class SettingError(GoalwardError, ValueError):
    """A setting has a value that is not allowed."""


class TheoryError(GoalwardError, ValueError):
    """A theorem cannot be applied or checked in this case; the message gives the reason."""


class UnknownNameError(GoalwardError, KeyError):
    """A name is unknown; the message suggests the most similar known name."""

    def __init__(self, kind: str, name: object, known: Iterable[str]):
        # Workers send errors as pickled arguments, so every argument is stored.
        super().__init__(kind, name, sorted(known))

    def __str__(self) -> str:
        kind, name, names = self.args
        near = difflib.get_close_matches(name, names[:COMPARED], n=1, cutoff=0.5) if isinstance(name, str) else []
        if near:
            hint = f"did you mean {near[0]!r}?"
        else:
            rest = len(names) - MOST_NAMES
            hint = f"there are: {', '.join(names[:MOST_NAMES])}" + f" and {rest} more" * (rest > 0)
        return f"no {kind} is called {name!r}; {hint}"


class WorkerError(GoalwardError):
    """A worker process failed, is closed, or runs another version of goalward."""
