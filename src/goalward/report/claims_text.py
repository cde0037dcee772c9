"""The table of claims as text, Markdown and plain data."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from goalward.claims.verdicts import Finding, Verdict

__all__ = ["claims_document", "claims_markdown", "claims_text"]

VERDICT_WIDTH = 15
NARROWEST = 60


def tally(findings: Sequence[Finding]) -> str:
    """Say how many claims have which verdict."""
    count = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{count[verdict]} {verdict.value}" for verdict in Verdict if count[verdict])


def claims_text(findings: Sequence[Finding], width: int = 120) -> str:
    """Return the table for a terminal: verdict and claim, under each what was measured and what was run."""
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
    """Return the table in Markdown."""
    lines = ["| claim | verdict | measured | run |", "| --- | --- | --- | --- |"]
    for finding in findings:
        measured = finding.figure + (f" ({finding.note})" if finding.note else "")
        claim, measured, ran = (escaped(text) for text in (finding.claim, measured, finding.ran))
        lines.append(f"| {claim} | **{finding.verdict.value}** | {measured} | {ran} |")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return a text in which Markdown sees no mark-up."""
    for mark in "\\|*_<":
        text = text.replace(mark, "\\" + mark)
    return text


def claims_document(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the table as plain data."""
    return [finding.to_document() for finding in findings]
