"""The numbers of a study as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goalward.errors import FileError
from goalward.execution.runner import Report
from goalward.report.world_text import Rows, columns
from goalward.results.results import Results, world_name
from goalward.results.statistics import Comparison, Interval
from goalward.results.summary import Row, Summary, notes_on_pairs

__all__ = [
    "comparison_document",
    "comparison_text",
    "csv_text",
    "failures_text",
    "grouped",
    "markdown_text",
    "status_document",
    "status_text",
    "summary_document",
    "summary_text",
    "with_interval",
    "write_text",
]

HEADINGS = ("agent", "regret", "median", "gap regret", "exponent", "steps", "seconds")


def grouped(value: float, digits: int = 3) -> str:
    """Write a number in a few significant digits, thousands grouped.

    >>> grouped(361241.24), grouped(0.01234), grouped(math.nan)
    ('361,241', '0.0123', '-')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0.0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{decimals}f}" if decimals < 7 else f"{value:.{digits - 1}e}"


def with_interval(interval: Interval) -> str:
    """Write an estimate with its interval, as half the width where it lies in the middle.

    >>> with_interval(Interval(804.96, 761.2, 848.7, 20)), with_interval(Interval(0.1404, 0.1216, 0.1593, 20))
    ('805 ± 44', '0.140 ± 0.019')
    """
    half = interval.half_width
    if math.isnan(half) or math.isinf(half) or half <= 1e-9 * abs(interval.value):
        return grouped(interval.value)
    # Two digits of the width say how many of the value are worth showing.
    decimals = max(0, 1 - math.floor(math.log10(half)))
    if decimals > 6:
        return f"{interval.value:.2e} ± {half:.1e}"
    if abs(interval.value - (interval.low + interval.high) / 2.0) <= 0.01 * half:
        return f"{interval.value:,.{decimals}f} ± {half:,.{decimals}f}"
    return f"{interval.value:,.{decimals}f} [{interval.low:,.{decimals}f}, {interval.high:,.{decimals}f}]"


def title(summary: Summary, rows: list[Row]) -> str:
    """Say what a table shows."""
    kind = "bootstrap intervals" if summary.method == "bootstrap" else "t-intervals"
    runs = sorted({row.complete for row in rows})
    number = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    many = "s" * (runs != [1])
    return f"after {rows[0].episodes:,} episodes, mean of {number} run{many} with {100 * summary.level:g} % {kind}"


def cells_of(row: Row) -> tuple[str, ...]:
    """Return a row as texts."""
    mark = " *" * bool(row.truncated or row.failed or row.missing)
    return (
        row.agent + mark,
        with_interval(row.regret),
        grouped(row.median),
        with_interval(row.gap_regret),
        with_interval(row.exponent),
        grouped(row.steps),
        grouped(row.seconds, 2),
    )


def by_world(summary: Summary) -> dict[str, list[Row]]:
    """Return the rows of each world."""
    worlds: dict[str, list[Row]] = {}
    for row in summary.rows:
        worlds.setdefault(row.world, []).append(row)
    return worlds


def summary_text(summary: Summary) -> str:
    """Write the numbers of a study for a terminal."""
    parts = []
    for world, rows in by_world(summary).items():
        table = columns([HEADINGS, *map(cells_of, rows)], right="123456")
        parts.append(f"{world}: regret {title(summary, rows)}\n{table}")
    if summary.sweeps:
        sweeps = [(s.world, s.agent, s.setting, with_interval(s.exponent)) for s in summary.sweeps]
        parts.append("gap regret grows as a power of\n" + columns([("world", "agent", "setting", "exponent"), *sweeps]))
    if summary.notes:
        parts.append("\n".join(f"* {note}" for note in summary.notes))
    return "\n\n".join(parts)


def markdown_text(summary: Summary) -> str:
    """Write the numbers of a study as Markdown."""
    parts = [f"# {summary.name}"]
    for world, rows in by_world(summary).items():
        lines = [HEADINGS, ("---", *["---:"] * 6), *map(cells_of, rows)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"## {world}\n\nRegret {title(summary, rows)}.\n\n{table}")
    if summary.sweeps:
        lines = [("world", "agent", "setting", "exponent"), ("---",) * 4]
        lines += [(s.world, s.agent, s.setting, with_interval(s.exponent)) for s in summary.sweeps]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"## Growth\n\nThe gap regret grows as a power of a setting.\n\n{table}")
    parts.append("\n".join(f"* {note}" for note in summary.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def flat(row: Row) -> dict[str, Any]:
    """Return a row as plain data, intervals as three columns."""
    found: dict[str, Any] = {}
    for name, value in vars(row).items():
        if isinstance(value, Interval):
            found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            found[name] = value
    return found


def csv_text(summary: Summary) -> str:
    """Write the numbers of a study as CSV; every digit is there, and what does not exist is empty."""
    rows = [flat(row) for row in summary.rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if is_nan(value) else value for name, value in row.items()} for row in rows)
    return out.getvalue()


def is_nan(value: object) -> bool:
    """Return whether a value is the number that is none."""
    return isinstance(value, float) and math.isnan(value)


def summary_document(summary: Summary) -> dict[str, Any]:
    """Return the numbers of a study as plain data for JSON; what is not finite is null."""
    rows = [flat(row) for row in summary.rows]
    sweeps = [
        {"world": s.world, "agent": s.agent, "setting": s.setting, "values": list(s.values)} | flat_interval(s.exponent)
        for s in summary.sweeps
    ]
    return {
        "study": summary.name,
        "level": summary.level,
        "intervals": summary.method,
        "rows": [{name: finite(value) for name, value in row.items()} for row in rows],
        "sweeps": sweeps,
        "notes": summary.notes,
    }


def flat_interval(interval: Interval) -> dict[str, float | None]:
    """Return an interval as plain data."""
    return {"exponent": finite(interval.value), "low": finite(interval.low), "high": finite(interval.high)}


def finite(value: Any) -> Any:
    """Return a value, None for numbers that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def status_text(results: Results, damaged: Sequence[tuple[Path, str]] = ()) -> str:
    """Say how far a study is."""
    rows: Rows = [("world", "agent", "stored", "cut off", "failed", "missing")]
    for cell in results.cells:
        counts = (len(cell.runs), int(cell.truncated.sum()), len(cell.failed), len(cell.missing))
        rows.append((world_name(results.design, cell.cell), cell.cell.agent.label, *(f"{count:,}" for count in counts)))
    stored, size = sum(len(cell.runs) for cell in results.cells), results.design.size
    to_go = size - stored
    lines = [columns(rows, right="2345"), "", f"{stored:,} of {size:,} runs stored and sound"]
    lines[-1] += f"; goalward run makes the other {to_go:,}" if to_go else ": complete"
    lines += [f"damaged, set aside: {path} ({reason})" for path, reason in damaged]
    return "\n".join(lines)


def status_document(results: Results, damaged: Sequence[tuple[Path, str]] = ()) -> dict[str, Any]:
    """Return how far a study is as plain data."""
    cells = [
        {
            "world": world_name(results.design, cell.cell),
            "agent": cell.cell.agent.label,
            "episodes": cell.cell.episodes,
            "stored": len(cell.runs),
            "truncated": int(cell.truncated.sum()),
            "failed": cell.failed,
            "missing": cell.missing,
        }
        for cell in results.cells
    ]
    return {
        "study": results.design.name,
        "runs": results.design.size,
        "stored": sum(len(cell.runs) for cell in results.cells),
        "cells": cells,
        "damaged": [{"file": str(path), "reason": reason} for path, reason in damaged],
    }


def write_text(path: Path, text: str) -> None:
    """Write a text to a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}; choose a place that can be written") from None


def failures_text(report: Report) -> str:
    """Write a table of failures."""
    rows = [("world", "agent", "run", "error")]
    rows += [(f.world, f.agent, str(f.run), " ".join(f.error.split())[:120]) for f in report.failures]
    folder = report.failures[0].path.parent
    return f"{len(report.failures)} runs failed; their tracebacks are in {folder}\n{columns(rows, right='2')}"


def comparison_text(first: str, second: str, measure: str, found: Mapping[str, Comparison], level: float) -> str:
    """Write a comparison of two agents."""
    rows = [("world", "pairs", "difference", f"{first} lower", "p-value")]
    for world, each in found.items():
        p_value = "-" if math.isnan(each.p_value) else f"{each.p_value:.3g}"
        mark = " *" * bool(each.left_out)
        rows.append(
            (world + mark, str(each.pairs), with_interval(each.difference), f"{each.wins} of {each.pairs}", p_value)
        )
    what = measure.replace("_", " ")
    head = f"{what} of {first} minus that of {second}, run by run: mean with {100 * level:g} % t-interval"
    foot = "p-values: two-sided permutation test of the paired differences"
    notes = [f"* {note}" for note in notes_on_pairs(found)]
    return "\n".join([head, columns(rows, right="1234"), foot, *notes])


def comparison_document(
    first: str, second: str, measure: str, found: Mapping[str, Comparison], level: float
) -> dict[str, Any]:
    """Return a comparison of two agents as plain data."""
    worlds = {
        world: {
            "pairs": each.pairs,
            "left_out": each.left_out,
            "difference": finite(each.difference.value),
            "low": finite(each.difference.low),
            "high": finite(each.difference.high),
            "first_lower": each.wins,
            "p_value": finite(each.p_value),
        }
        for world, each in found.items()
    }
    notes = notes_on_pairs(found)
    return {"first": first, "second": second, "measure": measure, "level": level, "worlds": worlds, "notes": notes}
