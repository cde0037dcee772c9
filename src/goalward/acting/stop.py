"""What ends a plan: every condition, declared once and used by the compiled rollout and by the stepping loop.

Tested after each step from s by a to s'::

    AFTER_VISITS    (s, a) has been played stop_after_visits[s, a] times in this plan
    GOALS           s' is the goal, for the stop_after_goals-th time in this plan
    STEPS           this was step number stop_after_steps of this plan
    CUT             the environment truncated the episode, and stop_when_cut holds
    INFORMATION     with continuous states: what is known about an action has doubled

and before each step but the plan's first::

    BEFORE_VISITS   (s, a) has been played stop_before_visits[s, a] times in this plan

These end the run as well::

    EPISODES        the run has had all its episodes
    MAX_STEPS       the run has had all its steps
    STOPPED         the caller asked for it
    DEAD_END        no action is available

Several can hold at once; flags are added. A new condition is a flag, a field of `Plan` and a line in `TableStop`.
"""

from __future__ import annotations

from enum import IntFlag
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from goalward.arrays import Int64s
from goalward.errors import PolicyError
from goalward.jit import kernel

if TYPE_CHECKING:
    from goalward.acting.contract import Plan, Step

__all__ = [
    "CUT", "GOALS", "NEVER", "STEPS", "STEPS_TAKEN", "Ended", "Stop", "TableStop", "stop_after", "stop_before",
]  # fmt: skip

NEVER = int(np.iinfo(np.int64).max)
"""In a table of visit limits: this pair ends no plan."""

X = TypeVar("X")


class Ended(IntFlag):
    """What ended a plan; EPISODES, MAX_STEPS, STOPPED and DEAD_END also end the run."""

    AFTER_VISITS = 1
    BEFORE_VISITS = 2
    GOALS = 4
    STEPS = 8
    EPISODES = 16
    MAX_STEPS = 32
    STOPPED = 64
    DEAD_END = 128
    CUT = 256
    INFORMATION = 512


# Plain integers: arithmetic on flags is slow, and kernels need constants.
AFTER_VISITS, BEFORE_VISITS, GOALS, STEPS, CUT = 1, 2, 4, 8, 256
# Places in the counters of a plan.
GOALS_LEFT, MOST_STEPS, STEPS_TAKEN = range(3)


class Stop(Protocol[X]):
    """The conditions of a plan, as the stepping loop asks for them."""

    def before(self, state: X, action: int) -> int:
        """Return flags if the plan ends before this step."""

    def after(self, step: Step[X]) -> int:
        """Count a step; return flags if the plan ends with it."""


class TableStop:
    """The conditions of one plan for a table, and its counts so far; made anew for each plan."""

    def __init__(self, plan: Plan, shape: tuple[int, int]):
        self.after_visits = visit_limits(plan.stop_after_visits, shape)
        self.before_visits = visit_limits(plan.stop_before_visits, shape)
        self.visits: Int64s = np.zeros(shape, dtype=np.int64)
        goals, steps = plan.stop_after_goals, plan.stop_after_steps
        self.counters = np.array([NEVER if goals is None else goals, NEVER if steps is None else steps, 0])
        self.when_truncated = plan.stop_when_cut
        self.tests_before = plan.stop_before_visits is not None

    def before(self, state: int, action: int) -> int:
        """Return flags if the plan ends before this step."""
        return stop_before(self.before_visits, self.visits, self.counters, state, action) if self.tests_before else 0

    def after(self, step: Step[int]) -> int:
        """Count a step; return flags if the plan ends with it."""
        ended = stop_after(self.after_visits, self.visits, self.counters, step.state, step.action, step.reached)
        return ended | CUT if step.truncated and self.when_truncated else ended


@kernel
def stop_before(before_visits: Int64s, visits: Int64s, counters: Int64s, state: int, action: int) -> int:
    """Return flags if a plan ends before a step."""
    if counters[STEPS_TAKEN] > 0 and visits[state, action] >= before_visits[state, action]:
        return BEFORE_VISITS
    return 0


@kernel
def stop_after(
    after_visits: Int64s, visits: Int64s, counters: Int64s, state: int, action: int, reached: bool
) -> int:  # fmt: skip
    """Count a step; return flags if the plan ends with it."""
    ended = 0
    visits[state, action] += 1
    if visits[state, action] >= after_visits[state, action]:
        ended += AFTER_VISITS
    if reached:
        counters[GOALS_LEFT] -= 1
        if counters[GOALS_LEFT] <= 0:
            ended += GOALS
    counters[STEPS_TAKEN] += 1
    if counters[STEPS_TAKEN] >= counters[MOST_STEPS]:
        ended += STEPS
    return ended


@lru_cache(maxsize=8)
def no_limits(shape: tuple[int, int]) -> Int64s:
    return np.full(shape, NEVER)


def visit_limits(limits: Int64s | None, shape: tuple[int, int]) -> Int64s:
    """Return a table of visit limits, checked; without limits, one that is never reached."""
    if limits is None:
        return no_limits(shape)
    table = np.asarray(limits)
    if table.shape != shape or table.dtype.kind not in "iu":
        raise PolicyError(
            f"limits of visits have shape {table.shape} and dtype {table.dtype}; they must be integers of shape {shape}"
        )
    return np.array(table, dtype=np.int64, order="C")
