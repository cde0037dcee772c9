"""What runs need beside their specification: agents in the user's own Python files, and models from files.

``my_agent.py:MyAgent`` names a class in a file, the only user file that goalward executes. Its SHA-256 is part of the
key of each run, so an edited file makes new runs beside the old ones. It may import what is installed, but not files
beside it: the SHA-256 would not change with them.

Models and agent files are sent to the workers, which need not see the files, and a results folder keeps them under
``attachments/``, named by their SHA-256 (`SSP.digest` for a model). So every stored run can be repeated from the folder
alone. What is read from there must have the SHA-256 of its name. Reading an agent file does not execute it.
"""

from __future__ import annotations

import contextlib
import hashlib
import linecache
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from goalward.agents.base import Agent, Learner
from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError
from goalward.files import read_text
from goalward.ssp.model import SSP

__all__ = ["AgentFile", "Attachments", "blaming", "is_reference", "load_class", "read_agent_file"]


class AgentFile(NamedTuple):
    """The text of a user's file, where it was, and the name of a class in it."""

    path: str
    member: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def is_reference(name: str) -> bool:
    """Return whether a name means a class in a file.

    >>> is_reference("psrl"), is_reference("folder/my_agent.py:MyAgent"), is_reference("my_agent.py")
    (False, True, True)
    """
    return ".py" in name


def read_agent_file(reference: str, folder: Path) -> AgentFile:
    """Read the file of a reference such as ``my_agent.py:MyAgent``; it is relative to the folder."""
    name, colon, member = reference.rpartition(":")
    if not colon or not name.endswith(".py") or not member.isidentifier():
        raise SettingError(f"{reference!r} does not name a class in a file; write it like my_agent.py:MyAgent")
    path = folder / name
    return AgentFile(str(path), member, read_text(path, "an agent is a class in a Python file"))


def load_class(file: AgentFile) -> type[Learner]:
    """Execute a file, once in a process, and return its class."""
    name = f"goalward_agent_{file.digest[:16]}"
    module = sys.modules.get(name)
    if module is None:
        module = ModuleType(name)
        module.__file__ = file.path
        # Tracebacks show the text that was executed, even if the file has changed since.
        linecache.cache[file.path] = (len(file.text), None, file.text.splitlines(keepends=True), file.path)
        # Dataclasses and pickle look their module up.
        sys.modules[name] = module
        try:
            # The user named this file to have it run: it is a program of theirs, like any that they start.
            exec(compile(file.text, file.path, "exec"), module.__dict__)  # noqa: S102
        except BaseException as error:
            del sys.modules[name]
            if not isinstance(error, Exception | SystemExit):
                raise
            raise FileError(f"{file.path}: cannot be loaded ({type(error).__name__}: {error})") from error
    return checked_class(file, module)


def checked_class(file: AgentFile, module: ModuleType) -> type[Learner]:
    agent = vars(module).get(file.member)
    if agent is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise UnknownNameError(f"class in {file.path}", file.member, classes)
    if not (isinstance(agent, type) and issubclass(agent, Agent)):
        what = f"{file.member} in {file.path} is not an agent"
        raise SettingError(f"{what}; derive it from goalward.agents.Agent or OnlineAgent")
    if "name" not in vars(agent):
        agent.name = file.member
    return agent


@contextlib.contextmanager
def blaming(file: AgentFile | None) -> Iterator[None]:
    """Raise SettingError where an agent fails on its settings; in a user's file, for any exception."""
    try:
        yield
    except GoalwardError:
        raise
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}"
        if file is not None:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file.path]
            where = f"{file.path}, line {lines[-1]}" if lines else file.path
            raise SettingError(f"the agent cannot be made ({where}: {what})") from error
        if not isinstance(error, TypeError | ValueError | OverflowError):
            raise
        raise SettingError(f"the agent cannot be made ({what})") from error


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
        """Return a model; raises FileError if it is missing or is another one than its name says."""
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
        """Return an agent file; raises FileError if it is missing or is another one than its name says."""
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

    def only(self, models: Iterable[str | None], files: Iterable[str | None]) -> Attachments:
        """Return some of the attachments, in memory."""
        return Attachments(
            {digest: self.model(digest) for digest in set(models) if digest},
            {digest: self.agent_file(digest) for digest in set(files) if digest},
        )

    def missing_in(self, stored: Attachments) -> Iterator[tuple[str, bytes]]:
        """Return the names and contents of the files that a folder lacks."""
        for digest, file in self.files.items():
            if not can_read(stored.agent_file, digest):
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
    return FileError(f"{path}: its content is not the one it is named after; run the study once more to attach it")
