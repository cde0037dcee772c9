"""A page: one HTML file with everything in it, which opens from disk and requests nothing.

The scripts in ``scripts/`` and ``style.css`` are written into the page, with one JSON document and one packed block of
numbers. The security policy allows exactly these texts, by their hashes: no other script, no request. Only a page of
`goalward watch --live` may talk to the server that it comes from.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
import webbrowser
import zlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward import agents
from goalward.errors import SettingError
from goalward.figures.symbols import UNICODE
from goalward.files import write_bytes
from goalward.formatting import finite, visible
from goalward.registry import summary
from goalward.ssp.model import GIVE_UP

__all__ = ["Block", "Page", "check_page_path", "script_json", "show_file"]

SCRIPTS = {"watch": "watch/watch.js", "planes": "watch/watch_planes.js", "report": "report/report.js"}
"""The script of each kind of page; it imports the others."""
IMPORT = re.compile(r'^import [^;]*? from "([^"]+)";\n', flags=re.MULTILINE)
EXPORT = re.compile(r"^export ", flags=re.MULTILINE)
FRAME_HEIGHT = 860
TYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "i4": "<i4", "u2": "<u2", "u1": "u1"}
ALIGNMENT = 8
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
COMMON_WORDS = {
    "step": "one action: it costs something, and chance has a say in where it leads",
    "episode": "one trip from the start to the goal; then the next one begins at the start",
    "plan": "the action that the agent intends in every state: the arrows",
    "value": "the cost that the agent expects from a state to the goal. It learns: at first this is a guess",
}
WORDS = {
    "watch": COMMON_WORDS
    | {
        "epoch": "the time in which the agent follows one plan. Then it makes a new one from everything it has seen",
        "regret": "what the agent has paid so far beyond the best policy, which knows the world: the price of learning."
        " It grows fast at first, and then hardly any more",
        "gap regret": "regret without the effect of chance: the sum of what each action loses on average. Realised"
        " regret includes chance, and can even fall",
        "same luck": "both agents use the same random numbers: as long as they act alike, the same happens to them",
        "uncertainty": "how little the agent knows about the effects of its actions. It falls where the agent has been",
    },
    "planes": COMMON_WORDS | {"state": "where the agent is, by its coordinates; a curve is one episode, step by step"},
}
"""What the words on a replay mean, for someone who sees one for the first time."""


class Block:
    """The arrays of a page in one block of bytes, which the page carries compressed and in base64.

    In the document, a reference with the type, offset and size stands for an array.
    """

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def put(self, array: ArrayLike, kind: str) -> dict[str, Any]:
        """Add an array of a type of `TYPES` and return the reference to it."""
        numbers: NDArray[Any] = np.ascontiguousarray(array, dtype=TYPES[kind])
        content = numbers.tobytes()
        offset, padding = self.size, -len(content) % ALIGNMENT
        self.parts.append(content + b"\0" * padding)
        self.size += len(content) + padding
        return {"type": kind, "at": offset, "size": int(numbers.size)}

    def put_integers(self, array: ArrayLike) -> dict[str, Any]:
        """Add non-negative integers in the smallest type that holds them."""
        return self.put(array, smallest_integers(array))

    def text(self) -> str:
        """Return the block, compressed, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self.parts), 9)).decode("ascii")


def smallest_integers(array: ArrayLike) -> str:
    """Return the smallest type that holds these non-negative integers.

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


class Page:
    """A page about a run or a study.

    In a notebook it shows itself. `save` writes it to a file, `open` shows it in a browser.
    """

    def __init__(self, kind: str, title: str, document: Mapping[str, Any], block: Block, *, live: bool = False):
        self.kind, self.title, self.document, self.block, self.live = kind, title, document, block, live

    @property
    def html(self) -> str:
        """The text of the page."""
        script, style = script_text(self.kind), asset("style.css")
        policy = (
            f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data:;"
            f" connect-src '{'self' if self.live else 'none'}'; base-uri 'none'; form-action 'none'"
        )
        document = dict(self.document) | {"live": self.live}
        return TEMPLATE.format(
            policy=policy,
            title=html.escape(visible(self.title)),
            style=style,
            words=words_html(self.kind, self.document),
            document=script_json(document),
            block=self.block.text(),
            script=script,
        )

    def save(self, path: str | Path) -> Path:
        """Write the page to a file and return its path."""
        file = check_page_path(Path(path))
        write_bytes(file, self.html.encode("utf-8"))
        return file

    def open(self, path: str | Path) -> bool:
        """Write the page to a file and show it in a browser; return whether there is one."""
        return show_file(self.save(path))

    def _repr_html_(self) -> str:
        """Return a frame with the page in it, for notebooks."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{FRAME_HEIGHT}" sandbox="allow-scripts"'
            f' title="{html.escape(visible(self.title))}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({self.title!r}; save(path) writes it, open(path) shows it)"


def show_file(path: Path) -> bool:
    """Show a page in a browser; return whether there is one."""
    return webbrowser.open(path.resolve().as_uri())


def check_page_path(path: Path) -> Path:
    """Return the path of a page to write; raise SettingError unless it ends in .html or .htm."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{path}: pages are HTML files; use a name that ends in .html")
    return path


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

    add(SCRIPTS[kind])
    return "\n".join(texts.values())


def digest(text: str) -> str:
    """Return the hash by which a security policy names a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def words_html(kind: str, document: Mapping[str, Any]) -> str:
    """Return the glossary of a page, which unfolds; empty for pages that are not replays."""
    if kind not in WORDS:
        return ""
    entries = dict(WORDS[kind])
    if len(document["agents"]) < 2:
        entries.pop("same luck", None)
    if GIVE_UP in (document.get("world") or {}).get("actionNames", ()):
        entries[f"{UNICODE.arrows[GIVE_UP]} {GIVE_UP}"] = "return to the start, at a price; the episode continues"
    known = agents.known()
    for agent in document["agents"]:
        if agent["name"] in known:
            entries[agent["name"]] = summary(agents.find(agent["name"]))
    rows = "".join(
        f"<dt>{html.escape(visible(word))}</dt><dd>{html.escape(visible(text))}</dd>" for word, text in entries.items()
    )
    return f'<aside class="words"><details><summary>What the words mean</summary><dl>{rows}</dl></details></aside>'


TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="page"><p class="loading">Reading the page ...</p></main>
{words}
<noscript><p>This page draws itself with JavaScript, which is switched off here.</p></noscript>
<script type="application/json" id="document">{document}</script>
<script type="text/plain" id="block">{block}</script>
<script type="module">{script}</script>
</body>
</html>
"""
