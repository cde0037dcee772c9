"""The worlds and agents of runs, built from their specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalward import agents
from goalward.agents.base import Learner
from goalward.agents.base import registry as known_agents
from goalward.continuous.task import ContinuousTask
from goalward.errors import SettingError
from goalward.settings import settings_of
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.user_files import load_class
from goalward.worlds.base import build
from goalward.worlds.base import registry as known_worlds

__all__ = ["agent_code", "make_agent", "make_world", "with_give_up"]


def make_world(identity: Mapping[str, Any], attachments: Attachments) -> Any:
    """Return the world of a run, given as in `RunSpec.world`: an `SSP`, or a `ContinuousTask`."""
    if "id" not in identity:
        world: SSP | ContinuousTask = attachments.model(identity["digest"])
    else:
        if known_worlds.code(identity["id"]) != identity.get("code"):
            raise changed(identity["id"])
        world = build(identity["id"], identity["settings"])
    return with_give_up(world, identity["give_up_cost"]) if "give_up_cost" in identity else world


def with_give_up(world: SSP | ContinuousTask, cost: float) -> SSP:
    """Return a model in which the agent may give up; raises SettingError if the world is not a model."""
    if isinstance(world, ContinuousTask):
        raise SettingError(f"give_up_cost is for models; leave it out for {world}")
    return world.with_give_up(cost)


def make_agent(
    identity: Mapping[str, Any], world: SSP | ContinuousTask, episodes: int, attachments: Attachments
) -> Learner:
    """Return the agent of a run, given as in `RunSpec.agent`; settings it lacks are read off the true world."""
    if "source" in identity:
        # One file may hold several agents.
        kind = load_class(attachments.agent_file(identity["source"])._replace(member=identity["name"]))
    else:
        kind = agents.find(identity["name"])
    if agent_code(kind, identity, identity["settings"]).get("code") != identity.get("code"):
        raise changed(identity["name"])
    kind.check_world(world)
    return kind.from_settings(identity["settings"], world, episodes)


def agent_code(kind: type[Learner], identity: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the digests of the code of an agent and of its priors, for those that do not come with goalward."""
    found = {} if "source" in identity else {f"agent {identity['name']}": known_agents.code(identity["name"])}
    for name, setting in settings_of(kind).items():
        if setting.registry is not None and name in settings:
            used, _ = setting.registry.split(settings[name])
            found[f"{setting.registry.kind} {used}"] = setting.registry.code(used)
    code = {name: digest for name, digest in found.items() if digest is not None}
    return {"code": code} if code else {}


def changed(name: str) -> SettingError:
    return SettingError(f"the code of {name} is not the code that the study was read with; run the study again")
