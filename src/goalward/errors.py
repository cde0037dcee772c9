"""Everything goalward raises on purpose.

A message says what was given, what is allowed and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goalward.planning.solve import Solution

MOST_NAMES = 12
"""How many names a message lists."""
COMPARED = 5000
"""How many names are searched for the nearest one."""


class GoalwardError(Exception):
    """The root of the tree: catch this to catch all of goalward's own errors."""


class ModelError(GoalwardError, ValueError):
    """The data does not describe a stochastic shortest path problem."""


class ShapeError(ModelError):
    """An array has the wrong shape, size or dtype, or the model is empty."""


class ProbabilityError(ModelError):
    """A probability is NaN, negative or above one, or a row does not sum to one."""


class CostError(ModelError):
    """A cost is negative, NaN or infinite."""


class StateError(ModelError):
    """A state, action or name is not one of the model's."""


class UnreachableGoalError(ModelError):
    """From the initial state no policy reaches the goal with probability one."""


class EndlessRunError(ModelError):
    """A run might never end: a dead end can be reached from the start, or one can stay in a loop for free."""


class BeliefError(GoalwardError, ValueError):
    """Something was observed that the prior holds impossible."""


class PolicyError(GoalwardError, ValueError):
    """The policy does not fit the model."""


class PrecisionError(GoalwardError):
    """The bounds could not be brought as close as promised; ``solution`` holds the best ones proved."""

    def __init__(self, message: str, solution: Solution):
        super().__init__(message, solution)
        self.solution = solution

    def __str__(self) -> str:
        return str(self.args[0])


class ConvergenceError(GoalwardError):
    """An optimistic plan did not converge."""


class FileError(GoalwardError):
    """A file is damaged, of another kind, or of a version that this goalward does not read."""


class SettingError(GoalwardError, ValueError):
    """A setting lies outside what is allowed."""


class TheoryError(GoalwardError, ValueError):
    """A statement of the theory does not cover what it is asked about; the message says what is missing."""


class UnknownNameError(GoalwardError, KeyError):
    """There is nothing of that name; the message offers the nearest one there is."""

    def __init__(self, kind: str, name: object, known: Iterable[str]):
        # Errors cross from worker processes by their arguments, so these are all kept.
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
    """A worker's goalward differs from that of the process that hands out the runs."""
