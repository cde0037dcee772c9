"""The public names: all there, nothing else, and nothing loaded before it is needed."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest

import goalward

HEAVY = ("numpy", "scipy", "numba", "llvmlite", "matplotlib", "typer", "rich", "gymnasium", "pyarrow", "pydantic")
MODULES = [module.name for module in pkgutil.walk_packages(goalward.__path__, "goalward.")]


def test_every_public_name_is_there() -> None:
    for name in goalward.__all__:
        assert getattr(goalward, name) is not None
    assert len(set(goalward.__all__)) == len(goalward.__all__)


def test_each_name_stands_in_its_home() -> None:
    for name, home in goalward._homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(goalward, name)
        assert getattr(goalward, name).__module__ == home


def test_nothing_else_shows() -> None:
    assert dir(goalward) == sorted(goalward.__all__)
    with pytest.raises(AttributeError, match="module 'goalward' has no attribute 'slove'"):
        goalward.slove  # noqa: B018


def test_a_star_brings_the_public_names() -> None:
    taken: dict[str, object] = {}
    exec("from goalward import *", taken)
    assert taken.keys() - {"__builtins__"} == set(goalward.__all__)


def test_type_checkers_see_the_same_names() -> None:
    """Lazy names are invisible to them but for a block of imports, which must not fall behind."""
    tree = ast.parse(Path(goalward.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            assert alias.asname == alias.name, f"{alias.name} must be imported as {alias.name} to be public"
            seen[alias.name] = statement.module
    # errors is a module that the error types' import makes visible anyway.
    packages = {name: "goalward" for name in goalward._packages if name in seen or name != "errors"}
    assert seen == goalward._homes | packages


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_modules_offer_what_they_promise(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in getattr(loaded, "__all__", ()):
        assert hasattr(loaded, name), f"{module}.__all__ names {name}, which is not there"


def test_importing_loads_nothing_heavy(run_python: Callable[..., str]) -> None:
    """Not even for a look at the names, the version or the errors."""
    code = f"import sys, goalward, goalward.errors; dir(goalward); print(*[m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code) == ""


def test_importing_is_quiet(run_python: Callable[..., str]) -> None:
    """Every module can be the first to be imported, without a warning (the interpreter runs with -W error)."""
    code = "import goalward as gw; [getattr(gw, name) for name in gw.__all__]"
    assert run_python(code) == ""
