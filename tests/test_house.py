"""Imports point one way: a package of goalward may use only those before it in the list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import goalward

PACKAGE = Path(goalward.__file__).parent

# Parts in one line do not import each other.
HOUSE = [
    {"errors"},
    {"settings"},
    {"arrays", "seeds", "text_escapes", "files", "number_format"},
    {"archive", "html_tables", "long_work"},
    {"_jit"},
    {"registry"},
    {"model"},
    {"planning"},
    {"worlds"},
    {"beliefs"},
    {"agents"},
    {"learning"},
    {"theory"},
    {"studies"},
    {"results"},
    {"execution"},
    {"claims"},
    {"report"},
    {"cli"},
    {"__main__", "_gymnasium_registration"},
]
FLOOR = {part: floor for floor, parts in enumerate(HOUSE) for part in parts}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = ["goalward", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCES}


class Imports(ast.NodeVisitor):
    """Collects what a module imports and whether at its top; what only type checkers see does not count."""

    def __init__(self, module: str) -> None:
        self.package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
        self.found: list[tuple[str, bool]] = []
        self.depth = 0

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.generic_visit(node)
        else:
            for statement in node.orelse:
                self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        self.depth += inside
        super().visit(node)
        self.depth -= inside

    def add(self, name: str) -> None:
        self.found.append((name, self.depth == 0))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            above = self.package.split(".")[: len(self.package.split(".")) - node.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        for alias in node.names:
            name = f"{base}.{alias.name}"
            # A name taken from the root counts as taken from its home.
            self.add(name if name in MODULES else goalward._homes.get(alias.name, base) if base == "goalward" else base)

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func).endswith(("import_module", "__import__")) and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                self.add(argument.value)
        self.generic_visit(node)


def imports(module: str) -> Iterator[tuple[str, bool]]:
    visitor = Imports(module)
    visitor.visit(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    for name, at_top in visitor.found:
        if name.split(".")[0] == "goalward":
            yield name, at_top


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_every_part_has_a_place() -> None:
    parts = {part_of(module) for module in MODULES} - {""}
    assert parts <= FLOOR.keys(), f"give {sorted(parts - FLOOR.keys())} a place in HOUSE"


@pytest.mark.parametrize("module", [module for module in MODULES if module != "goalward"])
def test_imports_point_one_way(module: str) -> None:
    here = part_of(module)
    for name, _ in imports(module):
        there = part_of(name)
        if there in ("", here):
            continue
        assert FLOOR[there] < FLOOR[here], f"{module} imports {name}: {there} does not stand before {here}"


def test_the_root_imports_nothing_on_its_own() -> None:
    """But for what enters the worlds in Gymnasium's registry, which loads nothing by itself."""
    assert [name for name, _ in imports("goalward")] == ["goalward._gymnasium_registration"]


def test_no_module_waits_for_itself() -> None:
    """There are no circles between modules either, at least not among imports at the top."""
    edges = {module: {name for name, at_top in imports(module) if at_top and name != module} for module in MODULES}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, f"a circle of imports: {' -> '.join([*path[path.index(module) :], module])}"
        if module not in done:
            for name in edges.get(module, ()):
                visit(name, (*path, module))
            done.add(module)

    for module in MODULES:
        visit(module, ())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import goalward.cli", ["goalward.cli"]),
        ("from goalward.planning.solve import solve", ["goalward.planning.solve"]),
        ("from goalward.planning import solve", ["goalward.planning.solve"]),
        ("from goalward import solve, __version__", ["goalward.planning.solve", "goalward"]),
        ("def f():\n    from goalward import cli", ["goalward.cli"]),
        ("from ..planning import solve", ["goalward.planning.solve"]),
        ("from . import ssp", ["goalward.model.ssp"]),
        ("import importlib\nimportlib.import_module('goalward.cli')", ["goalward.cli"]),
        ("if TYPE_CHECKING:\n    import goalward.cli", []),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import goalward.cli", ["goalward.cli"]),
        ("try:\n    import goalward.cli\nexcept ImportError:\n    pass", ["goalward.cli"]),
    ],
)
def test_no_way_of_importing_escapes(source: str, expected: list[str]) -> None:
    visitor = Imports("goalward.model.checks")
    visitor.visit(ast.parse(source))
    assert [name for name, _ in visitor.found if name.startswith("goalward")] == expected
