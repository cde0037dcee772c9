"""A page: one self-contained HTML file, which opens from disk and makes no requests.

A template in ``templates/`` holds the parts that need no JavaScript. The scripts in ``scripts/`` and ``style.css`` are
written into the page, with one JSON document and one packed block of numbers. The security policy allows exactly these
texts, by their hashes: no other script, no request. Only a page of `goalward watch --live` may talk to the server that
it comes from.
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

# The template and the script of each kind of page; the script imports the others.
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
    """The arrays of a page in one block of bytes, which the page carries compressed and in base64.

    In the document, a reference with the type, offset and size stands for an array.
    """

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.size = 0

    def put(self, array: ArrayLike, kind: str) -> dict[str, Any]:
        """Add an array in one of the number formats of `TYPES`, and return the reference to it."""
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
    r"""Write plain data as JSON that may stand inside a script element; numbers that are not finite become null.

    >>> print(script_json("</script>"))
    "\u003c/script\u003e"
    """
    return json.dumps(finite(document), allow_nan=False, ensure_ascii=False).translate(ESCAPES)


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A page about a run or a study.

    In a notebook it shows itself; `save` writes it to a file. The scripts of the page get `document` and `block`; its
    template gets `content`, which is the document by default.
    """

    kind: str
    title: str
    document: Mapping[str, Any]
    block: Block
    content: Mapping[str, Any] = field(default_factory=dict)
    live: bool = False

    @property
    def html(self) -> str:
        """The text of the page."""
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
    """Return the path of a page to write; raise SettingError unless it ends in .html or .htm."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{path}: pages are HTML files; use a name that ends in .html")
    return path


@cache
def templates() -> Environment:
    """Return the environment of the templates; it escapes texts and makes control characters visible."""
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
    """Return the text of a file of this package."""
    return (resources.files("goalward.pages") / name).read_text(encoding="utf-8")


@cache
def script_text(kind: str) -> str:
    """Return all scripts of a kind of page as one, each after the scripts that it imports."""
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
    """Return the hash by which a security policy names a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
