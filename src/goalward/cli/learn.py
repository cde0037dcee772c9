"""The verb ``learn``: one run of an agent that can be saved in a file and resumed later."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from goalward.cli.app import (
    AgentName,
    AgentSettings,
    Format,
    GiveUpCost,
    MaxSteps,
    OptionalWorld,
    Picture,
    Settings,
    app,
    say,
    show,
)
from goalward.errors import SettingError
from goalward.formatting import number
from goalward.table import Cell, Column, Columns, Table, written

if TYPE_CHECKING:
    from goalward.agents.base import Learner
    from goalward.continuous.task import ContinuousTask
    from goalward.learning.run import Run
    from goalward.ssp.model import SSP

__all__ = ["SingleRun", "default_agent", "learn", "run_once", "run_tables"]


@app.command()
def learn(
    world: OptionalWorld = None,
    settings: Settings = None,
    agent: AgentName = None,
    agent_settings: AgentSettings = None,
    episodes: Annotated[int, typer.Option(help="How many episodes to run.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="The seed of all random draws.  [default: 0]")] = None,
    max_steps: MaxSteps = None,
    give_up_cost: GiveUpCost = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the agent to a file after the run.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Continue with the agent in a file.")] = None,
    png: Picture = None,
    format: Format = "text",
) -> None:
    """Let an agent learn in a world, and print what it cost."""
    from goalward.agents import saving
    from goalward.signals import stop_requests
    from goalward.studies.user_files import is_reference

    if resume is not None and (agent is not None or agent_settings):
        raise SettingError("--resume brings its agent with it; leave --agent and --agent-set out")
    if save is not None:
        saving.check_place(save)
        if is_reference(agent or ""):
            raise SettingError(f"--save works only for goalward's own agents, and {agent} is a file; leave it out")
    if png is not None:
        from goalward.figures.drawing import picture_file

        picture_file(png)
    with stop_requests() as stopped:
        run, seconds, origin, model = run_once(
            world,
            settings or [],
            agent=agent,
            agent_settings=agent_settings or [],
            episodes=episodes,
            seed=seed,
            max_steps=max_steps,
            give_up_cost=give_up_cost,
            resume=resume,
            watch=lambda done, steps: not stopped(),
            keep_replay=png is not None,
        )
    # The tables are printed even if the agent cannot be saved, for example because the disk is full.
    title = f"{run.agent.name} in {origin['world']}, seed {run.seed}"
    show(*run_tables(run, seconds, origin["world"], title), format=format)
    if save is not None:
        saving.save(run.agent, save, origin)
    if png is not None:
        from goalward.figures.drawing import save_figure
        from goalward.figures.grid import run_figure

        save_figure(run_figure(model, run, f"{title}: {len(run.costs):,} episodes"), [png])
        say("", f"written: {png}", format=format)
    if save is not None:
        say("", f"saved: {save}; continue with: goalward learn --resume {save}", format=format)
    if stopped():
        raise typer.Exit(128 + stopped())


class SingleRun(NamedTuple):
    """A run, its duration, the description of its agent's origin that is saved with it, and its world."""

    run: Run
    seconds: float
    origin: Mapping[str, Any]
    world: SSP | ContinuousTask


def default_agent(world: SSP | ContinuousTask) -> str:
    """Return the name of the agent that learns in a world if none is named."""
    from goalward.ssp.model import SSP

    return "psrl" if isinstance(world, SSP) else "continuous-psrl"


def make_learner(agent: str, settings: Sequence[str], world: Any, episodes: int) -> Learner:
    """Build an agent of the registry or of a user's file."""
    from goalward import agents
    from goalward.settings import read_settings
    from goalward.studies.user_files import blaming, is_reference, load_class, read_agent_file

    if not is_reference(agent):
        return agents.find(agent).from_settings(read_settings(settings), world, episodes)
    with blaming(file := read_agent_file(agent, Path())):
        return load_class(file).from_settings(read_settings(settings), world, episodes)


def run_once(
    world: str | None,
    settings: Sequence[str] = (),
    *,
    agent: str | None = None,
    agent_settings: Sequence[str] = (),
    episodes: int = 1000,
    seed: int | None = None,
    max_steps: int | None = None,
    give_up_cost: float | None = None,
    resume: Path | None = None,
    **options: Any,
) -> SingleRun:
    """Let an agent learn in a world.

    Parameters
    ----------
    world, settings
        As `goalward.worlds.load_world` takes them. A saved agent knows its world, so it may be None with `resume`.
    agent, agent_settings
        The name of an algorithm, or ``my_agent.py:Mine`` for a class in a file, which is executed; and its settings,
        such as ``delta=0.1``. A saved agent has its own. By default psrl, or continuous-psrl in a goal task with
        continuous states.
    seed
        By default 0; a saved agent gets a new seed, so that it does not repeat earlier random draws.
    give_up_cost
        Let the agent give up at this cost; a saved agent keeps its own.
    resume
        The file of a saved agent that continues.
    options
        ``watch``, ``observer`` and ``keep_replay``, as `goalward.learn` takes them.
    """
    from goalward import worlds
    from goalward.agents import saving
    from goalward.learning.learn import learn
    from goalward.learning.termination import check_end
    from goalward.seeds import run_seed
    from goalward.settings import checked_integer
    from goalward.ssp.model import SSP
    from goalward.studies.run_spec import with_give_up

    checked_integer("episodes", episodes, 1)
    origin: dict[str, Any] = {"seed": 0, "episodes": 0}
    learner = None
    if resume is not None:
        learner, saved_origin = saving.read(resume)
        origin |= saved_origin
    if world is not None:
        origin |= {"world": world, "settings": list(settings)}
    if give_up_cost is not None:
        origin["give_up_cost"] = give_up_cost
    if origin.get("world") is None:
        raise SettingError("no world is named; choose one of: goalward list worlds")
    ssp = worlds.load_world(origin["world"], origin["settings"])
    if origin.get("give_up_cost") is not None:
        ssp = with_give_up(ssp, origin["give_up_cost"])
    if learner is None:
        learner = make_learner(agent or default_agent(ssp), agent_settings, ssp, episodes)
        origin["seed"] = seed = seed or 0
    elif seed is None:
        seed = run_seed(origin["seed"], "resume", origin["episodes"])
    resumes = resume is not None
    if max_steps is None and isinstance(ssp, SSP):
        check_end(ssp, learner, limited=False)
    # A run of two steps comes first, so that the measured time does not include compiling. It changes nothing.
    learn(learner, ssp, episodes, seed, max_steps=2, resume=resumes)
    start = time.perf_counter()
    run = learn(learner, ssp, episodes, seed, max_steps=max_steps, resume=resumes, **options)
    seconds = time.perf_counter() - start
    return SingleRun(run, seconds, origin | {"episodes": origin["episodes"] + len(run.costs)}, ssp)


def run_tables(run: Run, seconds: float, world: str, title: str = "") -> list[Table]:
    """Return how a run went: costs and regret after powers of ten of episodes, and facts about the whole run."""
    return [curve_table(run, title), run_facts(run, seconds, world)]


def curve_table(run: Run, title: str) -> Table:
    import numpy as np

    count = len(run.costs)
    shown = sorted({10**power for power in range(len(str(count))) if 10**power < count} | ({count} if count else set()))
    known = not math.isnan(run.optimal_value)
    costs = np.cumsum(run.costs)
    rows = []
    for episodes in shown:
        row = {"episodes": episodes, "cost": float(costs[episodes - 1])}
        row["cost_per_episode"] = row["cost"] / episodes
        if known:
            row |= {"regret": float(run.regret[episodes - 1]), "gap_regret": float(run.gap_regret[episodes - 1])}
        row["epochs"] = int(np.count_nonzero(run.epochs.start_episode < episodes))
        rows.append(row)
    columns: Columns = [
        "episodes",
        Column("cost", write=lambda value: number(value, 6)),
        Column("cost_per_episode", "per episode", lambda value: number(value, 4)),
        *[Column(name, write=lambda value: f"{value:,.1f}") for name in ("regret", "gap_regret") if known],
        "epochs",
    ]
    return Table(rows, columns, "curve", title)


def run_facts(run: Run, seconds: float, world: str) -> Table:
    import numpy as np

    from goalward.acting.stop import Ended
    from goalward.figures.symbols import CAUSES, cause_name
    from goalward.settings import plain

    reached = int(np.count_nonzero(run.reached))
    outside = [CAUSES[flag] for flag in Ended if flag & run.ended and flag is not Ended.EPISODES]
    why = f"{' and '.join(outside)} ended the run" if outside else "the environment cut the others off"
    speed = run.total_steps / seconds
    by_cause = dict(Counter(map(cause_name, run.epochs.ended.tolist())).most_common())
    prior_knowledge = ", ".join(f"{name} = {written(value, 6)}" for name, value in run.agent.given.items())
    facts = {
        **run.notes,
        "world": world,
        "agent": run.agent.name,
        "settings": run.agent.settings(),
        "seed": run.seed,
        "episodes": run.episodes,
        "reached": reached,
        "steps": Cell(run.total_steps, f"{run.total_steps:,} in {number(seconds)} s: {speed:,.0f} steps per second"),
        "epochs": len(run.epochs),
        "epochs_ended_by": Cell(by_cause, ", ".join(f"{name} {count:,}" for name, count in by_cause.items())),
        "optimal_value": Cell(run.optimal_value, f"{number(run.optimal_value, 6)} per episode"),
        "given": Cell({name: plain(value) for name, value in run.agent.given.items()}, prior_knowledge),
        "ended": [flag.name for flag in Ended if flag & run.ended],
        "truncated": Cell(run.truncated, f"{reached:,} of {run.episodes:,} episodes reached the goal; {why}"),
        "seconds": seconds,
        "steps_per_second": speed,
    }
    columns: Columns = [
        *("steps", "epochs_ended_by"),
        *([] if math.isnan(run.optimal_value) else [Column("optimal_value", "optimal cost")]),
        Column("given", "knows in advance"),
        *(Column(name, write=partial(written, digits=6)) for name in run.notes),
        *(["truncated"] if run.truncated else []),
    ]
    return Table.facts(facts, "run", columns=columns)
