"""The verb about agents: let one learn in a world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.options import AgentSettings, GiveUpCost, Json, OptionalWorld, Settings
from goalward.errors import SettingError

__all__ = ["learn"]


@app.command()
def learn(
    world: OptionalWorld = None,
    settings: Settings = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="An algorithm (goalward list agents) or a class, a.py:Mine.  [default: psrl, or continuous-psrl]"
        ),
    ] = None,
    agent_settings: AgentSettings = None,
    episodes: Annotated[int, typer.Option(help="How many episodes to run.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="The seed of all random draws.  [default: 0]")] = None,
    max_steps: Annotated[int | None, typer.Option(help="End the run after this many steps.")] = None,
    give_up_cost: GiveUpCost = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the agent in a file after the run.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Go on with the agent in a file.")] = None,
    png: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the run, plan and visits on a grid: .png, .pdf, .svg or .jpg."),
    ] = None,
    json: Json = False,
) -> None:
    """Let an agent learn in a world, and print what it cost."""
    from goalward.agents.saving import check_place
    from goalward.cli.run_text import run_document, run_table
    from goalward.cli.single_run import finite_world, run_once
    from goalward.progress import open_episode_display
    from goalward.signals import stop_requests
    from goalward.studies.user_files import is_reference

    if resume is not None and (agent is not None or agent_settings):
        raise SettingError("--resume brings its agent with it; leave --agent and --agent-set out")
    if save is not None:
        check_place(save)
        if is_reference(agent or ""):
            raise SettingError(f"--save keeps agents of goalward alone, and {agent} is a file of yours; leave it out")
    recorder = None
    if png is not None:
        from goalward.figures.drawing import picture_file, save_picture
        from goalward.figures.grid import run_figure
        from goalward.learning.replay import Recorder

        picture_file(png)
        if world is not None:
            finite_world(world, settings or [])
        recorder = Recorder()
    with open_episode_display(episodes) as show, stop_requests() as stopped:
        found = run_once(
            world,
            settings or [],
            agent=agent,
            agent_settings=agent_settings or [],
            episodes=episodes,
            seed=seed,
            max_steps=max_steps,
            give_up_cost=give_up_cost,
            resume=resume,
            watch=lambda done, steps: show(done, steps) and not stopped(),
            observer=recorder,
        )
    # The table is printed even if the agent cannot be kept, for example because the disk is full.
    if not json:
        say(f"{found.run.agent.name} in {found.world}, seed {found.run.seed}", run_table(found.run, found.seconds))
    kept = None
    try:
        if save is not None:
            found.keep(save)
            kept = str(save)
    finally:
        if json:
            say_json({"world": found.world, **run_document(found.run, found.seconds), "saved": kept})
    if png is not None and recorder is not None:
        run = found.run
        title = f"{run.agent.name} in {found.world}: {len(run.costs):,} episodes, seed {run.seed}"
        save_picture(run_figure(found.model, run, recorder.replay(), title), png)
        if not json:
            say("", f"written: {png}")
    if kept is not None and not json:
        say("", f"kept: {kept}; goalward learn --resume {kept} goes on")
    if stopped():
        raise typer.Exit(128 + stopped())
