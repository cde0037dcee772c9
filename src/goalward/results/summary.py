"""The numbers of a study: one row for each agent in each world, and the notes that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.results.results import MEASURES, CellResults, Results, world_name
from goalward.statistics import (
    FEW_RUNS,
    Comparison,
    Interval,
    bootstrap_interval,
    checked_level,
    compare_pairs,
    growth_across,
    growth_along,
    mean_interval,
)
from goalward.table import Table

__all__ = ["Row", "Summary", "SweepRow", "compare", "notes_on_pairs", "summarise", "sweep_rows"]

MOST_NOTES = 8


@dataclass(frozen=True)
class Row:
    """One agent in one world.

    Means, medians and exponents are those of the `complete` runs. `regret` is the realised one, `gap_regret` the sum of
    the optimality gaps; `exponent` is that of the gap regret in the number of episodes.
    """

    world: str
    agent: str
    episodes: int
    complete: int
    truncated: int
    failed: int
    missing: int
    regret: Interval
    median: float
    gap_regret: Interval
    gap_median: float
    exponent: Interval
    steps: float
    seconds: float
    caveat: str = ""

    @property
    def planned(self) -> int:
        """How many runs the study has."""
        return self.complete + self.truncated + self.failed + self.missing

    def document(self) -> dict[str, Any]:
        """Return the row as plain data; an interval becomes three columns."""
        found: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Interval):
                found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            else:
                found[name] = value
        return found


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


@dataclass(frozen=True)
class Summary:
    """The numbers of a study."""

    name: str
    level: float
    method: str
    rows: list[Row]
    sweeps: list[SweepRow]
    notes: list[str]

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return Table([row.document() for row in self.rows])


def summarise(results: Results, level: float = 0.95, bootstrap: bool = False) -> Summary:
    """Return the numbers of a study, with t-intervals or bootstrap intervals."""
    checked_level(level)
    interval = bootstrap_interval if bootstrap else mean_interval
    rows = [row_of(results, cell, level, interval) for cell in results.cells]
    method = "bootstrap" if bootstrap else "t"
    return Summary(results.design.name, level, method, rows, sweep_rows(results, level), notes_on(rows))


def row_of(results: Results, cell: CellResults, level: float, interval: Callable[[Floats, float], Interval]) -> Row:
    complete = cell.complete
    finals = {measure: cell.finals[measure][complete] for measure in MEASURES}
    return Row(
        world_name(results.design, cell.cell),
        cell.cell.agent.label,
        cell.cell.episodes,
        int(np.count_nonzero(complete)),
        int(np.count_nonzero(cell.truncated)),
        len(cell.failed),
        len(cell.missing) + len(cell.damaged),
        interval(finals["regret"], level),
        median(finals["regret"]),
        interval(finals["gap_regret"], level),
        median(finals["gap_regret"]),
        growth_along(cell.points.astype(np.float64), cell.curves["gap_regret"][complete], level),
        float(cell.total_steps[complete].mean()) if complete.any() else np.nan,
        float(cell.seconds[complete].mean()) if complete.any() else np.nan,
        cell.caveat,
    )


def median(samples: Floats) -> float:
    return float(np.median(samples)) if len(samples) else np.nan


def notes_on(rows: list[Row]) -> list[str]:
    """Return what a reader must know before trusting a number."""
    notes = []
    for row in rows:
        where = f"{row.agent} in {row.world}"
        if row.truncated:
            notes.append(
                f"{where}: {row.truncated} of {row.planned} runs were cut off by the step limit and are left out;"
                " what is shown is of the others and too small"
            )
        if row.failed:
            notes.append(f"{where}: {row.failed} of {row.planned} runs failed; goalward status names them")
        if row.missing:
            notes.append(f"{where}: {row.missing} of {row.planned} runs are missing; goalward run makes them")
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"and {len(notes) - MOST_NOTES} more of the kind; goalward status lists all"]
    notes += [f"{agent}: {caveat}" for agent, caveat in {row.agent: row.caveat for row in rows if row.caveat}.items()]
    few = sorted({row.complete for row in rows if row.complete < FEW_RUNS})
    if few:
        notes.append(f"some means are of {few[0]} run{'s' * (few[0] != 1)}: too few for an interval to say much")
    return notes


def sweep_rows(results: Results, level: float) -> list[SweepRow]:
    """Return how the regret grows across the sweeps of one numeric setting of a world."""
    groups: dict[tuple[str, str, str], list[CellResults]] = {}
    for cell in results.cells:
        swept = cell.cell.world.swept
        if len(swept) == 1 and is_positive_number(next(iter(swept.values()))):
            setting = next(iter(swept))
            family = world_name(results.design, cell.cell).replace(f" {setting}={swept[setting]}", "")
            groups.setdefault((family, cell.cell.agent.label, setting), []).append(cell)
    rows = []
    for (world, agent, setting), cells in groups.items():
        finals = [cell.finals["gap_regret"][cell.complete] for cell in cells]
        values = [float(cell.cell.world.swept[setting]) for cell in cells]
        repeated = np.repeat(values, [len(each) for each in finals])
        exponent = growth_across(repeated, np.concatenate(finals), level)
        rows.append(SweepRow(world, agent, setting, tuple(values), exponent, tuple(finals)))
    return rows


def is_positive_number(value: object) -> bool:
    """Return whether a value is a number whose logarithm can be taken."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def compare(
    results: Results, first: str, second: str, measure: str = "gap_regret", level: float = 0.95
) -> dict[str, Comparison]:
    """Compare two agents in every world they share, over the runs that both completed."""
    found = {}
    for world, cells in results.worlds().items():
        by_agent = {cell.cell.agent.label: cell for cell in cells}
        if first in by_agent and second in by_agent:
            pairs = [completed(by_agent[agent], measure) for agent in (first, second)]
            shared = sorted(set(pairs[0]) & set(pairs[1]))
            one, other = (np.array([each[run] for run in shared], dtype=np.float64) for each in pairs)
            found[world] = replace(compare_pairs(one, other, level), left_out=results.design.runs - len(shared))
    return found


def notes_on_pairs(found: Mapping[str, Comparison]) -> list[str]:
    """Return what a reader must know before trusting a comparison."""
    notes = [
        f"{world}: {each.left_out} of {each.pairs + each.left_out} runs left out: not both agents completed them;"
        " goalward status says why, and if runs were cut off the difference is of the easier ones"
        for world, each in found.items()
        if each.left_out
    ]
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"and {len(notes) - MOST_NOTES} more of the kind; goalward status lists all"]
    few = min((each.pairs for each in found.values()), default=FEW_RUNS)
    if few < FEW_RUNS:
        notes.append(f"some comparisons are of {few} pair{'s' * (few != 1)}: too few for an interval to say much")
    return notes


def completed(cell: CellResults, measure: str) -> dict[int, float]:
    """Return the final regret of each complete run, by its number."""
    return dict(zip(cell.runs[cell.complete].tolist(), cell.finals[measure][cell.complete].tolist(), strict=True))
