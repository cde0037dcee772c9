"""The verbs about the paper: reproduce its figure, test its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json, terminal_width
from goalward.cli.options import DaskAddress, Json, MarkdownFile, Workers
from goalward.errors import SettingError, UnknownNameError

__all__ = ["claims", "reproduce"]

FIGURES = ("regret", "mountain-car")
REGIMES = ("theory", "tuned")


@app.command()
def reproduce(
    figure: Annotated[
        str, typer.Option(help="regret: the paper's comparison. mountain-car: SSP-MountainCar of the 2023 version.")
    ] = "regret",
    regime: Annotated[
        str, typer.Option(help="theory: confidence widths as proved. tuned: widths scaled down for each world.")
    ] = "theory",
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes of each run. The paper has 10,000, and 2,000 of the car.")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each agent in each world. The paper has 10.")] = None,
    out: Annotated[Path | None, typer.Option(help="The results folder. The default is results/paper-REGIME.")] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
) -> None:
    """Reproduce a figure of the paper: runs, tables, figures."""
    if figure not in FIGURES:
        raise UnknownNameError("figure", figure, FIGURES)
    if figure == "mountain-car":
        if dask is not None:
            raise SettingError("the runs of the mountain car are carried out on this machine; leave --dask out")
        reproduce_car(out or Path("results") / "mountain-car", episodes or 2000, runs or 1, workers)
        return
    from goalward.execution.runner import run_in_folder
    from goalward.report.progress import open_display
    from goalward.report.publication import publish
    from goalward.report.status_text import report_text
    from goalward.results.study_results import open_results
    from goalward.studies.study import Study

    if regime not in REGIMES:
        raise UnknownNameError("regime", regime, REGIMES)
    given = {"episodes": episodes, "runs": runs}
    study = Study.load(f"paper-{regime}").replace(**{name: value for name, value in given.items() if value is not None})
    folder = out or Path("results") / study.design.name
    with open_display() as display:
        report = run_in_folder(study, folder, workers=workers, dask=dask, watch=display)
    say(report_text(report, folder))
    if not report.done and not report.stored:
        raise typer.Exit(1)
    say("", publish(open_results(folder, study.design.name), folder, regime))
    if report.failures or report.stopped:
        raise typer.Exit(1)


def reproduce_car(folder: Path, episodes: int, runs: int, workers: int | None) -> None:
    from goalward.execution.interrupts import keeping
    from goalward.execution.mountain_car_runs import drive_all
    from goalward.report.mountain_car_figure import publish_car

    with keeping(f"the runs that are over are stored in {folder}, and the same command goes on there"):
        found = drive_all(
            folder,
            episodes,
            runs,
            workers=workers,
            watch=lambda run: typer.echo(f"done: {run.label}, run {run.number}, {run.seconds:.1f} s", err=True),
        )
    say(publish_car(found, folder))


@app.command()
def claims(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Take about a minute: fewer and shorter runs. What depends on their number is not decided."
        ),
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="TEST", help="Run this test. Can be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The results folder. Runs that it holds are not run again.")] = Path(
        "results/claims"
    ),
    workers: Workers = None,
    markdown: MarkdownFile = None,
    bounds: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the regrets beside the terms of Theorem 1, as Markdown."),
    ] = None,
    json: Json = False,
) -> None:
    """Test the claims of the paper and print a verdict on each."""
    from goalward.claims.catalogue import check_claims
    from goalward.claims.regret_table import stored_regret_rows
    from goalward.execution.interrupts import keeping
    from goalward.report.claims_text import (
        claims_document,
        claims_markdown,
        claims_text,
        keep_claims,
        regret_markdown,
    )
    from goalward.report.json_documents import write_text
    from goalward.results.store import Store

    with keeping(f"the studies that are over are stored in {out}, and the same command goes on there"):
        found = check_claims(
            out, quick=quick, only=only, workers=workers, watch=lambda name: typer.echo(f"testing: {name}", err=True)
        )
    keep_claims(out, found)
    if markdown is not None:
        write_text(markdown, claims_markdown(found))
    if bounds is not None:
        write_text(bounds, regret_markdown(stored_regret_rows(Store.open(out))))
    if json:
        say_json(claims_document(found))
        return
    say(claims_text(found, terminal_width()))
    for written in (markdown, bounds):
        if written is not None:
            say("", f"written: {written}")
