"""Small tables in HTML, by which runs, solutions, studies and results show themselves in a notebook.

Every text is escaped here; nothing in them is markup.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

from goalward.formatting import visible

__all__ = ["facts_html", "line_html", "markup", "table_html"]

CELL = "padding:2px 12px 2px 0;border:none;text-align:"
LINE_WIDTH, LINE_HEIGHT = 240, 48


def markup(text: object) -> str:
    """Return a text that HTML shows as it is.

    >>> markup("<b>")
    '&lt;b&gt;'
    """
    return html.escape(visible(str(text)))


def facts_html(title: str, facts: Iterable[tuple[str, object]], *more: str) -> str:
    """Return a title, facts in two columns, and further parts that are HTML already."""
    rows = "".join(
        f'<tr><th style="{CELL}left;font-weight:normal;opacity:.7">{markup(name)}</th>'
        f'<td style="{CELL}left">{markup(value)}</td></tr>'
        for name, value in facts
    )
    return f'<div><b>{markup(title)}</b><table style="margin:4px 0">{rows}</table>{"".join(more)}</div>'


def table_html(headings: Sequence[str], rows: Iterable[Sequence[object]], right: Collection[int] = ()) -> str:
    """Return a table; the columns numbered in `right`, from 0, are aligned at the right."""
    sides = ["right" if place in right else "left" for place in range(len(headings))]

    def line(tag: str, cells: Sequence[object]) -> str:
        texts = (f'<{tag} style="{CELL}{side}">{markup(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True))
        return f"<tr>{''.join(texts)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f'<table style="margin:4px 0"><thead>{line("th", headings)}</thead><tbody>{body}</tbody></table>'


def line_html(values: Sequence[float], label: str) -> str:
    """Return a small curve from zero to the largest of some finite values."""
    top = max([*values, 0.0]) or 1.0
    bottom = min([*values, 0.0])
    step = LINE_WIDTH / max(1, len(values) - 1)
    points = " ".join(
        f"{place * step:.1f},{LINE_HEIGHT - 2 - (LINE_HEIGHT - 4) * (value - bottom) / (top - bottom):.1f}"
        for place, value in enumerate(values)
    )
    return (
        f'<svg width="{LINE_WIDTH}" height="{LINE_HEIGHT}" role="img" aria-label="{markup(label)}">'
        f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.8"/></svg>'
        f'<div style="opacity:.7">{markup(label)}</div>'
    )
