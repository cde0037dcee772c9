"""Documents for other programs: plain data that JSON can hold, and texts in files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goalward.errors import FileError

__all__ = ["finite", "json_text", "write_text", "writing"]


def finite(data: Any) -> Any:
    """Return plain data with None for every infinite or undefined number; JSON has neither.

    >>> finite({"values": [1.0, math.inf], "p": math.nan})
    {'values': [1.0, None], 'p': None}
    """
    if isinstance(data, dict):
        return {name: finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def json_text(document: Any) -> str:
    """Write plain data as one line of JSON."""
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
        path.write_text(text, encoding="utf-8")
