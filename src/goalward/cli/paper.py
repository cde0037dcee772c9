"""Commands about the paper: reproduce figures, test claims, compare runs with theorems, run the arena."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from goalward.cli import options
from goalward.cli.app import app, given_options, show
from goalward.errors import UnknownNameError
from goalward.table import Table


@app.command()
def reproduce(
    regime: Annotated[str, typer.Option(help="theory: proved confidence widths. tuned: smaller widths.")] = "theory",
    instances: Annotated[bool, typer.Option("--instances", help="Use many random instances of RandomMDP.")] = False,
    episodes: Annotated[int | None, typer.Option(help="Episodes of each run.  [default: 10,000]")] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each agent in each world.  [default: 10]")] = None,
    out: Annotated[Path | None, typer.Option(help="The results folder.  [default: results/paper-REGIME]")] = None,
    workers: options.Workers = None,
    dask: options.DaskAddress = None,
    format: options.Format = "text",
) -> None:
    """Reproduce the paper's comparison of agents."""
    from goalward.cli.study import run_and_report
    from goalward.paper.reproduce import REGIMES, instances_table, publish
    from goalward.results.results import open_results
    from goalward.studies.study import Study

    if regime not in REGIMES:
        raise UnknownNameError("regime", regime, REGIMES)
    study = Study.load("paper-instances" if instances else f"paper-{regime}")
    study = study.replace(**given_options(episodes=episodes, runs=runs))
    folder = out or Path("results") / study.design.name
    report, about = run_and_report(study, folder, workers, dask, format)
    results = open_results(folder, study.design.reference)
    tables, files = ([instances_table(results)], []) if instances else publish(results, folder, regime)
    show(*about, *tables, format=format, written=files)
    if report.failures or report.stopped:
        raise typer.Exit(1)


@app.command()
def claims(
    only: Annotated[list[str] | None, typer.Option(metavar="TEST", help="Run only this test. Repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="The results folder. Stored runs are reused.")] = Path("results/claims"),
    workers: options.Workers = None,
    format: options.Format = "text",
) -> None:
    """Test the claims of the paper and print a verdict on each."""
    from goalward.paper.claims import check_claims
    from goalward.paper.claims.claims import claims_table
    from goalward.signals import keeping

    with keeping(f"finished studies are stored in {out}, and the same command continues there"):
        findings = check_claims(out, only=only, workers=workers)
    show(claims_table(findings), format=format)


@app.command()
def theory(
    folder: options.Folder,
    study: options.StudyName = None,
    runs: Annotated[int, typer.Option(min=1, help="Repeat this many runs of each agent in each world.")] = 3,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder for figures.  [default: RESULTS]")] = None,
    format: options.Format = "text",
) -> None:
    """Print which regret bounds are proved for the agents of a study.

    If an agent plans with posterior samples, its runs are compared with the paper's lemmas. Stored runs do not contain
    the sampled models, so some runs are repeated. Repeating runs executes the Python files that define your agents.
    """
    from goalward.cli.study import read_results
    from goalward.paper.study_report import publish_theory
    from goalward.studies.store import Store

    results = read_results(folder, study)
    tables, files = publish_theory(Store.open(folder), results, runs, out or folder)
    show(*tables, format=format, written=files)


@app.command()
def arena(
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT", help="An algorithm, or my_agent.py:Mine. Repeatable.  [default: all agents]"),
    ] = None,
    episodes: Annotated[int | None, typer.Option(help="Episodes of each run.  [default: 3000]")] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each agent in each world.  [default: 20]")] = None,
    out: Annotated[Path, typer.Option(help="The results folder. Stored runs are reused.")] = Path("results/arena"),
    workers: options.Workers = None,
    dask: options.DaskAddress = None,
    format: options.Format = "text",
) -> None:
    """Run agents in many worlds, and compare their regret.

    Agents with less than twice the regret of PSRL-SSP are then run for ten times as many episodes. These longer runs
    reveal agents that get stuck.
    """
    from goalward.cli.study import run_and_report
    from goalward.paper.arena import (
        REFERENCE,
        arena_study,
        arena_tables,
        largest_values,
        long_study,
        publish_arena,
        without_refused,
    )
    from goalward.paper.ratios import Ratios, compare_all
    from goalward.results.results import open_results
    from goalward.studies.study import Study

    study, refused = without_refused(arena_study(agent or [], runs=runs, episodes=episodes))
    shown: list[Table] = []
    files: list[Path] = []

    def hold(stage: Study, prefix: str = "") -> tuple[Ratios, bool]:
        report, about = run_and_report(stage, out, workers, dask, format)
        stored = open_results(out, stage.design.reference)
        ratios = compare_all(stored, REFERENCE, refusals=refused, largest_values=largest_values(stage))
        files.extend(publish_arena(ratios, out, stage.design.name))
        # csv and json have one row for each agent in each world. Text has one column for each agent.
        single = [ratios.table] if format in ("csv", "json") else []
        shown.extend(replace(table, name=prefix + table.name) for table in [*single, *arena_tables(ratios), *about])
        return ratios, not (report.failures or report.stopped)

    ratios, whole = hold(study)
    if whole:
        _, whole = hold(long_study(study, ratios), "long_")
    show(*shown, format=format, written=files)
    if not whole:
        raise typer.Exit(1)
