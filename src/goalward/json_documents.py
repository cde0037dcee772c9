"""Documents for other programs: plain data as JSON, and texts in files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goalward.errors import FileError
from goalward.files import replacing
from goalward.formatting import finite

__all__ = ["json_text", "write_text", "writing"]


def json_text(document: Any) -> str:
    """Write plain data as one line of JSON; infinite and undefined numbers become null."""
    return json.dumps(finite(document), allow_nan=False)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise FileError in place of the errors of the file system while `path` is written."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}; choose a place that can be written") from None


def write_text(path: Path, text: str) -> None:
    """Write a text to a file; folders on the way are created."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode())
