"""A study written out in full: what is run when everything that was left open has its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tomli_w

from goalward.studies.design import StudyAgent, StudyWorld
from goalward.studies.spec import AgentSpec, WorldSpec
from goalward.studies.spec_to_design import is_file, labelled
from goalward.studies.user_files import is_reference

if TYPE_CHECKING:
    from goalward.studies.study import Study

__all__ = ["full_text"]

UNSEEN = "# Agent files are not executed here; of their agents, only the settings that the study gives are shown.\n"


def full_text(study: Study, attached: str | None = None) -> str:
    """Return a study as TOML with every setting there is; it can be run as it stands.

    Models, maps and agent files are named as the study names them. For a text that is stored with its attachments,
    `attached` is the path from the text to their folder: models and agent files are named there, maps written out.
    """
    spec, design = study.spec, study.design
    worlds: dict[int, StudyWorld] = {}
    agents: dict[int, StudyAgent] = {}
    for cell in design.cells:
        worlds.setdefault(entry_number(study, cell.world.label), cell.world)
        agents.setdefault(entry_number(study, cell.world.label, cell.agent.label), cell.agent)
    document = {name: getattr(spec, name) for name in ("name", "description", "seed", "runs", "episodes", "max_steps")}
    document["worlds"] = [world_entry(spec.worlds[number], worlds[number], attached) for number in sorted(worlds)]
    document["agents"] = [agent_entry(spec.agents[number], agents[number], attached) for number in sorted(agents)]
    head = f"# {len(design.cells):,} cells of {design.runs:,} runs"
    limit = "# no max_steps\n" if spec.max_steps is None else ""
    unseen = "" if study.executable or not study.attachments.files else UNSEEN
    return f"{head}\n{limit}{unseen}{tomli_w.dumps(without_none(document))}".rstrip()


def world_entry(entry: WorldSpec, world: StudyWorld, attached: str | None) -> dict[str, Any]:
    """Return an entry of the study in full; `world` is the first of its worlds."""
    identity = world.identity
    settings = identity.get("settings", {})
    name = identity.get("id", f"{attached}/{identity.get('digest')}.npz")
    if is_file(entry.world) and attached is None:
        name = entry.world
        settings = {
            setting: value for setting, value in settings.items() if setting != "text"
        }  # the map is in the file
    optional = {"sweep": entry.sweep, "draw": entry.draw, "group": entry.group, "give_up_cost": entry.give_up_cost}
    return {
        "world": name,
        "label": world.label.removesuffix(labelled("", world.swept)),
        "settings": unswept(settings, world.swept),
        **{option: value for option, value in optional.items() if value},
    }


def agent_entry(entry: AgentSpec, agent: StudyAgent, attached: str | None) -> dict[str, Any]:
    """Return an entry of the study in full; `agent` is the first of its agents."""
    name = entry.agent
    if is_reference(name) and attached is not None:
        name = f"{attached}/{agent.identity['source']}.py:{agent.identity['name']}"
    return {
        "agent": name,
        "label": agent.label.removesuffix(labelled("", agent.swept)),
        "settings": unswept(agent.identity["settings"], agent.swept),
        **({"sweep": entry.sweep} if entry.sweep else {}),
        **({"worlds": entry.worlds} if entry.worlds else {}),
    }


def unswept(settings: Mapping[str, Any], swept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that all of an entry share, without those that TOML cannot express.

    TOML has no None. Only defaults can contain one, so they stay what they are if they are left out: inside a prior its
    own setting, elsewhere the whole setting.
    """
    shared = {name: value for name, value in settings.items() if name not in swept}
    priors = {
        name: without_none(value) for name, value in shared.items() if isinstance(value, dict) and "kind" in value
    }
    return {name: value for name, value in (shared | priors).items() if not contains_none(value)}


def contains_none(value: object) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return value is None or any(contains_none(part) for part in parts)


def without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


def entry_number(study: Study, *labels: str) -> int:
    """Return which entry of the study has these labels."""
    return int(study.places[labels][1])
