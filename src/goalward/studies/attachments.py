"""The user's Python files and models that the runs of a study need.

A study sends these files to the workers, which need no access to the originals. A results folder stores them in
``attachments/``. The name of a stored file is its SHA-256 (`SSP.digest` for a model), and the content of the file must
match this name. Every stored run can therefore be repeated from the folder alone. Reading a Python file does not
execute it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goalward.errors import FileError, GoalwardError
from goalward.files import read_text
from goalward.ssp.model import SSP
from goalward.user_code import UserFile, digests_in, remember


@dataclass(frozen=True)
class Attachments:
    """Models and Python files by their SHA-256; `folder`, if given, holds the files that are not in memory.

    >>> Attachments().model("ab" * 32)
    Traceback (most recent call last):
    ...
    goalward.errors.FileError: the model abababababab... is not attached; run the study once more to attach it
    """

    models: dict[str, SSP] = field(default_factory=dict)
    files: dict[str, UserFile] = field(default_factory=dict)
    folder: Path | None = None

    def model(self, digest: str) -> SSP:
        """Return the model with this `digest`; raises FileError if the model is missing or has another digest."""
        if digest not in self.models:
            path = self.path(digest, "model", ".npz")
            try:
                model = SSP.load(path)
            except GoalwardError as error:
                raise FileError(f"{error}; run the study once more to attach the model again") from None
            if model.digest != digest:
                raise changed(path)
            self.models[digest] = model
        return self.models[digest]

    def file(self, digest: str) -> UserFile:
        """Return the Python file with this `digest`; raises FileError if the file is missing or has another digest."""
        if digest not in self.files:
            path = self.path(digest, "Python file", ".py")
            file = UserFile(str(path), read_text(path, "it should be a Python file", follow=False))
            if file.digest != digest:
                raise changed(path)
            self.files[digest] = file
        return self.files[digest]

    def path(self, digest: str, what: str, ending: str) -> Path:
        """Return the path of an attachment; raises FileError if the folder does not hold the file."""
        # A digest may come from a stranger's file, so it must not lead out of the folder.
        if self.folder is not None and re.fullmatch("[0-9a-f]{64}", digest):
            path = self.folder / f"{digest}{ending}"
            if path.is_file() and not path.is_symlink():
                return path
        raise FileError(f"the {what} {digest[:12]}... is not attached; run the study once more to attach it")

    def only(self, models: Iterable[str | None], files: Iterable[str]) -> Attachments:
        """Return the attachments with these digests. All of them are read into memory."""
        return Attachments(
            {digest: self.model(digest) for digest in set(models) if digest},
            {digest: self.file(digest) for digest in set(files)},
        )

    def remember(self, identity: Any) -> None:
        """Register the Python files that are named in `identity`, a part of a run's specification."""
        for digest in digests_in(str(identity)):
            remember(self.file(digest))

    def missing_in(self, stored: Attachments) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of each attachment that `stored` does not have."""
        for digest, file in self.files.items():
            if not can_read(stored.file, digest):
                yield f"{digest}.py", file.text.encode()
        for digest, model in self.models.items():
            if not can_read(stored.model, digest):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "model.npz"
                    model.save(path)
                    yield f"{digest}.npz", path.read_bytes()


def can_read(read: Callable[[str], object], digest: str) -> bool:
    try:
        read(digest)
    except FileError:
        return False
    return True


def changed(path: Path) -> FileError:
    return FileError(f"{path}: the content does not match the file name; run the study again to attach the file")
