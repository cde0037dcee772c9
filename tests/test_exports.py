"""The public names: all there, nothing else, and nothing loaded before it is needed."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import goalward

HEAVY = ("numpy", "scipy", "numba", "llvmlite", "matplotlib", "typer", "rich", "gymnasium", "pyarrow", "pydantic")
PACKAGE = Path(goalward.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
FOUND = [module.name for module in pkgutil.walk_packages(goalward.__path__, "goalward.")]
MODULES = [name for name in FOUND if not name.endswith("__main__")]


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
    # Type checkers see the function of this name, which the package is as well.
    packages["report"] = "goalward.report.report_page"
    assert seen == goalward._homes | packages


@pytest.mark.parametrize("module", MODULES)
def test_modules_offer_what_they_promise(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in getattr(loaded, "__all__", ()):
        assert hasattr(loaded, name), f"{module}.__all__ names {name}, which is not there"


def taken_from_others(path: Path) -> Iterator[tuple[str, str]]:
    """Return the modules of goalward from which a file takes names, with the names, also as ``module.name``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "goalward":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in MODULES:
                    modules[alias.asname or alias.name] = inner
                else:
                    yield node.module, alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_take_from_others_what_these_offer(path: Path) -> None:
    for module, name in taken_from_others(path):
        offered = getattr(importlib.import_module(module), "__all__", ())
        assert name in offered or f"{module}.{name}" in MODULES, f"add {name} to __all__ of {module}, or do without it"


@pytest.mark.parametrize("module", MODULES)
def test_what_is_offered_is_explained(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in getattr(loaded, "__all__", ()):
        value = getattr(loaded, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            # Dataclasses and named tuples without a docstring have their signature in its place.
            assert inspect.getdoc(value), f"{module}.{name} needs a docstring"
            assert not str(value.__doc__).startswith(f"{name}("), f"{module}.{name} needs a docstring"


def test_no_way_of_taking_a_name_escapes(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "from goalward import _jit as jit, solve\nfrom goalward.planning import solve as solving\n"
        "def f():\n    from goalward.seeds import hidden\n    return jit._kernels, solving.inner\n"
    )
    assert sorted(taken_from_others(path)) == [
        ("goalward", "solve"), ("goalward._jit", "_kernels"), ("goalward.planning.solve", "inner"),
        ("goalward.seeds", "hidden"),
    ]  # fmt: skip


def test_importing_loads_nothing_heavy(run_python: Callable[..., str]) -> None:
    """Not even for a look at the names, the version or the errors."""
    code = f"import sys, goalward, goalward.errors; dir(goalward); print(*[m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code) == ""


def test_importing_is_quiet(run_python: Callable[..., str]) -> None:
    """Every module can be the first to be imported, without a warning (the interpreter runs with -W error)."""
    code = "import goalward as gw; [getattr(gw, name) for name in gw.__all__]"
    assert run_python(code) == ""
