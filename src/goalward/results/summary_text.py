"""The numbers of a study as text, Markdown, CSV and plain data."""

from __future__ import annotations

from typing import Any

from goalward.formatting import markdown_text as markdown
from goalward.formatting import number, with_margin
from goalward.results.summary import Row, Summary
from goalward.text_tables import Rows, columns, markdown_table

__all__ = ["markdown_text", "measured", "summary_document", "summary_text"]

HEADINGS = ("agent", "regret", "median", "gap regret", "exponent", "steps", "seconds")
NUMBERS = range(1, 7)
SWEEP_HEADINGS = ("world", "agent", "setting", "exponent")


def summary_text(summary: Summary) -> str:
    """Write the numbers of a study for a terminal."""
    parts = []
    for world, rows in by_world(summary).items():
        table = columns([HEADINGS, *(cells(row, row.agent) for row in rows)], right=NUMBERS)
        parts.append(f"{world}: regret {title(summary, rows)}\n{table}")
    if summary.sweeps:
        parts.append("gap regret grows as a power of\n" + columns([SWEEP_HEADINGS, *sweep_cells(summary)]))
    if summary.notes:
        parts.append("\n".join(f"* {note}" for note in summary.notes))
    return "\n\n".join(parts)


def markdown_text(summary: Summary) -> str:
    """Write the numbers of a study as Markdown."""
    parts = [f"# {markdown(summary.name)}"]
    for world, rows in by_world(summary).items():
        table = markdown_table([HEADINGS, *(cells(row, markdown(row.agent)) for row in rows)], right=NUMBERS)
        parts.append(f"## {markdown(world)}\n\nRegret {title(summary, rows)}.\n\n{table}")
    if summary.sweeps:
        rows_of_texts = [tuple(map(markdown, row)) for row in sweep_cells(summary)]
        table = markdown_table([SWEEP_HEADINGS, *rows_of_texts])
        parts.append(f"## Growth\n\nThe gap regret grows as a power of a setting.\n\n{table}")
    if summary.notes:
        parts.append("\n".join(f"* {markdown(note)}" for note in summary.notes))
    return "\n\n".join(parts) + "\n"


def by_world(summary: Summary) -> dict[str, list[Row]]:
    worlds: dict[str, list[Row]] = {}
    for row in summary.rows:
        worlds.setdefault(row.world, []).append(row)
    return worlds


def title(summary: Summary, rows: list[Row]) -> str:
    kind = "bootstrap intervals" if summary.method == "bootstrap" else "t-intervals"
    runs = sorted({row.complete for row in rows})
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    plural = "s" * (runs != [1])
    return f"after {rows[0].episodes:,} episodes, mean of {count} run{plural} with {100 * summary.level:g} % {kind}"


def cells(row: Row, agent: str) -> tuple[str, ...]:
    mark = " *" * bool(row.truncated or row.failed or row.missing or row.caveat)
    return (agent + mark, *measured(row))


def measured(row: Row) -> tuple[str, ...]:
    """Return the numbers of one agent in one world: regret, its median, gap regret, exponent, steps and seconds."""
    return (
        with_margin(row.regret),
        number(row.median, zeros=True),
        with_margin(row.gap_regret),
        with_margin(row.exponent),
        number(row.steps, zeros=True),
        number(row.seconds, 2, zeros=True),
    )


def sweep_cells(summary: Summary) -> Rows:
    return [(each.world, each.agent, each.setting, with_margin(each.exponent)) for each in summary.sweeps]


def summary_document(summary: Summary) -> dict[str, Any]:
    """Return the numbers of a study as plain data."""
    sweeps = [
        {
            "world": each.world,
            "agent": each.agent,
            "setting": each.setting,
            "values": list(each.values),
            "exponent": each.exponent.value,
            "low": each.exponent.low,
            "high": each.exponent.high,
        }
        for each in summary.sweeps
    ]
    return {
        "study": summary.name,
        "level": summary.level,
        "intervals": summary.method,
        "rows": summary.table.rows,
        "sweeps": sweeps,
        "notes": summary.notes,
    }
