"""The verbs about studies: run one, see how far it is, write its job array."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.options import DaskAddress, Folder, Json, StudyName, Workers

__all__ = ["run", "slurm", "status"]


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
    from goalward.execution.runner import read_shard, run_in_folder
    from goalward.report.progress import open_display
    from goalward.report.status_text import report_document, report_text
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
    from goalward.report.status_text import leftovers_text, status_document, status_text
    from goalward.results.status import check_leftovers, check_studies
    from goalward.results.store import Store

    store = Store.open(folder)
    found = check_studies(store, study)
    left, damaged = check_leftovers(store) if study is None else ([], [])
    if json:
        say_json([status_document(each) | {"leftovers": len(left)} for each in found])
    else:
        for each in found:
            say(f"{folder}: study {each.results.design.name}", status_text(each))
        if left or damaged:
            say("", leftovers_text(left, damaged))
    if damaged or not all(each.sound for each in found):
        raise typer.Exit(1)


@app.command()
def slurm(
    study: StudyFile,
    out: ResultsFolder = None,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many jobs. By default at most 1,000, each of ten minutes or more."),
    ] = None,
) -> None:
    """Print a study as a job array of Slurm.

    goalward slurm study.toml > study.sh; sbatch study.sh
    """
    from goalward.execution.time_estimate import estimate_time
    from goalward.report.slurm_text import slurm_script
    from goalward.studies.study import Study

    loaded = Study.load(study)
    name = loaded.design.name
    folder = out or Path("results") / name
    found = estimate_time(loaded, folder, watch=lambda cell: typer.echo(f"a short run of {cell}", err=True))
    say(slurm_script(study, name, folder, found, found.shards(shards)))
