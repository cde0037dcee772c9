"""Save and load nested dicts of plain data and arrays in one file, without pickle.

A tree is a dict with strings as keys. Its values are arrays, strings, numbers, booleans, None, lists of plain data, or
trees. The file is an ``.npz`` archive. Each array is stored under its path, such as ``belief.counts``. All other values
are stored in a JSON header, with the name and version of the format and a SHA-256 of the content. `read` raises
FileError if a file is unreadable, has another format or version, or does not match its checksum. Nothing is executed.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalward.errors import FileError
from goalward.files import read_bytes, write_bytes

Arrays = dict[str, NDArray[Any]]

ARRAY = "$array"
LARGEST = 1 << 32
"""The largest uncompressed size of an archive, in bytes: a small file can unpack to more than fits in memory."""


def write(path: Path, format: str, version: int, tree: dict[str, Any]) -> None:
    """Write `tree` to a file atomically; if writing fails, the previous file stays unchanged."""
    arrays: Arrays = {}
    values = without_arrays(tree, "", arrays)
    header = {"format": format, "version": version, "values": values, "checksum": checksum(values, arrays)}
    contents: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    size = sum(array.nbytes for array in contents.values())
    if size > LARGEST:
        raise FileError(f"{path}: too large to write ({size:,} bytes uncompressed; the maximum is {LARGEST:,})")
    file = io.BytesIO()
    np.savez_compressed(file, **contents)
    write_bytes(path, file.getvalue())


def read(path: Path, format: str, version: int) -> dict[str, Any]:
    """Return the tree in a file; raise FileError unless the file has this `format` and `version`."""
    content = io.BytesIO(read_bytes(path))
    try:
        with np.load(content, allow_pickle=False) as archive:
            size = sum(member.file_size for member in archive.zip.infolist())
            if size > LARGEST:
                raise FileError(f"{path}: would unpack to {size:,} bytes; the maximum is {LARGEST:,}")
            header = json.loads(str(archive["header"]))
            check_header(path, header, format, version)
            arrays = {name: archive[name] for name in archive.files if name != "header"}
        tree, expected = with_arrays(header["values"], arrays), checksum(header["values"], arrays)
        if not isinstance(tree, dict):
            raise TypeError("the values are not a dict")
    except FileError:
        raise
    # Damaged archives raise a dozen types of exceptions, such as zlib.error and tokenize.TokenError.
    except Exception as error:
        raise damaged(path, error) from None
    if header.get("checksum") != expected:
        raise FileError(f"{path}: the content does not match its checksum; it was changed after it was written")
    return tree


def check_header(path: Path, header: object, format: str, version: int) -> None:
    """Raise FileError unless the `header` of a file has this `format` and `version`."""
    fields = header if isinstance(header, dict) else {}
    if fields.get("format") != format:
        what = f"has the format {fields['format']!r}" if "format" in fields else "names no format"
        raise FileError(f"{path}: {what}; expected {format!r}")
    if fields.get("version") != version:
        raise FileError(f"{path}: has format version {fields.get('version')!r}; this goalward reads version {version}")


def damaged(path: Path, error: Exception) -> FileError:
    """Return the error for an unreadable file, without NumPy's advice to unpickle the file."""
    why = "it is not an .npz archive" if "pickle" in str(error) else str(error)
    if "Object arrays" in str(error):
        why = "it holds Python objects, which are never loaded"
    return FileError(f"{path}: damaged, or not a goalward file ({why}); save it again")


def without_arrays(value: Any, path: str, arrays: Arrays) -> Any:
    """Move the arrays of a tree to `arrays`, under their paths; return the tree with a reference for each array."""
    if isinstance(value, dict):
        return {name: without_arrays(inner, f"{path}.{name}".lstrip("."), arrays) for name, inner in value.items()}
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {ARRAY: path}
    return value.item() if isinstance(value, np.generic) else value


def with_arrays(value: Any, arrays: Arrays) -> Any:
    """Return a tree in which each reference is replaced by its array from `arrays`."""
    if not isinstance(value, dict):
        return value
    return (
        arrays[value[ARRAY]] if ARRAY in value else {name: with_arrays(inner, arrays) for name, inner in value.items()}
    )


def digest(tree: dict[str, Any]) -> str:
    """Return the SHA-256 of the tree `tree`."""
    arrays: Arrays = {}
    return checksum(without_arrays(tree, "", arrays), arrays)


def checksum(values: dict[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of the content of an archive."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.newbyteorder('<').str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
