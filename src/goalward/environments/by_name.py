"""Makes environments from their Gymnasium ids, such as ``Taxi-v4``, ``namespace/Name-v0`` or ``module:Name-v0``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from goalward.errors import SettingError, UnknownNameError


def make_environment(id: str, /, **settings: Any) -> Any:
    """Make the environment `id`; `settings` are passed to ``gymnasium.make``."""
    spec = spec_of(id)
    try:
        return import_module("gymnasium").make(spec, **settings)
    except (TypeError, ImportError, import_module("gymnasium").error.Error) as error:
        raise SettingError(f"Gymnasium cannot make {id}: {error}") from None


def environment_class(id: str) -> Any:
    """Return the class or function that makes the environment with this id."""
    entry = spec_of(id).entry_point
    return import_module("gymnasium.envs.registration").load_env_creator(entry) if isinstance(entry, str) else entry


def spec_of(id: str) -> Any:
    """Return the Gymnasium spec of `id`; if `id` is unknown, raises UnknownNameError, which names the nearest id."""
    module, _, name = id.rpartition(":")
    try:
        gymnasium = import_module("gymnasium")
        import_module(module or "gymnasium")
    except ModuleNotFoundError as error:
        raise SettingError(f"{id} needs {error.name}: install it with pip install {error.name}") from None
    if name not in gymnasium.registry:
        kind = "Gymnasium environment" + " (those of a package are named package:ID)" * (not module)
        raise UnknownNameError(kind, name, gymnasium.registry)
    return gymnasium.registry[name]


@contextmanager
def closing(world: Any) -> Iterator[None]:
    """Close an environment, or the environment of a world, at the end of a ``with`` block."""
    try:
        yield
    finally:
        close = getattr(getattr(world, "environment", world), "close", None)
        if callable(close):
            close()
