"""The public names: all there, nothing else, and nothing loaded before it is needed."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import goalward
import goalward.beliefs
from goalward.agents import registry as agents
from goalward.beliefs.base import registry as priors
from goalward.lazy import lazy_names
from goalward.registry import Registry
from goalward.worlds import registry as worlds

HEAVY = ("numpy", "scipy", "numba", "llvmlite", "matplotlib", "typer", "rich", "gymnasium", "pyarrow", "pydantic")
MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(goalward.__path__, "goalward.")
    if not module.name.endswith("__main__") and not module.name.startswith("goalward.examples.")
]


PACKAGES = [goalward, goalward.agents, goalward.beliefs, goalward.continuous, goalward.worlds]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_the_list_of_a_package_is_its_public_names(package: ModuleType) -> None:
    """The list is written for type checkers; look-up, ``dir`` and ``__all__`` are made from it."""
    homes = lazy_names(str(package.__file__))
    assert homes.keys() | {"__version__", "make"} >= set(package.__all__) >= homes.keys()
    assert dir(package) == sorted(package.__all__)
    for name, home in homes.items():
        value = getattr(package, name)
        assert home == package.__name__ or getattr(importlib.import_module(home), name) is value
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nothing'"):
        package.Nothing  # noqa: B018


@pytest.mark.parametrize("registry", [agents, priors, worlds], ids=lambda registry: registry.kind)
def test_everything_registered_is_listed(registry: Registry[Any]) -> None:
    """A module that nobody lists would only be known if something else imports it."""
    listed = {name for package in registry.packages for name in lazy_names(str(sys.modules[package].__file__))}
    for name, entry in registry:
        thing = getattr(entry, "build", entry)
        listing = f"list {thing.__name__} ({name}) in the __init__.py of {' or '.join(registry.packages)}"
        assert thing.__name__ in listed or not thing.__module__.startswith("goalward."), listing


def test_nothing_else_shows() -> None:
    assert dir(goalward) == sorted(goalward.__all__)
    with pytest.raises(AttributeError, match="module 'goalward' has no attribute 'slove'"):
        goalward.slove  # noqa: B018
    taken: dict[str, object] = {}
    exec("from goalward import *", taken)
    assert taken.keys() - {"__builtins__"} == set(goalward.__all__)


def defined_names(tree: ast.Module) -> set[str]:
    """The names that a module defines itself at its top, or passes on by ``import X as X``."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names if alias.asname == alias.name}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
    return names


def test_modules_import_what_others_define_and_explain() -> None:
    """A name without an underscore is for other modules, which need its docstring; its home is where it is defined."""
    trees = {module.__name__: ast.parse(Path(str(module.__file__)).read_text("utf-8")) for module in MODULES}
    defined = {name: defined_names(tree) for name, tree in trees.items()}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "goalward":
                continue
            home = str(node.module)
            listed = getattr(importlib.import_module(home), "__all__", ())
            for name in (alias.name for alias in node.names if f"{home}.{alias.name}" not in trees):
                known = name in listed or (name in defined.get(home, ()) and not name.startswith("_"))
                assert known, f"{module} imports {name} from {home}, which does not define it"
                value = getattr(importlib.import_module(home), name)
                if inspect.isfunction(value) or inspect.isclass(value):
                    # Dataclasses and named tuples without a docstring have their signature in its place.
                    explained = inspect.getdoc(value) and not str(value.__doc__).startswith(f"{name}(")
                    assert explained, f"{home}.{name} needs a docstring, because {module} imports it"


def test_importing_loads_nothing_heavy(run_python: Callable[..., str]) -> None:
    """Not even for a look at the names, the version or the errors."""
    code = f"import sys, goalward, goalward.errors; dir(goalward); print(*[m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code) == ""


def test_importing_is_quiet(run_python: Callable[..., str]) -> None:
    """Every module can be the first to be imported, without a warning (the interpreter runs with -W error)."""
    code = "import goalward as gw; [getattr(gw, name) for name in gw.__all__]"
    assert run_python(code) == ""
