"""Arrays and texts as a page carries them: one JSON document, and one packed block of numbers beside it.

An array becomes a reference into the block: its type, where it starts and how many numbers it has. The block is
compressed and written in base64. In JSON, characters that could end the script element, or a line of it, are escaped.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward.formatting import finite

__all__ = ["Block", "script_json", "smallest_integers"]

TYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "i4": "<i4", "u2": "<u2", "u1": "u1"}
ALIGNMENT = 8
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


class Block:
    """Numbers of a page, in one block of bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def put(self, array: ArrayLike, kind: str) -> dict[str, Any]:
        """Add an array of a type of `TYPES` and return the reference to it."""
        numbers: NDArray[Any] = np.ascontiguousarray(array, dtype=TYPES[kind])
        content = numbers.tobytes()
        place, padding = self.size, -len(content) % ALIGNMENT
        self.parts.append(content + b"\0" * padding)
        self.size += len(content) + padding
        return {"type": kind, "at": place, "size": int(numbers.size)}

    def put_integers(self, array: ArrayLike) -> dict[str, Any]:
        """Add integers that are not negative, as small as they fit."""
        return self.put(array, smallest_integers(array))

    def text(self) -> str:
        """Return the block, compressed, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self.parts), 9)).decode("ascii")


def smallest_integers(array: ArrayLike) -> str:
    """Return the smallest type that holds integers which are not negative.

    >>> smallest_integers([0, 255]), smallest_integers([256]), smallest_integers([65536])
    ('u1', 'u2', 'u4')
    """
    largest = int(np.max(array, initial=0))
    return "u1" if largest < 1 << 8 else "u2" if largest < 1 << 16 else "u4"


def script_json(document: Any) -> str:
    r"""Write plain data as JSON that may stand inside a script element; numbers that are not finite become null.

    >>> print(script_json("</script>"))
    "\u003c/script\u003e"
    """
    return json.dumps(finite(document), allow_nan=False, ensure_ascii=False).translate(ESCAPES)
