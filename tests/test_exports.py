"""The public names: all there, nothing else, and nothing loaded before it is needed."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest

import goalward

HEAVY = ("numpy", "scipy", "numba", "llvmlite", "matplotlib", "typer", "rich", "gymnasium", "pyarrow", "pydantic")
MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(goalward.__path__, "goalward.")
    if not module.name.endswith("__main__")
]


def test_every_public_name_is_there_and_lives_where_the_table_says() -> None:
    assert len(set(goalward.__all__)) == len(goalward.__all__)
    for name in goalward.__all__:
        assert getattr(goalward, name) is not None
    for name, home in goalward._homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(goalward, name)
        assert getattr(goalward, name).__module__ == home


def test_nothing_else_shows() -> None:
    assert dir(goalward) == sorted(goalward.__all__)
    with pytest.raises(AttributeError, match="module 'goalward' has no attribute 'slove'"):
        goalward.slove  # noqa: B018
    taken: dict[str, object] = {}
    exec("from goalward import *", taken)
    assert taken.keys() - {"__builtins__"} == set(goalward.__all__)


def test_type_checkers_see_the_same_names() -> None:
    """Lazy names are invisible to them but for a block of imports, which must not fall behind."""
    tree = ast.parse(Path(goalward.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    # errors is a module that the error types' import makes visible anyway.
    packages = {name: "goalward" for name in goalward._packages if name in seen or name != "errors"}
    assert seen == goalward._homes | packages


def test_modules_define_and_explain_what_they_export() -> None:
    for module in MODULES:
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module.__name__}.__all__ names {name}, which is not there"
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                # Dataclasses and named tuples without a docstring have their signature in its place.
                explained = inspect.getdoc(value) and not str(value.__doc__).startswith(f"{name}(")
                assert explained, f"{module.__name__}.{name} needs a docstring"


def test_modules_import_only_what_others_export() -> None:
    names = {module.__name__ for module in MODULES}
    for module in MODULES:
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "goalward":
                exported = getattr(importlib.import_module(str(node.module)), "__all__", ())
                for alias in node.names:
                    known = alias.name in exported or f"{node.module}.{alias.name}" in names
                    assert known, f"{module.__name__} imports {alias.name}: add it to __all__ of {node.module}"


def test_importing_loads_nothing_heavy(run_python: Callable[..., str]) -> None:
    """Not even for a look at the names, the version or the errors."""
    code = f"import sys, goalward, goalward.errors; dir(goalward); print(*[m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code) == ""


def test_importing_is_quiet(run_python: Callable[..., str]) -> None:
    """Every module can be the first to be imported, without a warning (the interpreter runs with -W error)."""
    code = "import goalward as gw; [getattr(gw, name) for name in gw.__all__]"
    assert run_python(code) == ""
