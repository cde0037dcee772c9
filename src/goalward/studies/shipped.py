"""The studies that come with goalward: ``studies/`` in the repository, ``shipped/`` here in an installed package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from goalward.errors import FileError, UnknownNameError
from goalward.studies.spec import StudySpec, load_spec

__all__ = ["find_study", "shipped_folder", "shipped_studies"]


def shipped_folder() -> Path:
    """Return the folder of the studies that come with goalward."""
    room = Path(__file__).parent
    for folder in (room / "shipped", room.parents[2] / "studies"):
        if folder.is_dir():
            return folder
    raise FileError("the studies of goalward are not installed; give the path of a study instead of a name")


def shipped_studies() -> Iterator[StudySpec]:
    """Return the studies that come with goalward."""
    for path in sorted(shipped_folder().glob("*.toml")):
        yield load_spec(path)[0]


def find_study(name: str) -> Path:
    """Return the file of a study, given as a path or as the name of a shipped one."""
    path = Path(name)
    if path.suffix == ".toml" or path.name != name:
        return path
    shipped = shipped_folder() / f"{name}.toml"
    if not shipped.exists():
        known = [path.stem for path in shipped_folder().glob("*.toml")]
        raise UnknownNameError("study", name, known)
    return shipped
