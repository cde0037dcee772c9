"""A world as it is named on a command line: an id of the registry, a model file, or a map in a text file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from goalward.continuous.task import GoalTask
from goalward.errors import SettingError
from goalward.files import read_text
from goalward.interchange import OPTIONS
from goalward.settings import check_names, read_settings
from goalward.ssp.model import SSP
from goalward.worlds.base import make

__all__ = ["load", "load_model", "read_map"]

ENVIRONMENT = re.compile(r"(\w+/)?[A-Z]\w*-v\d+")
"""How ids of Gymnasium look; those of worlds begin with a small letter."""


def load_model(name: str, settings: Iterable[str] = (), **options: Any) -> SSP:
    """Return what `load` does; raises SettingError if it is a goal task with continuous states."""
    world = load(name, settings, **options)
    if isinstance(world, GoalTask):
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
    given = read_settings(settings)
    if path.suffix == ".txt" and not options:
        if "text" in given:
            raise SettingError(f"{name} is the map; text cannot be set as well")
        return make("grid-map", text=read_map(path), **given)
    if path.suffix or path.name != name:
        check_names(name, given, OPTIONS)
        if doubled := next((option for option in options if option in given), None):
            raise SettingError(f"{doubled} is set twice; keep one of {given[doubled]!r} and {options[doubled]!r}")
        return SSP.load(path, **given, **options)
    if options:
        raise SettingError(f"{name} is not a model file; --{next(iter(options))} is an option of model files alone")
    return make(name, **given)


def read_map(path: Path) -> str:
    """Read the text of a map."""
    return read_text(path, "a map is lines of the characters S G # .")
