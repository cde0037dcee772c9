"""Agents in the user's own files: ``my_agent.py:MyAgent``.

This Python file is the only user file that goalward ever executes. Its text travels with the runs, so workers need not
see the file, and its hash is part of the key of every run, so an edit makes new results and leaves the old ones.
The file may import whatever is installed; files beside it are not found, because the hash would not notice them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from goalward.agents.base import Agent, Learner, StepAgent
from goalward.errors import FileError, SettingError, UnknownNameError

__all__ = ["AgentFile", "is_reference", "load_class", "read_agent_file"]


class AgentFile(NamedTuple):
    """The text of a user's file and the name of the class in it."""

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
    """Read the file of a reference; its path is relative to the folder."""
    name, colon, member = reference.rpartition(":")
    if not colon or not name.endswith(".py") or not member.isidentifier():
        raise SettingError(f"{reference!r} names no class in a file; write file.py:Class, such as my_agent.py:MyAgent")
    path = folder / name
    try:
        return AgentFile(str(path), member, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a Python file in UTF-8") from None


def load_class(file: AgentFile) -> type[Learner]:
    """Execute a user's file, once in a process, and return its class."""
    name = f"goalward_agent_{file.digest[:16]}"
    module = sys.modules.get(name)
    if module is None:
        module = ModuleType(name)
        module.__file__ = file.path
        # Tracebacks show the lines of the text that ran, whatever has become of the file.
        linecache.cache[file.path] = (len(file.text), None, file.text.splitlines(keepends=True), file.path)
        # Dataclasses and pickle look their module up.
        sys.modules[name] = module
        try:
            exec(compile(file.text, file.path, "exec"), module.__dict__)
        except BaseException as error:
            del sys.modules[name]
            if not isinstance(error, Exception | SystemExit):
                raise
            raise FileError(f"{file.path}: cannot be loaded ({type(error).__name__}: {error})") from error
    return checked_class(file, module)


def checked_class(file: AgentFile, module: ModuleType) -> type[Learner]:
    """Return the class of a loaded file, or say why it is no agent."""
    found = vars(module).get(file.member)
    if found is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise UnknownNameError(f"class in {file.path}", file.member, classes)
    if not (isinstance(found, type) and issubclass(found, Agent | StepAgent)):
        raise SettingError(
            f"{file.member} in {file.path} is no agent; derive it from goalward.agents.Agent or StepAgent"
        )
    if "__dataclass_fields__" not in vars(found):
        # The settings of an agent are its fields, and a class without any is a dataclass too.
        found = dataclasses.dataclass(eq=False)(found)
    if "name" not in vars(found):
        found.name = file.member
    return found
