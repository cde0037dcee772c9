"""Save and load agents: their settings, their task and what they have learnt.

An agent is saved as plain data and arrays (see `goalward.archive`). Loading creates an agent of the same class, calls
`begin` with the saved task and restores what was learnt. Only registered agents can be loaded. No code in a file runs.
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
    """Return everything that determines an agent's next action: what it has learnt, its caches and its generator."""
    caches = {name: encode(name, value) for name, value in vars(agent).items() if name.startswith("_")}
    return {"learnt": agent.to_state(), "caches": caches, "rng": agent.rng.bit_generator.state}


def restore_progress(agent: Learner, state: dict[str, Any]) -> None:
    """Restore the state that `progress` returned, right after `begin`; raises ValueError if it does not fit."""
    agent.restore(state["learnt"])
    for name, value in state["caches"].items():
        setattr(agent, name, decode(value, vars(agent).get(name)))
    agent.rng.bit_generator.state = state["rng"]


def save(agent: Learner, path: str | Path, about: Mapping[str, Any] | None = None) -> None:
    """Save an agent to the file `path` after it has learnt; `about` is plain data that describes its origin."""
    task = getattr(agent, "task", None)
    if task is None:
        raise SettingError(f"{agent.name} has not learnt anything yet; save the agent of a run: run.agent")
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
    """Read an agent from `path`; continue with ``learn(agent, world, ..., resume=True)``."""
    return read(path)[0]


def read(path: str | Path) -> tuple[Learner, dict[str, Any]]:
    """Read an agent from `path`, together with the data that was saved as `about`."""
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
    """Raise SettingError if a saved name refers to a Python file, because looking it up would execute the file."""
    if is_reference(name):
        raise SettingError(f"it refers to the Python file {name}, but goalward only executes files that you name")


def check_place(path: Path, what: str = "agent") -> None:
    """Raise FileError if an agent or policy cannot be saved at `path`; to be called before a run."""
    folder = path.absolute().parent
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; name a file, such as {path / what}.npz")
        if not folder.is_dir():
            raise FileError(f"{path}: the folder {folder} does not exist; create it first")
        with NamedTemporaryFile(dir=folder, prefix=path.name, suffix=".part"):
            pass
    except OSError as error:
        raise FileError(
            f"{path}: the {what} cannot be saved there ({error.strerror or error}); choose a file that can be written"
        ) from None


def encode(name: str, value: Any) -> Any:
    """Return a setting or a cache as plain data and arrays; `name` is for the error message."""
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
    raise SettingError(f"the agent cannot be saved: no file can store {name} of type {type(value).__name__}")


def decode(value: Any, now: Any = None) -> Any:
    """Return the setting or the cache that `encode` turned into `value`; `now` is its value in a new agent.

    Arrays and `Memory` objects are changed in place, because other arrays may be views of them.
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
