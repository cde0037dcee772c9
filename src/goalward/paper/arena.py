"""The arena: many worlds of different character, every agent with its default settings.

Its worlds form two groups. Ideas are chosen on the group ``choosing`` only; results are reported on the group
``reporting``, by which nothing is chosen. Tables show regret relative to one agent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from goalward.agents.base import registry
from goalward.figures.symbols import marked
from goalward.formatting import markdown_text, number
from goalward.json_documents import write_text
from goalward.paper.ratios import Ratio, Ratios
from goalward.statistics import Interval
from goalward.studies.study import Study
from goalward.text_tables import Rows, columns, markdown_table

__all__ = [
    "CHOOSING", "COMPANY", "LEFT_OUT", "REFERENCE", "REPORTING", "arena_document", "arena_markdown", "arena_study",
    "arena_text", "publish_arena", "without_refused",
]  # fmt: skip

CHOOSING, REPORTING = "choosing", "reporting"
REFERENCE = "PSRL-SSP"
"""The agent whose regret is 1."""
COMPANY = (REFERENCE, "neighbourhoods")
"""The agents that meet a user's agent in the arena."""
LEFT_OUT = {
    "aggregated-psrl": "it learns in worlds with continuous states",
    "continuous-psrl": "it learns in worlds with continuous states",
    "optimal": "its regret is 0",
    "psrl-step": "it plans at every step, which takes hours",
}
"""The registered agents that are not in the arena, and why."""
QUICK = {"runs": 2, "episodes": 200}
HEADINGS = ("agent", "geometric mean", "worst", "in", "95th percentile", "cut off", "failed", "refused", "CPU")
NUMBERS = (1, 2, 4, 5, 6, 7, 8)
MOST_REASONS = 12


def arena_study(
    agents: Sequence[str] = (), *, quick: bool = False, runs: int | None = None, episodes: int | None = None
) -> Study:
    """Return the study of the arena.

    Parameters
    ----------
    agents
        Names of algorithms, or classes in files such as ``my_agent.py:Mine``, relative to the current folder. They are
        compared with `COMPANY` only. By default, the agents of the study take part, and all others that are registered.
    quick
        Fewer runs and episodes.
    runs, episodes
        Other numbers than those of the study.
    """
    study = Study.load("arena")
    document = study.spec.model_dump(exclude_unset=True)
    document |= QUICK if quick else {}
    document |= {name: value for name, value in {"runs": runs, "episodes": episodes}.items() if value is not None}
    if quick:
        document["name"] += "-quick"
    if agents:
        names = [re.sub(r"[^A-Za-z0-9]+", "-", name.rpartition(":")[2]) for name in agents]
        document["name"] = "-".join([document["name"], *names])[:100]
        company = [entry for entry in document["agents"] if entry.get("label") in COMPANY]
        document["agents"] = [*company, *({"agent": name} for name in agents)]
    else:
        named = {entry["agent"] for entry in document["agents"]} | LEFT_OUT.keys()
        document["agents"] += [{"agent": name} for name in registry.known() if name not in named]
    return Study.from_dict(document)


def without_refused(study: Study) -> tuple[Study, dict[tuple[str, str], str]]:
    """Return the study without the worlds that agents refuse, and the reasons by the labels of world and agent."""
    refused = study.refusals()
    if not refused:
        return study, {}
    document: dict[str, Any] = study.spec.model_dump(exclude_unset=True)
    kept = []
    for index, entry in enumerate(document["agents"]):
        cells = [labels for labels, entry_key in study.places.items() if entry_key == ("agents", index)]
        accepted = [world for world, agent in cells if (world, agent) not in refused]
        if accepted:
            kept.append(entry | ({} if len(accepted) == len(cells) else {"worlds": accepted}))
    return Study.from_dict(document | {"agents": kept}, study.source.folder), refused


def publish_arena(ratios: Ratios, folder: Path, name: str) -> list[Path]:
    """Write the ratios as CSV and Markdown; return the files."""
    tables = {folder / f"{name}.csv": ratios.table.csv(), folder / f"{name}.md": arena_markdown(ratios, name)}
    for path, text in tables.items():
        write_text(path, text)
    return list(tables)


def arena_text(ratios: Ratios) -> str:
    """Write the ratios for a terminal: a table for each group of worlds, and one with every world."""
    parts = [
        f"{title(ratios, group)}\n{columns([HEADINGS, *overall_rows(ratios, group, str)], right=NUMBERS)}"
        for group in ratios.groups
    ]
    parts.append(f"world by world (agents as numbered)\n{world_table(ratios)}")
    parts.append("\n".join(f"* {note}" for note in notes_on(ratios)))
    return "\n\n".join(part for part in parts if part)


def arena_markdown(ratios: Ratios, name: str) -> str:
    """Write the ratios as Markdown, with intervals in every world."""
    parts = [f"# {markdown_text(name)}"]
    for group in ratios.groups:
        table = markdown_table([HEADINGS, *overall_rows(ratios, group, markdown_text)], right=NUMBERS)
        parts.append(f"## {markdown_text(group or 'All worlds')}\n\n{markdown_text(title(ratios, group))}.\n\n{table}")
    rows: Rows = [("world", *(markdown_text(marked(agent, ratios.caveats)) for agent in ratios.agents))]
    for world in worlds_of(ratios):
        cells = [ratios.find(world, agent) for agent in ratios.agents]
        rows.append((markdown_text(world), *(markdown_text(cell_text(cell, with_ends)) for cell in cells)))
    parts.append(f"## World by world\n\n{markdown_table(rows, right=range(1, len(rows[0])))}")
    parts.append("\n".join(f"* {markdown_text(note)}" for note in notes_on(ratios)))
    return "\n\n".join(part for part in parts if part) + "\n"


def arena_document(ratios: Ratios) -> dict[str, Any]:
    """Return the ratios as plain data."""
    return {
        "reference": ratios.reference,
        "level": ratios.level,
        "runs": ratios.runs,
        "episodes": ratios.episodes,
        "groups": {
            group: {"worlds": worlds, "agents": [each.document() for each in ratios.overall(group)]}
            for group, worlds in ratios.groups.items()
        },
        "cells": [cell.document() for cell in ratios.cells],
        "notes": notes_on(ratios),
    }


def title(ratios: Ratios, group: str) -> str:
    worlds = len(ratios.groups[group])
    which = f"{worlds} world{'s' * (worlds != 1)}" + f" for {group}" * bool(group)
    episodes = " and ".join(f"{count:,}" for count in ratios.episodes)
    return (
        f"{which}: gap regret after {episodes} episodes relative to {ratios.reference}, mean of {ratios.runs} runs with"
        f" {100 * ratios.level:g} % intervals"
    )


def overall_rows(ratios: Ratios, group: str, escape: Callable[[str], str]) -> Rows:
    """Return a row for each agent over the worlds of a group; > marks lower bounds."""
    rows: Rows = []
    for row in ratios.overall(group):
        sign = ">" * row.bound
        rows.append(
            (
                escape(f"{ratios.agents.index(row.agent) + 1} {marked(row.agent, ratios.caveats)}"),
                escape(sign + with_ends(row.mean)),
                escape(sign + number(row.worst, 2, zeros=True)),
                escape(row.worst_world),
                escape(sign + number(row.tail, 2, zeros=True)),
                *map(str, (row.cut_off, row.failed, row.refused)),
                number(row.cpu, 2, zeros=True),
            )
        )
    return rows


def world_table(ratios: Ratios) -> str:
    agents = ratios.agents
    rows: Rows = [("", *map(str, range(1, len(agents) + 1)))]
    for group, worlds in ratios.groups.items():
        if group:
            rows.append((f"{group}:", *("" for _ in agents)))
        rows += [(world, *(cell_text(ratios.find(world, agent)) for agent in agents)) for world in worlds]
    return columns(rows, right=range(1, len(agents) + 1))


def without_ends(interval: Interval) -> str:
    return number(interval.value, 2, zeros=True)


def with_ends(interval: Interval) -> str:
    """Write a ratio and the ends of its interval with two digits."""
    value = without_ends(interval)
    if math.isnan(interval.low):
        return value
    return f"{value} [{number(interval.low, 2, zeros=True)}, {number(interval.high, 2, zeros=True)}]"


def cell_text(cell: Ratio | None, write: Callable[[Interval], str] = without_ends) -> str:
    """Write one ratio, or why there is none."""
    if cell is None:
        return ""
    if cell.refusal:
        return "refused"
    if math.isnan(cell.ratio.value):
        return "failed" if cell.failed else "-"
    return ">" * cell.bound + write(cell.ratio)


def worlds_of(ratios: Ratios) -> Sequence[str]:
    return [world for worlds in ratios.groups.values() for world in worlds]


def notes_on(ratios: Ratios) -> list[str]:
    """Return what a reader must know before trusting a number."""
    notes = []
    if any(cell.bound for cell in ratios.cells):
        notes.append("> runs were cut off by the step limit: they count with what they had paid by then, a lower bound")
    reasons: dict[tuple[str, str], list[str]] = {}
    for cell in ratios.cells:
        if cell.refusal:
            reasons.setdefault((cell.agent, cell.refusal), []).append(cell.world)
    notes += [f"{agent} refuses {', '.join(worlds)}: {why}" for (agent, why), worlds in reasons.items()][:MOST_REASONS]
    failed = [cell for cell in ratios.cells if cell.failed]
    notes += [f"{cell.agent} in {cell.world}: {cell.failed} runs failed; goalward status says why" for cell in failed]
    missing = sum(cell.missing for cell in ratios.cells)
    if missing:
        notes.append(f"{missing} runs are missing")
    notes += [f"{agent}: {text}" for agent, text in ratios.caveats.items()]
    return notes
