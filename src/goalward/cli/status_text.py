"""How far a study is and what became of running it, as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goalward.formatting import duration
from goalward.results.results import world_name
from goalward.studies.runner import Report
from goalward.studies.status import Failure, Status
from goalward.text_tables import Rows, columns

__all__ = ["report_document", "report_text", "status_document", "status_text"]

MOST_LINES = 20
LONGEST_ERROR = 120


def status_text(status: Status) -> str:
    """Write how far a study is, which runs failed and which files are damaged."""
    rows: Rows = [("world", "agent", "stored", "cut off", "failed", "missing")]
    for cell in status.cells:
        counts = (cell.stored, cell.truncated, len(cell.failed), len(cell.missing))
        rows.append((world_name(status.design, cell.cell), cell.cell.agent.label, *(f"{count:,}" for count in counts)))
    failed = sum(len(cell.failed) for cell in status.cells)
    to_go = status.planned - status.stored - failed
    lines = [columns(rows, right=[2, 3, 4, 5]), "", f"{status.stored:,} of {status.planned:,} runs stored and sound"]
    again = [f"makes the other {to_go:,}"] * bool(to_go) + [f"tries the {failed:,} that failed again"] * bool(failed)
    lines[-1] += f"; goalward run {' and '.join(again)}" if again else ": complete"
    if status.failures:
        lines += ["", failures_text(status.failures)]
    lines += shortened([f"damaged: {path} ({reason})" for path, reason in status.damaged])
    return "\n".join(lines)


def status_document(status: Status) -> dict[str, Any]:
    """Return how far a study is as plain data."""
    cells = [
        {
            "world": world_name(status.design, cell.cell),
            "agent": cell.cell.agent.label,
            "episodes": cell.cell.episodes,
            "stored": cell.stored,
            "truncated": cell.truncated,
            "failed": cell.failed,
            "missing": cell.missing,
        }
        for cell in status.cells
    ]
    return {
        "study": status.design.name,
        "design": status.design.reference,
        "runs": status.planned,
        "stored": status.stored,
        "cells": cells,
        **problems_document(status.failures, status.damaged),
    }


def report_text(report: Report, folder: Path) -> str:
    """Write what became of running a study."""
    parts = shortened([f"damaged, set aside and made again: {path} ({reason})" for path, reason in report.damaged])
    if report.failures:
        parts.append(failures_text(report.failures))
    if report.stopped:
        parts.append(f"stopped: {report.stopped}")
    if report.done:
        made = f"{report.done:,} runs made in {duration(report.seconds)}"
    else:
        made = "no run was made" if report.stopped or report.failures else "nothing to do"
    parts.append(f"{made}; {report.stored + report.done:,} of {report.total:,} runs are stored in {folder}")
    return "\n".join(parts)


def report_document(report: Report, folder: Path) -> dict[str, Any]:
    """Return what became of running a study as plain data."""
    return {
        "study": report.design.name,
        "results": str(folder),
        "runs": report.total,
        "stored_before": report.stored,
        "made": report.done,
        "complete": report.complete,
        "seconds": report.seconds,
        "stopped": report.stopped,
        **problems_document(report.failures, report.damaged),
    }


def failures_text(failures: Sequence[Failure]) -> str:
    rows: Rows = [("world", "agent", "run", "error", "file")]
    for each in failures[:MOST_LINES]:
        error = " ".join(each.error.split())
        shown = error if len(error) <= LONGEST_ERROR else f"{error[:LONGEST_ERROR]}..."
        rows.append((each.world, each.agent, str(each.run), shown, each.path.name))
    count = f"{len(failures):,} run{'s' * (len(failures) != 1)} failed"
    lines = [f"{count}; their tracebacks are in {failures[0].path.parent}", columns(rows, right=[2])]
    if len(failures) > MOST_LINES:
        lines.append(f"  and {len(failures) - MOST_LINES:,} more; goalward status --json lists all")
    return "\n".join(lines)


def shortened(lines: list[str]) -> list[str]:
    rest = len(lines) - MOST_LINES
    return lines if rest <= 0 else [*lines[:MOST_LINES], f"and {rest:,} more files"]


def problems_document(failures: Sequence[Failure], damaged: Sequence[tuple[Path, str]]) -> dict[str, Any]:
    return {
        "failures": [
            {"world": f.world, "agent": f.agent, "run": f.run, "error": f.error, "record": str(f.path)}
            for f in failures
        ],
        "damaged": [{"file": str(path), "reason": reason} for path, reason in damaged],
    }
