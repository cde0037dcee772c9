"""TOML as text: where a key stands, and how values are written.

`tomllib` gives values without lines. A spec error must name its line, so the line of a key is found by walking the
text: table headers say where one is, and the first key of the right name below the right header is it. Keys inside an
inline table are found by the line of the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

__all__ = ["line_of", "written"]

Place = Sequence[str | int]
HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]\[]+?)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
QUOTES = ('"""', "'''")


def line_of(text: str, place: Place) -> int:
    r"""Return the line, counted from 1, of the longest beginning of a place that the text has; 1 if it has none.

    >>> line_of("runs = 3\n[[worlds]]\nid = 'a'\n[[worlds]]\nid = 'b'", ("worlds", 1, "id"))
    5
    """
    wanted = tuple(place)
    best_length, best_line = 0, 1
    for found, line in keys(text):
        length = common_length(found, wanted)
        if length > best_length and (length == len(found) or length == len(wanted)):
            best_length, best_line = length, line
    return best_line


def common_length(one: Place, other: Place) -> int:
    """Return how many entries two places begin with in common."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


def keys(text: str) -> list[tuple[tuple[str | int, ...], int]]:
    """Return the place and the line of every table header and every key that starts a line."""
    found: list[tuple[tuple[str | int, ...], int]] = []
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    inside = None
    for number, line in enumerate(text.splitlines(), start=1):
        if inside is not None:
            # Within a text of several lines nothing is a key.
            inside = None if inside in line else inside
            continue
        header = HEADER.match(line)
        if header:
            table = resolve(split(header[2]), counts, header[1] == "[[")
            found.append((table, number))
            continue
        key = KEY.match(line)
        if key:
            found.append((table + split(key[1]), number))
        inside = next((quotes for quotes in QUOTES if line.count(quotes) % 2), None)
    return found


def split(dotted: str) -> tuple[str, ...]:
    """Return the parts of a dotted key."""
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def resolve(names: tuple[str, ...], counts: dict[tuple[str | int, ...], int], entry: bool) -> tuple[str | int, ...]:
    """Return the place of a table: below an array of tables it belongs to the last entry."""
    place: tuple[str | int, ...] = ()
    for position, name in enumerate(names):
        place = (*place, name)
        if entry and position == len(names) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def written(value: object) -> str:
    """Write a value as TOML, tables inline.

    >>> written({"states": [4, 8], "rows": "dirichlet"})
    '{ states = [4, 8], rows = "dirichlet" }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{name} = {written(entry)}" for name, entry in value.items() if entry is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(written(entry) for entry in value)}]"
    # The escapes of JSON are those of TOML, but for the solidus, which JSON need not escape.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
