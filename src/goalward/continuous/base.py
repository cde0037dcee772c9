"""What an agent in a goal task with continuous states is.

It has the same two methods as an `Agent`: `plan` and `observe`. Its plan cannot be a table of actions. It is a function
that chooses an action in a state, and another that says after each step whether enough has been seen to plan anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from goalward.agents.base import Learner
from goalward.arrays import Floats
from goalward.continuous.box_task import BoxSteps, BoxTask

__all__ = ["BoxPlan", "ContinuousAgent"]


@dataclass(frozen=True, eq=False)
class BoxPlan:
    """A policy in a box and what ends it. Every plan acts at least once.

    Attributes
    ----------
    choose
        ``choose(state, chance)`` returns an action; `chance` is a uniform number in [0, 1) for random decisions.
    seen_enough
        ``seen_enough(state, action)`` is called after each step with what was played; the plan ends if it is True.
    stop_after_goals
        Ends after this many arrivals at the goal.
    points, values
        The cost that the policy expects, ``[n]``, at some points, ``[n, m]``, to look at after the run.
    """

    choose: Callable[[Floats, float], int] = field(repr=False)
    seen_enough: Callable[[Floats, int], bool] = field(repr=False)
    stop_after_goals: int | None = None
    points: Floats | None = field(default=None, repr=False)
    values: Floats | None = field(default=None, repr=False)


class ContinuousAgent(Learner):
    """An algorithm that follows plans in goal tasks with continuous states."""

    task: BoxTask  # type: ignore[assignment]
    continuous: ClassVar[bool] = True

    def begin(self, task: BoxTask, rng: np.random.Generator) -> None:  # type: ignore[override]
        """Start from scratch on a task, and forget all that was learnt before."""
        self.task, self.rng = task, rng

    @abstractmethod
    def plan(self, state: Floats) -> BoxPlan:
        """Return what to do from this state on."""

    @abstractmethod
    def observe(self, steps: BoxSteps) -> None:  # type: ignore[override]
        """Learn from what happened."""
