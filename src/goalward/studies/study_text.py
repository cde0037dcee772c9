"""A study written out in full: what is run when everything that was left open has its default."""

from __future__ import annotations

from typing import Any

import tomli_w

from goalward.studies.design import Cell
from goalward.studies.run_spec import canonical
from goalward.studies.spec_to_design import is_file
from goalward.studies.study import Study

__all__ = ["full_text"]

UNSEEN = "# Agent files are not executed here; of their agents, only the settings that the study gives are shown.\n"


def full_text(study: Study) -> str:
    """Return a study as TOML with every setting there is; it can be run as it stands."""
    spec, design = study.spec, study.design
    worlds = {cell.world.label: cell for cell in design.cells}
    agents: dict[str, list[Cell]] = {}
    for cell in design.cells:
        agents.setdefault(canonical([cell.agent.label, cell.agent.identity]), []).append(cell)
    document = {name: getattr(spec, name) for name in ("name", "description", "seed", "runs", "episodes", "max_steps")}
    document["worlds"] = [world_entry(study, cell) for cell in worlds.values()]
    document["agents"] = [agent_entry(study, cells) for cells in agents.values()]
    head = f"# {len(design.cells):,} cells of {design.runs:,} runs"
    limit = "# no max_steps\n" if spec.max_steps is None else ""
    unseen = "" if study.executable or not study.attachments.files else UNSEEN
    return f"{head}\n{limit}{unseen}{tomli_w.dumps(without_none(document))}".rstrip()


def world_entry(study: Study, cell: Cell) -> dict[str, Any]:
    world = cell.world
    name = study.spec.worlds[entry_number(study, world.label)].world
    settings = world.identity.get("settings", {})
    # The text of a map is in its file.
    settings = {setting: value for setting, value in settings.items() if not (setting == "text" and is_file(name))}
    give_up_cost = world.identity.get("give_up_cost")
    return {
        "world": name, "label": world.label, "settings": settings, "draw": world.draw, "give_up_cost": give_up_cost,
    }  # fmt: skip


def agent_entry(study: Study, cells: list[Cell]) -> dict[str, Any]:
    """Return the entry of the agent that some cells share."""
    world, agent = cells[0].world, cells[0].agent
    name = study.spec.agents[entry_number(study, world.label, agent.label)].agent
    worlds = list(dict.fromkeys(cell.world.label for cell in cells))
    return {"agent": name, "label": agent.label, "settings": agent.identity["settings"], "worlds": worlds}


def entry_number(study: Study, *labels: str) -> int:
    """Return which entry of the study has these labels."""
    return int(study.places[labels][1])


def without_none(value: Any) -> Any:
    """Return plain data without what TOML cannot say; these settings have None as their default."""
    if isinstance(value, dict):
        return {name: without_none(entry) for name, entry in value.items() if entry is not None}
    return [without_none(entry) for entry in value] if isinstance(value, list | tuple) else value
