"""Reads the columns of a table from a CSV or Parquet file or from memory. Error messages name the row.

Names of states and actions are strings or integers. In a CSV file, an empty field is a name only if it is quoted. All
other known columns contain numbers. Unknown columns are ignored. A table is read in batches into growing arrays, so its
whole text is never in memory.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goalward.arrays import Bools
from goalward.errors import FileError, GoalwardError, ShapeError, StateError, UnknownNameError
from goalward.files import check_regular
from goalward.progress import phase
from goalward.ssp.model import Name
from goalward.ssp.transitions import Columns, goal_mask, renumber

NAMES = ("state", "action", "next_state", "episode")
NUMBERS = ("probability", "count", "cost", "step")
MOST_ROWS = 1 << 29
BATCH = 1 << 15  # rows
BLOCK = 1 << 16  # bytes of a CSV file: the longest row that can be read. Arrow keeps several blocks in memory
SHORT_ROW = 8  # bytes
FEW_NAMES = 1 << 12


@contextlib.contextmanager
def system_allocator() -> Iterator[None]:
    """Make Arrow allocate with malloc, because Arrow's own memory pool retains much of the freed memory."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        if before.backend_name != "system":  # otherwise another thread entered first, and restores its pool
            pa.set_memory_pool(before)


class Column:
    """A growing array. Room for `expected` entries is reserved, but unused entries take no memory."""

    def __init__(self, kind: type, expected: int = 0):
        self.memory: NDArray[Any] = np.empty(expected + 1024, dtype=kind)
        self.size = 0

    def append(self, part: NDArray[Any]) -> None:
        """Add numbers at the end."""
        end = self.size + len(part)
        if end > len(self.memory):
            self.memory.resize(end + end // 8, refcheck=False)
        self.memory[self.size : end] = part
        self.size = end

    def array(self) -> NDArray[Any]:
        """Return the numbers."""
        self.memory.resize(self.size, refcheck=False)
        return self.memory


class NameColumn(Column):
    """A column of names. Each name is stored as a number, in order of appearance.

    The names of a batch first get new numbers. When there are as many new names as known names, equal names get equal
    numbers. Comparing each batch with all known names would take ten times as long.
    """

    def __init__(self, expected: int = 0):
        super().__init__(np.int32, expected)
        self.known: Any = pa.array([], pa.large_string())
        self.ends, self.text = Column(np.int64), Column(np.uint8)  # of names that are not yet compared
        self.count = self.matched = 0

    def append_names(self, texts: Any) -> None:
        """Add names at the end."""
        encoded = texts.dictionary_encode()
        self.append(np.asarray(encoded.indices) + self.count)
        names = encoded.dictionary.cast(pa.large_string())
        _, offsets, text = names.buffers()
        ends = np.frombuffer(offsets, np.int64)[names.offset : names.offset + len(names) + 1]
        # These are copies, because small arrays that outlive their batch would keep its memory from being freed.
        self.ends.append(ends[1:] - ends[0] + self.text.size)
        self.text.append(np.frombuffer(text or b"", np.uint8)[ends[0] : ends[-1]])
        self.count += len(names)
        if self.count > 2 * len(self.known) + FEW_NAMES:
            self.match()

    def match(self) -> None:
        """Give equal names the same number."""
        if self.matched == self.size:
            return
        ends = np.append(0, self.ends.memory[: self.ends.size])
        new = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(self.text.memory))
        encoded = pa.concat_arrays([self.known, new]).dictionary_encode()
        renumber(self.memory[self.matched : self.size], np.asarray(encoded.indices))
        self.known, self.ends.size, self.text.size = encoded.dictionary, 0, 0
        self.count, self.matched = len(self.known), self.size

    def names(self) -> Any:
        """Return the name of each number."""
        self.match()
        return self.known

    def array(self) -> NDArray[Any]:
        """Return the numbers."""
        self.match()
        return super().array()


class Source:
    """A table with columns of names and columns of numbers.

    Parameters
    ----------
    table
        The path of a ``.csv`` or ``.parquet`` file, a mapping of columns, a table of pyarrow,
        or a data frame of pandas or polars.
    """

    def __init__(self, table: Any):
        self.path = Path(table) if isinstance(table, str | Path) else None
        self.is_parquet = self.path is not None and self.path.suffix == ".parquet"
        self.rows = 0
        try:
            if self.path is None:
                self.read(from_memory(table))
            else:
                check_regular(self.path)
                self.read((from_parquet if self.is_parquet else from_csv)(self.path))
        except GoalwardError:
            raise
        except OSError as error:
            raise FileError(error.strerror or first_line(error)) from None
        except Exception as error:  # damaged files cause many types of errors
            kind = "Parquet" if self.is_parquet else "CSV"
            raise FileError(f"the file is damaged or is not a {kind} file with a table ({first_line(error)})") from None

    @system_allocator()
    def read(self, parts: Iterator[Any]) -> None:
        """Read the known columns. `parts` yields the names of all columns, then batches of rows."""
        self.header: list[str] = next(parts)
        wanted = known(self.header)
        if len(set(wanted)) < len(wanted):
            repeated = next(name for name in wanted if wanted.count(name) > 1)
            raise ShapeError(f"the table has two columns {repeated!r}; remove one of them")
        expected = 0 if self.path is None else self.path.stat().st_size // SHORT_ROW
        self.columns: dict[str, Any] = {
            name: NameColumn(expected) if name in NAMES else Column(np.float64, expected) for name in wanted
        }
        with phase(f"reading {self.path.name if self.path else 'a table'}", second_unit="rows") as entry:
            for batch in parts:
                for name in wanted:
                    self.append(name, batch.column(name))
                self.rows += batch.num_rows
                entry.advance(0, self.rows)
                if self.rows > MOST_ROWS:
                    raise FileError(f"the file has more than {MOST_ROWS:,} rows, which is the limit")
        if not self.rows:
            raise ShapeError("the table has no rows; add at least one row")

    def append(self, column: str, values: Any) -> None:
        """Add the values of a batch to a column."""
        if values.null_count:
            row = self.rows + int(np.argmax(np.asarray(values.is_null())))
            raise ShapeError(f"there is no {column}{self.location(row)}; fill in the {column} of every row")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        kind, numbers = values.type, self.columns[column]
        if isinstance(numbers, NameColumn):
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
                raise ShapeError(f"the column {column!r} has type {kind}; names must be texts or integers")
            numbers.append_names(values)
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            numbers.append(np.asarray(values.cast(pa.float64(), safe=False)))
        else:
            raise ShapeError(f"the column {column!r} has type {kind}; it must hold numbers")

    def location(self, row: int) -> str:
        """Return the number of a row as part of a sentence, such as " in row 3 (the header is row 1)"."""
        if self.path is None or self.is_parquet:
            return f" in row {row} (counted from 0)"
        return f" in row {row + 2} (the header is row 1)"

    def require(self, *columns: str) -> None:
        """Raise ShapeError if a column is missing."""
        missing = [column for column in columns if column not in self.header]
        if missing:
            present, needed = ", ".join(self.header[:20]), ", ".join(columns)
            raise ShapeError(f"the table has no column {missing[0]!r}, only {present}; the columns {needed} are needed")

    @system_allocator()
    def transitions(self, weight: str | None = None) -> Columns:
        """Return the transitions and free the columns. Weights come from the column `weight`, or are all 1."""
        self.require("state", "action", "next_state", *([] if weight is None else [weight]), "cost")
        states, after, actions = (self.columns.pop(name) for name in ("state", "next_state", "action"))
        names = pa.concat_arrays([states.names(), after.names()]).dictionary_encode()
        renumber(after.array(), np.asarray(names.indices)[len(states.known) :])
        weights = np.ones(self.rows) if weight is None else self.columns.pop(weight).array()
        costs = self.columns.pop("cost").array()
        return Columns(
            states.array(), actions.array(), after.array(), weights, costs,
            names.dictionary.to_pylist(), actions.names().to_pylist(),
        )  # fmt: skip


def known(header: Sequence[str]) -> list[str]:
    """Return the names in `header` that goalward reads."""
    return [name for name in header if name in (*NAMES, *NUMBERS)]


def from_memory(table: Any) -> Iterator[Any]:
    """Yield the column names of a table in memory, then batches of rows."""
    try:
        values = table if isinstance(table, pa.Table) else pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ShapeError(
            f"this is not a table ({first_line(error)}); pass a mapping of columns, a data frame or a path"
        ) from None
    yield values.column_names
    yield from values.select(known(values.column_names)).to_batches(BATCH)


def from_parquet(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        header = file.schema_arrow.names
        yield header
        for batch in file.iter_batches(BATCH, columns=known(header)):
            batch.validate(full=True)  # this finds names that are not UTF-8
            yield batch


def from_csv(path: Path) -> Iterator[Any]:
    """Yield the column names in the first line of a CSV file, then batches of rows."""
    from pyarrow import csv as arrow_csv

    with path.open(newline="", encoding="utf-8-sig") as file:
        header = next(csv.reader(file), [])
    yield header
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(NAMES, pa.string()) | dict.fromkeys(NUMBERS, pa.float64()),
        include_columns=known(header),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    one_thread = arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK)  # one thread: errors name the row
    yield from arrow_csv.open_csv(path, read_options=one_thread, parse_options=parse, convert_options=convert)


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:200]


def find_goals(columns: Columns, goal: Name | Sequence[Name] | None) -> Bools:
    """Return for each state whether the state is a goal. Without `goal`, the state called "goal" is the goal."""
    names = columns.state_names
    if goal is None and "goal" not in names:
        last = np.setdiff1d(np.arange(len(names)), columns.states)[:20]
        ends = ", ".join(repr(names[state]) for state in last) or "none"
        raise StateError(
            f"no state is called goal; pass goal=... (on the command line --goal NAME or --set goal=NAME)."
            f" Candidates are states without outgoing transitions: {ends}"
        )
    wanted = [str(name) for name in ([goal] if isinstance(goal, str | int) else goal or ["goal"])]
    unknown = next((name for name in wanted if name not in names), None)
    if unknown is not None:
        raise UnknownNameError("state", unknown, map(str, names))
    return goal_mask(columns, wanted)
