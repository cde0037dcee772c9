"""The verbs about studies: run one, and see how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_choice, say_json
from goalward.cli.options import DaskAddress, Folder, Json, StudyName, Workers

__all__ = ["run", "status"]


StudyFile = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="A study in TOML, or the name of a shipped one: goalward list studies."),
]
ResultsFolder = Annotated[Path | None, typer.Option(help="The results folder. The default is results/NAME.")]


@app.command()
def run(
    study: StudyFile,
    out: ResultsFolder = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run only part I of N, for example in a job array: 3/16.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the study with all its defaults instead of running it.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a study; runs that are stored are not run again."""
    from goalward.cli.status_text import report_document, report_text
    from goalward.progress import open_display
    from goalward.studies.runner import read_shard, run_in_folder
    from goalward.studies.study import Study
    from goalward.studies.study_text import full_text

    loaded = Study.load(study, execute=not show)
    if show:
        loaded.check()
        say(full_text(loaded))
        return
    folder = out or Path("results") / loaded.design.name
    part = read_shard(shard)
    with open_display() as display:
        report = run_in_folder(loaded, folder, workers=workers, dask=dask, shard=part, watch=display)
    if json:
        say_json(report_document(report, folder))
    else:
        say(report_text(report, folder))
        if report.complete:
            say(f"see: goalward summary {folder}, goalward plot {folder}")
    if report.failures or report.stopped:
        raise typer.Exit(1)


@app.command()
def status(folder: Folder, study: StudyName = None, json: Json = False) -> None:
    """Check every file of a study; print how far it is."""
    from goalward.cli.status_text import status_document, status_text
    from goalward.errors import FileError
    from goalward.studies.leftovers import find_leftovers
    from goalward.studies.status import check_studies
    from goalward.studies.store import Store

    store = Store.open(folder)
    found = check_studies(store, study)
    left, uncounted = 0, ""
    if study is None:
        try:
            left = len(find_leftovers(store).runs)
        except FileError as error:
            uncounted = f"runs that no stored study names are not counted: {error}"
    if json:
        say_json([status_document(each) | {"leftovers": left} for each in found])
    else:
        for each in found:
            say(f"{folder}: study {each.design.name}", status_text(each))
        if left:
            say("", f"{left:,} runs that no stored study names; goalward prune removes them")
        if uncounted:
            say("", uncounted)
    say_choice(store, *([study] if study else store.studies()))
    if not all(each.sound for each in found):
        raise typer.Exit(1)
