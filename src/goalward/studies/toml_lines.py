"""The line on which a key of a TOML text stands.

`tomllib` gives values without lines, and an error in a study must name its line. So the text is cut into statements
(table headers, and keys with their values), each of which `tomllib` can read alone: a statement ends with the first
line that makes it complete.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["Place", "line_of"]

Place = Sequence[str | int]
"""Where something stands in a document: keys, and indices from 0 for entries of lists."""


def line_of(text: str, place: Place) -> int:
    r"""Return the line, counted from 1, of the longest beginning of a place that the text has; 1 if it has none.

    >>> line_of("runs = 3\n[[worlds]]\nid = 'a'\n[[worlds]]\nid = 'b'", ("worlds", 1, "id"))
    5
    """
    lines: dict[Place, int] = {}
    for known, line in places(text):
        lines.setdefault(known, line)
    beginnings = (tuple(place[:length]) for length in range(len(place), 0, -1))
    return next((lines[beginning] for beginning in beginnings if beginning in lines), 1)


def places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Return every place of a text with the first line of its statement."""
    entries: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for line, document, is_header in statements(text):
        if is_header:
            table = resolved(document, entries)
            yield table, line
        else:
            for place in inner_places(document):
                yield table + place, line


def statements(text: str) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Return the first line of each statement, its content, and whether it is the header of a table."""
    statement, first = "", 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not statement:
            first = number
        statement += f"{line}\n"
        try:
            document = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if document:
            yield first, document, statement.lstrip().startswith("[")
        statement = ""


def resolved(header: dict[str, Any], entries: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """Return the place of a table; below an array of tables it belongs to the last entry, counted in `entries`."""
    place: tuple[str | int, ...] = ()
    inner: Any = header
    while inner:
        ((name, inner),) = inner.items()
        place = (*place, name)
        if isinstance(inner, list):
            entries[place] = entries.get(place, -1) + 1
            inner = inner[0]
        if place in entries:
            place = (*place, entries[place])
    return place


def inner_places(value: Any) -> Iterator[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in pairs:
        yield (name,)
        for place in inner_places(entry):
            yield (name, *place)
