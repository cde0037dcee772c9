"""Columns of a table whose tuples hold plain integers and floats, read in one pass.

`marshal` writes a list of tuples with a byte for the exact type of everything in it, and numbers in binary. So tuples
of the same types are records of one size, which NumPy reads as columns, and comparing those bytes tells whether the
types are the same. The format may change with Python: a probe tells whether it is the expected one. Where it is not,
and for other tuples, callers read the tuples one by one.
"""

from __future__ import annotations

import marshal
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed_tuples"]

BINARY_FLOATS = 2  # version of the format, the last one that writes a number anew each time it comes
LIST_HEAD = 5  # bytes: a type and a length
CODES = {int: "i", float: "d"}  # integers of more than 32 bits are written in another way


@cache
def record(types: tuple[type, ...]) -> tuple[np.dtype[Any], NDArray[np.int64]]:
    """Return the form of a tuple of such numbers, and where the bytes are that tell its types."""
    fields, places, size = [("head", "V5")], list(range(LIST_HEAD)), LIST_HEAD
    for number, kind in enumerate(types):
        places.append(size)
        fields += [(f"type {number}", "V1"), (str(number), "<" + np.dtype(CODES[kind]).str[1:])]
        size += 1 + np.dtype(CODES[kind]).itemsize
    return np.dtype(fields), np.array(places)


@cache
def format_is_known() -> bool:
    """Return whether `marshal` writes tuples as this module reads them."""
    expected = struct.pack("<ci", b"[", 1) + struct.pack("<ci", b"(", 2) + struct.pack("<cicd", b"i", -3, b"g", 0.1)
    return marshal.dumps([(-3, 0.1)], BINARY_FLOATS) == expected


def packed_tuples(batch: list[Any], types: Sequence[tuple[type, ...]]) -> list[NDArray[Any]] | None:
    """Return the columns of a list of tuples of integers of 32 bits and floats.

    Column i holds one of ``types[i]`` throughout. Returns None for everything else.
    """
    first = batch[0]
    if type(first) is not tuple or len(first) != len(types) or not format_is_known():
        return None
    found = tuple(map(type, first))
    if not all(kind in allowed for kind, allowed in zip(found, types, strict=True)):
        return None
    try:
        written = marshal.dumps(batch, BINARY_FLOATS)
    except ValueError:  # something that is neither a number nor a text, such as one of NumPy's
        return None
    form, places = record(found)
    if len(written) != LIST_HEAD + form.itemsize * len(batch):
        return None
    told = np.frombuffer(written, dtype=np.uint8, offset=LIST_HEAD).reshape(len(batch), form.itemsize)[:, places]
    if not (told == told[0]).all():
        return None
    records = np.frombuffer(written, dtype=form, offset=LIST_HEAD)
    return [records[str(number)].astype(np.int64 if kind is int else np.float64) for number, kind in enumerate(found)]
