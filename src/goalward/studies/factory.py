"""Worlds and agents from the plain data that decides a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goalward import agents, worlds
from goalward.agents.base import Agent
from goalward.errors import FileError
from goalward.model.ssp import SSP
from goalward.studies.agent_files import AgentFile, load_class

__all__ = ["Attachments", "make_agent", "make_world"]


@dataclass(frozen=True)
class Attachments:
    """What runs need beside their content: models from files by their digest, users' files by their hash."""

    models: dict[str, SSP] = field(default_factory=dict)
    files: dict[str, AgentFile] = field(default_factory=dict)


def make_world(identity: Mapping[str, Any], attachments: Attachments) -> SSP:
    """Return the world of an identity."""
    if "digest" in identity:
        if identity["digest"] not in attachments.models:
            raise FileError("the world is a model from a file, which is not part of the results; run the study itself")
        return attachments.models[identity["digest"]]
    return worlds.make(identity["id"], **identity["settings"])


def make_agent(identity: Mapping[str, Any], world: SSP, episodes: int, attachments: Attachments) -> Agent:
    """Return the agent of an identity, told of the true world what it must be told."""
    if "source" in identity:
        if identity["source"] not in attachments.files:
            raise FileError(f"{identity['name']} is a class in a user's file, which is not part of the results")
        # One file may hold several agents.
        kind = load_class(attachments.files[identity["source"]]._replace(member=identity["name"]))
    else:
        kind = agents.find(identity["name"])
    return kind.from_settings(identity["settings"], world, episodes)
