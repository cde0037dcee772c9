"""The tables of the arena, written beside its results."""

from __future__ import annotations

from pathlib import Path

from goalward.json_documents import write_text
from goalward.paper.arena_text import arena_markdown
from goalward.paper.ratios import Ratios

__all__ = ["publish_arena"]


def publish_arena(ratios: Ratios, folder: Path, name: str) -> list[Path]:
    """Write the ratios as CSV and Markdown; return the files."""
    tables = {folder / f"{name}.csv": ratios.table.csv(), folder / f"{name}.md": arena_markdown(ratios, name)}
    for path, text in tables.items():
        write_text(path, text)
    return list(tables)
