"""The conditions that end a plan, declared once for the compiled rollout and the stepping loop.

A new condition needs a flag in `Ended`, a field of `Plan` whose name starts with ``stop_``, and a readable name in
`goalward.figures.styles.CAUSES`. The kernels below test conditions; `TableStop` tests conditions for environments.
"""

from __future__ import annotations

from enum import IntFlag
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from goalward.arrays import Int64s
from goalward.errors import PolicyError
from goalward.jit import kernel

if TYPE_CHECKING:
    from goalward.acting.contract import Plan, Step

NEVER = int(np.iinfo(np.int64).max)
"""A limit that is never reached."""

X = TypeVar("X")


class Ended(IntFlag):
    """The reasons why a plan ended; several reasons can hold at once.

    Visits, goals and steps count from the start of the plan. BEFORE_VISITS is tested before each step except the first.
    The other conditions are tested after each step, which leads from s by action a to s'.
    """

    AFTER_VISITS = 1  # (s, a) has been played stop_after_visits[s, a] times
    BEFORE_VISITS = 2  # (s, a) has been played stop_before_visits[s, a] times and would be played again
    GOALS = 4  # s' is the goal, for the stop_after_goals-th time
    STEPS = 8  # this was step number stop_after_steps
    EPISODES = 16  # the run has had all its episodes
    MAX_STEPS = 32  # the run has had all its steps
    STOPPED = 64  # the caller requested a stop
    DEAD_END = 128  # no action is available
    TRUNCATED = 256  # the environment truncated the episode, and stop_when_truncated holds
    INFORMATION = 512  # with continuous states: the information about an action has doubled


RUN_OVER = Ended.EPISODES | Ended.MAX_STEPS | Ended.STOPPED | Ended.DEAD_END
"""The flags that also end the run; all others are conditions of a plan."""

# Plain integers: arithmetic on flags is slow, and kernels need constants.
AFTER_VISITS, BEFORE_VISITS = int(Ended.AFTER_VISITS), int(Ended.BEFORE_VISITS)
GOALS, STEPS, TRUNCATED = int(Ended.GOALS), int(Ended.STEPS), int(Ended.TRUNCATED)
# Indices into the counters of a plan.
GOALS_LEFT, MOST_STEPS, STEPS_TAKEN = range(3)


class Stop(Generic[X]):
    """The stop conditions of a plan in the stepping loop; this base class has no conditions."""

    def before(self, state: X, action: int) -> int:
        """Return `Ended` flags if the plan ends before this step, otherwise 0."""
        return 0

    def after(self, step: Step[X]) -> int:
        """Count a `step`; return `Ended` flags if the plan ends after this step, otherwise 0."""
        return 0


class TableStop(Stop[int]):
    """The stop conditions of one plan for a table, and the counts since the plan began."""

    def __init__(self, plan: Plan, shape: tuple[int, int]):
        self.after_visits = visit_limits(plan.stop_after_visits, shape)
        self.before_visits = visit_limits(plan.stop_before_visits, shape)
        self.visits: Int64s = np.zeros(shape, dtype=np.int64)
        goals, steps = plan.stop_after_goals, plan.stop_after_steps
        self.counters = np.array([NEVER if goals is None else goals, NEVER if steps is None else steps, 0])
        self.when_truncated = plan.stop_when_truncated
        self.tests_before = plan.stop_before_visits is not None

    def before(self, state: int, action: int) -> int:
        return stop_before(self.before_visits, self.visits, self.counters, state, action) if self.tests_before else 0

    def after(self, step: Step[int]) -> int:
        ended = stop_after(self.after_visits, self.visits, self.counters, step.state, step.action, step.reached)
        return ended | TRUNCATED if step.truncated and self.when_truncated else ended


@kernel
def stop_before(before_visits: Int64s, visits: Int64s, counters: Int64s, state: int, action: int) -> int:
    """Return BEFORE_VISITS if the plan ends before `action` is played in `state`, otherwise 0."""
    if counters[STEPS_TAKEN] > 0 and visits[state, action] >= before_visits[state, action]:
        return BEFORE_VISITS
    return 0


@kernel
def stop_after(
    after_visits: Int64s, visits: Int64s, counters: Int64s, state: int, action: int, reached: bool
) -> int:  # fmt: skip
    """Count a step; return the sum of the flags of all stop conditions that hold now."""
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
    """Return the visit limits as a checked table; if `limits` is None, the limits are never reached."""
    if limits is None:
        return no_limits(shape)
    table = np.asarray(limits)
    if table.shape != shape or table.dtype.kind not in "iu":
        raise PolicyError(
            f"visit limits have shape {table.shape} and dtype {table.dtype}; pass integers of shape {shape}"
        )
    return np.array(table, dtype=np.int64, order="C")
