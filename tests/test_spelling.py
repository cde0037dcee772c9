"""Words of the pages and docstrings are in a dictionary of English, or in `words.txt`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from spellchecker import SpellChecker

ROOT = Path(__file__).parent.parent
OWN = set((Path(__file__).parent / "words.txt").read_text(encoding="utf-8").split())
NO_PROSE = re.compile(
    r"```.*?```|``.*?``|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+|\{[^}]*\}|<[^>]*>|%\w", re.DOTALL
)  # fmt: skip
WORD = re.compile(r"(?<![\w.\-/_'\\])[A-Za-z][a-z]{2,}(?![\w_/(\[=]|\.\w)")


def texts() -> dict[str, str]:
    """Return the pages and the docstrings of each module."""
    found = {}
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        found[page.relative_to(ROOT).as_posix()] = page.read_text(encoding="utf-8")
    for path in (ROOT / "src").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        documented = [node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        found[path.relative_to(ROOT).as_posix()] = "\n".join(ast.get_docstring(node) or "" for node in documented)
    return found


def test_spelling() -> None:
    dictionary = SpellChecker()
    wrong = []
    for name, text in texts().items():
        words = {word.lower() for word in WORD.findall(NO_PROSE.sub(" ", text))}
        wrong += [f"{name}: {word}" for word in sorted(dictionary.unknown(words) - OWN)]
    assert wrong == [], "correct these words, or add them to tests/words.txt"
