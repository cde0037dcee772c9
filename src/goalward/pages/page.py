"""A page: one HTML file with everything in it, which opens from disk and asks nobody for anything.

The files of ``scripts/`` and ``style.css`` are written into the page. Its security policy allows these very texts, by
their hashes, and nothing else: neither other scripts nor any request. A page of `goalward watch --live` may
ask the server that it comes from.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import webbrowser
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from goalward.errors import SettingError
from goalward.files import write_bytes
from goalward.formatting import visible
from goalward.pages.page_data import Block, script_json
from goalward.pages.page_words import words_html

__all__ = ["Page", "check_place", "show_file"]

# In the order in which they need each other.
SHARED = ("elements", "numbers", "colours", "page_data", "address", "chart", "page")
WATCH = ("scale_bar", "replay", "planner", "places", "world_map", "cell", "layers", "what_if", "watch")
PLANES = ("scale_bar", "plane", "watch_planes")
MODULES = {
    kind: (*(f"shared/{name}" for name in SHARED), *(f"{folder}/{name}" for name in names))
    for kind, folder, names in (
        ("watch", "watch", WATCH),
        ("planes", "watch", PLANES),
        ("report", "report", ("report",)),
    )
}
IMPORT = re.compile(r"^import .*?;\n", flags=re.MULTILINE | re.DOTALL)
EXPORT = re.compile(r"^export ", flags=re.MULTILINE)
FRAME_HEIGHT = 860


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
        place = check_place(Path(path))
        write_bytes(place, self.html.encode("utf-8"))
        return place

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


def check_place(path: Path) -> Path:
    """Return where a page is to be written; raise SettingError if its ending is not that of a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{path}: a page is written as .html; change the ending")
    return path


@cache
def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return (resources.files("goalward.pages") / name).read_text(encoding="utf-8")


@cache
def script_text(kind: str) -> str:
    """Return the modules of a kind of page as one: they need not import each other then."""
    texts = (EXPORT.sub("", IMPORT.sub("", asset(f"scripts/{name}.js"))) for name in MODULES[kind])
    return "\n".join(text.strip() + "\n" for text in texts)


def digest(text: str) -> str:
    """Return the hash by which a security policy names a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


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
