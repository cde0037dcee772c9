"""Columns of a table, from a CSV or Parquet file or from memory, with the location of each row for messages.

Names of states and actions are texts or integers. In a CSV file an empty field is a name only if it is quoted. The
other columns are numbers. Columns of other names are not read.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from goalward.arrays import Bools, Floats, Int32s
from goalward.errors import FileError, ModelError, ShapeError, StateError, UnknownNameError
from goalward.files import check_regular
from goalward.ssp.model import Name
from goalward.ssp.transitions import Columns, goal_mask

NAMES = ("state", "action", "next_state", "episode")
NUMBERS = ("probability", "count", "cost", "step")
MOST_ROWS = 1 << 29
BLOCK = 1 << 24


class Source:
    """A table with columns of names and of numbers.

    Parameters
    ----------
    table
        The path of a ``.csv`` or ``.parquet`` file, a mapping of columns, or a table that Arrow knows: one of pyarrow,
        or a data frame of pandas or polars.
    """

    def __init__(self, table: Any):
        self.path = Path(table) if isinstance(table, str | Path) else None
        if self.path is None:
            self.table, columns = from_memory(table)
        else:
            check_regular(self.path)
            read = from_parquet if self.path.suffix == ".parquet" else from_csv
            self.table, columns = read(self.path)
        self.header = list(columns)
        repeated = next((name for name in (*NAMES, *NUMBERS) if columns.count(name) > 1), None)
        if repeated is not None:
            raise ShapeError(f"the table has two columns {repeated!r}; keep one")
        self.rows = int(self.table.num_rows)
        if not self.rows:
            raise ShapeError("the table has no rows")

    def location(self, row: int) -> str:
        """Return where a row is, as part of a sentence."""
        if self.path is None or self.path.suffix == ".parquet":
            return f" in row {row} (counted from 0)"
        return f" in row {row + 2} (the header is row 1)"

    def require(self, *columns: str) -> None:
        """Raise ShapeError if a column is missing."""
        present = self.header
        for column in columns:
            if column not in present:
                near = difflib.get_close_matches(column, present, n=1, cutoff=0.5)
                hint = (
                    f"rename {near[0]!r}"
                    if near and near[0] not in columns
                    else f"it has {', '.join(present[:20])}, needs {', '.join(columns)}"
                )
                raise ShapeError(f"the table has no column {column!r}; {hint}")

    def has(self, column: str) -> bool:
        """Return whether there is such a column."""
        return column in self.header

    def names(self, column: str) -> tuple[Int32s, list[str]]:
        """Return a column of names as numbers, and the name of each number."""
        values = self.column(column)
        self.table = self.table.drop_columns([column])  # a large table is not held twice
        encoded = pa.types.is_dictionary(values.type)
        kind = values.type.value_type if encoded else values.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
            raise ShapeError(f"the column {column!r} has type {kind}; names are texts or integers")
        values = (values if encoded else values.dictionary_encode()).unify_dictionaries().combine_chunks()
        names = [str(value) for value in values.dictionary.to_pylist()]
        return np.asarray(values.indices).astype(np.int32, copy=False), names

    def floats(self, column: str) -> Floats:
        """Return a column of numbers."""
        values = self.column(column)
        self.table = self.table.drop_columns([column])
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise ShapeError(f"the column {column!r} has type {values.type}; it must hold numbers")
        return np.asarray(values.cast(pa.float64(), safe=False))

    def column(self, column: str) -> Any:
        """Return a column without gaps."""
        values = self.table.column(column)
        if values.null_count:
            row = int(np.argmax(np.asarray(values.is_null())))
            raise ShapeError(f"there is no {column}{self.location(row)}; every row needs one")
        return values

    def transitions(self, weight: str | None = None) -> Columns:
        """Return the transitions of the table, weighted by a column of numbers, or else equally."""
        self.require("state", "action", "next_state", *([] if weight is None else [weight]), "cost")
        states, names = self.names("state")
        next_states, others = self.names("next_state")
        number = {name: index for index, name in enumerate(names)}
        renumber = np.array([number.setdefault(name, len(number)) for name in others], dtype=np.int32)
        actions, action_names = self.names("action")
        weights = np.ones(self.rows) if weight is None else self.floats(weight)
        costs = self.floats("cost")
        return Columns(states, actions, renumber[next_states], weights, costs, list(number), action_names)


def from_memory(table: Any) -> tuple[Any, list[str]]:
    """Return a table in memory and the names of its columns."""
    try:
        values = table if isinstance(table, pa.Table) else pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ShapeError(
            f"this is not a table ({first_line(error)}); pass a mapping of columns, a data frame or a path"
        ) from None
    return values, values.column_names


def from_parquet(path: Path) -> tuple[Any, list[str]]:
    try:
        with parquet.ParquetFile(path) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise FileError(f"has {file.metadata.num_rows:,} rows; no more than {MOST_ROWS:,} are read")
            columns = file.schema_arrow.names
            table = file.read(columns=[name for name in columns if name in (*NAMES, *NUMBERS)])
            table.validate(full=True)  # reading does not notice names that are not UTF-8
            return table, columns
    except OSError as error:
        raise FileError(f"{error.strerror or first_line(error)}") from None
    except (FileError, ModelError):
        raise
    except Exception as error:  # the reader of damaged files raises many types
        raise FileError(f"damaged, or no Parquet file ({first_line(error)}); write it again") from None


def from_csv(path: Path) -> tuple[Any, list[str]]:
    """Read a CSV file: the first line names the columns, which are separated by commas."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header = next(csv.reader(file), [])
    except OSError as error:
        raise FileError(f"{error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"is not a CSV file in UTF-8 ({error})") from None
    types = dict.fromkeys(NAMES, pa.dictionary(pa.int32(), pa.string())) | dict.fromkeys(NUMBERS, pa.float64())
    convert = arrow_csv.ConvertOptions(
        column_types=types,
        include_columns=[column for column in dict.fromkeys(header) if column in types] or None,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    # With several threads, errors do not name the row; each block has a table of its names.
    one_thread = arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK)
    try:
        return arrow_csv.read_csv(path, read_options=one_thread, parse_options=parse, convert_options=convert), header
    except (pa.ArrowException, KeyError) as error:
        raise FileError(f"is not a CSV file of such a table ({first_line(error)})") from None


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:200]


def find_goals(columns: Columns, goal: Name | Sequence[Name] | None) -> Bools:
    """Return which states are goals: the given ones, or else the state called goal."""
    names = columns.state_names
    if goal is None and "goal" not in names:
        last = np.setdiff1d(np.arange(len(names)), columns.states)[:20]
        ends = ", ".join(repr(names[state]) for state in last) or "none"
        raise StateError(
            f"no state is called goal; name it with goal=... (states without transitions of their own: {ends})"
            "; on the command line with --goal NAME, or --set goal=NAME where there is no --goal"
        )
    wanted = [str(name) for name in ([goal] if isinstance(goal, str | int) else goal or ["goal"])]
    unknown = next((name for name in wanted if name not in names), None)
    if unknown is not None:
        raise UnknownNameError("state", unknown, map(str, names))
    return goal_mask(columns, wanted)
