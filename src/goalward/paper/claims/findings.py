"""What a test finds out about a claim: what was run, what was measured, and the verdict.

A verdict follows from the interval, not from the estimate alone. A claim holds if the whole interval is on its side, it
does not hold if the whole interval is on the other side, and otherwise it is not decided. An upper bound that may be
reached, such as that on an exponent, holds unless the whole interval lies above it (`at_most`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum

from goalward.formatting import Interval
from goalward.statistics import share
from goalward.table import Cell, Column, Columns, Table

__all__ = [
    "Finding", "Verdict", "above", "all_of", "at_most", "below", "certain", "claims_table", "share",
    "within",
]  # fmt: skip


class Verdict(Enum):
    """Whether the measurements agree with a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decided"


@dataclass(frozen=True)
class Finding:
    """One row of the table of claims.

    Attributes
    ----------
    key
        A short name, such as ``rivals``.
    claim
        What the paper says.
    ran
        What was run to test it.
    figure
        What was measured, with intervals.
    verdict
        What follows from it.
    note
        What else a reader must know.
    """

    key: str
    claim: str
    ran: str
    figure: str
    verdict: Verdict
    note: str = ""


def within(interval: Interval, low: float, high: float) -> Verdict:
    """Decide whether a quantity lies between two limits.

    >>> within(Interval(0.4, 0.3, 0.5, 9), 0.0, 0.6), within(Interval(0.4, 0.3, 0.5, 9), 0.0, 0.45)
    (<Verdict.HOLDS: 'holds'>, <Verdict.OPEN: 'not decided'>)
    """
    if math.isnan(interval.low) or math.isnan(interval.high):
        return Verdict.OPEN
    if interval.low > high or interval.high < low:
        return Verdict.FAILS
    return Verdict.HOLDS if low <= interval.low and interval.high <= high else Verdict.OPEN


def below(interval: Interval, limit: float) -> Verdict:
    """Decide whether a quantity is at most a limit."""
    return within(interval, -math.inf, limit)


def above(interval: Interval, limit: float) -> Verdict:
    """Decide whether a quantity is at least a limit."""
    return within(interval, limit, math.inf)


def at_most(interval: Interval, limit: float) -> Verdict:
    """Decide about an upper bound that may be reached: it holds unless the whole interval lies above it."""
    if math.isnan(interval.low):
        return Verdict.OPEN
    return Verdict.FAILS if interval.low > limit else Verdict.HOLDS


def certain(true: bool) -> Verdict:
    """Return the verdict on a statement that was checked in every single case."""
    return Verdict.HOLDS if true else Verdict.FAILS


def all_of(*verdicts: Verdict) -> Verdict:
    """Return the verdict on several claims together: the worst of theirs."""
    for worst in (Verdict.FAILS, Verdict.OPEN):
        if worst in verdicts:
            return worst
    return Verdict.HOLDS


def claims_table(findings: Sequence[Finding]) -> Table:
    """Return the verdict on each claim, with what was measured and what was run."""
    count = Counter(finding.verdict for finding in findings)
    tally = ", ".join(f"{count[verdict]} {verdict.value}" for verdict in Verdict if count[verdict])
    rows = [
        asdict(finding)
        | {
            "claim": Cell(finding.claim, f"{finding.verdict.value}: {finding.claim}"),
            "verdict": finding.verdict.value,
        }
        for finding in findings
    ]
    columns: Columns = [Column("figure", "measured"), "ran", "note"]
    return Table(rows, columns, "claims", notes=[tally], group="claim", vertical=True)
