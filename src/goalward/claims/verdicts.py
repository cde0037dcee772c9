"""What became of a claim: what was run, the figure with its interval, and the verdict.

Verdicts follow the interval, never the estimate alone: a claim holds if all of the interval is on its side, does not
hold if all of it is on the other, and is not decided otherwise. Upper bounds that may be reached, such as exponents,
hold unless the interval lies above them (`at_most`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from scipy import special

from goalward.results.statistics import Interval

__all__ = ["Finding", "Verdict", "above", "all_of", "at_most", "below", "share", "within"]


class Verdict(Enum):
    """Whether a claim is true of what was measured."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decided"


@dataclass(frozen=True)
class Finding:
    """One row of the table.

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
        What follows.
    note
        What else must be known to read the figure.
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
    """Decide about an upper bound that may be reached, such as a growth exponent: it holds unless clearly exceeded."""
    if math.isnan(interval.low):
        return Verdict.OPEN
    return Verdict.FAILS if interval.low > limit else Verdict.HOLDS


def all_of(*verdicts: Verdict) -> Verdict:
    """Return the verdict on several claims taken together."""
    for worst in (Verdict.FAILS, Verdict.OPEN):
        if worst in verdicts:
            return worst
    return Verdict.HOLDS


def share(count: int, runs: int, level: float = 0.95) -> Interval:
    """Return a share with the interval of Clopper and Pearson, which holds for every true share.

    >>> round(share(0, 20).high, 4), round(share(20, 20).low, 4)
    (0.1684, 0.8316)
    """
    tail = (1.0 - level) / 2.0
    low = float(special.betaincinv(count, runs - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, runs - count, 1.0 - tail)) if count < runs else 1.0
    return Interval(count / runs, low, high, runs)
