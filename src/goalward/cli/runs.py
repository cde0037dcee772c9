"""The verbs about the runs of a results folder: list them, export them, repeat one, remove those of no study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_choice, say_json
from goalward.cli.options import Folder, Json, StudyName

__all__ = ["export", "prune", "rerun", "runs"]


@app.command()
def runs(folder: Folder, study: StudyName = None, json: Json = False) -> None:
    """List every run of a results folder with its key."""
    from goalward.results.export import list_runs
    from goalward.results.stored_runs_text import listing_document, listing_text
    from goalward.studies.store import Store

    store = Store.open(folder)
    found = list_runs(store, study)
    say_choice(store, *([study] if study else store.studies()))
    if json:
        say_json(listing_document(found))
    else:
        say(listing_text(found))


@app.command()
def export(
    folder: Folder,
    study: StudyName = None,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV, to standard output unless --out names a file.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="As Parquet, by default to FOLDER.parquet, here.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write: .csv or .parquet.")] = None,
) -> None:
    """Write the stored runs as one table, one row for each run."""
    from goalward.errors import SettingError
    from goalward.results.export import csv_bytes, export_table, write_export
    from goalward.studies.store import Store

    if csv and parquet:
        raise SettingError("--csv and --parquet are two formats; give one")
    ending = ".csv" if csv else ".parquet" if parquet else out.suffix if out is not None else ".csv"
    if out is not None and out.suffix != ending:
        raise SettingError(f"--out {out} does not end in {ending}; rename it, or leave --{ending[1:]} out")
    store = Store.open(folder)
    table = export_table(store, study)
    say_choice(store, *([study] if study else store.studies()))
    if out is None and ending == ".csv":
        typer.echo(csv_bytes(table), nl=False)
        return
    path = out or Path(f"{folder.resolve().name}.parquet")
    write_export(table, path)
    say(f"{table.num_rows:,} runs written: {path}")


@app.command()
def rerun(
    folder: Folder,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of a run, or how it begins: goalward runs.")],
    json: Json = False,
) -> None:
    """Carry out one run again and compare it with what is stored."""
    from goalward.cli.run_text import run_document, run_table
    from goalward.studies.repeat_check import repeat
    from goalward.studies.store import Store

    found = repeat(Store.open(folder), key)
    if json:
        say_json({"key": found.key, "same": found.same, **run_document(found.run, found.seconds)})
    else:
        say(f"{found.label}, key {found.key}", run_table(found.run, found.seconds), "", found.verdict)
    if found.same is False:
        raise typer.Exit(1)


@app.command()
def prune(
    folder: Folder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    json: Json = False,
) -> None:
    """Remove the runs that no stored study names, after asking."""
    from goalward.errors import SettingError
    from goalward.studies.leftovers import find_leftovers
    from goalward.studies.store import Store

    found = find_leftovers(Store.open(folder))
    size = found.size
    counts = (len(found.runs), "runs"), (len(found.failures), "failures"), (len(found.attachments), "attachments")
    what = ", ".join(f"{count:,} {name}" for count, name in counts) + f", {size / 1e6:,.1f} MB"
    if found.paths and not yes and not dry_run:
        if json or not sys.stdin.isatty():
            raise SettingError(f"{what} would be removed; add --yes to remove them, or --dry-run to look only")
        if not typer.confirm(f"Remove {what}?"):
            say("nothing was removed")
            return
    if not dry_run:
        found.remove()
    if json:
        say_json({"removed": not dry_run, "bytes": size, "files": [str(path) for path in found.paths]})
        return
    say(f"{what} {'would be' if dry_run else 'were'} removed")
