"""The verbs that write pages: a study in one file, and learning replayed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward.cli.app import (
    AgentName,
    AgentSettings,
    Cost,
    Episodes,
    Folder,
    GiveUpCost,
    Goal,
    Level,
    MaxSteps,
    Settings,
    Start,
    StudyName,
    World,
    app,
    given_options,
    say,
    say_choice,
)
from goalward.progress import phase

if TYPE_CHECKING:
    from goalward.cli.learn import SingleRun

__all__ = ["report", "watch"]


Open = Annotated[bool, typer.Option("--open", help="Show the page in a browser.")]


@app.command()
def report(
    folder: Folder,
    study: StudyName = None,
    level: Level = 0.95,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the page. The default is RESULTS/report.html.")
    ] = None,
    show: Open = False,
) -> None:
    """Write a page about a study: curves, tables, settings."""
    from goalward.pages.page import check_page_path
    from goalward.pages.report import report_of_folder
    from goalward.studies.store import Store

    path = check_page_path(out or folder / "report.html")
    page, troubles = report_of_folder(folder, study, level)
    page.save(path)
    problems = [
        f"{shown['design'].name}: {problem}" for shown in page.content["studies"] for problem in shown["problems"]
    ]
    say_choice(Store.open(folder), study)
    say(*troubles, *problems, f"written: {path}")
    show_if(show, path)


@app.command()
def watch(
    world: World,
    settings: Settings = None,
    agent: AgentName = None,
    agent_settings: AgentSettings = None,
    rival: Annotated[str | None, typer.Option(help="Another algorithm beside it, with the same seed.")] = None,
    rival_settings: Annotated[
        list[str] | None,
        typer.Option("--rival-set", metavar="NAME=VALUE", help="A setting of the rival. Can be repeated."),
    ] = None,
    episodes: Episodes = None,
    seed: Annotated[int, typer.Option(help="The seed of all random draws.")] = 0,
    max_steps: MaxSteps = None,
    goal: Goal = None,
    start: Start = None,
    cost: Cost = None,
    give_up_cost: GiveUpCost = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the page.")] = Path("watch.html"),
    show: Open = False,
    live: Annotated[
        bool, typer.Option("--live", help="Write nothing; serve a page that shows the run as it happens.")
    ] = False,
    delay: Annotated[float, typer.Option(min=0.0, help="With --live: seconds to wait at each epoch.")] = 0.0,
) -> None:
    """Write a page that replays how an agent learns.

    An environment that shows its table of transitions, such as FrozenLake-v1, is watched in its model: the page then
    compares what the agent believes with the truth. Any other environment is stepped.
    """
    from goalward.cli.learn import default_agent, default_episodes, load_shown, run_once
    from goalward.errors import SettingError
    from goalward.pages.page import check_page_path
    from goalward.pages.watch import watch as make_page
    from goalward.signals import stop_requests
    from goalward.ssp.model import SSP

    check_page_path(out)
    rules = given_options(goal=goal, start=start, cost=cost, give_up_cost=give_up_cost)
    model = load_shown(world, settings or [], **rules)
    episodes = default_episodes(model) if episodes is None else episodes
    if not isinstance(model, SSP) and live:
        raise SettingError(f"{world} has no model; --live needs one: leave it out and the page replays the run")
    if rival is None and rival_settings:
        raise SettingError("--rival-set sets the rival; name one with --rival")
    chosen = [
        (agent or default_agent(model), agent_settings or []),
        *([(rival, rival_settings or [])] if rival else []),
    ]

    def run_agent(index: int, **options: Any) -> SingleRun:
        name, own_settings = chosen[index]
        return run_once(
            world, settings or [], agent=name, agent_settings=own_settings, episodes=episodes, seed=seed,
            max_steps=max_steps, rules=rules, use_model=True, **options,
        )  # fmt: skip

    if isinstance(model, SSP) and live:
        from goalward.pages.live import watch_live
        from goalward.pages.watch import run_labels

        labels = run_labels([name for name, _ in chosen])
        with stop_requests() as stopped:
            watch_live(
                {label: partial(run_agent, index) for index, label in enumerate(labels)},
                model, Path(world).name,
                seed=seed, episodes=episodes, delay=delay, show=show, stopped=stopped, say=say,
            )  # fmt: skip
        return
    with stop_requests() as stopped:
        options = {"keep_replay": True, "watch": lambda done, steps: not stopped()}
        runs = [run_agent(index, **options) for index in range(len(chosen))]
    with phase("writing the page"):
        # A page that is mailed should not say where the map lies on this disk.
        page = make_page(*(single.run for single in runs), world=Path(world).name)
        path = page.save(out)
    say(*map(run_line, runs), f"written: {path}")
    show_if(show, path)
    if stopped():
        raise typer.Exit(128 + stopped())


def show_if(wanted: bool, path: Path) -> None:
    """Show a page in a browser if that is wanted."""
    from goalward.pages.page import show_file

    if wanted and not show_file(path):
        say("no browser was found; open the file in one")


def run_line(single: SingleRun) -> str:
    """Return one line about a run."""
    run = single.run
    cut = f"; cut off: {run.truncation}" if run.truncated else ""
    return f"{run.agent.name}: {len(run.costs):,} episodes, {run.total_steps:,} steps{cut}"
