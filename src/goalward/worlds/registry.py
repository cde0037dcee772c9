"""Worlds by name.

An id ends in its version, ``grid-world-v0``; the version moves when results on the world may. An id without a version
means the newest one. A world is registered by one line above its function::

    @register("sand-pit-v0")
    def sand_pit(depth: int = 3) -> SSP: ...

The parameters of the function, all with defaults, are the settings of the world. The tests run over the registry, so
a world is tested by being registered.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from goalward.errors import UnknownNameError
from goalward.model.ssp import SSP
from goalward.settings import check_names

__all__ = ["World", "find", "known", "make", "register"]

Builder = TypeVar("Builder", bound=Callable[..., SSP])
_worlds: dict[str, World] = {}


@dataclass(frozen=True)
class World:
    """A registered world: its id, and the function that builds it from its settings."""

    id: str
    build: Callable[..., SSP]

    @property
    def family(self) -> str:
        """The id without its version."""
        return self.id.rpartition("-v")[0]

    @property
    def version(self) -> int:
        """The version, the number at the end of the id."""
        return int(self.id.rpartition("-v")[2])

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return inspect.getdoc(self.build).partition("\n")[0]  # type: ignore[union-attr]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings and their defaults."""
        return {name: parameter.default for name, parameter in inspect.signature(self.build).parameters.items()}


def register(id: str) -> Callable[[Builder], Builder]:
    """Enter the function below under an id such as ``grid-world-v0``."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*-v\d+", id):
        raise ValueError(f"{id!r} is no world id; write words of small letters and a version, such as 'sand-pit-v0'")
    if id in _worlds:
        raise ValueError(f"a world {id!r} is registered already; raise the version when results may move")

    def enter(build: Builder) -> Builder:
        world = World(id, build)
        bare = [name for name, default in world.settings.items() if default is inspect.Parameter.empty]
        if bare or not inspect.getdoc(build):
            raise ValueError(f"{id!r}: every setting needs a default and the function a docstring; missing: {bare}")
        _worlds[id] = world
        return build

    return enter


def known() -> tuple[str, ...]:
    """Return the ids of all worlds, sorted."""
    return tuple(sorted(_worlds))


def find(id: str) -> World:
    """Return the world of an id; without a version, the newest of that family."""
    if id in _worlds:
        return _worlds[id]
    family = [world for world in _worlds.values() if world.family == id]
    if not family:
        raise UnknownNameError("world", id, {*_worlds, *(world.family for world in _worlds.values())})
    return max(family, key=lambda world: world.version)


def make(id: str, /, **settings: Any) -> SSP:
    """Build a world by its id.

    >>> from goalward import worlds
    >>> worlds.make("grid-world-v0", success=1.0)
    SSP(states=11, actions=4, transitions=44, costs=1, initial_state=0)
    """
    world = find(id)
    check_names(world.id, settings, world.settings)
    return world.build(**settings)
