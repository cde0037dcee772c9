"""A study written out in full: what is run when everything that was left open has its default."""

from __future__ import annotations

from goalward.studies.design import Cell
from goalward.studies.run_spec import canonical
from goalward.studies.study import Study, is_file
from goalward.studies.toml_text import written

__all__ = ["full_text"]


def full_text(study: Study) -> str:
    """Return a study as TOML with every setting there is; it can be run as it stands."""
    spec, design = study.spec, study.design
    lines = [f"# {design.size:,} runs: {len(design.cells):,} cells of {design.runs:,}"]
    for name in ("name", "description", "seed", "runs", "episodes", "max_steps"):
        value = getattr(spec, name)
        lines.append(f"# no {name}" if value is None else f"{name} = {written(value)}")
    for cell in {cell.world.label: cell for cell in design.cells}.values():
        lines += world_lines(study, cell)
    agents: dict[str, list[Cell]] = {}
    for cell in design.cells:
        agents.setdefault(canonical([cell.agent.label, cell.agent.identity]), []).append(cell)
    for cells in agents.values():
        lines += agent_lines(study, cells)
    return "\n".join(lines)


def world_lines(study: Study, cell: Cell) -> list[str]:
    """Return the entry of the world of a cell."""
    name = study.spec.worlds[entry_number(study, cell.world.label)].world
    settings = {
        setting: value
        for setting, value in cell.world.identity.get("settings", {}).items()
        if not (setting == "text" and is_file(name))
    }
    lines = ["", "[[worlds]]", f"world = {written(name)}", f"label = {written(cell.world.label)}"]
    lines += [f"settings = {written(settings)}"] if settings else []
    return lines + ([f"draw = {written(cell.world.draw)}"] if cell.world.draw else [])


def agent_lines(study: Study, cells: list[Cell]) -> list[str]:
    """Return the entry of the agent that some cells share."""
    first = cells[0]
    name = study.spec.agents[entry_number(study, first.world.label, first.agent.label)].agent
    lines = ["", "[[agents]]", f"agent = {written(name)}", f"label = {written(first.agent.label)}"]
    settings = first.agent.identity["settings"]
    lines += [f"settings = {written(settings)}"] if settings else []
    worlds = list(dict.fromkeys(cell.world.label for cell in cells))
    return [*lines, f"worlds = {written(worlds)}"]


def entry_number(study: Study, *labels: str) -> int:
    """Return which entry of the study has these labels."""
    return int(study.places[labels][1])
