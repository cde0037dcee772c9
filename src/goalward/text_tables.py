"""Tables of texts: in columns for a terminal, in Markdown for a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from goalward.formatting import visible

__all__ = ["Rows", "columns", "markdown_table"]

Rows = list[tuple[str, ...]]


def columns(rows: Sequence[tuple[str, ...]], right: Collection[int] = (), indent: str = "  ") -> str:
    """Write rows in columns; those numbered in `right`, from 0, are aligned at the right. Nothing is cut or folded.

    >>> print(columns([("a", "1"), ("long", "23")], right=[1]))
      a       1
      long   23
    """
    safe = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    lines = []
    for row in safe:
        cells = [
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "   ".join(cells)).rstrip())
    return "\n".join(lines)


def markdown_table(rows: Sequence[tuple[str, ...]], right: Collection[int] = ()) -> str:
    """Write rows as a Markdown table; the first row is the heading, `right` is that of `columns`.

    Cells are Markdown: text from users must be escaped before.

    >>> print(markdown_table([("a", "b"), ("x", "1")], right=[1]))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    heading, *body = rows
    rule = tuple("---:" if place in right else "---" for place in range(len(heading)))
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, rule, *body))
