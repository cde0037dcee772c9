"""The registry of worlds, and functions that build a world from its name.

The id of a world ends in a version, as in ``grid-world-v0``. The version increases when a change may affect results. An
id without a version means the newest version. The decorator `register` adds a world to the registry::

    @register("sand-pit-v0")
    def sand_pit(depth: Size = 3) -> SSP: ...

The parameters of the function are the settings of the world. Every parameter needs a default. Each call checks the
values against the annotations. If the states are continuous, the function returns a `ContinuousTask` instead of an
`SSP`. The tests run over the registry, so every registered world is tested.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from goalward.acting import contract as acting
from goalward.arrays import Floats
from goalward.errors import SettingError
from goalward.files import read_text
from goalward.progress import phase
from goalward.registry import VERSION, Registry, code_digest, version
from goalward.settings import check_memory, check_names, complete, plain, read_settings, read_value
from goalward.ssp.model import SSP
from goalward.user_code import blaming, is_reference

ENVIRONMENT = re.compile(r"([\w.]+:)?([\w-]+/)?[A-Z][\w.-]*-v\d+")
"""The pattern of Gymnasium ids; ids of goalward's worlds begin with a lower-case letter."""
RULES = ("goal", "cost", "give_up_cost")
"""The options of an environment. A model accepts only ``give_up_cost``."""

AnyWorld = SSP | acting.World[Any, Any]


@dataclass(frozen=True)
class World:
    """A world with an id; the function `build` builds the world from its settings.

    `id` may also be a Gymnasium id, or refer to a function or class in a user's file. Such a function or class returns
    a model, an environment or any `goalward.acting.contract.World`.
    """

    id: str
    build: Callable[..., Any]

    def __post_init__(self) -> None:
        if not is_foreign(self.id) and not VERSION.search(self.id):
            raise ValueError(f"{self.id!r} is not a valid id of a world; it must end in a version: '{self.id}-v0'")

    @property
    def continuous(self) -> bool:
        """Whether the world is a goal task with continuous states."""
        return str(inspect.signature(self.build).return_annotation) == "ContinuousTask"

    @property
    def family(self) -> str:
        """The id without its version, or the name of the function or class if the world is in a user's file."""
        return VERSION.sub("", self.id).rpartition(":")[2]

    @property
    def version(self) -> int:
        return version(self.id)

    def complete(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return `settings` as plain data and add the defaults. A foreign world has no defaults; its code is hashed."""
        return plain(dict(settings)) if is_foreign(self.id) else complete(self.id, self.build, settings)


class Worlds(Registry[World]):
    """The registry of worlds; it also finds Gymnasium environments by their ids."""

    def find(self, name: object) -> World:
        if not is_environment(name):
            return super().find(name)
        from goalward.environments.by_name import make_environment

        return World(str(name), partial(make_environment, str(name)))

    def code(self, name: object) -> str | None:
        if not is_environment(name):
            return super().code(name)
        from goalward.environments.by_name import environment_class

        return code_digest(environment_class(str(name)))


registry = Worlds("world", ("goalward.worlds", "goalward.continuous"), World)
find, known, register = registry.find, registry.known, registry.register


def is_environment(name: object) -> bool:
    """Return whether `name` is a Gymnasium id."""
    return isinstance(name, str) and ENVIRONMENT.fullmatch(name) is not None and not Path(name).exists()


def is_foreign(name: str) -> bool:
    """Return whether `name` is a Gymnasium id or refers to a user's file. Such worlds are not in the registry."""
    return is_reference(name) or is_environment(name)


def make(id: str, /, **settings: Any) -> SSP:
    """Return the model of the world `id` with `settings`; for continuous states, use `goalward.continuous.make`.

    >>> from goalward import worlds
    >>> worlds.make("grid-world-v0", success=1.0)
    SSP(states=11, actions=4, transitions=44, costs=1, initial_state=0)
    """
    world = build(id, settings)
    if not isinstance(world, SSP):
        raise SettingError(f"{id} has continuous states, so it has no model; use goalward.continuous.make({id!r})")
    return world


def build(id: str, settings: Mapping[str, Any], **rules: Any) -> AnyWorld:
    """Build the world `id` with `settings` and apply the options in `rules`; see `with_rules`."""
    return with_rules(find(id).family, build_bare(id, settings), **rules)


def build_bare(id: str, settings: Mapping[str, Any]) -> Any:
    """Call the function of the world `id` and return the result: a model, a world or an environment."""
    entry, foreign = find(id), is_foreign(id)
    with phase(f"building {entry.family}"), blaming(f"the world {entry.family}") if foreign else nullcontext():
        world = entry.build(**settings)
    # A task with continuous states stores its id and settings.
    return world.named(entry.id, entry.complete(settings)) if hasattr(world, "named") and not foreign else world


def with_rules(name: str, world: Any, **rules: Any) -> AnyWorld:
    """Return `world` with options: ``goal``, ``cost`` and ``give_up_cost``; a model accepts only ``give_up_cost``."""
    if isinstance(world, SSP) and rules.keys() == {"give_up_cost"}:
        return world.with_give_up(rules["give_up_cost"])
    if not isinstance(world, SSP | acting.World):
        from goalward.continuous.task import world_of

        space: Any = getattr(world, "observation_space", None)
        return world_of(world, type(space).__name__ == "Box" and space.dtype.kind == "f" and not rules, **rules)
    if rules:
        what = "a model" if isinstance(world, SSP) else "a world that defines its goal and costs itself"
        raise SettingError(f"{name} is {what}; omit {' and '.join(rules)}")
    return world


def load(name: str, settings: Iterable[str] = (), **options: Any) -> SSP:
    """Return the model of the world `name`; see `load_world` for `settings` and `options`.

    The model of an environment is built from its transition table.
    """
    rules = {"give_up_cost": options.pop("give_up_cost")} if "give_up_cost" in options else {}
    world: Any = load_world(name, settings, **options)
    if isinstance(world, acting.World) and world.continuous:
        raise SettingError(
            f"{name} has continuous states, so it has no transition table to show or to solve; to learn in it, use"
            f" goalward learn {name} --agent continuous-psrl"
        )
    if not isinstance(world, SSP):
        from goalward.environments.by_name import closing
        from goalward.environments.tables import from_gymnasium

        with closing(world):
            world = from_gymnasium(world.environment, goal=world.goal.reached, cost=world.cost.function)
    return with_rules(name, world, **rules)  # type: ignore[return-value]


def load_world(name: str, settings: Iterable[str] = (), **options: Any) -> AnyWorld:
    """Return the world that `name` means on the command line.

    Parameters
    ----------
    name
        The id of a world, a Gymnasium id (``Taxi-v4``), a ``.txt`` file with a map for `grid_map`, a model file, or a
        function or class in a file (``my_env.py:make_env``) that returns a model, an environment or a world.
    settings
        Strings such as ``rows=5``. Depending on `name`, they are settings of the world, arguments of
        ``gymnasium.make``, arguments of the function, or options of `SSP.load`.
    options
        Models and environments accept ``give_up_cost``. Environments also accept ``goal`` and ``cost`` (see
        `goalward.Environment`); text that looks like a number becomes a number. Model files accept the options of
        `SSP.load`.
    """
    path, chosen = Path(name), read_settings(settings)
    if is_foreign(name):
        check_names(name, options, RULES)
        return build(name, chosen, **{rule: rule_value(value) for rule, value in options.items()})
    rules = {"give_up_cost": options.pop("give_up_cost")} if "give_up_cost" in options else {}
    if path.suffix == ".txt" and not options:
        return build("grid-map", chosen | {"text": read_map(path)}, **rules)
    if path.suffix or path.name != name:
        check_names(name, [*chosen, *options], list(inspect.signature(SSP.load).parameters)[1:])
        cost = {"cost": rule_value(options["cost"])} if "cost" in options else {}
        return with_rules(name, SSP.load(path, **chosen | options | cost), **rules)
    if options:
        option = next(iter(options))
        raise SettingError(f"{name} is a built-in world, which has its own {option}; omit --{option}")
    return build(name, chosen, **rules)


def rule_value(value: Any) -> Any:
    """Return a goal or cost rule from the command line; a string that looks like a number becomes a number."""
    only = value[0] if isinstance(value, list) and len(value) == 1 else value
    return read_value(only) if isinstance(only, str) else only


def read_map(path: Path) -> str:
    """Return the text of a map file."""
    return read_text(path, "a map consists of lines of the characters S G # .")


def check_dense(S: int, A: int) -> None:
    """Raise SettingError if a dense kernel does not fit into memory."""
    # The kernel, its nonzero entries as rows and columns, and a copy of them.
    check_memory(f"a dense model of {S} states and {A} actions", 32.0 * S * A * (S + 1))


def empty_kernel(S: int, A: int) -> Floats:
    """Return an array of zeros for a kernel ``P[S, A, S + 1]``; raises SettingError if it does not fit into memory."""
    check_dense(S, A)
    return np.zeros((S, A, S + 1))
