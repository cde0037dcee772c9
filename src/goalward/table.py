"""One table for everything that goalward prints: as text, Markdown, CSV, JSON, HTML or LaTeX.

A row is a dictionary of values. Programs get every value with all its digits (CSV, JSON, Arrow); people get the columns
that a table names, rounded and escaped (text, Markdown, HTML, LaTeX). An `Interval` is one cell for people and three
columns for programs: NAME, NAME_low and NAME_high.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from goalward.errors import FileError, UnknownNameError
from goalward.files import check_not_folder, write_bytes
from goalward.formatting import (
    Interval,
    finite,
    html_text,
    latex_text,
    markdown_text,
    number,
    visible,
    with_margin,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Cell", "Column", "Columns", "Table", "render", "save", "styled", "written"]

ENDINGS = {".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html", ".tex": "latex"}
HTML_CELL = "padding:2px 12px 2px 0;border:none;text-align:"


class Cell(NamedTuple):
    """A value and the text that people read instead of it."""

    value: Any
    text: str


def written(value: Any) -> str:
    """Write a value for people: numbers with three digits, nothing for None.

    >>> written(1234.5), written(12345), written(None), written("a")
    ('1,234', '12,345', '', 'a')
    """
    if value is None:
        return ""
    if isinstance(value, Interval):
        return with_margin(value)
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Column:
    """A column that people see: the name of its values, its heading and how a value is written."""

    name: str
    heading: str = ""
    write: Callable[[Any], str] = written

    @property
    def title(self) -> str:
        """The heading; by default the name of the column, with blanks."""
        return self.heading or self.name.replace("_", " ")

    def text(self, row: Mapping[str, Any]) -> str:
        """Return the cell of a row as people read it."""
        value = row.get(self.name)
        if isinstance(value, Cell):
            return value.text
        return "" if value is None else self.write(value)


Columns = Sequence[Column | str]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows of values, and the columns of them that people see.

    Attributes
    ----------
    rows
        The values, by name; the first row has all names.
    columns
        What people see, in this order; a name stands for a column that is written as usual. By default every value.
    name
        The key of the rows in JSON.
    title, notes
        Lines above and below the table.
    group
        The name of values that head blocks of rows where people read the table.
    vertical
        Show the values of a row below each other, as facts, without empty ones. Every row needs a group of its own.
    types
        The Arrow types of the values, by name; by default they are inferred.
    most
        How many rows people see; by default all.

    >>> table = Table([{"agent": "psrl", "regret": 2.5}, {"agent": "uniform", "regret": math.nan}])
    >>> table["agent"], len(table)
    (['psrl', 'uniform'], 2)
    >>> print(table.csv(), end="")
    agent,regret
    psrl,2.5
    uniform,
    """

    rows: Sequence[Mapping[str, Any]]
    columns: Columns | None = None
    name: str = "rows"
    title: str = ""
    notes: Sequence[str] = ()
    group: str = ""
    vertical: bool = False
    types: Mapping[str, str] | None = None
    most: int | None = None

    @classmethod
    def facts(cls, values: Mapping[str, Any], name: str = "facts", title: str = "", **options: Any) -> Table:
        """Return facts as a table of one row that is shown vertically; the options are those of the constructor."""
        return cls([values], name=name, title=title, vertical=True, **options)

    @property
    def is_facts(self) -> bool:
        """Whether this is one row of facts."""
        return self.vertical and not self.group

    # What programs get.

    def data(self) -> list[dict[str, Any]]:
        """Return the rows as plain values with all digits; an interval becomes three of them."""
        return [{key: part for name, value in row.items() for key, part in parts(name, value)} for row in self.rows]

    @property
    def names(self) -> list[str]:
        """The names of the values that programs get."""
        if not self.rows:
            return list(self.types or [column.name for column in self.shown_columns])
        return [key for name, value in self.rows[0].items() for key, _ in parts(name, value)]

    def document(self) -> dict[str, Any]:
        """Return the rows as plain data for JSON: a list, or one object for facts."""
        rows = [finite(row) for row in self.data()]
        return {self.name: rows[0] if self.is_facts else rows}

    def arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`."""
        import pyarrow as pa

        types = self.types or {}
        schema = pa.schema([(name, pa.type_for_alias(types[name])) for name in self.names]) if types else None
        return pa.Table.from_pylist(self.data(), schema)

    def csv(self) -> str:
        """Return the table as CSV with all digits; NaN and None are empty fields."""
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=self.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: field(value) for name, value in row.items()} for row in self.data())
        return text.getvalue()

    def json(self) -> str:
        """Return the rows and notes as one line of JSON; infinite and undefined numbers are null."""
        return render([self], "json")

    # What people read.

    @property
    def shown_columns(self) -> list[Column]:
        """The columns that people see."""
        wanted: Sequence[Column | str] = (
            self.columns if self.columns is not None else list(self.rows[0] if self.rows else ())
        )
        return [Column(column) if isinstance(column, str) else column for column in wanted]

    def blocks(self) -> list[tuple[str, list[Mapping[str, Any]]]]:
        """Return the rows of each group with the title above them; without groups, there is one block."""
        if not self.group:
            return [(self.title, list(self.rows)[: self.most])]
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(Column(self.group).text(row), []).append(row)
        return [(": ".join(filter(None, (group, self.title))), rows) for group, rows in groups.items()]

    @property
    def shown_notes(self) -> list[str]:
        """The notes, and how many rows are left out where people read the table."""
        rest = 0 if self.most is None else len(self.rows) - self.most
        return [*self.notes, *([f"and {rest:,} more; --format json lists all"] if rest > 0 else [])]

    def cells(self, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        """Return lines of cells as people read them; facts have a name and a text, other tables a line for each row."""
        if self.vertical:
            (row,) = rows
            return [[column.title, text] for column in self.shown_columns if (text := column.text(row))]
        return [[column.text(row) for column in self.shown_columns] for row in rows]

    @property
    def headings(self) -> list[str]:
        """The headings of the columns; facts have none."""
        return [] if self.vertical else [column.title for column in self.shown_columns]

    @property
    def right(self) -> list[bool]:
        """Which columns are aligned at the right: those of numbers."""
        if self.vertical:
            return [False, False]
        return [all(is_number(row.get(column.name)) for row in self.rows) for column in self.shown_columns]

    def text(self) -> str:
        """Return the table as plain text in columns; nothing is cut or folded."""
        blocks = []
        for title, rows in self.blocks():
            lines = [[visible(cell) for cell in line] for line in (self.headings, *self.cells(rows)) if line]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            body = [
                "  " + "   ".join(
                    cell.rjust(width) if right else cell.ljust(width)
                    for cell, width, right in zip(line, widths, self.right, strict=True)
                )
                for line in lines
            ]  # fmt: skip
            blocks.append("\n".join([*filter(None, [visible(title)]), *(line.rstrip() for line in body)]))
        notes = "\n".join(f"* {visible(note)}" for note in self.shown_notes)
        return "\n\n".join([*blocks, *filter(None, [notes])])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        blocks = []
        headings = self.headings or ["", ""]
        rule = ["---:" if right else "---" for right in self.right]
        for title, rows in self.blocks():
            lines = [headings, *self.cells(rows)]
            first, *rest = [f"| {' | '.join(map(markdown_text, line))} |" for line in lines]
            table = "\n".join([first, f"| {' | '.join(rule)} |", *rest])
            blocks.append(f"## {markdown_text(title)}\n\n{table}" if title else table)
        notes = "\n".join(f"* {markdown_text(note)}" for note in self.shown_notes)
        return "\n\n".join([*blocks, *filter(None, [notes])])

    def html(self) -> str:
        """Return the table as HTML without scripts or classes; every text is escaped."""

        def line(tag: str, cells: Sequence[str]) -> str:
            sides = ("right" if right else "left" for right in self.right)
            cells = [
                f'<{tag} style="{HTML_CELL}{side}">{html_text(cell)}</{tag}>'
                for cell, side in zip(cells, sides, strict=True)
            ]
            return f"<tr>{''.join(cells)}</tr>"

        blocks = []
        for title, rows in self.blocks():
            caption = f'<caption style="text-align:left"><b>{html_text(title)}</b></caption>' if title else ""
            head = f"<thead>{line('th', self.headings)}</thead>" if self.headings else ""
            body = "".join(line("td", cells) for cells in self.cells(rows))
            blocks.append(f'<table style="margin:4px 0">{caption}{head}<tbody>{body}</tbody></table>')
        notes = "".join(f"<li>{html_text(note)}</li>" for note in self.shown_notes)
        return "".join([*blocks, f"<ul>{notes}</ul>" if notes else ""])

    def latex(self) -> str:
        """Return the table for LaTeX with the package booktabs."""

        def line(cells: Sequence[str]) -> str:
            return " & ".join(map(latex_text, cells)) + r" \\"

        blocks = []
        kinds = "".join("r" if right else "l" for right in self.right)
        for title, rows in self.blocks():
            head = [line(self.headings), r"\midrule"] if self.headings else []
            lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *head, *map(line, self.cells(rows))]
            table = "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
            blocks.append(f"{latex_text(title)}\n\n{table}" if title else table)
        return "\n\n".join([*blocks, *map(latex_text, self.shown_notes)])

    def save(self, path: str | Path) -> None:
        """Write the table to a file, whole or not at all; its ending names the format, as in ``runs.parquet``."""
        save([self], path)

    def _repr_html_(self) -> str:
        return f"<div>{self.html()}</div>"

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.names:
            raise UnknownNameError("column", name, self.names)
        return [row[name] for row in self.data()]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.data())

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.rows[0] if self.rows else ())})"


def parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return a value as the columns that programs get."""
    if isinstance(value, Cell):
        return parts(name, value.value)
    if isinstance(value, Interval):
        return [(name, value.value), (f"{name}_low", value.low), (f"{name}_high", value.high)]
    return [(name, value)]


def field(value: Any) -> Any:
    if is_nan(value):
        return ""
    return json.dumps(finite(value)) if isinstance(value, dict | list | tuple) else value


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def is_number(value: object) -> bool:
    value = value.value if isinstance(value, Cell) else value
    return value is None or (isinstance(value, int | float | Interval) and not isinstance(value, bool))


def render(tables: Sequence[Table], format: str = "text") -> str:
    """Return some tables in one format.

    JSON is one object with the rows of each table under its name, and all notes. CSV has room for one table: the first
    that is not of facts.
    """
    if format == "json":
        document = {key: rows for table in tables for key, rows in table.document().items()}
        notes = [note for table in tables for note in table.notes]
        return json.dumps(document | {"notes": notes}, allow_nan=False)
    if format == "csv":
        return next((table for table in tables if not table.is_facts), tables[0]).csv().rstrip("\n")
    return "\n\n".join(getattr(table, format)() for table in tables)


def save(tables: Sequence[Table], path: str | Path) -> None:
    """Write tables to a file, whole or not at all; its ending names the format."""
    path = Path(path)
    check_not_folder(path)
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(tables[0].arrow(), sink, compression="zstd")
        write_bytes(path, sink.getvalue().to_pybytes())
        return
    if path.suffix not in ENDINGS:
        raise FileError(
            f"{path}: tables are written to {', '.join([*ENDINGS, '.parquet'])}; the ending is {path.suffix!r}"
        )
    write_bytes(path, f"{render(tables, ENDINGS[path.suffix])}\n".encode())


def styled(table: Table) -> Iterator[RenderableType]:
    """Return the parts of a table for a terminal: Rich folds cells that do not fit and adds colour."""
    from rich.table import Table as RichTable
    from rich.text import Text

    for title, rows in table.blocks():
        if title:
            yield Text(visible(title), style="bold")
        grid = RichTable(box=None, padding=(0, 1), pad_edge=True, show_header=bool(table.headings), header_style="cyan")
        for place, right in enumerate(table.right):
            heading = Text(visible(table.headings[place])) if table.headings else ""
            style = "cyan" if table.vertical and place == 0 else ""
            grid.add_column(heading, justify="right" if right else "left", style=style, overflow="fold")
        for line in table.cells(rows):
            grid.add_row(*(Text(visible(cell)) for cell in line))
        yield grid
        yield Text()
    for note in table.shown_notes:
        yield Text(f"* {visible(note)}", style="yellow")
