"""Tables for Python: rows, columns, CSV and Arrow."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from goalward.errors import UnknownNameError
from goalward.files import write_bytes
from goalward.formatting import number
from goalward.html_tables import table_html

__all__ = ["Table"]


class Table:
    """Rows with the same columns. ``pandas.DataFrame(table.rows)`` and ``table.arrow()`` take it elsewhere.

    >>> table = Table([{"agent": "psrl", "regret": 2.5}, {"agent": "uniform", "regret": math.nan}])
    >>> table["agent"], len(table)
    (['psrl', 'uniform'], 2)
    >>> print(table.csv(), end="")
    agent,regret
    psrl,2.5
    uniform,
    """

    def __init__(self, rows: Sequence[dict[str, Any]]):
        self.rows = list(rows)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The values of each column."""
        return {name: [row[name] for row in self.rows] for name in (self.rows[0] if self.rows else ())}

    def arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`."""
        return pa.Table.from_pylist(self.rows)

    def csv(self) -> str:
        """Return the table as CSV, with all digits; NaN is an empty field."""
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(self.columns), lineterminator="\n")
        writer.writeheader()
        for row in self.rows:
            writer.writerow({name: "" if is_nan(value) else value for name, value in row.items()})
        return text.getvalue()

    def to_csv(self, path: str | Path) -> None:
        """Write the table to a CSV file, whole or not at all."""
        write_bytes(Path(path), self.csv().encode())

    def __getitem__(self, name: str) -> list[Any]:
        columns = self.columns
        if name not in columns:
            raise UnknownNameError("column", name, columns)
        return columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it, with rounded numbers."""
        rows = [[shown(value) for value in row.values()] for row in self.rows]
        return table_html(list(self.columns), rows)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"


def shown(value: object) -> str:
    if value is None or is_nan(value):
        return ""
    return number(value) if isinstance(value, float) else str(value)


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
