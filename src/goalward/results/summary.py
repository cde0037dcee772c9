"""Tables of a study: means of each agent in each world, growth across sweeps, and paired comparisons of two agents.

`goalward.results.measures` declares the columns, and `goalward.statistics` computes intervals and growth exponents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.errors import GoalwardError, SettingError
from goalward.formatting import Interval, number
from goalward.results.measures import MEASURES, REGRETS, Sample, checked_measure
from goalward.results.results import CellResults, Results, named
from goalward.ssp.model import SSP
from goalward.statistics import (
    FEW_RUNS,
    INTERVALS,
    Comparison,
    checked_interval,
    checked_level,
    compare_pairs,
    growth_of_means,
    is_skewed,
)
from goalward.studies.attachments import Attachments
from goalward.studies.run_spec import make_world
from goalward.studies.store import Store
from goalward.studies.sweeps import labelled
from goalward.table import Cell, Column, Columns, Table, written
from goalward.user_code import is_reference

MOST_NOTES = 8
LEAST = "six runs or more"
ABSENT = {
    "truncated": "were cut off by the step limit and are left out; means cover only finished runs and are biased low",
    "failed": "failed; goalward status names them",
    "missing": "are missing; goalward run makes them",
}


def summary_tables(results: Results, level: float = 0.95, interval: str = "t", reference: bool = False) -> list[Table]:
    """Return the summary of a study. For a study that sweeps a setting, also return how the regret grows."""
    sweeps = sweep_rows(results, level)
    summary = summary_table(results, level, interval, reference)
    if not sweeps:
        return [summary]
    rows = [
        {
            "world": row.world,
            "agent": row.agent,
            "setting": row.setting,
            "values": list(row.values),
            "exponent": row.exponent,
        }
        for row in sweeps
    ]
    columns: Columns = ["world", "agent", "setting", "exponent"]
    # The notes on the summary come last.
    growth = Table(rows, columns, "sweeps", "gap regret grows as a power of a setting", summary.notes)
    return [replace(summary, notes=()), growth]


def summary_table(results: Results, level: float = 0.95, interval: str = "t", reference: bool = False) -> Table:
    """Return a table with one row for each agent in each world: statistics over the complete runs.

    With `reference`, an additional column has the gap regret divided by the result of `reference_in`.
    """
    checked_level(level)
    rows = [summary_row(results, cell, level, checked_interval(interval)) for cell in results.cells]
    lengths = {row["episodes"] for row in rows}
    after = f" after {lengths.pop():,} episodes" if len(lengths) == 1 else ""
    words = ("means", "t-intervals") if interval == "t" else ("medians", "intervals of order statistics")
    title = f"{words[0]}{after} with {100 * level:g} % {words[1]}"
    known = {cell.has_model for cell in results.cells}
    hidden = ({"cost", "goals"} if False not in known else set()) | (set() if True in known else {*REGRETS})
    shown: list[Column] = [
        statistic for measure in MEASURES for statistic in measure.statistics if measure.name not in hidden
    ]
    notes = paired_notes(results, level, interval) + notes_on(rows) + skewed_notes(results) * (interval == "t")
    if reference:
        scales = {world: reference_in(results, cells[0]) for world, cells in results.worlds().items()}
        for row in rows:
            regret, scale = row["gap_regret"], scales[row["world"]]
            row["of_reference"] = replace(
                regret, **{end: getattr(regret, end) / scale for end in ("value", "low", "high")}
            )
        shown.append(Column("of_reference", "regret / reference"))
        notes.append("reference: a heuristic scale, not a bound")
    return Table(rows, ["agent", Column("complete", "runs"), *shown], "summary", title, notes, group="world")


def reference_in(results: Results, cell: CellResults) -> float:
    """Return `goalward.theory.RegretLimit.reference` for the world of a cell.

    Returns NaN if there is no limit, if the limit is 0, or if each run has its own world. The result is NaN also if a
    user's code builds the world, because reading results executes no code.
    """
    from goalward.theory.limit import regret_limit

    entry = cell.cell.world
    if entry.draw is not None or entry.code or is_reference(entry.world):
        return math.nan
    try:
        stored = Attachments() if results.folder is None else Store.open(results.folder).attachments
        world = make_world(entry.identity, stored)
        return (regret_limit(world).reference(cell.cell.episodes) if isinstance(world, SSP) else 0.0) or math.nan
    except GoalwardError:
        return math.nan


def skewed_notes(results: Results) -> list[str]:
    """Return a warning if runs are so skewed that the intervals of their means are too short."""
    measure = {True: "gap_regret", False: "cost"}
    skewed = [cell for cell in results.cells if is_skewed(cell.finals[measure[cell.has_model]][cell.complete])]
    agents = ", ".join(dict.fromkeys(cell.cell.agent.label for cell in skewed))
    return [f"the t-intervals of skewed runs are too short: {agents}; use --interval median ({LEAST})"] * bool(skewed)


def usual_measure(results: Results) -> str:
    return "gap_regret" if all(cell.has_model for cell in results.cells) else "cost"


def paired_notes(results: Results, level: float, interval: str) -> list[str]:
    """Return comparisons of all agents with the first agent, if the study has one world and few agents."""
    first, *others = results.agents() or [""]
    if len(results.worlds()) != 1 or not 0 < len(others) <= MOST_NOTES:
        return []
    measure = usual_measure(results)
    notes = []
    for other in others:
        ((_, pairs),) = compare(results, other, first, measure, level, interval).items()
        if pairs.pairs > 1:
            difference, p_value = written(pairs.difference), number(pairs.p_value)
            words = "median " * (interval == "median") + ("cost per episode" if measure == "cost" else "gap regret")
            notes.append(f"{other} minus {first}, run by run: {words} {difference}, p = {p_value}")
    return notes


def summary_row(results: Results, cell: CellResults, level: float, interval: str) -> dict[str, Any]:
    complete = cell.complete
    truncated, failed = int(np.count_nonzero(cell.truncated)), len(cell.failed)
    missing = len(cell.missing) + len(cell.damaged)
    label = cell.cell.agent.label
    row: dict[str, Any] = {
        "world": cell.cell.world.label,
        "agent": Cell(label, f"{label} *") if truncated or failed or missing or cell.caveat else label,
        "episodes": cell.cell.episodes,
        "complete": int(np.count_nonzero(complete)),
        "truncated": truncated,
        "failed": failed,
        "missing": missing,
    }
    for measure in MEASURES:
        curves = cell.curves[measure.curve][complete] if measure.curve in cell.curves else np.empty((0, 0))
        values = cell.values[measure.name][complete]
        sample = Sample(values, cell.points.astype(np.float64), curves, level, INTERVALS[interval])
        row |= {statistic.name: statistic.of(sample) for statistic in measure.statistics}
    return row | {"caveat": cell.caveat}


def notes_on(rows: list[dict[str, Any]]) -> list[str]:
    """Return notes that warn the reader, for example about missing runs, missed goals and caveats."""
    notes, caveats = [], {}
    for row in rows:
        agent = row["agent"].value if isinstance(row["agent"], Cell) else row["agent"]
        where = f"{agent} in {row['world']}"
        planned = sum(row[name] for name in ("complete", "truncated", "failed", "missing"))
        notes += [f"{where}: {row[state]} of {planned} runs {words}" for state, words in ABSENT.items() if row[state]]
        if row["goals"] < 1.0:
            lost = f"{100 * (1.0 - row['goals']):.3g} % of the episodes did not reach the goal"
            notes.append(f"{where}: {lost}; their costs until then are included")
        if row["caveat"]:
            caveats[agent] = row["caveat"]
    notes = shortened(notes) + [f"{agent}: {caveat}" for agent, caveat in caveats.items()]
    few = min((row["complete"] for row in rows), default=FEW_RUNS)
    if few < FEW_RUNS:
        notes.append(f"some means are over {few} run{'s' * (few != 1)}: too few for a useful interval")
    return notes


def shortened(notes: list[str]) -> list[str]:
    rest = len(notes) - MOST_NOTES
    return notes if rest <= 0 else [*notes[:MOST_NOTES], f"and {rest} more notes like these; goalward status lists all"]


@dataclass(frozen=True)
class SweepRow:
    """How the final gap regret of an agent grows with a setting of the world."""

    world: str
    agent: str
    setting: str
    values: tuple[float, ...]
    exponent: Interval
    finals: tuple[Floats, ...] = field(default=(), repr=False, compare=False)
    """The final gap regret of every complete run, one entry for each value."""


def sweep_rows(results: Results, level: float) -> list[SweepRow]:
    """Return how the regret of each agent grows with a numeric setting of a world, if only this setting is swept."""
    groups: dict[tuple[str, str, str], list[CellResults]] = {}
    for cell in results.cells:
        swept = cell.cell.world.swept
        if len(swept) == 1 and is_positive_number(next(iter(swept.values()))):
            setting = next(iter(swept))
            family = cell.cell.world.label.removesuffix(labelled("", swept))
            groups.setdefault((family, cell.cell.agent.label, setting), []).append(cell)
    rows = []
    for (world, agent, setting), cells in groups.items():
        values = np.array([float(cell.cell.world.swept[setting]) for cell in cells])
        finals = [completed(cell, "gap_regret") for cell in cells]
        # The runs that are complete at every setting that has complete runs.
        begun = [index for index, regrets in enumerate(finals) if regrets]
        shared = [run for run in range(results.design.runs) if all(run in finals[index] for index in begun)]
        numbers = np.array([[finals[index].get(run, np.nan) for index in begun] for run in shared])
        exponent = growth_of_means(values[begun], numbers, level)
        samples = tuple(np.array(list(regrets.values())) for regrets in finals)
        rows.append(SweepRow(world, agent, setting, tuple(values.tolist()), exponent, samples))
    return rows


def is_positive_number(value: object) -> bool:
    """Return whether a value is a positive number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def compare(
    results: Results, first: str, second: str, measure: str = "gap_regret", level: float = 0.95, interval: str = "t"
) -> dict[str, Comparison]:
    """Compare two agents in every world in which both learn, over the runs that both completed."""
    comparisons = {}
    for world, cells in results.worlds().items():
        by_agent = {cell.cell.agent.label: cell for cell in cells}
        if first in by_agent and second in by_agent:
            pairs = [completed(by_agent[agent], measure) for agent in (first, second)]
            shared = sorted(set(pairs[0]) & set(pairs[1]))
            one, other = (np.array([values[run] for run in shared], dtype=np.float64) for values in pairs)
            left_out = results.design.runs - len(shared)
            comparisons[world] = replace(compare_pairs(one, other, level, interval=interval), left_out=left_out)
    return comparisons


def completed(cell: CellResults, measure: str) -> dict[int, float]:
    """Return the final value of a measure in each complete run, by the number of the run."""
    return dict(zip(cell.runs[cell.complete].tolist(), cell.finals[measure][cell.complete].tolist(), strict=True))


def comparison_table(
    results: Results, first: str, second: str, measure: str | None = None, level: float = 0.95, interval: str = "t"
) -> Table:
    """Return a table that compares two agents, run by run, in every world in which both learn."""
    measure = checked_measure(measure or usual_measure(results))
    checked_level(level)
    agents = named(results, first), named(results, second)
    comparisons = compare(results, *agents, measure, level, checked_interval(interval))
    if not comparisons:
        raise SettingError(f"{first} and {second} share no world in {results.design.name}; choose two other agents")
    rows = [
        {
            "world": Cell(world, f"{world} *") if comparison.left_out else world,
            "first": first,
            "second": second,
            "measure": measure,
            "pairs": comparison.pairs,
            "left_out": comparison.left_out,
            "difference": comparison.difference,
            "first_lower": Cell(comparison.wins, f"{comparison.wins} of {comparison.pairs}"),
            "p_value": comparison.p_value,
            "correlation": comparison.correlation,
        }
        for world, comparison in comparisons.items()
    ]
    words = ("mean", "t-interval") if interval == "t" else ("median", "interval of order statistics")
    title = (
        f"{measure.replace('_', ' ')} of {first} minus that of {second}, run by run: {words[0]} with {100 * level:g} %"
        f" {words[1]}; p-values of the two-sided sign-flip test of the paired differences"
    )
    columns: Columns = [
        "world",
        "pairs",
        "difference",
        Column("first_lower", f"{first} lower"),
        Column("p_value", "p-value", number),
        Column("correlation", write=lambda value: number(value, 2)),
    ]
    return Table(rows, columns, "comparison", title, notes_on_pairs(comparisons, interval))


def notes_on_pairs(comparisons: Mapping[str, Comparison], interval: str) -> list[str]:
    """Return notes that warn the reader about excluded runs, few pairs and skewed differences."""
    notes = [
        f"{world}: {pairs.left_out} of {pairs.pairs + pairs.left_out} runs are left out, because an agent did not"
        " complete them; goalward status says why. If runs were cut off, the difference covers only easier runs"
        for world, pairs in comparisons.items()
        if pairs.left_out
    ]
    notes = shortened(notes)
    few = min((comparison.pairs for comparison in comparisons.values()), default=FEW_RUNS)
    if few < FEW_RUNS:
        notes.append(f"some comparisons are over {few} pair{'s' * (few != 1)}: too few for a useful interval")
    skewed = ", ".join(world for world, pairs in comparisons.items() if pairs.skewed and interval == "t")
    if skewed:
        notes.append(f"the t-intervals of skewed differences are too short: {skewed}; use --interval median ({LEAST})")
    return notes
