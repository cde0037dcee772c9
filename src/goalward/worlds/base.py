"""Worlds by name.

An id ends in its version, ``grid-world-v0``; the version moves when results on the world may. An id without a version
means the newest one. A world is registered by one line above its function::

    @register("sand-pit-v0")
    def sand_pit(depth: int = 3) -> SSP: ...

A world with continuous states is a `GoalTask` instead of an `SSP`; the function's annotation says which.

The parameters of the function, all with defaults, are the settings of the world. The tests run over the registry, so
a world is tested by being registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.continuous.task import GoalTask
from goalward.long_work import phase
from goalward.registry import VERSION, Builder, Registry, version
from goalward.settings import check_memory
from goalward.ssp.model import SSP

__all__ = ["World", "check_dense", "empty_kernel", "find", "known", "make", "register", "registry"]


@dataclass(frozen=True)
class World(Builder):
    """A registered world: its id, and the function that builds it from its settings."""

    build: Callable[..., SSP | GoalTask]

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
        return inspect.signature(self.build).return_annotation in (GoalTask, "GoalTask")

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


registry: Registry[World] = Registry(
    "world", ("goalward.worlds", "goalward.continuous.tasks", "goalward.continuous.navigation"), World
)
find, known, register = registry.find, registry.known, registry.register


def make(id: str, /, **settings: Any) -> Any:
    """Build a world by its id: an `SSP`, or a `GoalTask` if its states are continuous.

    >>> from goalward import worlds
    >>> worlds.make("grid-world-v0", success=1.0)
    SSP(states=11, actions=4, transitions=44, costs=1, initial_state=0)
    """
    entry = registry.find(id)
    with phase(f"building {id}"):
        world = entry.from_settings(settings)
    return world.named(entry.id, entry.complete(settings)) if isinstance(world, GoalTask) else world


def check_dense(S: int, A: int) -> None:
    """Raise SettingError if a dense kernel does not fit the memory."""
    # The kernel, its nonzero entries as rows and columns, and a copy of them.
    check_memory(f"a dense model of {S} states and {A} actions", 32.0 * S * A * (S + 1))


def empty_kernel(S: int, A: int) -> Floats:
    """Return ``P[S, A, S + 1]`` without any transition; raise SettingError if it does not fit the memory."""
    check_dense(S, A)
    return np.zeros((S, A, S + 1))
