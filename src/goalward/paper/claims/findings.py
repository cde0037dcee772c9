"""What a test finds out about a claim: what was run, what was measured, and the verdict.

A verdict follows from the interval, not from the estimate alone. A claim holds if the whole interval is on its side, it
does not hold if the whole interval is on the other side, and otherwise it is not decided. An upper bound that may be
reached, such as that on an exponent, holds unless the whole interval lies above it (`at_most`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from scipy import special

from goalward.statistics import Interval

__all__ = ["Finding", "Verdict", "above", "all_of", "at_most", "below", "certain", "share", "within"]


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

    def to_document(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return asdict(self) | {"verdict": self.verdict.value}


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


def share(count: int, runs: int, level: float = 0.95) -> Interval:
    """Return the share of some runs with the interval of Clopper and Pearson.

    >>> round(share(0, 20).high, 4), round(share(20, 20).low, 4)
    (0.1684, 0.8316)
    """
    tail = (1.0 - level) / 2.0
    low = float(special.betaincinv(count, runs - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, runs - count, 1.0 - tail)) if count < runs else 1.0
    return Interval(count / runs, low, high, runs)
