"""Worlds by name: the registry of the built-in worlds, and a world as it is named on a command line.

An id ends in its version, ``grid-world-v0``; the version moves when results on the world may. An id without a version
means the newest one. A world is registered by one line above its function::

    @register("sand-pit-v0")
    def sand_pit(depth: int = 3) -> SSP: ...

A world with continuous states is a `ContinuousTask` instead of an `SSP`; the function's annotation says which.

The parameters of the function, all with defaults, are the settings of the world. The tests run over the registry, so
a world is tested by being registered.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.continuous.task import ContinuousTask
from goalward.errors import SettingError
from goalward.files import read_text
from goalward.progress import phase
from goalward.registry import VERSION, Builder, Registry, version
from goalward.settings import check_memory, check_names, read_settings
from goalward.ssp.model import SSP

__all__ = [
    "World", "check_dense", "empty_kernel", "find", "known", "load", "load_model", "make", "read_map", "register",
    "registry",
]  # fmt: skip

ENVIRONMENT = re.compile(r"(\w+/)?[A-Z]\w*-v\d+")
"""Ids of Gymnasium look like this; those of worlds begin with a small letter."""


@dataclass(frozen=True)
class World(Builder):
    """A registered world: its id, and the function that builds it from its settings."""

    build: Callable[..., SSP | ContinuousTask]

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.build).parameters
        bare = [name for name in parameters if name not in self.schema().settings]
        if not VERSION.search(self.name):
            raise ValueError(f"{self.name!r} cannot be the id of a world; it must end in a version: '{self.name}-v0'")
        if bare or not inspect.getdoc(self.build):
            raise ValueError(f"{self.name!r}: every setting needs a default, the function a docstring; missing: {bare}")

    @property
    def continuous(self) -> bool:
        """Whether it is a goal task with continuous states."""
        return inspect.signature(self.build).return_annotation in (ContinuousTask, "ContinuousTask")

    @property
    def id(self) -> str:
        """The name with its version."""
        return self.name

    @property
    def family(self) -> str:
        """The id without its version."""
        return VERSION.sub("", self.name)

    @property
    def version(self) -> int:
        """The version, the number at the end of the id."""
        return version(self.name)


registry: Registry[World] = Registry("world", ("goalward.worlds", "goalward.continuous.tasks"), World)
find, known, register = registry.find, registry.known, registry.register


def make(id: str, /, **settings: Any) -> Any:
    """Build a world by its id: an `SSP`, or a `ContinuousTask` if its states are continuous.

    >>> from goalward import worlds
    >>> worlds.make("grid-world-v0", success=1.0)
    SSP(states=11, actions=4, transitions=44, costs=1, initial_state=0)
    """
    entry = registry.find(id)
    with phase(f"building {id}"):
        world = entry.from_settings(settings)
    return world.named(entry.id, entry.complete(settings)) if isinstance(world, ContinuousTask) else world


def load_model(name: str, settings: Iterable[str] = (), **options: Any) -> SSP:
    """Return what `load` does; raises SettingError if it is a goal task with continuous states."""
    world = load(name, settings, **options)
    if isinstance(world, ContinuousTask):
        raise SettingError(
            f"{name} is a goal task with continuous states and has no table to look at or to solve; learn in it:"
            f" goalward learn {name} --agent continuous-psrl"
        )
    model: SSP = world
    return model


def load(name: str, settings: Iterable[str] = (), **options: Any) -> Any:
    """Return the world of an id, with settings such as ``rows=5``, or the model in a file.

    Names that end in ``.txt`` are maps as `grid_map` reads them. Other names with an ending are model files. Their
    settings are the options of `SSP.load`, as texts such as ``goal=done`` or as keywords.
    """
    path = Path(name)
    if ENVIRONMENT.fullmatch(name) and not path.exists():
        raise SettingError(
            f"{name} looks like an environment of Gymnasium, and here a world or a file is expected; in Python,"
            f" goalward.from_gymnasium({name!r}).save('world.json') writes its model to a file"
        )
    chosen = read_settings(settings)
    if path.suffix == ".txt" and not options:
        if "text" in chosen:
            raise SettingError(f"{name} is the map; text cannot be set as well")
        return make("grid-map", text=read_map(path), **chosen)
    if path.suffix or path.name != name:
        check_names(name, chosen, list(inspect.signature(SSP.load).parameters)[1:])
        if doubled := next((option for option in options if option in chosen), None):
            raise SettingError(f"{doubled} is set twice; keep one of {chosen[doubled]!r} and {options[doubled]!r}")
        return SSP.load(path, **chosen, **options)
    if options:
        raise SettingError(f"{name} is not a model file; --{next(iter(options))} is an option of model files alone")
    return make(name, **chosen)


def read_map(path: Path) -> str:
    """Read the text of a map."""
    return read_text(path, "a map is lines of the characters S G # .")


def check_dense(S: int, A: int) -> None:
    """Raise SettingError if a dense kernel does not fit the memory."""
    # The kernel, its nonzero entries as rows and columns, and a copy of them.
    check_memory(f"a dense model of {S} states and {A} actions", 32.0 * S * A * (S + 1))


def empty_kernel(S: int, A: int) -> Floats:
    """Return ``P[S, A, S + 1]`` without any transition; raise SettingError if it does not fit the memory."""
    check_dense(S, A)
    return np.zeros((S, A, S + 1))
