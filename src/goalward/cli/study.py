"""The commands for studies and their results: run, status, summary, plot, report, export."""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward.cli import options
from goalward.cli.app import app, given_options, one_line, say, say_choice, show, show_if
from goalward.errors import FileError, SettingError
from goalward.formatting import duration, plural
from goalward.table import Cell, Column, Columns, Table

if TYPE_CHECKING:
    from goalward.results.results import Results
    from goalward.studies.runner import Options, Report
    from goalward.studies.status import Status
    from goalward.studies.store import Failure, Store
    from goalward.studies.study import Study


LONGEST_ERROR = 120
MOST_LINES = 20


@app.command()
def run(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A TOML file, or a name from goalward list studies.")],
    out: Annotated[Path | None, typer.Option(help="The results folder. The default is results/NAME.")] = None,
    workers: options.Workers = None,
    dask: options.DaskAddress = None,
    shard: Annotated[str | None, typer.Option(metavar="I/N", help="Run part I of N parts, as in 3/16.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="KIND=NAME", help="Select runs: agent=psrl, world='g*'. Repeatable.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="The time limit of a run.")] = None,
    memory_limit: Annotated[int | None, typer.Option(metavar="MB", help="The memory limit of a run.")] = None,
    retries: Annotated[int, typer.Option(help="Retry a failing run this many times.")] = 0,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Also retry runs that failed earlier.")] = False,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Store a text with the study, as a note. Repeatable.")
    ] = None,
    show_study: Annotated[bool, typer.Option("--show", help="Print the complete study and run nothing.")] = False,
    again: Annotated[
        str | None, typer.Option(metavar="KEY", help="Repeat the stored run KEY. STUDY must be a results folder.")
    ] = None,
    format: options.Format = "text",
) -> None:
    """Run a study. Stored runs are not repeated."""
    from goalward.studies.runner import Options, read_shard
    from goalward.studies.study import Study
    from goalward.studies.worker_process import Limits

    if again is not None:
        run_again(Path(study), again, format)
        return
    loaded = Study.load(study, execute=not show_study)
    if show_study:
        loaded.check()
        text = loaded.shown_text
        say(text if format == "text" else json.dumps(tomllib.loads(text), indent=1))
        return
    folder = out or Path("results") / loaded.design.name
    limits = Limits(time_limit, memory_limit)
    wanted = Options(read_shard(shard), only or (), limits, retries, retry_failed, tag or (), dask)
    report, tables = make_runs(loaded, folder, workers, wanted)
    show(*tables, format=format)
    if report.complete:
        say(f"see: goalward summary {folder}, goalward plot {folder}", format=format)
    if report.failures or report.stopped:
        raise typer.Exit(1)


def make_runs(study: Study, folder: Path, workers: int | None, wanted: Options) -> tuple[Report, list[Table]]:
    """Make the runs of `study` that `folder` does not contain. Return the report and its tables."""
    from goalward.studies.runner import run_study, study_progress
    from goalward.studies.store import Store

    with study_progress() as watch:
        report = run_study(study, Store.open(folder, create=True), workers, wanted, watch=watch)
    return report, report_tables(report, folder)


def run_and_report(
    study: Study, folder: Path, workers: int | None, dask: str | None, format: str
) -> tuple[Report, list[Table]]:
    """Run a study and return the report and its tables. If there are no results, exit with code 1."""
    from goalward.studies.runner import Options

    report, tables = make_runs(study, folder, workers, Options(dask=dask))
    if not report.done and not report.stored:
        show(*tables, format=format)
        raise typer.Exit(1)
    return report, tables


def run_again(folder: Path, key: str, format: str) -> None:
    """Repeat one run of a results folder. Exit with code 1 if the two runs differ."""
    from goalward.cli.learn import run_tables
    from goalward.studies.rerun import repeat
    from goalward.studies.store import Store

    repeated = repeat(Store.open(folder), key)
    facts = {"key": repeated.key, "same": Cell(repeated.same, repeated.verdict)}
    verdict = Table.facts(facts, "repeated", columns=[Column("same", "repeated")])
    tables = run_tables(repeated.run, repeated.seconds, repeated.world, f"{repeated.label}, key {repeated.key}")
    show(*tables, verdict, format=format)
    if repeated.same is False:
        raise typer.Exit(1)


@app.command()
def status(
    folder: options.Folder,
    study: options.StudyName = None,
    check: Annotated[bool, typer.Option("--check", help="Read every file and verify its checksum.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Delete runs without a study, after confirmation.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --prune: do not ask.")] = False,
    format: options.Format = "text",
) -> None:
    """Print which runs are stored, failed or missing.

    Without --check, only the names and sizes of files are checked. Without --prune, nothing is changed.
    """
    from goalward.studies.presence import active
    from goalward.studies.status import check_studies, unused_files
    from goalward.studies.store import Store

    store = Store.open(folder)
    if prune:
        prune_folder(store, yes, format)
        return
    checked = check_studies(store, study, read=check)
    working = active(store.folder)
    notes = working_notes(working)
    if study is None:
        try:
            unused = len(unused_files(store)["runs"])
        except FileError as error:
            notes.append(f"runs that belong to no study are not counted: {error}")
        else:
            if unused:
                notes.append(f"{plural(unused, 'run')} without a study; goalward status {folder} --prune deletes them")
    show(*status_tables(checked, notes), format=format)
    say_choice(store, study)
    if not all(status.sound for status in checked):
        raise typer.Exit(1)


def working_notes(present: Sequence[dict[str, Any]]) -> list[str]:
    """Return notes on the processes that use a folder, and on processes that may have been killed."""
    from goalward.studies.presence import LATE_SECONDS

    late = [facts for facts in present if facts["age"] > LATE_SECONDS]
    notes = [
        f"a process on {facts.get('host')} last reported {duration(facts['age'])} ago; it may have been killed"
        for facts in late
    ]
    processes = [facts for facts in present if facts not in late]
    if not processes:
        return notes
    hosts = Counter(str(facts.get("host")) for facts in processes)
    workers = sum(number for facts in processes if isinstance(number := facts.get("workers"), int))
    runs = sum(len(facts["keys"]) for facts in processes)
    where = ", ".join(f"{number} on {host}" for host, number in hosts.items())
    in_flight = f"{plural(workers, 'worker')}, {plural(runs, 'run')} in flight"
    return [f"processes now at work in this folder: {where}; {in_flight}", *notes]


def prune_folder(store: Store, yes: bool, format: str) -> None:
    """Delete runs that belong to no study. Ask the user first, unless `yes` is true."""
    from goalward.studies.status import unused_files

    unused = unused_files(store)
    paths = [path for found in unused.values() for path in found]
    size = sum(path.lstat().st_size for path in paths)
    what = ", ".join([*(f"{len(found):,} {kind}" for kind, found in unused.items()), f"{size / 1e6:,.1f} MB"])
    if paths and not yes and not sys.stdin.isatty():
        raise SettingError(f"nothing was deleted; to delete {what}, add --yes")
    removed = bool(paths) and (yes or typer.confirm(f"{store.folder}: delete {what}?", err=True))
    for path in paths if removed else ():
        path.unlink(missing_ok=True)
    files = [str(path) for path in paths]
    facts = {"removed": Cell(removed, what if removed else "nothing"), "bytes": size, "files": files}
    show(Table.facts(facts, "pruned", columns=["removed"]), format=format)


def read_results(folder: Path, study: str | None, curves: Collection[str] | None = None) -> Results:
    """Return the results of a study with the named `curves` (default: all). Print which design was read."""
    from goalward.results.measures import CURVES
    from goalward.results.results import load_results
    from goalward.studies.store import Store

    store = Store.open(folder)
    results = load_results(store, store.design(study), CURVES if curves is None else curves)
    say_choice(store, study)
    return results


@app.command()
def summary(
    folder: options.Folder,
    study: options.StudyName = None,
    level: options.Level = 0.95,
    interval: Annotated[str, typer.Option(help="The kind of intervals: t (for means) or median.")] = "t",
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Print a run-by-run comparison of two agents.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="With --compare: gap_regret, regret or cost.  [default: the first of these that is known]"),
    ] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Also print gap regret divided by a heuristic scale.")
    ] = False,
    out: options.TableFile = None,
    format: options.Format = "text",
) -> None:
    """Print the numbers of a study: means, intervals, exponents."""
    from goalward.results.measures import checked_measure
    from goalward.results.summary import comparison_table, summary_tables
    from goalward.statistics import checked_level
    from goalward.table import save

    checked_level(level)
    if measure is not None:
        checked_measure(measure)
    results = read_results(folder, study, ["gap_regret"])
    if compare and reference:
        raise SettingError("--reference and --compare cannot be combined; leave out one option")
    if compare:
        tables = [comparison_table(results, *compare, measure, level, interval)]
    else:
        tables = summary_tables(results, level, interval, reference)
    if out is not None:
        save(tables, out)
    show(*tables, format=format, written=[out])


@app.command()
def plot(
    folder: options.Folder,
    kind: Annotated[str, typer.Option(help="A figure from goalward list figures.")] = "regret",
    study: options.StudyName = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .png, .pdf or .svg file. Without an ending, all three are written."),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="regret, gap_regret, cost or steps.  [default: regret if known, else cost]")
    ] = None,
    axes: Annotated[str | None, typer.Option(help="linear or log.  [default: linear]")] = None,
    level: Annotated[float | None, typer.Option(help="The confidence level.  [default: 0.95]")] = None,
    band: Annotated[str | None, typer.Option(help="Draw mean or median, with a band.  [default: mean]")] = None,
    guides: Annotated[bool | None, typer.Option(help="Also draw √K and log K.  [default: only on log axes]")] = None,
) -> None:
    """Draw the results of a study."""
    from goalward.figures import registry
    from goalward.figures.drawing import FORMATS, figure_files, save_figure
    from goalward.results.measures import CURVES, REGRETS, checked_measure

    draw = registry.find(kind)
    files = [] if out is None else figure_files(out)
    curves = {*REGRETS, checked_measure(measure or "cost", CURVES)} if kind == "regret" else CURVES
    results = read_results(folder, study, curves)
    if out is None:
        name = f"{results.design.name}-{kind}{'-log' * (kind == 'regret' and axes == 'log')}"
        files = [folder / f"{name}.{ending}" for ending in FORMATS]
    settings = given_options(measure=measure, axes=axes, level=level, band=band, guides=guides)
    save_figure(draw(results, **settings), files)
    say(*(f"written: {path}" for path in files))


@app.command()
def report(
    folder: options.Folder,
    study: options.StudyName = None,
    level: options.Level = 0.95,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The file.  [default: RESULTS/report.html]")] = None,
    show_page: options.Open = False,
) -> None:
    """Write a page about a study: curves, tables, settings."""
    from goalward.pages.page import check_page_path
    from goalward.pages.report import report_of_folder
    from goalward.studies.store import Store

    path = check_page_path(out or folder / "report.html")
    page = report_of_folder(folder, study, level)
    page.save(path)
    problems = [
        f"{shown['design'].name}: {problem}" for shown in page.content["studies"] for problem in shown["problems"]
    ]
    say_choice(Store.open(folder), study)
    say(*problems, f"written: {path}")
    show_if(show_page, path.resolve().as_uri())


@app.command()
def export(
    folder: options.Folder,
    study: options.StudyName = None,
    absent: Annotated[bool, typer.Option("--all", help="Also list runs that are missing, failed or damaged.")] = False,
    visits: Annotated[bool, typer.Option("--visits", help="Repeat all runs to count state-action visits.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to a .csv, .parquet or other file.")] = None,
    format: options.Format = "csv",
) -> None:
    """Print or save the stored runs as a table."""
    from goalward.results.export import export_table, visits_table
    from goalward.studies.store import Store

    store = Store.open(folder)
    table = visits_table(store, study) if visits else export_table(store, study, absent)
    say_choice(store, study)
    if out is None:
        show(table, format=format)
    else:
        table.save(out)
        say(f"{plural(len(table), 'row' if visits else 'run')} written: {out}")


def status_tables(studies: Sequence[Status], notes: Sequence[str] = ()) -> list[Table]:
    """Return tables of the stored, failed and missing runs of some studies, and of damaged files."""
    cells = [row for status in studies for row in status.rows]
    totals = [
        {
            "study": status.design.name,
            "design": status.design.reference,
            "runs": status.planned,
            "stored": Cell(
                status.stored, f"{status.stored:,} of {status.planned:,} runs stored{' and sound' * status.read}"
            ),
            "next": next_step(status),
        }
        for status in studies
    ]
    read = all(status.read for status in studies)
    cut: Columns = [Column("truncated", "cut off")] if read else []
    columns: Columns = ["world", "agent", "stored", *cut, "failed", "missing"]
    failures = [failure for status in studies for failure in status.failures]
    damaged = [file for status in studies for file in status.damaged]
    return [
        Table(cells, columns, "cells", group="study"),
        Table(totals, ["study", "stored", "next"], "studies", notes=notes),
        *problem_tables(failures, damaged),
    ]


def next_step(status: Status) -> str:
    failed = sum(row["failed"] for row in status.rows)
    absent = status.planned - status.stored - failed
    steps = [f"goalward run makes {plural(absent, 'missing run')}"] * bool(absent)
    steps += [f"goalward run --retry-failed retries {plural(failed, 'failed run')}"] * bool(failed)
    return "; ".join(steps) or "complete"


def report_tables(report: Report, folder: Path) -> list[Table]:
    """Return the report on a study as tables."""
    nothing = "no run was made" if report.stopped or report.failures else "nothing to do"
    made = f"{plural(report.done, 'run')} made in {duration(report.seconds)}" if report.done else nothing
    stored = report.stored + report.done
    facts: dict[str, Any] = {
        "study": report.design.name,
        "made": Cell(report.done, made),
        "stored": Cell(stored, f"{stored:,} of {report.total:,} runs are stored in {folder}"),
        "total": report.total,
        "results": str(folder),
        "seconds": report.seconds,
        "complete": report.complete,
        "stopped": report.stopped,
        "notes": Cell(list(report.notes), ", ".join(report.notes)) if report.notes else None,
    }
    about = Table.facts(facts, "report", columns=["made", "stored", "notes", "stopped"])
    return [about, *problem_tables(report.failures, report.damaged)]


def problem_tables(failures: Sequence[Failure], damaged: Sequence[tuple[Path, str]]) -> list[Table]:
    """Return the failed runs and the damaged files as tables; text output shows only the first rows."""
    tables = []
    if failures:
        rows = [
            vars(failure) | {"path": str(failure.path), "record": Cell(str(failure.path), failure.path.name)}
            for failure in failures
        ]
        title = f"{plural(len(failures), 'run')} failed; output and errors are in {failures[0].path.parent}"
        columns: Columns = [
            "world",
            "agent",
            "run",
            Column("error", write=lambda error: one_line(error, LONGEST_ERROR)),
            Column("record", "file"),
        ]
        tables.append(Table(rows, columns, "failures", title, most=MOST_LINES))
    if damaged:
        files = [{"file": str(path), "reason": reason} for path, reason in damaged]
        tables.append(Table(files, None, "damaged", plural(len(damaged), "damaged file"), most=MOST_LINES))
    return tables
