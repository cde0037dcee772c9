"""What passes between a learner and the world: the task it is given and the steps it sees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.ssp.checks import StatesAndActions
from goalward.ssp.model import SSP

__all__ = ["Steps", "Task"]


@dataclass(frozen=True, eq=False)
class Task(StatesAndActions):
    """What every agent is told: the states, the actions, the costs and the start, not the transitions.

    Attributes
    ----------
    costs
        ``costs[s, a]``, infinity where the action is not available.
    initial_state
        Where every episode starts.
    episodes
        How many episodes the run asks for, K.
    give_up
        The action that leads to the start from everywhere, which is known; None if there is none.
    """

    costs: Floats
    initial_state: int
    episodes: int
    give_up: int | None = None

    def __post_init__(self) -> None:
        # Models of the task share its costs, so they must not change. The caller's array stays as it is.
        if self.costs.flags.writeable:
            costs = self.costs.copy()
            costs.flags.writeable = False
            object.__setattr__(self, "costs", costs)

    @classmethod
    def of(cls, ssp: SSP, episodes: int) -> Task:
        """Return what an agent is told about a model."""
        return cls(ssp.costs, ssp.initial_state, episodes, ssp.give_up)

    @cached_property
    def available(self) -> Bools:
        """``available[s, a]``: whether the action can be played in the state."""
        mask = np.isfinite(self.costs)
        mask.flags.writeable = False
        return mask

    def is_like(self, other: object) -> bool:
        """Return whether another task has the same states, actions, costs, start and action to give up."""
        return (
            isinstance(other, Task)
            and np.array_equal(self.costs, other.costs)
            and (self.initial_state, self.give_up) == (other.initial_state, other.give_up)
        )

    def model(self, indptr: Int64s, successors: Int32s, probabilities: Floats) -> SSP:
        """Return the model of this task with the given canonical rows."""
        model = SSP._trusted(indptr, successors, probabilities, self.costs, self.initial_state)
        # Known already, and asked for in every plan.
        model.__dict__["available"] = self.available
        return model


class Steps(NamedTuple):
    """What happened, in order; after a goal the next entry starts a new episode.

    The arrays are used again for what comes later: copy what is to be kept.
    """

    states: Int64s
    actions: Int64s
    costs: Floats
    next_states: Int64s

    @classmethod
    def empty(cls, size: int) -> Steps:
        """Return room for so many steps."""
        states, actions, next_states = (np.empty(size, dtype=np.int64) for _ in range(3))
        return cls(states, actions, np.empty(size), next_states)

    def part(self, start: int, end: int) -> Steps:
        """Return the steps from `start` up to `end`, without copying."""
        return Steps(
            self.states[start:end], self.actions[start:end], self.costs[start:end], self.next_states[start:end]
        )
