"""The commands for one run: `learn` prints the costs of a run, and `watch` replays a run on a page."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from goalward.cli import options
from goalward.cli.app import app, given_options, say, show, show_if
from goalward.errors import SettingError
from goalward.formatting import number, plural
from goalward.progress import phase
from goalward.table import Cell, Column, Columns, Table, written

if TYPE_CHECKING:
    from goalward.learning.run import Run
    from goalward.worlds.base import AnyWorld


@app.command()
def learn(
    world: options.OptionalWorld = None,
    settings: options.Settings = None,
    agent: options.AgentName = None,
    agent_settings: options.AgentSettings = None,
    episodes: options.Episodes = None,
    seed: Annotated[int | None, typer.Option(help="The seed of all random draws.  [default: 0]")] = None,
    max_steps: options.MaxSteps = None,
    goal: options.Goal = None,
    start: options.Start = None,
    cost: options.Cost = None,
    give_up_cost: options.GiveUpCost = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the agent, to resume it later.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Continue with a saved agent.")] = None,
    save_policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the policy, to deploy it.")] = None,
    format: options.Format = "text",
) -> None:
    """Let an agent learn in a world, and print its costs.

    In an environment, the agent learns by taking steps, and a saved policy accepts the environment's observations.
    Regret is printed if the true model is known. Use goalward solve for the optimal cost of a known model.
    """
    from goalward.agents import agent_file
    from goalward.signals import received, stop_requests

    if resume is not None and (agent is not None or agent_settings):
        raise SettingError("--resume restores the agent and its settings; leave out --agent and --agent-set")
    own = next((text for text in [agent or "", *(agent_settings or [])] if ".py:" in text), None)
    if save is not None and own is not None:
        raise SettingError(f"--save works only for goalward's own agents and priors, not for {own}; leave out --save")
    # Check before the run, not after it, that these files can be written.
    for path, what in ((save, "agent"), (save_policy, "policy")):
        if path is not None:
            agent_file.check_place(path, what)
    with stop_requests() as stopped:
        run, seconds, origin = run_once(
            world, settings or [], agent=agent, agent_settings=agent_settings or [], episodes=episodes, seed=seed,
            max_steps=max_steps, rules=given_options(goal=goal, start=start, cost=cost, give_up_cost=give_up_cost),
            resume=resume,
        )  # fmt: skip
    # The tables are printed even if the agent cannot be saved, for example because the disk is full.
    title = f"{run.agent.name} in {origin['world']}, seed {run.seed}"
    show(*run_tables(run, seconds, origin["world"], title), format=format)
    if save is not None:
        agent_file.save(run.agent, save, origin)
    if save_policy is not None:
        run.policy.save(save_policy)
        say("", f"policy saved: {save_policy}; load it with: gw.load_policy({str(save_policy)!r})", format=format)
    if save is not None:
        say("", f"saved: {save}; continue with: goalward learn --resume {save}", format=format)
    if stopped():
        raise typer.Exit(128 + received())


@app.command()
def watch(
    world: options.World,
    settings: options.Settings = None,
    agent: options.AgentName = None,
    agent_settings: options.AgentSettings = None,
    rival: Annotated[str | None, typer.Option(help="A second algorithm, run with the same seed.")] = None,
    rival_settings: Annotated[
        list[str] | None, typer.Option("--rival-set", metavar="NAME=VALUE", help="A setting of the rival. Repeatable.")
    ] = None,
    episodes: options.Episodes = None,
    seed: Annotated[int, typer.Option(help="The seed of all random draws.")] = 0,
    max_steps: options.MaxSteps = None,
    goal: options.Goal = None,
    start: options.Start = None,
    cost: options.Cost = None,
    give_up_cost: options.GiveUpCost = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output file, unless --live.")] = Path("watch.html"),
    show_page: options.Open = False,
    live: Annotated[bool, typer.Option("--live", help="Serve a page that shows the run as it happens.")] = False,
    delay: Annotated[float, typer.Option(min=0.0, help="With --live: seconds to wait before each epoch.")] = 0.0,
) -> None:
    """Write a page that replays how an agent learns.

    Some environments, such as FrozenLake-v1, expose their table of transitions. There, the agent learns in the model
    that the table defines, and the page compares the agent's beliefs with this model.
    """
    from goalward.pages.page import check_page_path
    from goalward.pages.watch import watch as make_page
    from goalward.signals import received, stop_requests
    from goalward.ssp.model import SSP

    check_page_path(out)
    if rival is None and rival_settings:
        raise SettingError("--rival-set needs a rival; choose a rival with --rival")
    rules = given_options(goal=goal, start=start, cost=cost, give_up_cost=give_up_cost)
    model = load_shown(world, settings or [], **rules)
    usual_agent, usual_episodes = defaults(model)
    episodes = usual_episodes if episodes is None else episodes
    if not isinstance(model, SSP) and live:
        raise SettingError(f"{world} has no known model, so --live cannot show it; leave out --live to replay the run")
    chosen = [(agent or usual_agent, agent_settings), *([(rival, rival_settings)] if rival else [])]

    def run_agent(index: int, **options: Any) -> SingleRun:
        name, own_settings = chosen[index]
        return run_once(
            world, settings or [], agent=name, agent_settings=own_settings or [], episodes=episodes, seed=seed,
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
                seed=seed, episodes=episodes, delay=delay, show=partial(show_if, show_page), stopped=stopped, say=say,
            )  # fmt: skip
        return
    with stop_requests() as stopped:
        runs = [run_agent(index, keep_replay=True) for index in range(len(chosen))]
    with phase("writing the page"):
        # The page shows only the file name, because pages that are sent to others should not contain local folders.
        page = make_page(*(single.run for single in runs), world=Path(world).name)
        path = page.save(out)
    say(*map(run_line, runs), f"written: {path}")
    show_if(show_page, path.resolve().as_uri())
    if stopped():
        raise typer.Exit(128 + received())


def run_line(single: SingleRun) -> str:
    """Return one line about a run: agent, episodes, steps."""
    run = single.run
    cut = f"; cut off: {run.truncation}" if run.truncated else ""
    return f"{run.agent.name}: {plural(len(run.costs), 'episode')}, {plural(run.total_steps, 'step')}{cut}"


class SingleRun(NamedTuple):
    """A run, its duration in seconds, and the facts that are saved with the agent (world, seed, ...)."""

    run: Run
    seconds: float
    origin: Mapping[str, Any]


def defaults(world: AnyWorld) -> tuple[str, int]:
    """Return the default agent and number of episodes for a world."""
    return ("continuous-psrl", 20) if getattr(world, "continuous", False) else ("psrl", 1000)


def load_shown(name: str, settings: Sequence[str], **rules: Any) -> AnyWorld:
    """Return the model of a world or environment, or the world itself if its model is not known."""
    from goalward import worlds

    try:
        return worlds.load(name, settings, **rules)
    except SettingError:
        return worlds.load_world(name, settings, **rules)


def run_once(
    world: str | None,
    settings: Sequence[str] = (),
    *,
    agent: str | None = None,
    agent_settings: Sequence[str] = (),
    episodes: int | None = None,
    seed: int | None = None,
    max_steps: int | None = None,
    rules: Mapping[str, Any] | None = None,
    resume: Path | None = None,
    use_model: bool = False,
    **options: Any,
) -> SingleRun:
    """Let an agent learn in a world. Worlds, agents and settings are written as on the command line.

    The file `resume` contains a saved agent, with the agent's world and rules. Unless `seed` is
    given, a resumed agent gets a new seed, so that no earlier random draws are repeated. With `use_model`, an
    environment is replaced by its model if the model is known. `options` are passed to `goalward.learn`.
    """
    from goalward import agents, worlds
    from goalward.agents import agent_file
    from goalward.environments.by_name import closing
    from goalward.learning.endless_runs import check_end
    from goalward.learning.learn import as_world, learn
    from goalward.seeds import run_seed
    from goalward.settings import Size, check, read_settings
    from goalward.user_code import blaming
    from goalward.worlds.base import is_foreign

    origin: dict[str, Any] = {"seed": 0, "episodes": 0}
    learner = None
    if resume is not None:
        learner, saved_origin = agent_file.read(resume)
        origin |= saved_origin
        if world is None and ":" in str(origin.get("world")):
            raise SettingError(
                f"{resume} was saved in {origin['world']}, which is code outside goalward; to run this code, type:"
                f" goalward learn {origin['world']} --resume {resume}"
            )
    if world is not None:
        origin |= {"world": world, "settings": list(settings)}
    origin["rules"] = origin.get("rules", {}) | dict(rules or {})
    name = origin.get("world")
    if name is None:
        raise SettingError("no world is given; choose a world from goalward list worlds")
    read = load_shown if use_model else worlds.load_world
    place = read(name, origin["settings"], **origin["rules"])
    usual_agent, usual_episodes = defaults(place)
    episodes = usual_episodes if episodes is None else check("episodes", episodes, Size)
    with closing(place):
        if learner is None:
            with blaming("the agent"):
                kind = agents.find(agent or usual_agent)
                learner = kind.from_settings(read_settings(agent_settings), place, episodes)
            origin["seed"] = seed = seed or 0
        elif seed is None:
            seed = run_seed(origin["seed"], "resume", origin["episodes"])
        resumes, graph = resume is not None, as_world(place).graph
        if max_steps is None and graph is not None:
            check_end(graph, learner, limited=False)
        if not is_foreign(name):
            # A first run of two steps compiles the kernels, so that the measured time includes no compilation.
            learn(learner, place, episodes, seed, max_steps=2, resume=resumes)
        start = time.perf_counter()
        run = learn(learner, place, episodes, seed, max_steps=max_steps, resume=resumes, **options)
        seconds = time.perf_counter() - start
    return SingleRun(run, seconds, origin | {"episodes": origin["episodes"] + len(run.costs)})


def run_tables(run: Run, seconds: float, world: str, title: str = "") -> list[Table]:
    """Return two tables: costs and regret after 1, 10, 100, ... episodes, and facts about the whole run."""
    import numpy as np

    from goalward.acting.stop_conditions import Ended
    from goalward.figures.styles import cause_name
    from goalward.settings import plain

    # If the run was cut off, its last episode does not count.
    count = len(run.costs) - bool(not run.ended & Ended.EPISODES and len(run.reached) and not run.reached[-1])
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
    curve = Table(rows, columns, "curve", title)
    reached = int(np.count_nonzero(run.reached))
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
        "truncated": Cell(
            run.truncated, f"{reached:,} of {run.episodes:,} episodes reached the goal; {run.truncation}"
        ),
        "seconds": seconds,
        "steps_per_second": speed,
    }
    columns = [
        *("steps", "epochs_ended_by"),
        *([Column("optimal_value", "optimal cost")] if known else []),
        Column("given", "knows in advance"),
        *(Column(name, write=partial(written, digits=6)) for name in run.notes),
        *(["truncated"] if run.truncated else []),
    ]
    return [curve, Table.facts(facts, "run", columns=columns)]
