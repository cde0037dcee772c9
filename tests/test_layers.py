"""Imports point one way: a package uses only those in the lines above it. docs/contributing.md has the picture."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import goalward
from goalward.lazy import lazy_names

PACKAGE = Path(goalward.__file__).parent
HOMES = lazy_names(goalward.__file__)

LAYERS = """
    errors lazy
    settings
    arrays seeds formatting files memory
    archive progress table
    jit statistics signals user_code
    registry
    ssp
    acting
    planning
    beliefs
    agents
    learning
    worlds
    theory
    environments
    continuous
    interchange
    studies
    results
    figures
    pages
    paper
    cli
    __main__
"""
FLOOR = {package: floor for floor, line in enumerate(LAYERS.split("\n")) for package in line.split()}

# Calls downwards: a model and a solution find the format of a file by its ending; `learn` wraps bare environments, and
# worlds by name include those of Gymnasium.
ALLOWED = {
    ("goalward.learning.learn", "continuous"),
    ("goalward.worlds.base", "environments"),
    ("goalward.worlds.base", "continuous"),
    ("goalward.ssp.model", "interchange"),
    ("goalward.planning.solve", "interchange"),
}


def modules() -> dict[str, Path]:
    names = {".".join(["goalward", *path.relative_to(PACKAGE).with_suffix("").parts]): path for path in SOURCES}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "examples")
MODULES = modules()


def imports(module: str) -> Iterator[tuple[str, bool]]:
    """Return the modules of goalward that a module imports, and whether it does so at its top."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    conditions = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    for_types = [node for node in conditions if "TYPE_CHECKING" in ast.unparse(node.test)]
    ignored = {inner for node in for_types for statement in node.body for inner in ast.walk(statement)}
    at_top = set(tree.body)
    for node in ast.walk(tree):
        if node in ignored or not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{module}: relative imports are not used"
                inner = f"{node.module}.{alias.name}"
                # A name taken from the root counts as taken from the module that defines it.
                name = inner if inner in MODULES else HOMES.get(alias.name, "goalward.errors")
                name = name if inner in MODULES or node.module == "goalward" else node.module or ""
            else:
                name = alias.name
            if name.split(".")[0] == "goalward":
                yield name, node in at_top


def package_of(module: str) -> str:
    return module.split(".")[1]


def test_imports_point_one_way() -> None:
    wrong = []
    for module in MODULES.keys() - {"goalward"}:
        here = package_of(module)
        assert here in FLOOR, f"give {here} a place in LAYERS"
        for name, _ in imports(module):
            there = package_of(name)
            if there != here and FLOOR[there] >= FLOOR[here] and (module, there) not in ALLOWED:
                wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(sorted(wrong))


def test_modules_do_not_import_each_other_in_circles() -> None:
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
