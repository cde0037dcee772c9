"""The verb that lets one agent learn in one world."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.worlds import Settings
from goalward.errors import FileError, SettingError

if TYPE_CHECKING:
    from goalward.agents.base import Agent
    from goalward.model.ssp import SSP

__all__ = ["learn"]

INTERRUPTED = 130


@app.command()
def learn(
    world: Annotated[
        str | None,
        typer.Argument(metavar="[WORLD]", help="A world's id, a model in .npz or .json, or a map in .txt."),
    ] = None,
    settings: Settings = None,
    agent: Annotated[str | None, typer.Option(help="The algorithm: goalward list agents.  [default: psrl]")] = None,
    agent_settings: Annotated[
        list[str] | None,
        typer.Option(
            "--agent-set",
            metavar="NAME=VALUE",
            help="A setting of the agent, as in a study: delta=0.1, prior={kind='slip'}; may be repeated.",
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(help="How many episodes.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="Decides every random draw.  [default: 0]")] = None,
    max_steps: Annotated[int | None, typer.Option(help="End the run after so many steps.")] = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the agent that has learnt.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Go on with an agent that was kept.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Let an agent learn in a world, and say what it cost."""
    from goalward import worlds
    from goalward.agents import storage
    from goalward.learning.loop import learn as learn_in
    from goalward.report.run_text import run_document, run_table
    from goalward.seeds import run_seed

    if save is not None:
        check_place(save)
    about: dict[str, Any] = {"world": world, "settings": settings or [], "seed": 0, "episodes": 0}
    if resume is not None:
        if agent is not None or agent_settings:
            raise SettingError("--resume brings its agent with it; leave --agent and --agent-set out")
        learner, about = storage.read(resume)
        about = {**about, **({"world": world, "settings": settings or []} if world is not None else {})}
        # Another stretch of luck than the runs before, unless one is asked for.
        seed = run_seed(about.get("seed", 0), "resume", about.get("episodes", 0)) if seed is None else seed
    if about.get("world") is None:
        raise SettingError("which world? Name one: goalward list worlds")
    ssp = worlds.load(about["world"], about["settings"])
    if resume is None:
        learner = make(agent or "psrl", ssp, episodes, agent_settings or [])
    chosen = 0 if seed is None else seed
    with progress(episodes) as show, stop_politely() as stopped:
        # A run of two steps first, so that the speed is not that of compiling; it leaves nothing behind.
        learn_in(learner, ssp, episodes, chosen, max_steps=2, resume=resume is not None)
        began = time.perf_counter()
        run = learn_in(
            learner,
            ssp,
            episodes,
            chosen,
            max_steps=max_steps,
            resume=resume is not None,
            watch=lambda done, steps: show(done, steps) and not stopped(),
        )
        seconds = time.perf_counter() - began
    # What the run gave is printed even if the agent cannot be kept, because the disk is full for one.
    if not json:
        say(f"{run.agent.name} in {about['world']}, seed {run.seed}", run_table(run, seconds))
    kept = None
    try:
        if save is not None:
            first = {"seed": run.seed} if resume is None else {}
            storage.save(run.agent, save, {**about, **first, "episodes": about.get("episodes", 0) + len(run.costs)})
            kept = str(save)
    finally:
        if json:
            say_json({"world": about["world"], **run_document(run, seconds), "saved": kept})
    if kept is not None and not json:
        say("", f"kept: {kept}; goalward learn --resume {kept} goes on")
    if stopped():
        raise typer.Exit(INTERRUPTED)


def check_place(path: Path) -> None:
    """Refuse a file that the agent could not be kept in, before the run and not after it."""
    from tempfile import NamedTemporaryFile

    folder = path.absolute().parent
    try:
        if path.is_dir():
            raise FileError(f"{path}: is a folder; name a file to keep the agent in, such as {path / 'agent.npz'}")
        if not folder.is_dir():
            raise FileError(f"{path}: there is no folder {folder} to keep the agent in; make it first")
        with NamedTemporaryFile(dir=folder, prefix=path.name, suffix=".part"):
            pass
    except OSError as error:
        raise FileError(
            f"{path}: the agent cannot be kept there ({error.strerror or error}); name a file that can be written"
        ) from None


def make(name: str, ssp: SSP, episodes: int, pairs: list[str]) -> Agent:
    """Make an agent that knows of the world what its algorithm must be told."""
    from goalward import agents
    from goalward.settings import checked_integer, read_settings

    checked_integer("episodes", episodes, 1)
    return agents.find(name).from_settings(read_settings(pairs), ssp, episodes)


@contextmanager
def progress(episodes: int) -> Iterator[Callable[[int, int], bool]]:
    """Show a bar on stderr if that is a terminal, and nothing otherwise."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, steps: True
        return
    fields = (BarColumn(bar_width=40), MofNCompleteColumn(), TextColumn("episodes, {task.fields[steps]:,} steps"))
    with Progress(*fields, TimeRemainingColumn(), console=console, transient=True, refresh_per_second=5) as bar:
        task = bar.add_task("", total=episodes, steps=0)
        last = time.monotonic()

        def show(done: int, steps: int) -> bool:
            nonlocal last
            now = time.monotonic()
            if now - last > 0.1:
                bar.update(task, completed=done, steps=steps)
                last = now
            return True

        yield show


@contextmanager
def stop_politely() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C end the run between two of its pieces; a second one ends it at once."""
    asked = False

    def ask(number: int, frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
