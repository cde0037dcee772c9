"""Trees of plain data and arrays in one file, without pickle.

A tree is a dict whose keys are strings and whose values are arrays, texts, numbers, booleans, None, lists of such, or
trees. It is stored as ``.npz``: the arrays under their paths, all else in a header in JSON, with the name and the
version of the format and a SHA-256 of the whole content. What cannot be read, is of another format or version, or does
not match its checksum is refused with the reason. Nothing in a file is executed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalward.errors import FileError
from goalward.files import check_regular, replacing

__all__ = ["read", "reason", "write"]

Arrays = dict[str, NDArray[Any]]


def write(path: Path, format: str, version: int, tree: dict[str, Any]) -> None:
    """Write a tree whole, or leave what was there untouched."""
    arrays: Arrays = {}
    values = split(tree, "", arrays)
    header = {"format": format, "version": version, "values": values, "checksum": checksum(values, arrays)}
    contents: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    try:
        with replacing(path) as file:
            np.savez_compressed(file, **contents)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from None


def read(path: Path, format: str, version: int) -> dict[str, Any]:
    """Read a tree of the given format and version."""
    check_regular(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    with file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                header = json.loads(str(archive["header"]))
                found = header["format"], header["version"]
                values, given = header["values"], header["checksum"]
                arrays = {name: archive[name] for name in archive.files if name != "header"}
        # The readers of damaged archives raise a dozen types, zlib.error and tokenize.TokenError among them.
        except Exception as error:
            raise FileError(f"{path}: damaged, or no file of goalward's ({reason(error)})") from None
    if found[0] != format:
        raise FileError(f"{path}: holds {found[0]!r}, not {format!r}")
    if found[1] != version:
        raise FileError(f"{path}: written in version {found[1]!r} of the format; this goalward reads version {version}")
    if given != checksum(values, arrays):
        raise FileError(f"{path}: the content does not match its checksum; it was changed after it was written")
    return join(values, arrays)


def reason(error: Exception) -> str:
    """Say why an archive cannot be read, without NumPy's advice to unpickle it."""
    if "Object arrays" in str(error):
        return "it holds Python objects, which are never loaded"
    return "it is no .npz archive" if "pickle" in str(error) else str(error)


def split(tree: dict[str, Any], prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Return a tree without its arrays, which are put under their paths; their places are kept by ``[path]``."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        place = f"{prefix}{name}"
        if isinstance(value, dict):
            values[name] = split(value, f"{place}.", arrays)
        elif isinstance(value, np.ndarray):
            arrays[place] = value
            values[name] = {"array": place}
        else:
            values[name] = {"value": value.item() if isinstance(value, np.generic) else value}
    return {"tree": values}


def join(values: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Put a tree and its arrays together again."""
    tree: dict[str, Any] = {}
    for name, entry in values["tree"].items():
        if "tree" in entry:
            tree[name] = join(entry, arrays)
        else:
            tree[name] = arrays[entry["array"]] if "array" in entry else entry["value"]
    return tree


def checksum(values: dict[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of a content."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.newbyteorder('<').str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
