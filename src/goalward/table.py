"""The class `Table`, with output as text, Markdown, CSV, JSON, HTML or LaTeX.

A row is a dictionary of values. Formats for programs (CSV, JSON, Arrow) contain all values with all digits. Formats for
people (text, Markdown, HTML, LaTeX) contain the columns that the table names, rounded and escaped. An `Interval` is one
cell for people but three columns for programs: NAME, NAME_low and NAME_high.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from goalward.errors import FileError, UnknownNameError
from goalward.files import check_not_folder, write_bytes
from goalward.formatting import Interval, finite, html_text, latex_text, markdown_text, number, visible, with_margin

ENDINGS = {".txt": "text", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": "html", ".tex": "latex"}
FORMATS = tuple(ENDINGS.values())
HTML_CELL = "padding:2px 12px 2px 0;border:none;text-align:"
LATEX_ROWS, LATEX_LINE, LATEX_TEXT = 40, 75, 30
"""The limits of a LaTeX page: rows of a table, characters of a line, and characters of an unwrapped text."""
LATEX_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
PARTS = ("whole", "fraction")
LATEX_NUMBER = re.compile(r"(?P<number>(?P<whole>-?[\d,]+)\.?(?P<fraction>\d*(e[+-]\d+)?))(?P<rest> [±\[].*)?")


class Cell(NamedTuple):
    """A cell of a table, with a `value` for programs and a `text` for people."""

    value: Any
    text: str


def written(value: Any, digits: int = 3) -> str:
    """Return a value as text for people; numbers have `digits` digits, and None becomes an empty string.

    >>> written(1234.5), written(12345), written(None), written("a")
    ('1,234', '12,345', '', 'a')
    """
    if value is None:
        return ""
    if isinstance(value, Interval):
        return with_margin(value)
    if isinstance(value, float):
        return number(value, digits)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Column:
    """A column for people: `name` selects the values, and the function `write` converts a value to text."""

    name: str
    heading: str = ""
    write: Callable[[Any], str] = written

    @property
    def title(self) -> str:
        """The heading; the default is the name with spaces instead of underscores."""
        return self.heading or self.name.replace("_", " ")

    def text(self, row: Mapping[str, Any]) -> str:
        """Return the text of the cell of this column in `row`."""
        value = row.get(self.name)
        return "" if value is None else value.text if isinstance(value, Cell) else self.write(value)


Columns = Sequence[Column | str]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table with rows of values, the columns for people, a `title` and `notes`.

    >>> table = Table([{"agent": "psrl", "regret": 2.5}, {"agent": "uniform", "regret": math.nan}])
    >>> table["agent"], len(table)
    (['psrl', 'uniform'], 2)
    >>> print(table.csv(), end="")
    agent,regret
    psrl,2.5
    uniform,
    """

    rows: Sequence[Mapping[str, Any]]
    """Mappings from names to values. The first row has all names."""
    columns: Columns | None = None
    """The columns for people, in order. A string is the name of a column with defaults. None shows all values."""
    name: str = "rows"
    """The key of the rows in JSON."""
    title: str = ""
    notes: Sequence[str] = ()
    group: str = ""
    """The name of the value by which rows are grouped into titled blocks for people."""
    vertical: bool = False
    """Show each row as a vertical list of facts, without empty values. Each row must have its own group."""
    types: Mapping[str, str] | None = None
    """The Arrow types of the values, by name. If None, Arrow infers the types."""
    most: int | None = None
    """The maximum number of rows for people; None shows all rows."""

    @classmethod
    def facts(cls, values: Mapping[str, Any], name: str = "facts", title: str = "", **options: Any) -> Table:
        """Return a table of one row, shown as a vertical list of facts; `options` are passed to the constructor."""
        return cls([values], name=name, title=title, vertical=True, **options)

    @property
    def is_facts(self) -> bool:
        """Whether the table is a single vertical list of facts."""
        return self.vertical and not self.group

    # Output for programs.

    def data(self) -> list[dict[str, Any]]:
        """Return the rows with plain values for programs; an interval becomes three values."""
        return [plain_values(row) for row in self.rows]

    @property
    def names(self) -> list[str]:
        """The names of the values for programs."""
        if self.rows:
            return list(plain_values(self.rows[0]))
        return list(self.types or [column.name for column in self.shown_columns])

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
        writer.writerows({name: csv_field(value) for name, value in row.items()} for row in self.data())
        return text.getvalue()

    def json(self) -> str:
        """Return the rows and notes as one line of JSON; infinite numbers and NaN become null."""
        return render([self], "json")

    # Output for people.

    @property
    def shown_columns(self) -> list[Column]:
        """The columns for people."""
        columns = list(self.rows[0] if self.rows else ()) if self.columns is None else self.columns
        return [Column(column) if isinstance(column, str) else column for column in columns]

    @property
    def headings(self) -> list[str]:
        """The headings of the columns; facts have none."""
        return [] if self.vertical else [column.title for column in self.shown_columns]

    @property
    def right(self) -> list[bool]:
        """For each column, whether it is right-aligned because it has only numbers."""
        if self.vertical:
            return [False, False]
        return [all(is_number(row.get(column.name)) for row in self.rows) for column in self.shown_columns]

    def cells(self, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        """Return readable lines of cells: one per row or, in a list of facts, a name and a text per fact."""
        columns = self.shown_columns
        if self.vertical:
            return [[column.title, text] for row in rows for column in columns if (text := column.text(row))]
        return [[column.text(row) for column in columns] for row in rows]

    def grouped(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return a dict from group to rows, with only the rows for people."""
        groups: dict[str, list[Mapping[str, Any]]] = {} if self.group else {"": []}
        for row in self.rows[: self.most]:
            groups.setdefault(Column(self.group).text(row), []).append(row)
        return groups

    def blocks(self, escape: Callable[[str], str] = str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
        """Yield the title, the headings and the lines of each group of rows; `escape` is applied to every text."""
        for group, rows in self.grouped().items():
            title, *headings = map(escape, [": ".join(filter(None, (group, self.title))), *self.headings])
            yield title, headings, [list(map(escape, line)) for line in self.cells(rows)]

    def shown_notes(self, escape: Callable[[str], str]) -> list[str]:
        """Return the escaped notes, with an additional note if some rows are not shown."""
        rest = 0 if self.most is None else len(self.rows) - self.most
        return list(map(escape, [*self.notes, *([f"and {rest:,} more; --format json lists all"] if rest > 0 else [])]))

    def text(self) -> str:
        """Return the table as plain text in columns."""
        parts = []
        for title, headings, lines in self.blocks(visible):
            shown = [line for line in (headings, *lines) if line]
            widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
            sides = [f"{{:{'>' if right else '<'}{width}}}" for right, width in zip(self.right, widths, strict=False)]
            form = "   ".join(sides)
            parts.append("\n".join([title] * bool(title) + [f"  {form.format(*line)}".rstrip() for line in shown]))
        parts.append("\n".join(f"* {note}" for note in self.shown_notes(visible)))
        return "\n\n".join(filter(None, parts))

    def terminal(self, width: int) -> Iterator[Any]:
        """Yield objects that Rich prints on a terminal, with bold headings and with texts wrapped to `width`."""
        from rich.padding import Padding
        from rich.table import Table as RichTable
        from rich.text import Text

        for index, (title, headings, lines) in enumerate(self.blocks(visible)):
            sizes = [max(map(len, column)) for column in zip(*filter(None, (headings, *lines)), strict=True)]
            gap = 3 if sum(sizes) + 3 * len(sizes) < width else 1
            # Numbers are wrapped only if text columns would get fewer than ten characters each.
            least = sum(1 + size if right else 10 for size, right in zip(sizes, self.right, strict=False))
            grid = RichTable(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=not self.vertical)
            for heading, right in zip(headings or ["", ""], self.right, strict=True):
                side: Any = "right" if right else "left"
                grid.add_column(Text(heading), justify=side, no_wrap=right and least < width, overflow="fold")
            for line in lines:
                grid.add_row(*map(Text, line))
            if title:
                yield Text("\n" * (index > 0) + title, "bold cyan")
            yield Padding(grid, (0, 0, 0, 2))
        if notes := self.shown_notes(visible):
            yield Text("\n" + "\n".join(f"* {note}" for note in notes), "dim")

    def markdown(self) -> str:
        """Return the table as Markdown."""
        parts = []
        rule = ["---:" if right else "---" for right in self.right]
        for title, headings, lines in self.blocks(markdown_text):
            parts += [f"## {title}"] * bool(title)
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in [headings or ["", ""], rule, *lines]))
        parts.append("\n".join(f"* {note}" for note in self.shown_notes(markdown_text)))
        return "\n\n".join(filter(None, parts))

    def html(self) -> str:
        """Return the table as HTML without scripts or classes; every text is escaped."""
        styles = [f"{HTML_CELL}{'right' if right else 'left'}" for right in self.right]

        def line(tag: str, cells: Sequence[str]) -> str:
            pairs = zip(cells, styles, strict=True)
            return "".join(["<tr>", *(f'<{tag} style="{style}">{cell}</{tag}>' for cell, style in pairs), "</tr>"])

        parts = []
        for title, headings, lines in self.blocks(html_text):
            caption = f'<caption style="text-align:left"><b>{title}</b></caption>' if title else ""
            head = f"<thead>{line('th', headings)}</thead>" if headings else ""
            body = "".join(line("td", cells) for cells in lines)
            parts.append(f'<table style="margin:4px 0">{caption}{head}<tbody>{body}</tbody></table>')
        notes = "".join(f"<li>{note}</li>" for note in self.shown_notes(html_text))
        return "".join(["<div>", *parts, f"<ul>{notes}</ul>" if notes else "", "</div>"])

    def latex(self) -> str:
        """Return a table environment for LaTeX, with the packages booktabs, dcolumn and graphicx.

        Numbers are aligned at their decimal points. The rest of a cell, such as an interval, has its own column. Long
        texts are wrapped, and a table wider than the page is scaled down. If the groups do not fit on one page, each
        group becomes a table.
        """
        groups = list(self.grouped().values())
        if len(groups) > 1 and sum(map(len, groups)) > LATEX_ROWS:
            parts = [replace(self, rows=rows, most=None, notes=()) for rows in groups]
            parts[-1] = replace(parts[-1], notes=self.shown_notes(str))
            return "\n\n".join(part.latex() for part in parts)
        blocks = list(self.blocks())
        lines = [line for _, _, block in blocks for line in block]
        columns = [latex_column([line[index] for line in lines], right) for index, right in enumerate(self.right)]
        kinds, widths, cells = zip(*columns, strict=True)
        rows = iter([f"{' & '.join(row)} \\\\" for row in zip(*cells, strict=True)])
        body = []
        if self.headings:
            sides = ["c" if kind.startswith("D") else "l" for kind in kinds]
            headings = zip(widths, sides, map(latex_text, self.headings), strict=True)
            body.append(" & ".join(rf"\multicolumn{{{n}}}{{{side}}}{{{text}}}" for n, side, text in headings) + r" \\")
        for title, _, block in blocks:
            group = latex_text(title.removesuffix(f": {self.title}"))
            body += [r"\midrule"] * bool(body)
            body += [rf"\multicolumn{{{sum(widths)}}}{{l}}{{\emph{{{group}}}}} \\"] * bool(self.group)
            body += [next(rows) for _ in block]
        columns_text = r"lp{0.7\linewidth}" if self.vertical else "".join(kinds)
        head = [r"\begin{table}  % \usepackage{booktabs,dcolumn,graphicx}", r"\centering"]
        head += [rf"\caption{{{latex_text(self.title)}}}"] * bool(self.title)
        longest = [max(map(len, column)) for column in zip(*filter(None, (self.headings, *lines)), strict=True)]
        wide = not self.vertical and sum(longest) > LATEX_LINE
        head += [LATEX_SHRUNK] * wide + [rf"\begin{{tabular}}{{{columns_text}}}", r"\toprule"]
        notes = [rf"\par\smallskip\footnotesize {note}" for note in self.shown_notes(latex_text)]
        return "\n".join([*head, *body, r"\bottomrule", r"\end{tabular}" + "}" * wide, *notes, r"\end{table}"])

    def save(self, path: str | Path) -> None:
        """Write the table to `path` atomically; the ending of `path` selects the format, as in ``runs.parquet``."""
        save([self], path)

    _repr_html_ = html

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.names:
            raise UnknownNameError("column", name, self.names)
        return [row[name] for row in self.data()]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.data())

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.rows[0] if self.rows else ())})"


class ShownAsFacts:
    """The base of classes whose `repr` lists their `_facts()`; notebooks show these facts as a table."""

    def _facts(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._facts().items())})"

    def _repr_html_(self) -> str:
        return Table.facts(self._facts(), title=type(self).__name__).html()


def plain_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `row` with plain values for programs."""
    values: dict[str, Any] = {}
    for name, value in row.items():
        value = value.value if isinstance(value, Cell) else value
        if isinstance(value, Interval):
            values |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            values[name] = value
    return values


def csv_field(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return json.dumps(finite(value)) if isinstance(value, dict | list | tuple) else value


def is_number(value: object) -> bool:
    value = value.value if isinstance(value, Cell) else value
    return value is None or (isinstance(value, int | float | Interval) and not isinstance(value, bool))


def latex_column(texts: Sequence[str], numbers: bool) -> tuple[str, int, list[str]]:
    r"""Return the LaTeX specification of a column, its number of tabular columns, and its cells.

    >>> latex_column(["1,234 ± 56", "0.5", "-"], numbers=True)[2]
    ['1{,}234 & ${}\\pm 56$', '0.5 & ', '\\multicolumn{2}{c}{-}']
    """
    if not numbers:
        broken = max(map(len, texts), default=0) > LATEX_TEXT
        return r">{\raggedright\arraybackslash}p{0.35\linewidth}" if broken else "l", 1, list(map(latex_text, texts))
    matches = [LATEX_NUMBER.fullmatch(text) for text in texts]  # "-", "inf" and empty texts do not match
    found = [match for match in matches if match is not None]
    width = 2 if any(match["rest"] for match in found) else 1
    # LaTeX sets a power of ten wider than this text.
    digits = [max((len(match[part]) + 3 * ("e" in match[part]) for match in found), default=0) for part in PARTS]
    cells = []
    for text, match in zip(texts, matches, strict=True):
        if match is None:
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_text(text)}}}")
            continue
        rest = f"${latex_math(match['rest'])}$" if match["rest"] else ""
        cells.append(latex_math(match["number"]) + f" & {rest}" * (width == 2))
    return rf"D{{.}}{{.}}{{{digits[0]}.{digits[1]}}}" + r"@{\,}l" * (width == 2), width, cells


def latex_math(text: str) -> str:
    """Return a text of numbers in LaTeX's math notation, with grouped thousands, powers of ten and ±."""
    text = re.sub(r"e([+-]\d+)", lambda power: rf" \times 10^{{{int(power[1])}}}", text)
    return re.sub(r"(?<=\d),(?=\d)", "{,}", text).replace("±", r"{}\pm").strip()


def render(tables: Sequence[Table], format: str = "text") -> str:
    """Return `tables` as one text in the given `format`.

    The JSON text is one object. It has the rows of each table under the name of the table, and all notes. A table of
    facts is one object, not a list. The CSV text has only the first table that is not a list of facts.
    """
    if format == "json":
        document = {table.name: table.data()[0] if table.is_facts else table.data() for table in tables}
        notes = [note for table in tables for note in table.notes]
        return json.dumps(finite(document) | {"notes": notes}, allow_nan=False)
    if format == "csv":
        return next((table for table in tables if not table.is_facts), tables[0]).csv().rstrip("\n")
    return "\n\n".join(getattr(table, format)() for table in tables)


def save(tables: Sequence[Table], path: str | Path) -> None:
    """Write `tables` to a file atomically; the ending of `path` selects the format."""
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
            f"{path}: tables are saved as {', '.join([*ENDINGS, '.parquet'])}; the ending is {path.suffix!r}"
        )
    write_bytes(path, f"{render(tables, ENDINGS[path.suffix])}\n".encode())
