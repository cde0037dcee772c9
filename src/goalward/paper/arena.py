"""The arena: a comparison of all agents, with their default settings, in many different worlds.

The arena has two stages, and each stage is a study that can be resumed. All agents play the first stage. Agents with
less than twice the regret of PSRL-SSP also play the second stage. The second stage has ten times as many episodes,
which reveals runs that get stuck.

The worlds form two groups. Ideas are selected on the group ``choosing`` only. Results are reported on the group
``reporting``, which never influences a selection. Tables show regret relative to one agent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goalward.agents.base import registry
from goalward.figures.styles import marked
from goalward.formatting import number
from goalward.paper.ratios import Overall, Ratio, Ratios
from goalward.planning.solve import solve_all
from goalward.studies.run_spec import make_world
from goalward.studies.study import Study
from goalward.table import Cell, Column, Columns, Table, save

REFERENCE = "PSRL-SSP"
"""The agent whose regret is 1."""
COMPANY = (REFERENCE, "neighbourhoods")
"""The agents that a user's agent is compared with in the arena."""
LEFT_OUT = {
    "aggregated-psrl": "it learns in worlds with continuous states",
    "continuous-psrl": "it learns in worlds with continuous states",
    "optimal": "its regret is 0",
    "psrl-step": "it plans at every step, which takes hours",
}
"""The registered agents that are not in the arena, and why."""
LONGER, CONTENDER = 10, 2.0
"""The factor on episodes in the second stage, and the ratio below which agents take part in that stage."""
MOST_REASONS = 12


def arena_study(agents: Sequence[str] = (), *, runs: int | None = None, episodes: int | None = None) -> Study:
    """Return the study of the arena.

    Parameters
    ----------
    agents
        Names of algorithms, or classes such as ``my_agent.py:Mine`` in files of the current folder. These agents are
        compared with `COMPANY` only. By default, all registered agents except `LEFT_OUT` take part.
    runs, episodes
        The numbers of runs and episodes; by default, the numbers in the study.
    """
    document = Study.load("arena").spec.model_dump(exclude_unset=True)
    document |= {name: value for name, value in {"runs": runs, "episodes": episodes}.items() if value is not None}
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
    """Return a study in which agents skip the worlds that they refuse, and a dict with the reasons."""
    refused = study.refusals()
    if not refused:
        return study, {}
    document: dict[str, Any] = study.spec.model_dump(exclude_unset=True)
    accepted: dict[int, list[str]] = {}  # the worlds that each entry of the study's agents accepts
    for labels, (kind, index, *_) in study.places.items():
        if kind == "agents" and labels not in refused:
            accepted.setdefault(int(index), []).append(labels[0])
    document["agents"] = [document["agents"][index] | {"worlds": worlds} for index, worlds in accepted.items()]
    return Study.from_dict(document, study.source.folder), refused


def long_study(study: Study, ratios: Ratios) -> Study:
    """Return the second stage, with the agents whose mean ratio of regret is less than `CONTENDER`."""
    better = {row.agent for row in ratios.overall() if row.mean.value < CONTENDER} | {ratios.reference}
    document: dict[str, Any] = study.spec.model_dump(exclude_unset=True)
    contenders = {place for labels, place in study.places.items() if labels[-1] in better}
    document["agents"] = [entry for index, entry in enumerate(document["agents"]) if ("agents", index) in contenders]
    document["name"] += "-long"
    document["episodes"] *= LONGER
    if "max_steps" in document:
        document["max_steps"] *= LONGER
    return Study.from_dict(document, study.source.folder)


def largest_values(study: Study) -> dict[str, float]:
    """Return B* (the largest optimal value) of each world, by the label of the world."""
    worlds = {cell.world.label: cell.world for cell in study.design.cells}
    values = {label: solve_all(make_world(world.identity, study.attachments)).values for label, world in worlds.items()}
    return {label: float(costs[np.isfinite(costs)].max(initial=0.0)) for label, costs in values.items()}


def publish_arena(ratios: Ratios, folder: Path, name: str) -> list[Path]:
    """Write the ratios as CSV, and the tables as Markdown and HTML; return the paths of the files."""
    files = [folder / f"{name}.{ending}" for ending in ("csv", "md", "html")]
    ratios.table.save(files[0])
    for path in files[1:]:
        save(arena_tables(ratios), path)
    return files


def arena_tables(ratios: Ratios) -> list[Table]:
    """Return two tables: one row for each agent in each group of worlds, and one row for each world."""
    numbers = {agent: index for index, agent in enumerate(ratios.agents, start=1)}
    overall = [
        overall_row(agent, group, numbers[agent.agent], ratios)
        for group in ratios.groups
        for agent in ratios.overall(group)
    ]
    columns: Columns = [
        "agent", Column("mean", "geometric mean"), "worst", Column("worst_world", "in"),
        Column("late", "worst late regret / B*"), "sticks", "cut_off", "failed", "refused", Column("cpu", "CPU"),
    ]  # fmt: skip
    worlds = [
        {"group": group, "world": world, **{agent: cell_of(ratios.find(world, agent)) for agent in ratios.agents}}
        for group, names in ratios.groups.items()
        for world in names
    ]
    agents = [Column(agent, str(index)) for agent, index in numbers.items()]
    title = "world by world (agents as numbered)"
    length = " and ".join(f"{episodes:,}" for episodes in ratios.episodes)
    about = (
        f"gap regret after {length} episodes relative to {ratios.reference}, mean of {ratios.runs} runs with"
        " 95 % intervals"
    )
    return [
        Table(overall, columns, "agents", about, group="group"),
        Table(worlds, ["world", *agents], "worlds", title, notes_on(ratios), group="group"),
    ]


def overall_row(overall: Overall, group: str, index: int, ratios: Ratios) -> dict[str, Any]:
    sign, mean = ">" * (overall.cut_off > 0), overall.mean
    ends = "" if math.isnan(mean.low) else f" [{two_digits(mean.low)}, {two_digits(mean.high)}]"
    count = len(ratios.groups[group])
    which = f"{count} world{'s' * (count != 1)}" + f" for {group}" * bool(group)
    floats = {name: Cell(value, two_digits(value)) for name, value in vars(overall).items() if isinstance(value, float)}
    return {
        **vars(overall),
        **floats,
        "group": Cell(group, which),
        "agent": Cell(overall.agent, f"{index} {marked(overall.agent, ratios.caveats)}"),
        "mean": Cell(mean, sign + two_digits(mean.value) + ends),
        "worst": Cell(overall.worst, sign + two_digits(overall.worst)),
    }


def two_digits(value: float) -> str:
    return number(value, 2, zeros=True)


def cell_of(cell: Ratio | None) -> Cell | None:
    """Return a table cell that shows a ratio, or the reason why there is no ratio."""
    if cell is None:
        return None
    if cell.refusal:
        return Cell(None, "refused")
    if math.isnan(cell.ratio.value):
        return Cell(None, "failed" if cell.failed else "-")
    return Cell(cell.ratio.value, ">" * (cell.cut_off > 0) + two_digits(cell.ratio.value) + "!" * cell.sticks)


def notes_on(ratios: Ratios) -> list[str]:
    """Return notes that explain the signs in the tables and list refusals, failures and caveats."""
    notes = []
    if any(cell.cut_off for cell in ratios.cells):
        notes.append("> a lower bound: the step limit cut runs off, and these count with their regret until then")
    if any(cell.sticks for cell in ratios.cells):
        notes.append(
            "! a run sticks: over the last two thirds of its episodes it pays more than 0.02 B* an episode, and more"
            f" than five times the worst run of {ratios.reference}"
        )
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
