"""Agents in the user's own files: ``my_agent.py:MyAgent``.

Such a Python file is the only user file that goalward executes. Its text is sent to the workers, which need not see
the file. Its SHA-256 is part of the key of each run, so an edited file makes new runs beside the old ones. It may
import what is installed, but not files beside it: the SHA-256 would not change with them.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from goalward.agents.base import Agent, Learner
from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.files import read_text

__all__ = ["AgentFile", "is_reference", "load_class", "read_agent_file"]


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
    found = vars(module).get(file.member)
    if found is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise UnknownNameError(f"class in {file.path}", file.member, classes)
    if not (isinstance(found, type) and issubclass(found, Agent)):
        what = f"{file.member} in {file.path} is not an agent"
        raise SettingError(f"{what}; derive it from goalward.agents.Agent or OnlineAgent")
    if "name" not in vars(found):
        found.name = file.member
    return found
