"""The arena as text and Markdown: agents over all worlds, and world by world, relative to one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from goalward.figures.symbols import marked
from goalward.formatting import markdown_text, number
from goalward.paper.ratios import Overall, Ratio, Ratios
from goalward.statistics import Interval
from goalward.text_tables import Rows, columns, markdown_table

__all__ = ["arena_document", "arena_markdown", "arena_text", "cell_text"]

HEADINGS = ("agent", "geometric mean", "worst", "in", "95th percentile", "cut off", "failed", "refused", "CPU")
NUMBERS = (1, 2, 4, 5, 6, 7, 8)
MOST_REASONS = 12


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
    count = len(ratios.groups[group])
    which = f"{count} world{'s' * (count != 1)}" + f" for {group}" * bool(group)
    length = " and ".join(f"{each:,}" for each in ratios.episodes)
    return (
        f"{which}: gap regret after {length} episodes relative to {ratios.reference}, mean of {ratios.runs} runs with"
        f" {100 * ratios.level:g} % intervals"
    )


def overall_rows(ratios: Ratios, group: str, escape: Callable[[str], str]) -> Rows:
    numbers = {agent: place + 1 for place, agent in enumerate(ratios.agents)}
    return [overall_row(each, numbers[each.agent], ratios, escape) for each in ratios.overall(group)]


def overall_row(each: Overall, place: int, ratios: Ratios, escape: Callable[[str], str]) -> tuple[str, ...]:
    sign = ">" * each.bound
    return (
        escape(f"{place} {marked(each.agent, ratios.caveats)}"),
        escape(sign + with_ends(each.mean)),
        escape(sign + number(each.worst, 2, zeros=True)),
        escape(each.worst_world),
        escape(sign + number(each.tail, 2, zeros=True)),
        str(each.cut_off),
        str(each.failed),
        str(each.refused),
        number(each.cpu, 2, zeros=True),
    )


def world_table(ratios: Ratios) -> str:
    agents = ratios.agents
    rows: Rows = [("", *(str(place + 1) for place in range(len(agents))))]
    for group, worlds in ratios.groups.items():
        if group:
            rows.append((f"{group}:", *("" for _ in agents)))
        rows += [(world, *(cell_text(ratios.find(world, agent)) for agent in agents)) for world in worlds]
    # Every column but the first holds numbers; `columns` takes single digits only, so texts are padded here.
    widths = [max(len(row[place]) for row in rows) for place in range(len(agents) + 1)]
    return columns([(row[0], *(text.rjust(widths[place + 1]) for place, text in enumerate(row[1:]))) for row in rows])


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
