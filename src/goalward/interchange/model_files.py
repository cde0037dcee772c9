"""Models on disk: ``.npz`` without pickle for any size, ``.json`` for small ones that people read.

An ``.npz`` file is an archive as saved agents are (see `goalward.archive`), version 2 of the format. A ``.json`` file
holds the same fields without a checksum, version 1; an ``.npz`` file of version 1 is read too. A file is data: its
arrays are checked like any other input, nothing in it is executed, and whatever is wrong with it ends in a `FileError`
that names the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalward import archive
from goalward.errors import FileError
from goalward.files import read_bytes, reason, replacing
from goalward.ssp.layout import GridLayout

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

__all__ = ["read", "write"]

FORMAT, PLAIN, VERSION = "goalward-ssp", 1, 2
ARRAYS = ("indptr", "successors", "probabilities", "costs")
FIELDS = (*ARRAYS, "initial_state", "state_names", "action_names", "layout")
OPTIONAL = ("give_up",)


def write(ssp: SSP, path: Path) -> None:
    """Write a model: an archive if the path ends in ``.npz``, otherwise JSON."""
    fields = {name: getattr(ssp, name) for name in FIELDS + OPTIONAL}
    fields["layout"] = None if ssp.layout is None else layout_fields(ssp.layout)
    if path.suffix == ".npz":
        archive.write(path, FORMAT, VERSION, fields)
        return
    fields["costs"] = np.where(ssp.available, ssp.costs, 0.0)
    lists = {name: fields[name].tolist() for name in ARRAYS}
    text = json.dumps({"format": FORMAT, "version": PLAIN} | fields | lists)
    try:
        with replacing(path) as file:
            file.write(f"{text}\n".encode())
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({reason(error)})") from None


def read(path: Path) -> dict[str, Any]:
    """Read what `SSP.from_rows` needs from a file."""
    fields = archive.read(path, FORMAT, VERSION, PLAIN) if path.suffix == ".npz" else read_json(path)
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise FileError(f"{path}: damaged, {missing[0]!r} is missing; save it again")
    model = {name: fields[name] for name in FIELDS + OPTIONAL if name in fields}
    if model["layout"] is not None:
        model["layout"] = read_layout(path, model["layout"])
    return model


def read_json(path: Path) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise archive.damaged(path, error) from None
    archive.check_header(path, fields, FORMAT, PLAIN)
    return fields


def layout_fields(layout: GridLayout) -> dict[str, Any]:
    """Return a grid layout as plain numbers, lists and texts."""
    drawn = {"ground": layout.ground, "wind": layout.wind}
    return {name: value for name, value in drawn.items() if value is not None} | {
        "rows": layout.rows,
        "columns": layout.columns,
        "cells": layout.cells.tolist(),
        "goals": layout.goals.tolist(),
    }


def read_layout(path: Path, given: Any) -> GridLayout:
    """Read a grid layout."""
    try:
        size = given["rows"], given["columns"]
        return GridLayout(*size, given["cells"], given["goals"], given.get("ground"), given.get("wind"))
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise FileError(f"{path}: the layout is damaged ({error}); save it again") from None
