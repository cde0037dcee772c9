"""What a study or a command line can name: worlds, agents and priors.

Each of the three packages has one registry. An entry is a class or a function below a decorator::

    @register("sand-pit-v0")
    def sand_pit(depth: int = 3) -> SSP: ...

The first look-up imports every module of the package, so a new entry is one new file and no list names it. Every entry
has three methods::

    schema()                      its settings, with their defaults
    complete(settings)            all its settings as plain data, defaults included: what the key of a run is made of
    from_settings(settings, ...)  the world, agent or prior of plain settings

A name may end in a version, ``grid-world-v0``; without it, it means the newest version.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import linecache
import pkgutil
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, Generic, Protocol, TypeVar

from goalward.errors import SettingError, UnknownNameError
from goalward.settings import check_names, plain

__all__ = [
    "MISSING", "VERSION", "Builder", "Registry", "Schema", "Setting", "code_digest", "signature_schema", "summary",
    "version",
]  # fmt: skip

Thing = TypeVar("Thing")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
VERSION = re.compile(r"-v(\d+)$")


@dataclass(frozen=True)
class Setting:
    """One setting of an entry.

    Attributes
    ----------
    default
        Its default; `MISSING` if it has none.
    registry
        The registry that names its values, such as that of the priors; None if its values are plain.
    from_world
        Whether it is read off the true world if it is not given.
    """

    default: Any = MISSING
    registry: Registry[Any] | None = None
    from_world: bool = False

    def plain(self, value: Any) -> Any:
        """Return a value as it enters keys: named entries in full, and 1 as 1.0 where the default is a float."""
        if self.registry is not None:
            return self.registry.complete(value)
        if type(self.default) is float and type(value) is int and abs(value) < 2**1023:
            return float(value)
        return value


@dataclass(frozen=True)
class Schema:
    """The settings of an entry.

    `owner` is what messages call the entry. `python_only` says why plain data cannot describe it, if that is so.
    """

    owner: str
    settings: Mapping[str, Setting]
    python_only: str = ""

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings that have a default, with it."""
        return {name: each.default for name, each in self.settings.items() if each.default is not MISSING}

    def check_names(self, given: Mapping[str, Any]) -> None:
        """Raise UnknownNameError if a name is not one of the settings."""
        check_names(self.owner, given, self.settings)

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data, without those that are read off the true world and were not given."""
        if self.python_only:
            raise SettingError(f"{self.owner} can be used in Python only: {self.python_only}")
        self.check_names(given)
        full: dict[str, Any] = {}
        for name, setting in self.settings.items():
            if name in given:
                full[name] = setting.plain(given[name])
            elif setting.from_world:
                continue
            elif setting.default is MISSING:
                raise SettingError(f"{self.owner} needs {name}; add it to its settings")
            else:
                full[name] = plain(setting.default)
        return full

    def resolve(self, given: Mapping[str, Any], *context: Any) -> dict[str, Any]:
        """Return plain settings with the objects that they name, built in their context."""
        resolved = dict(given)
        for name, setting in self.settings.items():
            if name in given and setting.registry is not None:
                resolved[name] = setting.registry.build(given[name], *context)
        return resolved


def signature_schema(owner: str, function: Callable[..., Any], python_only: str = "") -> Schema:
    """Return the schema of a function or class: its parameters that have a default."""
    parameters = inspect.signature(function).parameters
    defaults = {name: each.default for name, each in parameters.items() if each.default is not inspect.Parameter.empty}
    return Schema(owner, {name: Setting(default) for name, default in defaults.items()}, python_only)


def summary(entry: Any) -> str:
    """Return the first line of an entry's documentation."""
    return (inspect.getdoc(getattr(entry, "build", entry)) or "").partition("\n")[0]


@dataclass(frozen=True)
class Builder:
    """An entry that is a function.

    Its parameters with a default are its settings. Those without come first and are given by the caller.
    """

    name: str
    build: Callable[..., Any]

    def schema(self) -> Schema:
        """Return the settings of the function."""
        return signature_schema(self.name, self.build)

    def complete(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data."""
        return self.schema().complete(settings)

    def from_settings(self, settings: Mapping[str, Any], *context: Any) -> Any:
        """Call the function."""
        self.schema().check_names(settings)
        return self.build(*context, **settings)


class Entry(Protocol):
    """What every entry has."""

    def schema(self) -> Schema:
        """Return the settings and their defaults."""

    def complete(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data."""


AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Registry(Generic[AnyEntry]):
    """The entries of some packages by their names.

    Parameters
    ----------
    kind
        What an entry is called in messages: "world", "agent", "prior".
    packages
        The packages and modules that hold the entries; the first is where Python code looks them up.
    enter
        Returns the entry for a name and what is below the decorator.
    """

    def __init__(self, kind: str, packages: tuple[str, ...], enter: Callable[[str, Any], AnyEntry]):
        self.kind, self.packages, self.enter = kind, packages, enter
        self.entries: dict[str, AnyEntry] = {}
        self.members: dict[str, Any] = {}
        self.codes: dict[str, str | None] = {}
        self._searched = False
        self._lock = threading.RLock()

    def register(self, name: str) -> Callable[[Thing], Thing]:
        """Enter the class or function below under a name."""
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a {self.kind}; write small letters, digits and hyphens: 'sand-pit'")
        if name in self.entries:
            raise ValueError(f"{self.kind} {name!r} is registered already; take another name or the next version")

        def decorate(thing: Thing) -> Thing:
            self.entries[name] = self.enter(name, thing)
            self.members[getattr(thing, "__name__", name)] = thing
            # Now, because the file may be edited after it was imported.
            self.codes[name] = code_digest(thing)
            return thing

        return decorate

    def known(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        self.search()
        return tuple(sorted(self.entries))

    def find(self, name: object) -> AnyEntry:
        """Return the entry of a name; without a version, the newest one."""
        return self.entries[self.full_name(name)]

    def code(self, name: object) -> str | None:
        """Return the digest of the code of an entry (see `code_digest`); None if it comes with goalward."""
        return self.codes[self.full_name(name)]

    def full_name(self, name: object) -> str:
        """Return the name of an entry with its version; raise UnknownNameError if there is no such entry."""
        self.search()
        if isinstance(name, str) and name in self.entries:
            return name
        versions = {VERSION.sub("", full): full for full in sorted(self.entries, key=version) if VERSION.search(full)}
        if not isinstance(name, str) or name not in versions:
            raise UnknownNameError(self.kind, name, {*self.entries, *versions})
        return versions[name]

    def attribute(self, name: str) -> Any:
        """Return the class or function of that name in Python: the package's ``__getattr__``."""
        if not name.startswith("_"):
            self.search()
        if name not in self.members:
            raise AttributeError(f"module {self.packages[0]!r} has no attribute {name!r}")
        return self.members[name]

    def __iter__(self) -> Iterator[tuple[str, AnyEntry]]:
        """Return the names and entries, sorted."""
        return ((name, self.entries[name]) for name in self.known())

    def complete(self, given: object) -> dict[str, Any]:
        """Return the plain form of an entry: a table of its name, as ``kind``, and all its settings."""
        name, settings = self.split(given)
        return {"kind": name, **self.find(name).complete(settings)}

    def build(self, given: object, *context: Any) -> Any:
        """Build the entry of a plain form in its context."""
        name, settings = self.split(self.complete(given))
        return self.find(name).from_settings(settings, *context)  # type: ignore[attr-defined]

    def split(self, given: object) -> tuple[Any, dict[str, Any]]:
        """Return the name and the settings of a plain form: a name, or a table with a ``kind``."""
        if isinstance(given, str):
            return given, {}
        if not isinstance(given, Mapping) or "kind" not in given:
            first = next(name for name, entry in self if not entry.schema().python_only)
            example = {"kind": first, **self.find(first).schema().defaults}
            shown = ", ".join(f"{name} = {json.dumps(value)}" for name, value in example.items() if value is not None)
            raise SettingError(
                f'{self.kind} is {given!r}; it must be a name, such as "{first}", or a table such as {{ {shown} }}'
            )
        return given["kind"], {name: value for name, value in given.items() if name != "kind"}

    def search(self) -> None:
        """Import every module that may hold an entry, once."""
        with self._lock:
            if self._searched:
                return
            self._searched = True
            try:
                for package in self.packages:
                    import_all(package)
            except BaseException:
                self._searched = False
                raise


def code_digest(thing: Any) -> str | None:
    """Return the SHA-256 of the file, or of the notebook cell, that defines a class or function.

    None if it comes with goalward, whose code is covered by the version of the results. Where there is no text, as at a
    Python prompt, the digest is a random one: it is not known whether the code is the same in another session.
    """
    module = getattr(thing, "__module__", None) or ""
    if module.partition(".")[0] == "goalward":
        return None
    functions = vars(thing).values() if isinstance(thing, type) else [inspect.unwrap(thing)]
    codes = [function.__code__ for function in functions if hasattr(function, "__code__")]
    for path in (getattr(sys.modules.get(module), "__file__", None), *(code.co_filename for code in codes)):
        linecache.checkcache(path)
        text = "".join(linecache.getlines(path)) if path else ""
        if text:
            return hashlib.sha256(text.encode()).hexdigest()
    return uuid.uuid4().hex


def import_all(name: str) -> None:
    """Import a module; if it is a package, everything in it too."""
    module = importlib.import_module(name)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        import_all(f"{name}.{inner.name}")


def version(name: str) -> int:
    """Return the version at the end of a name; -1 if it has none."""
    found = VERSION.search(name)
    return int(found[1]) if found else -1
