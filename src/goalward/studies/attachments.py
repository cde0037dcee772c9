"""The files that runs need in addition to their specification: the user's own Python files and models.

They are sent to the workers, which need no access to the original files. A results folder stores them in
``attachments/``, named by their SHA-256 (`SSP.digest` for a model), so every stored run can be repeated from the folder
alone. The content of a stored file must match the SHA-256 in its name. Reading a Python file does not execute it.
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
    """Models and Python files by their SHA-256. Those that are not in memory are read from the folder, if there is one.

    >>> Attachments().model("ab" * 32)
    Traceback (most recent call last):
    ...
    goalward.errors.FileError: the model abababababab... is not attached; run the study once more to attach it
    """

    models: dict[str, SSP] = field(default_factory=dict)
    files: dict[str, UserFile] = field(default_factory=dict)
    folder: Path | None = None

    def model(self, digest: str) -> SSP:
        """Return a model; raises FileError if it is missing or does not match its digest."""
        if digest not in self.models:
            path = self.path(digest, "model", ".npz")
            try:
                model = SSP.load(path)
            except GoalwardError as error:
                raise FileError(f"{error}; run the study once more to attach it again") from None
            if model.digest != digest:
                raise changed(path)
            self.models[digest] = model
        return self.models[digest]

    def file(self, digest: str) -> UserFile:
        """Return a Python file; raises FileError if it is missing or does not match its digest."""
        if digest not in self.files:
            path = self.path(digest, "Python file", ".py")
            file = UserFile(str(path), read_text(path, "it should be a Python file", follow=False))
            if file.digest != digest:
                raise changed(path)
            self.files[digest] = file
        return self.files[digest]

    def path(self, digest: str, what: str, ending: str) -> Path:
        """Return the file of an attachment; raises FileError if there is none."""
        # A digest may come from a stranger's file, so it must not lead out of the folder.
        if self.folder is not None and re.fullmatch("[0-9a-f]{64}", digest):
            path = self.folder / f"{digest}{ending}"
            if path.is_file() and not path.is_symlink():
                return path
        raise FileError(f"the {what} {digest[:12]}... is not attached; run the study once more to attach it")

    def only(self, models: Iterable[str | None], files: Iterable[str]) -> Attachments:
        """Return the attachments with these digests, read into memory."""
        return Attachments(
            {digest: self.model(digest) for digest in set(models) if digest},
            {digest: self.file(digest) for digest in set(files)},
        )

    def remember(self, identity: Any) -> None:
        """Register the Python files that a part of a run's specification names."""
        for digest in digests_in(str(identity)):
            remember(self.file(digest))

    def missing_in(self, stored: Attachments) -> Iterator[tuple[str, bytes]]:
        """Return the names and contents of the files that a folder lacks."""
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
    return FileError(f"{path}: the content does not match the digest in its name; run the study again to attach it")
