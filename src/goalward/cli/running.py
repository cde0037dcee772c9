"""What `goalward run` and `goalward reproduce` share: carrying a study out and saying what became of it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import typer

from goalward import __version__
from goalward.errors import SettingError
from goalward.execution.interrupts import Interrupted
from goalward.execution.runner import Report, run_in_folder
from goalward.report.documents import write_text
from goalward.report.paper_values import published_table
from goalward.report.progress import open_display
from goalward.report.summary_text import csv_text, markdown_text, summary_text
from goalward.report.tables import columns
from goalward.results.results import Results
from goalward.results.summary import summarise
from goalward.studies.study import Study

__all__ = ["carry_out", "publish", "read_shard"]

FORMATS = ("png", "pdf", "svg")


def read_shard(text: str | None) -> tuple[int, int]:
    """Read a shard such as 3/16."""
    if text is None:
        return 1, 1
    parts = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if parts is None:
        raise SettingError(f"shard is {text!r}; it must be i/n with i from 1 to n, such as 3/16")
    return int(parts[1]), int(parts[2])


def carry_out(
    study: Study, folder: Path, workers: int | None, dask: str | None, shard: tuple[int, int] = (1, 1)
) -> Report:
    """Run what is missing of a study, showing the progress."""
    try:
        with open_display() as display:
            return run_in_folder(study, folder, workers=workers, dask=dask, shard=shard, watch=display)
    except Interrupted as stop:
        typer.echo(f"\n{stop}", err=True)
        raise typer.Exit(stop.exit_code) from None


def publish(results: Results, folder: Path, regime: str) -> str:
    """Write tables and figures beside the results; return the table and where everything is.

    Figures take longer than all else when nothing has changed, so they are drawn only if their stamp is another one.
    """
    summary = summarise(results)
    tables = {"summary.csv": csv_text(summary), "summary.md": markdown_text(summary)}
    for name, text in tables.items():
        write_text(folder / name, text)
    stamp = hashlib.sha256((__version__ + tables["summary.csv"]).encode()).hexdigest()
    stems = {"linear": folder / "regret", "log": folder / "regret-log"}
    files = [stem.with_name(f"{stem.name}.{ending}") for stem in stems.values() for ending in FORMATS]
    marker = folder / "figures.stamp"
    if not (all(path.exists() for path in files) and marker.exists() and marker.read_text() == stamp):
        from goalward.report.figure_style import save_figure
        from goalward.report.regret_figures import regret_figure

        for axes, stem in stems.items():
            save_figure(regret_figure(results, axes=axes), stem)
        write_text(marker, stamp)
    parts = [summary_text(summary), published_table(summary, regime)]
    places = [*files, folder / "summary.csv", folder / "summary.md", folder]
    names = ["figure", "", "", "logarithmic", "", "", "summary", "", "results"]
    where = [(name, str(place)) for name, place in zip(names, places, strict=True)]
    return "\n\n".join([*(part for part in parts if part), columns(where, indent="")])
