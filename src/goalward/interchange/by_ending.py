"""Read and write models in the format that the ending of a file names.

==================================  ============================================  =================================
ending                              format                                        options of reading
==================================  ============================================  =================================
``.npz``, ``.json``                 goalward's own (`interchange/model_files.py`)             start
``.csv``, ``.parquet``              tables of transitions                         goal, start, normalize,
                                                                                  sum_duplicates, prior
``.umb``                            Unified Markov Binary: PRISM, Storm, Modest   goal, start, cost, normalize
``.drn``, ``.drn.gz``, ``.drn.xz``  Storm's explicit models as text               goal, start, cost, normalize
==================================  ============================================  =================================

A module is imported when a file asks for it. Whatever is wrong with a file ends in a `FileError` that names the file.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from goalward.errors import FileError, GoalwardError, SettingError, StateError, UnknownNameError
from goalward.files import check_regular
from goalward.interchange import model_files

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

__all__ = ["OPTIONS", "find_state", "read", "write"]

OPTIONS = ("goal", "start", "cost", "normalize", "sum_duplicates", "prior")


class Format(NamedTuple):
    """The module that reads and writes a format, and the options that its reader takes."""

    module: str
    options: tuple[str, ...]


OWN = Format("goalward.interchange.model_files", ("start",))
UMB = Format("goalward.interchange.umb", ("goal", "start", "cost", "normalize"))
DRN = Format("goalward.interchange.drn", UMB.options)
TABLE = Format("goalward.interchange.tables", ("goal", "start", "normalize", "sum_duplicates", "prior"))
FORMATS = {
    ".npz": OWN,
    ".json": OWN,
    ".csv": TABLE,
    ".parquet": TABLE,
    ".umb": UMB,
    ".drn": DRN,
    ".drn.gz": DRN,
    ".drn.xz": DRN,
}


LANGUAGE_ENDINGS = (".prism", ".nm", ".pm", ".sm", ".jani")
LANGUAGES = (
    "Let PRISM or Storm write a model of its language to a file: prism MODEL -exportmodel model.umb -ex, or"
    " storm --prism MODEL --buildfull --exportbuild model.umb"
)


def find(path: Path, does: str) -> tuple[str, Format]:
    """Return the ending of a path and its format."""
    ending = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".xz") else path.suffix
    if ending not in FORMATS:
        *first, last = FORMATS
        hint = f". {LANGUAGES}" if ending in LANGUAGE_ENDINGS else ""
        raise FileError(f"{path}: a model is {does} {', '.join(first)} or {last}; the ending is {path.suffix!r}{hint}")
    return ending, FORMATS[ending]


def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read what `SSP.from_rows` takes; options that are None or False are not given."""
    ending, format = find(path, "loaded from")
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    for name in given:
        if name not in format.options:
            allowed = " and ".join(format.options)
            raise SettingError(f"{path}: {name} cannot be chosen for a {ending} file, only {allowed}; leave it out")
    check_regular(path)
    if format is OWN:
        fields = model_files.read(path)
        if "start" in given:
            fields["initial_state"] = find_state(fields["state_names"], len(fields["costs"]), given["start"])
        return fields
    try:
        fields = importlib.import_module(format.module).read(path, **given)
    except GoalwardError as error:
        raise FileError(f"{path}: {error}") from None
    return dict(fields)


def write(ssp: SSP, path: Path) -> None:
    """Write a model in the format of a path's ending."""
    _, format = find(path, "saved as")
    if format is OWN:
        model_files.write(ssp, path)
        return
    try:
        importlib.import_module(format.module).write(path, ssp)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def find_state(names: Sequence[str] | None, states: int, given: object) -> int:
    """Return the number of a state, given by its name or its number."""
    if names is not None and given in names:
        return list(names).index(str(given))
    try:
        number = int(str(given))
    except ValueError:
        raise UnknownNameError("state", str(given), names or [f"0 to {states - 1}"]) from None
    if not 0 <= number < states:
        raise StateError(f"there is no state {number}; the model has 0..{states - 1}")
    return number
