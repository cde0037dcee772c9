"""Names of states in UMB files: those that goalward wrote, or the values of the model's variables.

A valuation is a record of bits: the variables of a state one after the other, the first in the lowest bits, padded to
bytes. Booleans and integers of up to 64 bits are read; a model with other variables has no names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalward.errors import FileError
from goalward.interchange.umb_archive import Archive

__all__ = ["STATE_NAMES", "state_names"]

STATE_NAMES = "goalward/state-names.json"
NAMED_STATES = 1 << 20  # more states than this get no names
WIDEST = 1 << 12  # bits of a record


def state_names(archive: Archive) -> list[str] | None:
    """Return the names that goalward wrote, or else the values of the state's variables, such as ``x=1,y=0``."""
    if STATE_NAMES in archive.members:
        names = archive.json(STATE_NAMES)
        if not isinstance(names, list) or len(names) != archive.states or not all(isinstance(n, str) for n in names):
            raise FileError(f"{STATE_NAMES} must be a list of {archive.states} texts; write the file again")
        return names
    classes = archive.index.get("valuations", {})
    for step in ("states", "classes"):
        classes = classes.get(step) if isinstance(classes, dict) else None
    if not isinstance(classes, list) or len(classes) != 1 or archive.states > NAMED_STATES:
        return None
    return valuations(archive, classes[0])


def valuations(archive: Archive, about: Any) -> list[str] | None:
    """Return the values of variables as texts; None where they are of types that are not read."""
    name = "valuations/states/valuations.bin"
    columns: list[list[str]] = []
    layout: list[tuple[str, dict[str, Any], int, int]] = []
    width = 0
    for variable in archive.entry("variables", list, about):
        if "padding" in variable:
            width += archive.entry("padding", int, variable)
            continue
        kind = archive.entry("type", dict, variable)
        bits = kind.get("size", {"bool": 1, "int": 64, "uint": 64}.get(kind.get("type"), 0))
        if kind.get("type") not in ("bool", "int", "uint") or variable.get("is-optional") or bits not in range(1, 65):
            return None
        layout.append((archive.entry("name", str, variable), variable, width, bits))
        width += bits
    if not layout or width % 8 or not 0 < width <= WIDEST or name not in archive.members:
        return None
    packed = archive.array(name, "u1", archive.states * (width // 8)).reshape(archive.states, -1)
    for title, variable, low, bits in layout:
        first, last = low // 8, -(-(low + bits) // 8)
        digits = np.unpackbits(packed[:, first:last], axis=1, bitorder="little")[:, low - 8 * first :][:, :bits]
        columns.append([f"{title}={value}" for value in decoded(digits, variable)])
    return [",".join(values) for values in zip(*columns, strict=True)]


def decoded(digits: NDArray[np.uint8], variable: dict[str, Any]) -> list[Any]:
    """Return the values of a variable from its binary digits, the lowest first."""
    bits = digits.shape[1]
    kind, offset = variable["type"]["type"], variable.get("offset", 0)
    values = (digits.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(axis=1, dtype=np.uint64).tolist()
    if kind == "bool":
        return ["true" if value else "false" for value in values]
    if kind == "int":
        values = [value - (1 << bits) if value >> (bits - 1) else value for value in values]
    return [value + offset for value in values] if isinstance(offset, int) and offset else values
