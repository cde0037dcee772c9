"""What runs need beside their specs: models from files, and users' agent files.

Both are named by a SHA-256, that of a model's content (`SSP.digest`) or of a Python text. Workers get them sent, and a
results folder keeps them under ``attachments/``, so that every stored run can be carried out again from the folder
alone. What is read from there must have the SHA-256 of its name. Reading an agent file does not execute it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from goalward.errors import FileError, GoalwardError
from goalward.files import read_text
from goalward.ssp.model import SSP
from goalward.studies.run_spec import RunSpec
from goalward.studies.user_files import AgentFile

__all__ = ["Attachments"]


@dataclass(frozen=True)
class Attachments:
    """Models and agent files by their SHA-256. Those that are not in memory are read from the folder, if there is one.

    >>> Attachments().model("ab" * 32)
    Traceback (most recent call last):
    ...
    goalward.errors.FileError: the model abababababab... is not attached; run the study once more to attach it
    """

    models: dict[str, SSP] = field(default_factory=dict)
    files: dict[str, AgentFile] = field(default_factory=dict)
    folder: Path | None = None

    def model(self, digest: str) -> SSP:
        """Return a model; raises FileError if it is not there or is another one than its name says."""
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

    def agent_file(self, digest: str) -> AgentFile:
        """Return an agent file; raises FileError if it is not there or is another one than its name says."""
        if digest not in self.files:
            path = self.path(digest, "agent file", ".py")
            file = AgentFile(str(path), "", read_text(path, "it should be a Python file", self.folder))
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

    def needed_by(self, specs: Iterable[RunSpec]) -> Attachments:
        """Return what some runs need, in memory."""
        runs = list(specs)
        models = {run.model_digest for run in runs} - {None}
        files = {run.agent_source for run in runs} - {None}
        return Attachments(
            {digest: self.model(digest) for digest in models if digest},
            {digest: self.agent_file(digest) for digest in files if digest},
        )

    def files_beyond(self, kept: Attachments) -> Iterator[tuple[str, bytes]]:
        """Return the names and contents of the files that a folder lacks; `kept` is what it has."""
        for digest, file in self.files.items():
            if not is_there(kept.agent_file, digest):
                yield f"{digest}.py", file.text.encode()
        for digest, model in self.models.items():
            if not is_there(kept.model, digest):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "model.npz"
                    model.save(path)
                    yield f"{digest}.npz", path.read_bytes()


def is_there(read: Callable[[str], object], digest: str) -> bool:
    try:
        read(digest)
    except FileError:
        return False
    return True


def changed(path: Path) -> FileError:
    return FileError(f"{path}: its content is not the one it is named after; run the study once more to attach it")
