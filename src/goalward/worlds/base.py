"""Worlds by name: the registry of the built-in worlds, and a world as it is named on a command line.

An id ends in its version, ``grid-world-v0``; the version moves when results on the world may. An id without a version
means the newest one. A world is registered by one line above its function::

    @register("sand-pit-v0")
    def sand_pit(depth: Size = 3) -> SSP: ...

The parameters of the function, all with defaults, are the settings of the world; calls check them by their
annotations. A world with continuous states returns a `ContinuousTask` instead of an `SSP`. The tests run over the
registry, so a world is tested by being registered.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalward.arrays import Floats
from goalward.errors import SettingError
from goalward.files import read_text
from goalward.progress import phase
from goalward.registry import VERSION, Registry, version
from goalward.settings import check_memory, check_names, complete, read_settings
from goalward.ssp.model import SSP

if TYPE_CHECKING:
    from goalward.continuous.task import ContinuousTask

__all__ = [
    "World", "build", "check_dense", "empty_kernel", "find", "known", "load", "load_world", "make", "read_map",
    "register", "registry",
]  # fmt: skip

ENVIRONMENT = re.compile(r"(\w+/)?[A-Z]\w*-v\d+")
"""Ids of Gymnasium look like this; those of worlds begin with a small letter."""


@dataclass(frozen=True)
class World:
    """A registered world: its id, and the function that builds it from its settings."""

    id: str
    build: Callable[..., SSP | ContinuousTask]

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.build).parameters
        required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
        if not VERSION.search(self.id):
            raise ValueError(f"{self.id!r} cannot be the id of a world; it must end in a version: '{self.id}-v0'")
        if required or not inspect.getdoc(self.build):
            raise ValueError(
                f"{self.id!r}: every setting needs a default, the function a docstring; missing: {required}"
            )

    @property
    def continuous(self) -> bool:
        """Whether it is a goal task with continuous states."""
        annotation = inspect.signature(self.build).return_annotation
        return "ContinuousTask" in (annotation, getattr(annotation, "__name__", ""))

    @property
    def family(self) -> str:
        """The id without its version."""
        return VERSION.sub("", self.id)

    @property
    def version(self) -> int:
        """The version, the number at the end of the id."""
        return version(self.id)

    def complete(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data, defaults included."""
        return complete(self.id, self.build, settings)


registry: Registry[World] = Registry("world", ("goalward.worlds", "goalward.continuous"), World)
find, known, register = registry.find, registry.known, registry.register


def make(id: str, /, **settings: Any) -> SSP:
    """Build a model by its id; worlds with continuous states are built by `goalward.continuous.make`.

    >>> from goalward import worlds
    >>> worlds.make("grid-world-v0", success=1.0)
    SSP(states=11, actions=4, transitions=44, costs=1, initial_state=0)
    """
    world = build(id, settings)
    if not isinstance(world, SSP):
        raise SettingError(f"{id} has continuous states and no model; use goalward.continuous.make({id!r})")
    return world


def build(id: str, settings: Mapping[str, Any]) -> SSP | ContinuousTask:
    """Build any world of the registry, with finitely many or with continuous states."""
    entry = registry.find(id)
    with phase(f"building {id}"):
        world = entry.build(**settings)
    return world if isinstance(world, SSP) else world.named(entry.id, entry.complete(settings))


def load(name: str, settings: Iterable[str] = (), **options: Any) -> SSP:
    """Return the model of an id, with settings such as ``rows=5``, or the model in a file; see `load_world`."""
    world = load_world(name, settings, **options)
    if not isinstance(world, SSP):
        raise SettingError(
            f"{name} is a goal task with continuous states and has no table to look at or to solve; learn in it:"
            f" goalward learn {name} --agent continuous-psrl"
        )
    return world


def load_world(name: str, settings: Iterable[str] = (), **options: Any) -> SSP | ContinuousTask:
    """Return any world of an id, with settings such as ``rows=5``, or the model in a file.

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
        return build("grid-map", {"text": read_map(path), **chosen})
    if path.suffix or path.name != name:
        check_names(name, [*chosen, *options], list(inspect.signature(SSP.load).parameters)[1:])
        if doubled := next((option for option in options if option in chosen), None):
            raise SettingError(f"{doubled} is set twice; keep one of {chosen[doubled]!r} and {options[doubled]!r}")
        return SSP.load(path, **chosen, **options)
    if options:
        raise SettingError(f"{name} is not a model file; --{next(iter(options))} is an option of model files alone")
    return build(name, chosen)


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
