"""The table of claims as text, Markdown and plain data."""

from __future__ import annotations

import html
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from goalward.errors import FileError
from goalward.files import parse_json, read_bytes
from goalward.formatting import markdown_text, number, visible, with_range
from goalward.json_documents import json_text, write_text
from goalward.paper.claims.findings import Finding, Verdict
from goalward.paper.claims.regret_table import RegretRow
from goalward.text_tables import Rows, markdown_table

__all__ = ["claims_document", "claims_markdown", "claims_text", "keep_claims", "read_claims", "regret_markdown"]

CLAIMS_FILE = "claims.json"
VERDICT_WIDTH = 15
NARROWEST = 60


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


def regret_markdown(rows: Sequence[RegretRow]) -> str:
    """Return the table of regrets beside the terms of Theorem 1 in Markdown."""
    table: Rows = [("S", "A", "K", "mean B*", "regret", "main term", "lower order", "ratio")]
    for row in rows:
        terms = ("K < S² A", "", "")
        if row.main is not None and row.lower_order is not None:
            terms = (f"{row.main:.2g}", f"{row.lower_order:.2g}", f"{row.ratio:.1e}")
        table.append((str(row.S), str(row.A), f"{row.K:,}", number(row.B_star), with_range(row.regret), *terms))
    return markdown_table(table, right=range(8)) + "\n"
