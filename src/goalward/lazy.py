"""Import public names on first use, so that ``import goalward`` is fast.

A package lists its public names once, as imports for type checkers and editors, with one name per line::

    if TYPE_CHECKING:
        from goalward.agents.posterior.psrl import PSRL as PSRL
    else:
        __getattr__, __dir__, __all__ = lazy(__name__, __file__)

`lazy_names` reads this list from the source, so a second list is not needed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

IMPORT = re.compile(r"^    from (\S+) import (\w+) as \2$", re.MULTILINE)


@cache
def lazy_names(path: str) -> dict[str, str]:
    """Return a dict from public name to module, which is read from the ``__init__.py`` of a package at `path`."""
    with open(path, encoding="utf-8") as file:
        return {name: module for module, name in IMPORT.findall(file.read())}


def lazy(
    package: str, path: str, others: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for `package`, which itself defines the names `others`."""
    homes = lazy_names(path)
    public = sorted({*homes, *others})

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: public, public
