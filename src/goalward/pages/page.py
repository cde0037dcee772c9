"""A page is one self-contained HTML file. It opens from disk and makes no requests.

A template in ``templates/`` has the parts that need no JavaScript. The page also contains ``style.css``, one script
that is made from the files in ``scripts/``, one JSON document and one compressed block of numbers. The security policy
of the page allows only this script and this style sheet, by their hashes, and forbids requests. Only pages of
`goalward watch --live` may send requests to the server that they come from.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import ArrayLike, NDArray

from goalward.errors import SettingError
from goalward.files import write_bytes
from goalward.formatting import finite, html_text, number, visible

# The template and the main script of each kind of page. The main script imports other scripts.
KINDS = {
    "watch": ("watch.html", "watch/watch.js"),
    "planes": ("watch.html", "watch/watch_planes.js"),
    "report": ("report.html", "report/report.js"),
}
IMPORT = re.compile(r'^import [^;]*? from "([^"]+)";\n', flags=re.MULTILINE)
EXPORT = re.compile(r"^export ", flags=re.MULTILINE)
FRAME_HEIGHT = 860  # pixels, in a notebook
TYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "i4": "<i4", "u2": "<u2", "u1": "u1"}
ALIGNMENT = 8
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


class Block:
    """All arrays of a page as one block of bytes. The page contains the block in compressed form, as base64.

    In the JSON document, each array is replaced by a reference: the type, the offset and the size of the array.
    """

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.size = 0

    def put(self, array: ArrayLike, kind: str) -> dict[str, Any]:
        """Add an array in one of the number formats of `TYPES`, and return a reference to the array."""
        numbers: NDArray[Any] = np.ascontiguousarray(array, dtype=TYPES[kind])
        content = numbers.tobytes()
        offset, padding = self.size, -len(content) % ALIGNMENT
        self.contents.append(content + b"\0" * padding)
        self.size += len(content) + padding
        return {"type": kind, "at": offset, "size": int(numbers.size)}

    def put_integers(self, array: ArrayLike) -> dict[str, Any]:
        """Add non-negative integers in the smallest type that holds them."""
        largest = int(np.max(array, initial=0))
        return self.put(array, "u1" if largest < 1 << 8 else "u2" if largest < 1 << 16 else "u4")

    def text(self) -> str:
        return base64.b64encode(zlib.compress(b"".join(self.contents), 9)).decode("ascii")


def script_json(document: Any) -> str:
    r"""Return plain data as JSON for a script element. Infinite numbers and NaN become null.

    >>> print(script_json("</script>"))
    "\u003c/script\u003e"
    """
    return json.dumps(finite(document), allow_nan=False, ensure_ascii=False).translate(ESCAPES)


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A page about a run or a study.

    A notebook displays the page, and `save` writes the page to a file. Scripts read `document` and `block`. The
    template reads `content`, or `document` if there is no `content`.
    """

    kind: str
    title: str
    document: Mapping[str, Any]
    block: Block
    content: Mapping[str, Any] = field(default_factory=dict)
    live: bool = False

    @property
    def html(self) -> str:
        """The page as HTML text."""
        template, script = KINDS[self.kind][0], script_text(self.kind)
        style = asset("style.css")
        policy = (
            f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data:;"
            f" connect-src '{'self' if self.live else 'none'}'; base-uri 'none'; form-action 'none'"
        )
        document = script_json(dict(self.document) | {"live": self.live})
        parts = {"policy": policy, "page_title": self.title, "style": style, "script": script, "document": document}
        page = templates().get_template(template)
        return page.render(self.content or self.document, **parts, block=self.block.text())

    def save(self, path: str | Path) -> Path:
        """Write the page to a file and return its path."""
        file = check_page_path(Path(path))
        write_bytes(file, self.html.encode("utf-8"))
        return file

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{FRAME_HEIGHT}" sandbox="allow-scripts"'
            f' title="{html_text(self.title)}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({self.title!r}; save(path) writes it)"


def check_page_path(path: Path) -> Path:
    """Return the `path` of a page. Raise SettingError unless `path` ends in .html or .htm."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{path}: pages are HTML files; use a name that ends in .html")
    return path


@cache
def templates() -> Environment:
    """Return Jinja's environment, which escapes texts and makes control characters visible."""
    environment = Environment(
        loader=PackageLoader("goalward.pages"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


@cache
def asset(name: str) -> str:
    """Return the text of the file `name` of this package."""
    return (resources.files("goalward.pages") / name).read_text(encoding="utf-8")


@cache
def script_text(kind: str) -> str:
    """Return all scripts for a `kind` of page as one text, with imported scripts first."""
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in texts:
            text = asset(f"scripts/{name}")
            for imported in IMPORT.findall(text):
                add(posixpath.normpath(posixpath.join(posixpath.dirname(name), imported)))
            texts[name] = EXPORT.sub("", IMPORT.sub("", text)).strip() + "\n"

    add(KINDS[kind][1])
    return "\n".join(texts.values())


def digest(text: str) -> str:
    """Return the hash of a script or style sheet, as a security policy writes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
