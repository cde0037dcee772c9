"""Registries of the worlds, agents and priors that studies and the command line can name.

Each of the three kinds has one registry. A decorator registers a class or a function::

    @register("sand-pit-v0")
    def sand_pit(depth: Size = 3) -> SSP: ...

The ``__init__.py`` of each package lists goalward's own entries (see `goalward.lazy`). To find ``sand-pit``, a registry
first imports the module listed for ``sand_pit`` or ``SandPit``. If this module does not register the name, the registry
imports all listed modules. A name may end in a version, as in ``grid-world-v0``. A name without a version means the
newest version. ``my_file.py:Name`` names a class or a function in a user's file (`goalward.user_code`).
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Generic, TypeVar

from goalward.errors import SettingError, UnknownNameError
from goalward.lazy import lazy_names
from goalward.settings import checked
from goalward.user_code import described, imported_code, is_reference, load_member, read_user_file

Entry = TypeVar("Entry")
Thing = TypeVar("Thing")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
VERSION = re.compile(r"-v(\d+)$")


class Registry(Generic[Entry]):
    """The registered entries of some packages, by name.

    Parameters
    ----------
    kind
        The word for an entry in messages: "world", "agent" or "prior".
    packages
        The packages that list the entries.
    enter
        A function that takes a name and the decorated object and returns the entry.
    """

    def __init__(self, kind: str, packages: tuple[str, ...], enter: Callable[[str, Any], Entry]):
        self.kind, self.packages, self.enter = kind, packages, enter
        self.entries: dict[str, Entry] = {}
        self.codes: dict[str, str | None] = {}

    def register(self, name: str) -> Callable[[Thing], Thing]:
        """Return a decorator that registers a class or function as `name`; functions then check their arguments."""
        if not NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot name a {self.kind}; use lower-case letters, digits and hyphens, such as 'sand-pit'"
            )
        if name in self.entries:
            raise ValueError(f"{self.kind} {name!r} is already registered; use another name or the next version")

        def decorate(thing: Any) -> Any:
            if not isinstance(thing, type):
                thing = checked(thing, name)
            self.entries[name] = self.enter(name, thing)
            # Hashed now, because the file may be edited later.
            self.codes[name] = code_digest(thing)
            return thing

        return decorate

    def known(self) -> tuple[str, ...]:
        self.load("")
        return tuple(sorted(self.entries))

    def find(self, name: object) -> Entry:
        """Return the entry `name` (the newest version by default); if `name` is a reference, execute its file."""
        if not is_reference(name):
            return self.entries[self.full_name(name)]
        thing = load_member(str(name))
        if not callable(thing):
            raise SettingError(f"{described(str(name))} is not a class or a function")
        return self.enter(str(name), thing if isinstance(thing, type) else checked(thing, str(name).rpartition(":")[2]))

    def code(self, name: object) -> str | None:
        """Return a digest of the code of the entry `name` (see `code_digest`), or None for goalward's own entries.

        A reference to a user's file already contains a digest of the file. For references, this digest covers only the
        imports.
        """
        if not is_reference(name):
            return self.codes[self.full_name(name)]
        load_member(str(name))  # its imports are hashed as they were when it was loaded
        return imported_code(read_user_file(str(name))[0].text)

    def full_name(self, name: object) -> str:
        """Return `name` with its version; raise UnknownNameError if no entry has this name."""
        for modules in (None, name, ""):
            if isinstance(modules, str):
                self.load(modules)
            versions = {VERSION.sub("", full): full for full in sorted(self.entries, key=version)}
            names = versions | {full: full for full in self.entries}
            if isinstance(name, str) and name in names:
                return names[name]
        raise UnknownNameError(self.kind, name, versions)

    def load(self, name: str) -> None:
        """Import the modules that are listed under names similar to `name`; if `name` is empty, import all modules."""
        for package in self.packages:
            path = import_module(package).__file__ or ""
            for listed, module in lazy_names(path).items():
                if not name or alike(listed) == alike(VERSION.sub("", name)):
                    import_module(module)

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """Iterate over pairs of name and entry, sorted by name."""
        return ((name, self.entries[name]) for name in self.known())


def alike(name: str) -> str:
    """Return a normal form of `name`, which is the same for ``sand-pit``, ``sand_pit`` and ``SandPit``."""
    return name.replace("-", "").replace("_", "").lower()


def summary(entry: Any) -> str:
    """Return the first line of the docstring of an `entry`."""
    return (inspect.getdoc(getattr(entry, "build", entry)) or "").partition("\n")[0]


def code_digest(thing: Any) -> str | None:
    """Return a digest of the source that defines a class or function (a file or notebook cell) and of its imports.

    For goalward's own code, return None, because results record goalward's version. If the source is unknown, as at a
    Python prompt, the digest is random, because the code may differ in another session.
    """
    module = getattr(thing, "__module__", None) or ""
    if module.partition(".")[0] == "goalward":
        return None
    functions = vars(thing).values() if isinstance(thing, type) else [thing]
    codes = [inspect.unwrap(function).__code__ for function in functions if hasattr(function, "__code__")]
    for path in (getattr(sys.modules.get(module), "__file__", None), *(code.co_filename for code in codes)):
        linecache.checkcache(path)
        text = "".join(linecache.getlines(path)) if path else ""
        if text:
            package = getattr(sys.modules.get(module), "__package__", None) or ""
            return hashlib.sha256(f"{text}{imported_code(text, package)}".encode()).hexdigest()
    return uuid.uuid4().hex


def version(name: str) -> int:
    """Return the version at the end of `name`, or -1 if `name` has no version."""
    match = VERSION.search(name)
    return int(match[1]) if match else -1
