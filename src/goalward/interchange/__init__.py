"""Reads and writes files of models, logs and solutions. No file is executed.

`read` and `write` choose the format by the file extension:

==================================  ============================================  =================================
extension                           format                                        options of `read`
==================================  ============================================  =================================
``.npz``, ``.json``                 goalward's own formats                        start
``.csv``, ``.parquet``              tables of transitions                         goal, start, normalize, prior
``.umb``                            Unified Markov Binary: PRISM, Storm, Modest   goal, start, cost, normalize
``.drn``                            Storm's explicit models as text               goal, start, cost, normalize
==================================  ============================================  =================================

The module of a format is imported when a file of the format is read or written. An ``.npz`` file is an archive without
pickle (see `goalward.archive`), for models of any size. A ``.json`` file has the same fields without a checksum, for
small models that people read. If a file is damaged or invalid, `read` raises a `FileError` that names the file.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goalward import archive
from goalward.errors import FileError, GoalwardError, SettingError
from goalward.files import check_regular, read_bytes, write_bytes
from goalward.ssp.checks import ModelArrays
from goalward.ssp.layout import GridLayout

if TYPE_CHECKING:
    from goalward.ssp.model import SSP, Name


class Format(NamedTuple):
    """A file format: a module with functions `read` and `write`, and the options of `read`."""

    module: str | None
    options: tuple[str, ...]


OWN = Format(None, ("start",))
UMB = Format("goalward.interchange.umb", ("goal", "start", "cost", "normalize"))
TABLE = Format("goalward.interchange.tables", ("goal", "start", "normalize", "prior"))
FORMATS = {
    ".npz": OWN,
    ".json": OWN,
    ".csv": TABLE,
    ".parquet": TABLE,
    ".umb": UMB,
    ".drn": Format("goalward.interchange.drn", UMB.options),
}
NAME, VERSION = "goalward-ssp", 1
LANGUAGE_ENDINGS = (".prism", ".nm", ".pm", ".sm", ".jani")
LANGUAGES = (
    "Convert the model with PRISM or Storm: prism MODEL -exportmodel model.umb -ex, or"
    " storm --prism MODEL --buildfull --exportbuild model.umb"
)


def find(path: Path, does: str) -> tuple[str, Format]:
    """Return the extension of a path and the format for it. Raise FileError if there is no such format."""
    ending = path.suffix
    if ending not in FORMATS:
        *first, last = FORMATS
        hint = f". {LANGUAGES}" if ending in LANGUAGE_ENDINGS else ""
        raise FileError(f"{path}: models are {does} {', '.join(first)} or {last}, not {path.suffix!r}{hint}")
    return ending, FORMATS[ending]


def read(path: Path, **options: Any) -> dict[str, Any]:
    """Read a file and return the arguments of `SSP.from_rows`. Options that are None or False are ignored."""
    ending, format = find(path, "loaded from")
    chosen = {name: value for name, value in options.items() if value is not None and value is not False}
    for name in chosen:
        if name not in format.options:
            allowed = " and ".join(format.options)
            raise SettingError(f"{path}: {ending} files have no option {name}, only {allowed}; leave out {name}")
    check_regular(path)
    if format.module is None:
        return read_own(path, **chosen)
    try:
        fields: dict[str, Any] = importlib.import_module(format.module).read(path, **chosen)
    except GoalwardError as error:
        raise FileError(f"{path}: {error}") from None
    return fields


def write(path: Path, ssp: SSP) -> None:
    """Write a model in the format of the file extension."""
    _, format = find(path, "saved as")
    if format.module is None:
        write_own(path, ssp)
    else:
        importlib.import_module(format.module).write(path, ssp)


def write_own(path: Path, ssp: SSP) -> None:
    """Write a model in goalward's own format: an archive if the extension is ``.npz``, otherwise JSON."""
    from goalward.ssp.model import FIELDS

    fields = {name: getattr(ssp, name) for name in FIELDS}
    fields["layout"] = None if ssp.layout is None else ssp.layout.fields()
    if path.suffix == ".npz":
        archive.write(path, NAME, VERSION, fields)
        return
    fields["costs"] = np.where(ssp.available, ssp.costs, 0.0)  # JSON has no infinity
    lists = {name: fields[name].tolist() for name in ModelArrays._fields}
    text = json.dumps({"format": NAME, "version": VERSION} | fields | lists)
    write_bytes(path, f"{text}\n".encode())


def read_own(path: Path, start: Name | None = None) -> dict[str, Any]:
    """Read a file that `write_own` wrote."""
    from goalward.ssp.model import FIELDS

    if path.suffix == ".npz":
        fields = archive.read(path, NAME, VERSION)
    else:
        try:
            fields = json.loads(read_bytes(path))
        except (ValueError, RecursionError) as error:
            raise archive.damaged(path, error) from None
        archive.check_header(path, fields, NAME, VERSION)
    missing = next((name for name in FIELDS if name not in fields), None)
    if missing is not None:
        raise FileError(f"{path}: the file is damaged, because {missing!r} is missing; save the model again")
    model = {name: fields[name] for name in FIELDS}
    if model["layout"] is not None:
        try:
            model["layout"] = GridLayout(**model["layout"])
        except (TypeError, ValueError) as error:
            raise FileError(f"{path}: the layout is damaged ({error}); save the model again") from None
    if start is not None:
        from goalward.interchange.explicit import find_state

        model["initial_state"] = find_state(model["state_names"], len(model["costs"]), start)
    return model
