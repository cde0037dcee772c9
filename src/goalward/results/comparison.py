"""Compare agents in one world with one call of `compare`.

`compare` turns its arguments into a study. If all arguments can be written as data, worker processes make the runs, and
a folder can store the runs. Models, ids, goalward's agents with their settings, and functions and classes at the top
level of a Python file can be written as data. Other arguments (a lambda, a function in a notebook, a prior object)
exist only in this process. With such an argument, this process makes the runs and stores nothing.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from goalward.agents.base import Learner
from goalward.agents.base import registry as known_agents
from goalward.errors import GoalwardError, SettingError
from goalward.results.results import Results, run
from goalward.settings import plain, settings_of
from goalward.ssp.model import SSP
from goalward.studies.study import Study
from goalward.user_code import hold, load_member
from goalward.worlds.base import registry as known_worlds


def compare(
    agents: Mapping[str, Learner | str],
    world: SSP | str | Callable[[], Any],
    *,
    episodes: int = 1000,
    runs: int = 10,
    seed: int = 0,
    max_steps: int | None = None,
    folder: str | Path | None = None,
    workers: int | Executor | None = None,
) -> Results:
    """Let each agent learn in one world several times, and return the results.

    All agents use the same seeds and are compared run by run. ``results.summary()`` has means with intervals and
    comparisons with the first agent, and ``goalward.plot(results)`` draws the curves.

    Parameters
    ----------
    agents
        A dict from labels to agents. An agent is an object, or a name as in a study.
    world
        A model, the id of a world or of a Gymnasium environment, or a function. The function is called once for each
        run, and must return a new environment, world or model.
    episodes, runs, seed, max_steps
        As in a study.
    folder
        The folder that stores the runs, so that the same call can resume them; by default, runs are not stored. With a
        folder, the function and the agents must be importable from files.
    workers
        As in `goalward.run`. In a script, call `compare` below ``if __name__ == "__main__":``, because
        worker processes execute the script again.

    Examples
    --------
    >>> import goalward as gw
    >>> pair = {"psrl": gw.agents.PSRL(), "q-learning": gw.agents.QLearning()}
    >>> gw.compare(pair, gw.worlds.grid_world(2, 2), episodes=50, runs=3, workers=1)
    Results('comparison': 6 of 6 runs)
    """
    if not isinstance(agents, Mapping) or not agents:
        raise SettingError(f"agents is {agents!r:.60}; it must be a dict of agents, such as {{'psrl': PSRL()}}")
    only_here: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        document: dict[str, Any] = {"name": "comparison", "seed": seed, "runs": runs, "episodes": episodes}
        document["worlds"] = [world_entry(world, Path(scratch) / "model.npz", only_here)]
        document["agents"] = [agent_entry(label, agent, only_here) for label, agent in agents.items()]
        study = Study.from_dict(document | ({} if max_steps is None else {"max_steps": max_steps}))
        if only_here:
            print(f"compare runs in this process and stores nothing: {only_here[0]}", file=sys.stderr)
            folder, workers = None, 1
        results = run(study, folder or Path(scratch) / "results", workers=workers)
    return results if folder else replace(results, folder=None)


def world_entry(world: Any, file: Path, only_here: list[str]) -> dict[str, Any]:
    """Return the entry of a `world` in a study; a model is written to `file`."""
    if isinstance(world, SSP):
        world.save(file)
        return {"world": str(file), "label": "model"}
    if isinstance(world, str):
        return {"world": world}
    if not callable(world) or hasattr(world, "step"):
        raise SettingError(
            f"world is {world!r:.80}; pass a function that returns a new world or environment for each run"
        )
    registered = [name for name, entry in known_worlds.entries.items() if entry.build is world]
    return {"world": registered[0] if registered else reference_to(world, only_here)}


def agent_entry(label: str, agent: Any, only_here: list[str]) -> dict[str, Any]:
    """Return the entry of an `agent` in a study."""
    if isinstance(agent, str):
        return {"agent": agent, "label": label}
    if not isinstance(agent, Learner):
        raise SettingError(f"{label} is {agent!r:.60}; it must be an agent, such as gw.agents.PSRL(), or a name")
    kind = type(agent)
    settings = {
        name: without_none(value)
        for name, value in agent.settings().items()
        if name not in agent.given and value != plain(settings_of(kind)[name].default)
    }
    if any("digest" in str(value) for value in settings.values()):
        raise SettingError(
            f"the settings of {label} contain models, which a study file cannot hold; use goalward.learn"
        )
    registered = known_agents.entries.get(kind.name) is kind
    return {"agent": kind.name if registered else reference_to(kind, only_here), "label": label, "settings": settings}


def without_none(value: Any) -> Any:
    """Return the settings of a prior without entries that are None, because None means the default."""
    return {name: entry for name, entry in value.items() if entry is not None} if isinstance(value, dict) else value


def reference_to(thing: Any, only_here: list[str]) -> str:
    """Return a reference to a function or class: to its file if possible, otherwise to the object in memory."""
    module = sys.modules.get(getattr(thing, "__module__", ""))
    name, path = getattr(thing, "__qualname__", ""), getattr(module, "__file__", None)
    if path and name.isidentifier() and getattr(module, name, None) is thing:
        try:
            load_member(f"{path}:{name}")
            return f"{path}:{name}"
        except GoalwardError as error:
            only_here.append(str(error))
    else:
        only_here.append(f"{name or thing!r} is not at the top level of a Python file")
    return hold(thing)
