"""A world as it is named on a command line: an id of the registry, a model file, or a map in a text file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from goalward.errors import FileError, SettingError
from goalward.model.ssp import SSP
from goalward.settings import read_settings
from goalward.worlds.base import make

__all__ = ["load"]


def load(name: str, settings: Iterable[str] = ()) -> SSP:
    """Return the world of an id, with settings such as ``rows=5``, or the model in a file.

    Names that end in ``.npz`` or ``.json`` are models that `SSP.save` wrote; they have no settings. Names that end in
    ``.txt`` are maps as `grid_map` reads them.
    """
    path = Path(name)
    given = read_settings(settings)
    if path.suffix == ".txt":
        if "text" in given:
            raise SettingError(f"{name} is the map; text cannot be set as well")
        return make("grid-map", text=read_map(path), **given)
    if path.suffix or path.name != name:
        if given:
            raise SettingError(f"{name} is a file and has no settings to change; {next(iter(given))!r} was given")
        return SSP.load(path)
    return make(name, **given)


def read_map(path: Path) -> str:
    """Read the text of a map."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a text file; a map is lines of the characters S G # .") from None
