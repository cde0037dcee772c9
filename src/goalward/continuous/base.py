"""Plans and agents in goal tasks with continuous states.

A plan cannot be a table of actions here. It is a policy that chooses an action at a point, and conditions that say
after each step whether to plan again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from goalward.acting.contract import Policy
from goalward.acting.stop import Stop
from goalward.agents.base import Learner
from goalward.arrays import Floats
from goalward.beliefs.base import LARGEST_NUMBER
from goalward.continuous.box_task import BoxTask
from goalward.errors import SettingError
from goalward.settings import checked_integer

__all__ = ["BoxPlan", "ContinuousAgent"]


@dataclass(frozen=True, eq=False)
class BoxPlan:
    """A policy in a box and what ends it. Every plan makes at least one step.

    Attributes
    ----------
    policy
        Chooses an action at a point.
    stop
        The conditions that end the plan.
    points, values
        The cost that the policy expects, ``[n]``, at some points, ``[n, m]``, to look at after the run.
    """

    policy: Policy[Floats] = field(repr=False)
    stop: Stop[Floats] = field(repr=False)
    points: Floats | None = field(default=None, repr=False)
    values: Floats | None = field(default=None, repr=False)


class ContinuousAgent(Learner[BoxTask, BoxPlan]):
    """An algorithm that learns in goal tasks with continuous states."""

    continuous: ClassVar[bool] = True

    @staticmethod
    def task_to_state(task: BoxTask) -> dict[str, Any]:
        """Return the world of a task, by its id and settings."""
        if task.origin is None:
            raise SettingError(
                "an agent that learnt in a goal task made of functions or an environment cannot be saved: functions are"
                " not data. Register the task as a world, or learn in gw.continuous.make(id)"
            )
        return {"world": task.origin["id"], "settings": dict(task.origin["settings"]), "episodes": task.episodes}

    @staticmethod
    def task_from_state(state: dict[str, Any]) -> BoxTask:
        """Return the task of `task_to_state`."""
        from goalward.continuous import make

        episodes = checked_integer("episodes", state["episodes"], 1, LARGEST_NUMBER)
        return make(state["world"], **state["settings"]).task(episodes)
