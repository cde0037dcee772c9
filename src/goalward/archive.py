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

__all__ = ["check_header", "damaged", "read", "write"]

Arrays = dict[str, NDArray[Any]]

LARGEST = 1 << 32
"""How many bytes the content of an archive may have: a small file can unpack to far more than the memory."""


def write(path: Path, format: str, version: int, tree: dict[str, Any]) -> None:
    """Write a tree whole, or leave what was there untouched."""
    arrays: Arrays = {}
    values = split(tree, "", arrays)
    header = {"format": format, "version": version, "values": values, "checksum": checksum(values, arrays)}
    contents: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    size = sum(array.nbytes for array in contents.values())
    if size > LARGEST:
        raise FileError(f"{path}: cannot be written (it has {size:,} bytes; the most that is read is {LARGEST:,})")
    try:
        with replacing(path) as file:
            np.savez_compressed(file, **contents)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from None


def read(path: Path, format: str, version: int) -> dict[str, Any]:
    """Read a tree of the given format and version."""
    header, arrays = read_parts(path)
    check_header(path, header, format, version)
    try:
        tree, expected = join(header["values"], arrays), checksum(header["values"], arrays)
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(path, error) from None
    if header.get("checksum") != expected:
        raise FileError(f"{path}: the content does not match its checksum; it was changed after it was written")
    return tree


def read_parts(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read the header and the arrays of an archive, never unpickling."""
    check_regular(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    with file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                size = sum(member.file_size for member in archive.zip.infolist())
                if size > LARGEST:
                    raise FileError(f"{path}: would unpack to {size:,} bytes; the most that is read is {LARGEST:,}")
                header = json.loads(str(archive["header"]))
                return header, {name: archive[name] for name in archive.files if name != "header"}
        except FileError:
            raise
        # The readers of damaged archives raise a dozen types, zlib.error and tokenize.TokenError among them.
        except Exception as error:
            raise damaged(path, error) from None


def check_header(path: Path, header: object, format: str, version: int) -> None:
    """Raise FileError if a file is of another format or version."""
    said = header if isinstance(header, dict) else {}
    if said.get("format") != format:
        what = f"holds {said['format']!r}" if "format" in said else "does not say its format"
        raise FileError(f"{path}: {what}; it must be {format!r}")
    if said.get("version") != version:
        raise FileError(
            f"{path}: written in version {said.get('version')!r} of the format; this goalward reads version {version}"
        )


def damaged(path: Path, error: Exception) -> FileError:
    """Return the error for a file that cannot be read, without NumPy's advice to unpickle it."""
    why = "it is not an .npz archive" if "pickle" in str(error) else str(error)
    if "Object arrays" in str(error):
        why = "it holds Python objects, which are never loaded"
    return FileError(f"{path}: damaged, or not a file of goalward's ({why}); save it again")


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
