"""The verb of the arena: every agent in many worlds, relative to PSRL-SSP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.options import DaskAddress, Json, Workers

__all__ = ["arena"]


@app.command()
def arena(
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT",
            help="An algorithm, or my_agent.py:Mine; it meets PSRL-SSP with two priors. Can be repeated."
            "  [default: all agents]",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Take two minutes: 2 runs of 200 episodes.")] = False,
    episodes: Annotated[int | None, typer.Option(min=1, help="Episodes of each run.  [default: 3000]")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each agent in each world.  [default: 20]")] = None,
    out: Annotated[Path, typer.Option(help="The results folder. Runs that it holds are not run again.")] = Path(
        "results/arena"
    ),
    workers: Workers = None,
    dask: DaskAddress = None,
    json: Json = False,
) -> None:
    """Let agents meet in many worlds, and compare their regret."""
    from goalward.cli.status_text import report_text
    from goalward.paper.arena import REFERENCE, arena_document, arena_study, arena_text, publish_arena, without_refused
    from goalward.paper.ratios import compare_all
    from goalward.progress import open_display
    from goalward.results.results import open_results
    from goalward.studies.runner import run_in_folder

    study, refused = without_refused(arena_study(agent or [], quick=quick, runs=runs, episodes=episodes))
    with open_display() as display:
        report = run_in_folder(study, out, workers=workers, dask=dask, watch=display)
    if not json:
        say(report_text(report, out))
    if not report.done and not report.stored:
        raise typer.Exit(1)
    ratios = compare_all(open_results(out, study.design.reference), REFERENCE, refusals=refused)
    written = publish_arena(ratios, out, study.design.name)
    if json:
        say_json(arena_document(ratios))
    else:
        say("", arena_text(ratios), "", *(f"written: {path}" for path in written))
    if report.failures or report.stopped:
        raise typer.Exit(1)
