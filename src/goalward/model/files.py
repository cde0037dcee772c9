"""Models on disk: ``.npz`` without pickle for any size, ``.json`` for small ones that people read.

Both carry a format name and a version. A file is data: its arrays are checked like any other input, nothing in it is
executed, and whatever is wrong with it ends in a `FileError` that names the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalward.archive import reason
from goalward.errors import FileError
from goalward.files import replacing
from goalward.model.layout import GridLayout

if TYPE_CHECKING:
    from goalward.model.ssp import SSP

__all__ = ["read", "write"]

FORMAT, VERSION = "goalward-ssp", 1
ARRAYS = ("indptr", "successors", "probabilities", "costs")


def write(ssp: SSP, path: Path) -> None:
    """Write a model in the format that the ending of the path names."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "initial_state": ssp.initial_state,
        "state_names": ssp.state_names,
        "action_names": ssp.action_names,
        "layout": None if ssp.layout is None else layout_fields(ssp.layout),
    }
    if path.suffix not in (".npz", ".json"):
        raise FileError(f"{path}: a model is saved as .npz or .json; the ending is {path.suffix!r}")
    try:
        if path.suffix == ".npz":
            arrays = {name: getattr(ssp, name) for name in ARRAYS}
            with replacing(path) as file:
                np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)
        else:
            costs = np.where(ssp.available, ssp.costs, 0.0)
            body = {name: getattr(ssp, name).tolist() for name in ARRAYS[:3]} | {"costs": costs.tolist()}
            with replacing(path) as file:
                file.write((json.dumps(header | body) + "\n").encode())
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}; the model was not saved") from None


def read(path: Path) -> dict[str, Any]:
    """Read what `SSP.from_rows` needs from a file."""
    if path.suffix not in (".npz", ".json"):
        raise FileError(f"{path}: a model is loaded from .npz or .json; the ending is {path.suffix!r}")
    try:
        fields = read_npz(path) if path.suffix == ".npz" else json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except (
        Exception
    ) as error:  # The readers of damaged archives raise a dozen types, zlib.error and EOFError among them.
        raise FileError(f"{path}: damaged, or no file of goalward's ({reason(error)}); save the model again") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise FileError(f"{path}: not a model of goalward's (it does not say format {FORMAT!r})")
    if fields.get("version") != VERSION:
        raise FileError(
            f"{path}: written in version {fields.get('version')!r} of the format; this goalward reads version {VERSION}"
        )
    wanted = (*ARRAYS, "initial_state", "state_names", "action_names", "layout")
    missing = [name for name in wanted if name not in fields]
    if missing:
        raise FileError(f"{path}: damaged, {missing[0]!r} is missing; save the model again")
    model = {name: fields[name] for name in wanted}
    if model["layout"] is not None:
        model["layout"] = read_layout(path, model["layout"])
    return model


def read_npz(path: Path) -> dict[str, Any]:
    """Read header and arrays of an archive, never unpickling."""
    # np.load given a path leaves the file open when the archive is damaged.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        fields: dict[str, Any] = {name: archive[name] for name in ARRAYS}
        header: dict[str, Any] = json.loads(str(archive["header"]))
    return header | fields


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
        raise FileError(f"{path}: the layout is damaged ({error}); save the model again") from None
