"""Save agents to files, and load agents from files.

A file holds the settings, the task and the learnt state of an agent, as plain data and arrays. `load` creates an agent
of the same class, calls `begin` with the saved task and restores the learnt state. No code from the file is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from goalward import archive
from goalward.agents.base import Learner, registry
from goalward.beliefs.base import Prior
from goalward.beliefs.base import registry as priors
from goalward.errors import FileError, GoalwardError, SettingError
from goalward.planning.solve import Solution
from goalward.seeds import generator
from goalward.settings import settings_of
from goalward.ssp.model import SSP
from goalward.user_code import is_reference

FORMAT, VERSION = "goalward-agent", 1
MODEL = ("indptr", "successors", "probabilities", "costs", "initial_state", "give_up")


def progress(agent: Learner) -> dict[str, Any]:
    """Return the learnt state, the caches and the generator of `agent`, which together determine the next action."""
    caches = {name: encode(name, value) for name, value in vars(agent).items() if name.startswith("_")}
    return {"learnt": agent.to_state(), "caches": caches, "rng": agent.rng.bit_generator.state}


def restore_progress(agent: Learner, state: dict[str, Any]) -> None:
    """Give a new `agent` the `state` that `progress` returned. Raises ValueError if the `state` is invalid."""
    agent.restore(state["learnt"])
    for name, value in state["caches"].items():
        setattr(agent, name, decode(value, vars(agent).get(name)))
    agent.rng.bit_generator.state = state["rng"]


def save(agent: Learner, path: str | Path, about: Mapping[str, Any] | None = None) -> None:
    """Save `agent` to the file `path`. `about` is plain data that describes the origin of the agent."""
    task = getattr(agent, "task", None)
    if task is None:
        raise SettingError(f"{agent.name} has not learnt anything yet; after run = learn(agent, ...), save run.agent")
    if agent.name not in registry.known() or registry.find(agent.name) is not type(agent):
        raise SettingError(f"{agent.name} could not be loaded; put @goalward.agents.register('NAME') above its class")
    tree = {
        "agent": agent.name,
        "settings": {name: encode(name, getattr(agent, name)) for name in agent.settings()},
        "given": {name: encode(name, value) for name, value in agent.given.items()},
        "task": agent.task_to_state(task),
        "learnt": agent.to_state(),
        "about": dict(about or {}),
    }
    archive.write(Path(path), FORMAT, VERSION, tree)


def load(path: str | Path) -> Learner:
    """Return the agent saved in the file `path`. ``learn(agent, ..., resume=True)`` continues the learning."""
    return read(path)[0]


def read(path: str | Path) -> tuple[Learner, dict[str, Any]]:
    """Return the agent saved in the file `path`, and the data that were passed to `save` as `about`."""
    tree = archive.read(Path(path), FORMAT, VERSION)
    try:
        check_no_file(tree["agent"])
        kind = registry.find(tree["agent"])
        settings = {name: decode(value) for name, value in tree["settings"].items()}
        agent = kind(**settings)
        agent.given = {name: decode(value) for name, value in tree["given"].items()}
        # The generator is a placeholder: a run that resumes with the agent uses its own seed.
        agent.begin(kind.task_from_state(tree["task"]), generator(0))
        agent.restore(tree["learnt"])
        return agent, tree["about"]
    except (GoalwardError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
        raise FileError(f"{path}: the saved agent cannot be restored ({error})") from None


def check_no_file(name: Any) -> None:
    """Raise SettingError if `name` refers to a Python file, because a look-up of `name` would execute the file."""
    if is_reference(name):
        raise SettingError(f"the saved file refers to the Python file {name}, which goalward does not execute")


def check_place(path: Path, what: str = "agent") -> None:
    """Raise FileError if no file can be written at `path`. `what` is "agent" or "policy". Call this before a run."""
    folder = path.absolute().parent
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; choose a file, such as {path / what}.npz")
        if not folder.is_dir():
            raise FileError(f"{path}: the folder {folder} does not exist; create it first")
        with NamedTemporaryFile(dir=folder, prefix=path.name, suffix=".part"):
            pass
    except OSError as error:
        raise FileError(
            f"{path}: the {what} cannot be saved there ({error.strerror or error}); choose a file that can be written"
        ) from None


def encode(name: str, value: Any) -> Any:
    """Return the `value` of a setting or a cache as plain data and arrays. Error messages show its `name`."""
    if isinstance(value, Prior):
        settings = {setting: encode(setting, getattr(value, setting)) for setting in settings_of(type(value))}
        return {"prior": {"kind": value.kind, **settings}}
    if isinstance(value, SSP):
        return {"model": {field: getattr(value, field) for field in MODEL}}
    if isinstance(value, Solution):
        return {"solution": {"values": value.values, "policy": value.policy}}
    if isinstance(value, tuple):
        return {"tuple": {str(index): encode(name, entry) for index, entry in enumerate(value)}}
    if hasattr(value, "to_state"):
        return {"memory": value.to_state()}
    if value is None or isinstance(value, np.ndarray | np.generic | int | float | str | list):
        return value
    raise SettingError(f"the agent cannot be saved, because files cannot store {name} of type {type(value).__name__}")


def decode(value: Any, now: Any = None) -> Any:
    """Undo `encode`. `now` is the same setting or cache in a new agent.

    If `now` is an array or a `Memory`, its data are overwritten in place, because other arrays may share these data.
    """
    if not isinstance(value, dict):
        if isinstance(now, np.ndarray) and now.flags.writeable and (now.shape, now.dtype) == (value.shape, value.dtype):
            now[...] = value
            return now
        return value
    ((kind, content),) = value.items()
    if kind == "prior":
        settings = {name: decode(part) for name, part in content.items()}
        check_no_file(settings["kind"])
        return priors.find(settings.pop("kind"))(**settings)
    if kind == "model":
        return SSP.from_rows(**content)
    if kind == "solution":
        return Solution.to_start_from(**content)
    if kind == "memory":
        now.restore(content)
        return now
    entries = [decode(content[str(index)], None if now is None else now[index]) for index in range(len(content))]
    return now._make(entries) if hasattr(now, "_make") else tuple(entries)
