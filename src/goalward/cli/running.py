"""What `goalward run` and `goalward reproduce` share: carrying a study out and saying what became of it."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from goalward.errors import SettingError
from goalward.execution.interrupts import Interrupted
from goalward.execution.runner import Report, run_in_folder
from goalward.report.progress import open_display
from goalward.studies.study import Study

__all__ = ["carry_out", "read_shard"]


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
