"""The worlds and agents of runs, built from their specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalward import agents, worlds
from goalward.agents.base import Learner
from goalward.errors import SettingError
from goalward.model.goal_task import GoalTask
from goalward.model.ssp import SSP
from goalward.studies.agent_files import load_class
from goalward.studies.attachments import Attachments

__all__ = ["make_agent", "make_world", "with_give_up"]


def make_world(identity: Mapping[str, Any], attachments: Attachments) -> Any:
    """Return the world of a run, given as in `RunSpec.world`: an `SSP`, or a `GoalTask`."""
    if "digest" in identity:
        world = attachments.model(identity["digest"])
    else:
        world = worlds.make(identity["id"], **identity["settings"])
    return with_give_up(world, identity["give_up_cost"]) if "give_up_cost" in identity else world


def with_give_up(world: SSP | GoalTask, cost: float) -> SSP:
    """Return a model in which the agent may give up; raises SettingError if the world is not a model."""
    if isinstance(world, GoalTask):
        raise SettingError(f"give_up_cost is for models; leave it out for {world}")
    return world.with_give_up(cost)


def make_agent(identity: Mapping[str, Any], world: SSP | GoalTask, episodes: int, attachments: Attachments) -> Learner:
    """Return the agent of a run, given as in `RunSpec.agent`; settings it lacks are read off the true world."""
    if "source" in identity:
        # One file may hold several agents.
        kind = load_class(attachments.agent_file(identity["source"])._replace(member=identity["name"]))
    else:
        kind = agents.find(identity["name"])
    kind.check_world(world)
    return kind.from_settings(identity["settings"], world, episodes)
