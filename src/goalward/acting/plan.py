"""A plan: what an agent does next, and what ends it.

An epoch is the time of one plan. The loop in `goalward.learning` follows the plan until one of its conditions holds,
and records which one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.arrays import Floats, Int64s
from goalward.ssp.model import SSP

__all__ = ["NEVER", "Plan"]

NEVER = np.iinfo(np.int64).max
"""In a table of visit limits: this pair ends no plan."""


class Plan(NamedTuple):
    """A policy and what ends it.

    Visits, goals and steps are counted from the start of the plan. A plan without conditions lasts to the end of the
    run. Every plan acts at least once.

    Attributes
    ----------
    policy
        Actions ``[S]``; or actions ``[H, S]``, row h for the h-th step of the plan, the last row from then on; or
        probabilities ``[S, A]``. Integers are actions, floats are probabilities.
    stop_after_visits
        ``[S, A]``: ends right after a pair has been played so often.
    stop_before_visits
        ``[S, A]``: ends before a pair that has been played so often would be played again.
    stop_after_goals
        Ends after this many arrivals at the goal.
    stop_after_steps
        Ends after this many steps.
    stop_when_cut
        Ends when the environment cuts an episode off before the goal.
    model, values
        The model that the policy comes from and its optimal values, to look at after the run.
    """

    policy: NDArray[Any]
    stop_after_visits: Int64s | None = None
    stop_before_visits: Int64s | None = None
    stop_after_goals: int | None = None
    stop_after_steps: int | None = None
    stop_when_cut: bool = False
    model: SSP | None = None
    values: Floats | None = None
