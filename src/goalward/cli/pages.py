"""The verbs that write pages: a study in one file, and learning replayed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goalward.cli.app import app, say, say_choice
from goalward.cli.options import AgentSettings, Folder, GiveUpCost, Level, Settings, StudyName, World
from goalward.long_work import phase

if TYPE_CHECKING:
    from goalward.cli.single_run import SingleRun

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
    from goalward.paper.claims.findings import read_claims
    from goalward.studies.store import Store

    place = check_page_path(out or folder / "report.html")
    page, troubles = report_of_folder(folder, study, level, read_claims(folder))
    page.save(place)
    problems = [f"{found['name']}: {problem}" for found in page.document["studies"] for problem in found["problems"]]
    store = Store.open(folder)
    say_choice(store, *([study] if study else store.studies()))
    say(*troubles, *problems, f"written: {place}")
    show_if(show, place)


@app.command()
def watch(
    world: World,
    settings: Settings = None,
    agent: Annotated[
        str | None,
        typer.Option(help="The name of an algorithm: goalward list agents.  [default: psrl, or continuous-psrl]"),
    ] = None,
    agent_settings: AgentSettings = None,
    rival: Annotated[str | None, typer.Option(help="Another algorithm beside it, with the same luck.")] = None,
    rival_settings: Annotated[
        list[str] | None,
        typer.Option("--rival-set", metavar="NAME=VALUE", help="A setting of the rival. Can be repeated."),
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(help="How many episodes to run.  [default: 1000, or 20 with continuous states]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of all random draws.")] = 0,
    max_steps: Annotated[int | None, typer.Option(help="End a run after this many steps.")] = None,
    give_up_cost: GiveUpCost = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the page.")] = Path("watch.html"),
    show: Open = False,
    live: Annotated[
        bool, typer.Option("--live", help="Write nothing; serve a page that shows the run as it happens.")
    ] = False,
    delay: Annotated[float, typer.Option(min=0.0, help="With --live: seconds to wait at each epoch.")] = 0.0,
) -> None:
    """Write a page that replays how an agent learns."""
    from goalward import worlds
    from goalward.cli.single_run import run_once, usual_agent
    from goalward.errors import SettingError
    from goalward.pages.page import check_page_path
    from goalward.pages.watch import watch as make_page
    from goalward.progress import open_episode_display
    from goalward.signals import stop_requests
    from goalward.ssp.model import SSP

    check_page_path(out)
    model = worlds.load(world, settings or [])
    if episodes is None:
        episodes = 1000 if isinstance(model, SSP) else 20
    if not isinstance(model, SSP) and live:
        raise SettingError(
            f"{world} has continuous states; --live is for worlds with finitely many: leave it out and the page"
            " replays the run"
        )
    if rival is None and rival_settings:
        raise SettingError("--rival-set sets the rival; name one with --rival")
    chosen = [(agent or usual_agent(model), agent_settings or []), *([(rival, rival_settings or [])] if rival else [])]
    if live and isinstance(model, SSP):
        from goalward.pages.live import watch_live
        from goalward.pages.watch import run_labels

        runs = {
            label: partial(
                run_once, world, settings or [], agent=name, agent_settings=given, episodes=episodes, seed=seed,
                max_steps=max_steps, give_up_cost=give_up_cost,
            )
            for label, (name, given) in zip(run_labels([name for name, _ in chosen]), chosen, strict=True)
        }  # fmt: skip
        with stop_requests() as stopped:
            watch_live(
                runs, model if give_up_cost is None else model.with_give_up(give_up_cost), Path(world).name,
                seed=seed, episodes=episodes, delay=delay, show=show, stopped=stopped, say=say,
            )  # fmt: skip
        return
    found = []
    with stop_requests() as stopped:
        for name, given in chosen:
            with open_episode_display(episodes) as display:
                watcher = partial(go_on, display, stopped)
                found.append(
                    run_once(
                        world, settings or [], agent=name, agent_settings=given, episodes=episodes, seed=seed,
                        max_steps=max_steps, give_up_cost=give_up_cost, keep_replay=True, watch=watcher,
                    )
                )  # fmt: skip
    with phase("writing the page"):
        # A page that is mailed should not say where the map lies on this disk.
        page = make_page(*(each.run for each in found), world=Path(world).name)
        place = page.save(out)
    for each in found:
        say(run_line(each))
    say(f"written: {place}")
    show_if(show, place)
    if stopped():
        raise typer.Exit(128 + stopped())


def show_if(wanted: bool, place: Path) -> None:
    """Show a page in a browser if that is wanted."""
    from goalward.pages.page import show_file

    if wanted and not show_file(place):
        say("no browser was found; open the file in one")


def go_on(display: Callable[[int, int], bool], stopped: Callable[[], int], done: int, steps: int) -> bool:
    """Show how far a run is; return whether it goes on."""
    return display(done, steps) and not stopped()


def run_line(found: SingleRun) -> str:
    """Say what of a run is on the page."""
    run, replay = found.run, found.run.replay
    name = run.agent.name
    kept = 0 if replay is None else len(replay.frames) - 1
    if replay is None:
        shown = f"{run.total_steps:,} steps, {len(run.epochs):,} epochs"
    elif not replay.has_plans:
        shown = f"it follows no plans to replay; the page shows it at {kept:,} moments"
    elif kept < replay.epochs:
        shown = f"{replay.epochs:,} epochs, {kept:,} of them on the page"
    else:
        shown = f"{replay.epochs:,} epoch{'s' * (replay.epochs != 1)}"
    cut = f"; cut off: {run.truncation}" if run.truncated else ""
    return f"{name}: {len(run.costs):,} episodes, {shown}{cut}"
