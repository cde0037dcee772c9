"""One run by itself, of an agent that can be kept in a file and learn on later."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalward import agents, worlds
from goalward.agents import saving as storage
from goalward.agents.base import Learner
from goalward.continuous.task import GoalTask
from goalward.errors import SettingError
from goalward.learning.learn import learn
from goalward.learning.replay import Observer
from goalward.learning.run import Run
from goalward.learning.termination import check_end
from goalward.seeds import run_seed
from goalward.settings import checked_integer, read_settings
from goalward.ssp.model import SSP
from goalward.studies.factory import with_give_up
from goalward.studies.spec_to_design import blaming
from goalward.studies.user_files import is_reference, load_class, read_agent_file

__all__ = ["SingleRun", "finite_world", "run_once", "usual_agent"]


@dataclass(frozen=True, eq=False)
class SingleRun:
    """A run, how long it took, where its agent comes from as a file of it says, and the model of the world."""

    run: Run
    seconds: float
    origin: Mapping[str, Any]
    model: SSP

    @property
    def world(self) -> str:
        """The name of the world."""
        return str(self.origin["world"])

    def keep(self, path: Path) -> None:
        """Write the agent to a file."""
        storage.save(self.run.agent, path, self.origin)


def finite_world(name: str, settings: Sequence[str] = ()) -> SSP:
    """Return a world to be drawn; raise SettingError if its states are continuous: there are no maps of such worlds."""
    world = worlds.load(name, settings)
    if not isinstance(world, SSP):
        raise SettingError(
            f"{name} has continuous states, and only worlds with finitely many states are drawn; without a picture:"
            f" goalward learn {name} --agent continuous-psrl"
        )
    return world


def usual_agent(world: SSP | GoalTask) -> str:
    """Return the name of the agent that learns in a world if none is named."""
    return "psrl" if isinstance(world, SSP) else "continuous-psrl"


def make_learner(agent: str, settings: Sequence[str], world: Any, episodes: int) -> Learner:
    """Build an agent of the registry or of a user's file."""
    if not is_reference(agent):
        return agents.find(agent).from_settings(read_settings(settings), world, episodes)
    file = read_agent_file(agent, Path())
    with blaming(file):
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
    watch: Callable[[int, int], bool] | None = None,
    observer: Observer | None = None,
    keep_replay: bool = False,
) -> SingleRun:
    """Let an agent learn in a world.

    Parameters
    ----------
    world, settings
        As `goalward.worlds.load` takes them. An agent from a file knows its world, so it may be None there.
    agent, agent_settings
        The name of an algorithm, or ``my_agent.py:Mine`` for a class in a file, which is executed; and its settings,
        such as ``delta=0.1``. An agent that goes on has its own. By default psrl, or continuous-psrl in a goal
        task with continuous states.
    seed
        By default 0, or a new one for an agent from a file, so that its luck is not that of earlier runs.
    give_up_cost
        Let the agent give up at this cost; an agent from a file goes on with its own.
    resume
        The file of an agent that goes on.
    watch
        Called with the episodes and steps done so far; it ends the run by returning False.
    observer
        Told of the run while it goes on, as `learn` does.
    keep_replay
        Keep what `goalward.watch` shows.
    """
    checked_integer("episodes", episodes, 1)
    origin: dict[str, Any] = {"seed": 0, "episodes": 0}
    learner = None
    if resume is not None:
        learner, known = storage.read(resume)
        origin |= known
    if world is not None:
        origin |= {"world": world, "settings": list(settings)}
    if give_up_cost is not None:
        origin["give_up_cost"] = give_up_cost
    if origin.get("world") is None:
        raise SettingError("which world? Name one: goalward list worlds")
    ssp = worlds.load(origin["world"], origin["settings"])
    if origin.get("give_up_cost") is not None:
        ssp = with_give_up(ssp, origin["give_up_cost"])
    if learner is None:
        learner = make_learner(agent or usual_agent(ssp), agent_settings, ssp, episodes)
        origin["seed"] = seed = seed or 0
    elif seed is None:
        seed = run_seed(origin["seed"], "resume", origin["episodes"])
    resumes = resume is not None
    if max_steps is None and isinstance(ssp, SSP):
        check_end(ssp, learner, limited=False)
    # A run of two steps comes first, so that the time is not that of compiling. It changes nothing.
    learn(learner, ssp, episodes, seed, max_steps=2, resume=resumes)
    began = time.perf_counter()
    run = learn(
        learner, ssp, episodes, seed, max_steps=max_steps, resume=resumes, watch=watch, observer=observer,
        keep_replay=keep_replay,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    return SingleRun(run, seconds, origin | {"episodes": origin["episodes"] + len(run.costs)}, ssp)
