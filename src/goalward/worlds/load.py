"""A world as it is named on a command line: an id of the registry, a model file, or a map in a text file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from goalward.errors import FileError, SettingError
from goalward.model.ssp import SSP
from goalward.settings import read_settings
from goalward.worlds.base import find

__all__ = ["load"]


def load(name: str, settings: Iterable[str] = ()) -> SSP:
    """Return the world of an id, with settings such as ``rows=5``, or the model in a file.

    Names that end in ``.npz`` or ``.json`` are models that `SSP.save` wrote; they have no settings. Names that end in
    ``.txt`` are maps as `grid_map` reads them.
    """
    path = Path(name)
    pairs = list(settings)
    if path.suffix == ".txt":
        world = find("grid-map")
        defaults = {key: default for key, default in world.schema().defaults.items() if key != "text"}
        return world.build(text=read_map(path), **read_settings(name, pairs, defaults))
    if path.suffix or path.name != name:
        if pairs:
            raise SettingError(f"{name} is a file and has no settings to change; {pairs[0]!r} was given")
        return SSP.load(path)
    world = find(name)
    return world.build(**read_settings(world.id, pairs, world.schema().defaults))


def read_map(path: Path) -> str:
    """Read the text of a map."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a text file; a map is lines of the characters S G # .") from None
