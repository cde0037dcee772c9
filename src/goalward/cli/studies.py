"""Verbs about studies: run one, ask how far it is, see its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goalward.cli.app import app, say, say_json
from goalward.execution.thread_limits import use_one_thread

if TYPE_CHECKING:
    from goalward.results.results import Results
    from goalward.results.store import Store

__all__ = ["run", "status", "summary"]

Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")]
StudyName = Annotated[str | None, typer.Option("--study", help="Which study, if the folder holds several.")]
Workers = Annotated[
    int | None, typer.Option(help="How many processes; 1 means none but this. All cores, if not given.")
]
DaskAddress = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]


@app.command()
def run(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study in TOML, or the name of one: list studies.")],
    out: Annotated[Path | None, typer.Option(help="The results folder; results/NAME, if not given.")] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run only every N-th run, from the I-th on: for job arrays.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the study with every default, and run nothing.")] = False,
    json: Json = False,
) -> None:
    """Run a study; what is stored already is not run again."""
    use_one_thread()
    from goalward.cli import running
    from goalward.report.status_text import report_document, report_text
    from goalward.studies import study as studies
    from goalward.studies.shipped import find_study

    loaded = studies.load(find_study(study))
    if show:
        from goalward.studies.full_text import full_text

        loaded.check()
        say(full_text(loaded))
        return
    folder = out or Path("results") / loaded.design.name
    report = running.carry_out(loaded, folder, workers, dask, running.read_shard(shard))
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
    """Say how far a study is, checking every file."""
    from goalward.report.status_text import status_document, status_text, stored_failures
    from goalward.results.store import Store

    store = Store.open(folder)
    # Without any study there is one complaint, that of asking for it.
    names: list[str | None] = [study] if study is not None else [*store.studies()] or [None]
    sound = True
    documents = []
    for name in names:
        design = store.design(name)
        damaged = store.set_damaged_aside(key for cell in design.cells for key in design.keys(cell))
        results = read(store, design.name)
        sound = sound and not damaged and not any(cell.failed for cell in results.cells)
        failures = stored_failures(store, results)
        documents.append(status_document(results, failures, damaged))
        if not json:
            say(f"{store.folder}: study {design.name}", status_text(results, failures, damaged))
    if json:
        say_json(documents)
    if not sound:
        raise typer.Exit(1)


@app.command()
def summary(
    folder: Folder,
    study: StudyName = None,
    level: Level = 0.95,
    bootstrap: Annotated[bool, typer.Option("--bootstrap", help="Bootstrap intervals instead of t-intervals.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the numbers as CSV.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the tables as Markdown.")] = None,
    json: Json = False,
) -> None:
    """Print the numbers of a study: means, intervals, exponents."""
    from goalward.report import summary_text as texts
    from goalward.report.documents import write_text
    from goalward.results.statistics import checked_level
    from goalward.results.store import Store
    from goalward.results.summary import summarise

    checked_level(level)
    found = summarise(read(Store.open(folder), study), level, bootstrap)
    for path, text in ((csv, texts.csv_text), (markdown, texts.markdown_text)):
        if path is not None:
            write_text(path, text(found))
    if json:
        say_json(texts.summary_document(found))
        return
    say(texts.summary_text(found))
    for path in (csv, markdown):
        if path is not None:
            say("", f"written: {path}")


def read(store: Store, study: str | None) -> Results:
    """Read the results of a study."""
    from goalward.results.results import load_results

    return load_results(store, store.design(study))
