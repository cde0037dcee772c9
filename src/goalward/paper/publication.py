"""The tables and figures of a reproduction of the paper's experiment, written beside its results."""

from __future__ import annotations

import hashlib
from pathlib import Path

from goalward import __version__
from goalward.errors import FileError
from goalward.figures.drawing import figure_files, save_figure
from goalward.figures.regret import regret_figure
from goalward.files import read_text
from goalward.json_documents import write_text
from goalward.paper.values import published_table
from goalward.results.results import Results
from goalward.results.summary import summarise
from goalward.results.summary_text import markdown_text, summary_text
from goalward.text_tables import columns

__all__ = ["publish"]

DRAWING = 2
"""Moves when the same results give another figure."""
FIGURES = {"linear": "regret", "log": "regret-log"}


def publish(results: Results, folder: Path, regime: str) -> str:
    """Write the tables and figures of a study; return the tables and the names of the files as text.

    Drawing takes longer than everything else if the results have not changed, so figures are drawn only if the stamp
    beside them does not match the results.
    """
    summary = summarise(results)
    tables = {"summary.csv": summary.table.csv(), "summary.md": markdown_text(summary)}
    for name, text in tables.items():
        write_text(folder / name, text)
    stamp = hashlib.sha256((f"{__version__} {DRAWING}" + tables["summary.csv"]).encode()).hexdigest()
    figures = {axes: figure_files(folder / name) for axes, name in FIGURES.items()}
    files = [path for paths in figures.values() for path in paths]
    marker = folder / "figures.stamp"
    if not (all(path.exists() for path in files) and stamp_of(marker) == stamp):
        for axes, paths in figures.items():
            save_figure(regret_figure(results, axes=axes), paths)
        write_text(marker, stamp)
    places = [*files, folder / "summary.csv", folder / "summary.md", folder]
    names = ["figure", "", "", "logarithmic", "", "", "summary", "", "results"]
    where = [(name, str(place)) for name, place in zip(names, places, strict=True)]
    parts = [summary_text(summary), published_table(summary, regime), columns(where, indent="")]
    return "\n\n".join(part for part in parts if part)


def stamp_of(marker: Path) -> str:
    """Return the stamp in a file; an empty one if it cannot be read."""
    try:
        return read_text(marker, "a stamp", inside=marker.parent)
    except FileError:
        return ""
