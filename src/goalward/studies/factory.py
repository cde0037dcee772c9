"""Worlds and agents from the plain data that decides a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goalward import agents, worlds
from goalward.agents.base import Agent, real
from goalward.beliefs.base import Prior
from goalward.beliefs.dirichlet import Dirichlet, checked_concentration
from goalward.beliefs.tied import TiedDirichlet
from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.model.ssp import SSP
from goalward.settings import check_names
from goalward.studies.agent_files import AgentFile, load_class

__all__ = ["Attachments", "make_agent", "make_prior", "make_world", "plain_prior"]

# The priors that a study can name, with their settings and defaults. "support" says whether the successors that are
# possible are known; "slip" is the tied prior of grids, one unknown distribution of slips for all cells.
PRIORS: dict[str, dict[str, Any]] = {
    "dirichlet": {"concentration": 0.1, "support": None},
    "slip": {"concentration": 0.1},
}


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
    settings = dict(identity["settings"])
    if isinstance(settings.get("prior"), Mapping):
        settings["prior"] = make_prior(settings["prior"], world)
    return kind.from_world(world, episodes=episodes, **settings)


def plain_prior(given: object) -> dict[str, Any]:
    """Return a prior as a study names it, with all its settings."""
    if not isinstance(given, Mapping) or "kind" not in given:
        raise SettingError(
            f'prior is {given!r}; it must be a table such as {{ kind = "dirichlet", concentration = 0.1 }}'
        )
    kind = given["kind"]
    if not isinstance(kind, str) or kind not in PRIORS:
        raise UnknownNameError("kind of prior", str(kind), PRIORS)
    check_names(f"the {kind} prior", given, ["kind", *PRIORS[kind]])
    full = {"kind": kind, **PRIORS[kind], **given}
    # 1 and 1.0 are one study; what is no number is left to the check.
    number = real(full["concentration"])
    full["concentration"] = checked_concentration(full["concentration"]) if math.isnan(number) else number
    if full.get("support") not in (None, "world"):
        raise SettingError(f'support is {full["support"]!r}; it must be "world", the successors of the true world')
    return full


def make_prior(given: Mapping[str, Any], world: SSP) -> Prior:
    """Return the prior of a plain description."""
    if given["kind"] == "slip":
        return TiedDirichlet.slip(world, concentration=given["concentration"])
    return Dirichlet(given["concentration"], support=None if given["support"] is None else world)
