"""The measures of a run, such as regret and cost, and the statistics that summaries show for each measure.

A new measure is one entry of `MEASURES`. Measures are computed from run files, so a new measure is also available for
existing results: in `Results.runs`, exports, summaries and the pages that show summaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Floats
from goalward.errors import SettingError
from goalward.formatting import Interval, number
from goalward.statistics import growth_along
from goalward.studies.run_file import StoredRun
from goalward.table import Column


class Sample(NamedTuple):
    """The data of a measure in the complete runs of a cell: `values` and `curves` have one entry for each run.

    `interval` computes the mean or median with its interval at a confidence level.
    """

    values: Floats
    points: Floats
    curves: Floats
    level: float
    interval: Callable[[Floats, float], Interval]


def interval(sample: Sample) -> Interval:
    return sample.interval(sample.values, sample.level)


@dataclass(frozen=True)
class Statistic(Column):
    """A column of summaries; the function `of` computes its entries."""

    of: Callable[[Sample], Any] = interval


@dataclass(frozen=True)
class Measure:
    """A number that every run has, and the columns that summaries show for this number.

    `curve` names a column of the run file with a value for each episode. If no curve can be drawn, `curve` is empty.
    """

    name: str
    of: Callable[[StoredRun], float]
    statistics: tuple[Statistic, ...] = ()
    curve: str = ""
    label: str = ""
    """The label of the curve in figures."""
    kind: str = "double"
    """The type in Parquet files."""


def final(column: str) -> Callable[[StoredRun], float]:
    """Return a function that returns the last value of a `column`, even if the run was cut off."""

    def of(run: StoredRun) -> float:
        value = run.outcome.get(f"final_{column}")
        if isinstance(value, float):
            return value
        values = run.column(column)  # not finite, so the document has None
        return float(values[-1]) if len(values) else math.nan

    return of


def median(sample: Sample) -> float:
    return float(np.median(sample.values)) if len(sample.values) else math.nan


def mean(sample: Sample) -> float:
    return float(sample.values.mean()) if len(sample.values) else math.nan


def exponent(sample: Sample) -> Interval:
    return growth_along(sample.points, sample.curves, sample.level)


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.4g} %"


def rounded(value: float) -> str:
    return number(value, zeros=True)


MEASURES = (
    Measure(
        "regret",
        final("regret"),
        (Statistic("regret"), Statistic("median", write=rounded, of=median)),
        curve="regret",
        label="regret",
    ),
    Measure(
        "gap_regret",
        final("gap_regret"),
        (Statistic("gap_regret"), Statistic("exponent", of=exponent)),
        curve="gap_regret",
        label="gap regret",
    ),
    Measure(
        "cost",
        lambda run: run.outcome["total_cost"] / run.outcome["episodes"],
        (Statistic("cost", "cost per episode"),),
        curve="cost",
        label="cost of the episode",
    ),
    Measure(
        "goals",
        lambda run: run.outcome["goals"] / run.outcome["episodes"],
        (Statistic("goals", "goal reached", percent, mean),),
    ),
    Measure(
        "steps",
        lambda run: run.outcome["total_steps"],
        (Statistic("steps", write=rounded, of=mean),),
        curve="steps",
        label="steps of the episode",
        kind="int64",
    ),
    Measure(
        "seconds",
        lambda run: run.document["timing"]["cpu_seconds"],
        (Statistic("seconds", write=lambda value: number(value, 2, zeros=True), of=mean),),
    ),
)
LABELS = {measure.curve: measure.label for measure in MEASURES if measure.curve}
CURVES = tuple(LABELS)
"""The curves along the episodes: both regrets so far, and the cost and the steps of each episode."""
REGRETS = ("regret", "gap_regret")
COMPARED = (*REGRETS, "cost")
"""The measures for comparing agents; without a true model, only the cost is known."""


def values_of(run: StoredRun) -> dict[str, float]:
    """Return the measures of a run; raises FileError if the file of the run cannot be read."""
    return {measure.name: measure.of(run) for measure in MEASURES}


def checked_measure(measure: str, known: tuple[str, ...] = COMPARED) -> str:
    """Return `measure`; raise SettingError if `measure` is not one of `known`."""
    if measure not in known:
        raise SettingError(f"measure is {measure!r}; it must be one of {', '.join(known)}")
    return measure
