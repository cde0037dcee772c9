"""What a test finds out about a claim: what was run, what was measured, and the verdict; findings as text and files.

A verdict follows from the interval, not from the estimate alone. A claim holds if the whole interval is on its side, it
does not hold if the whole interval is on the other side, and otherwise it is not decided. An upper bound that may be
reached, such as that on an exponent, holds unless the whole interval lies above it (`at_most`).
"""

from __future__ import annotations

import html
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from scipy import special

from goalward.errors import FileError
from goalward.files import parse_json, read_bytes
from goalward.formatting import markdown_text, visible
from goalward.json_documents import json_text, write_text
from goalward.statistics import Interval

__all__ = [
    "Finding", "Verdict", "above", "all_of", "at_most", "below", "certain", "claims_document", "claims_markdown",
    "claims_text", "keep_claims", "read_claims", "share", "within",
]  # fmt: skip

CLAIMS_FILE = "claims.json"
VERDICT_WIDTH = 15
NARROWEST = 60


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


def tally(findings: Sequence[Finding]) -> str:
    count = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{count[verdict]} {verdict.value}" for verdict in Verdict if count[verdict])


def claims_text(findings: Sequence[Finding], width: int = 120) -> str:
    """Return the table for a terminal: verdict and claim, below them what was measured and what was run."""
    inside = " " * VERDICT_WIDTH
    wrapper = textwrap.TextWrapper(
        width=max(width, NARROWEST), subsequent_indent=inside + "  ", break_long_words=False, break_on_hyphens=False
    )
    lines = []
    for finding in findings:
        lines.append(wrapper.fill(f"{finding.verdict.value:<{VERDICT_WIDTH}}{finding.claim}"))
        entries = [finding.figure, f"ran: {finding.ran}", *([f"note: {finding.note}"] if finding.note else [])]
        for entry in entries:
            wrapper.initial_indent = inside
            lines.append(wrapper.fill(entry))
        wrapper.initial_indent = ""
        lines.append("")
    return "\n".join([*lines, tally(findings)])


def claims_markdown(findings: Sequence[Finding]) -> str:
    """Return the table in Markdown: one line for each claim, which unfolds to what was measured and run."""
    parts = [f"{tally(findings)}\n"]
    for finding in findings:
        claim = html.escape(visible(finding.claim), quote=False)
        parts.append(f"<details><summary><b>{finding.verdict.value}</b>: {claim}</summary>\n")
        entries = [("measured", finding.figure), ("run", finding.ran), ("note", finding.note)]
        parts += [f"* *{name}*: {markdown_text(text)}" for name, text in entries if text]
        parts.append("\n</details>\n")
    return "\n".join(parts)


def claims_document(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the table as plain data."""
    return [finding.to_document() for finding in findings]


def keep_claims(folder: Path, findings: Sequence[Finding]) -> None:
    """Write verdicts into a results folder, for its report; those of other tests that are there already stay."""
    new = claims_document(findings)
    tested = {row["key"] for row in new}
    kept = [row for row in read_claims(folder) if row["key"] not in tested]
    write_text(folder / CLAIMS_FILE, json_text([*kept, *new]))


def read_claims(folder: Path) -> list[dict[str, Any]]:
    """Return the verdicts in a results folder; none if there are none, or if they cannot be read."""
    path = folder / CLAIMS_FILE
    if not path.exists():
        return []
    try:
        rows = parse_json(path, read_bytes(path, inside=folder))
    except FileError:
        return []
    wanted = {field.name for field in fields(Finding)}
    sound = isinstance(rows, list) and all(isinstance(row, dict) and set(row) == wanted for row in rows)
    return [{name: str(text) for name, text in row.items()} for row in rows] if sound else []
