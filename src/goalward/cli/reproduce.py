"""The verb that makes the figure of the paper, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say
from goalward.cli.studies import DaskAddress, Workers, read
from goalward.errors import UnknownNameError
from goalward.execution.thread_limits import use_one_thread

__all__ = ["reproduce"]

REGIMES = ("theory", "tuned")


@app.command()
def reproduce(
    regime: Annotated[str, typer.Option(help="theory: confidence widths as proved; tuned: scaled down.")] = "theory",
    episodes: Annotated[int | None, typer.Option(min=1, help="Episodes of each run; the paper's are 10,000.")] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs of each agent in each world; the paper's are 10.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The results folder; results/paper-REGIME, if not given.")] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
) -> None:
    """Make the paper's figure: run, table, figure, summary."""
    use_one_thread()
    from goalward.cli import running
    from goalward.report.publication import publish
    from goalward.report.status_text import report_text
    from goalward.results.store import Store
    from goalward.studies.shipped import find_study
    from goalward.studies.spec import load_spec
    from goalward.studies.study import make_study

    if regime not in REGIMES:
        raise UnknownNameError("regime", regime, REGIMES)
    spec, source = load_spec(find_study(f"paper-{regime}"))
    given = {"episodes": episodes, "runs": runs}
    spec = spec.model_copy(update={name: value for name, value in given.items() if value is not None})
    study = make_study(spec, source)
    folder = out or Path("results") / spec.name
    report = running.carry_out(study, folder, workers, dask)
    say(report_text(report, folder))
    if not report.done and not report.stored:
        raise typer.Exit(1)
    say("", publish(read(Store.open(folder), spec.name), folder, regime))
    if report.failures or report.stopped:
        raise typer.Exit(1)
