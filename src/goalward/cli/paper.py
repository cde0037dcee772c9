"""The verbs about the paper: reproduce its figure, test its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json, terminal_width
from goalward.cli.options import DaskAddress, Json, MarkdownFile, Workers
from goalward.errors import SettingError, UnknownNameError

__all__ = ["claims", "reproduce"]

REGIMES = ("theory", "tuned")


@app.command()
def reproduce(
    regime: Annotated[
        str, typer.Option(help="theory: confidence widths as proved. tuned: widths scaled down for each world.")
    ] = "theory",
    episodes: Annotated[int | None, typer.Option(min=1, help="Episodes of each run. The paper has 10,000.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each agent in each world. The paper has 10.")] = None,
    out: Annotated[Path | None, typer.Option(help="The results folder. The default is results/paper-REGIME.")] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
) -> None:
    """Reproduce the paper's comparison: runs, tables, figures."""
    from goalward.cli.status_text import report_text
    from goalward.paper.reproduce import publish
    from goalward.progress import open_display
    from goalward.results.results import open_results
    from goalward.studies.runner import run_in_folder
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
    say("", publish(open_results(folder, study.design.reference), folder, regime))
    if report.failures or report.stopped:
        raise typer.Exit(1)


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
    from goalward.json_documents import write_text
    from goalward.paper.claims import check_claims
    from goalward.paper.claims.findings import claims_document, claims_markdown, claims_text, keep_claims
    from goalward.paper.claims.theorems import has_theorem_runs, regret_markdown, stored_regret_rows
    from goalward.signals import keeping
    from goalward.studies.store import Store

    if bounds is not None and only and "theorem-1" not in only and not has_theorem_runs(out):
        raise SettingError(f"--bounds needs the runs of Theorem 1, and {out} has none; add --only theorem-1")
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
