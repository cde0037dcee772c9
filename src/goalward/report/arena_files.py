"""The tables and the figure of the arena, written beside its results."""

from __future__ import annotations

from pathlib import Path

from goalward.report.arena_figure import arena_figure
from goalward.report.arena_text import arena_markdown
from goalward.report.figure_style import figure_files, save_figure
from goalward.report.json_documents import write_text
from goalward.results.ratios import Ratios

__all__ = ["publish_arena"]


def publish_arena(ratios: Ratios, folder: Path, name: str) -> list[Path]:
    """Write the ratios as CSV, Markdown and a figure; return the files."""
    tables = {folder / f"{name}.csv": ratios.table.csv(), folder / f"{name}.md": arena_markdown(ratios, name)}
    for path, text in tables.items():
        write_text(path, text)
    figures = figure_files(folder / name)
    save_figure(arena_figure(ratios), figures)
    return [*tables, *figures]
