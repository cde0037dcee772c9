"""The verbs about the installation: list what there is, check whether it works.

The tests of ``doctor`` compare with something known: the planner with a published value, a run with the same run
repeated, worker processes with this one.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goalward import __version__
from goalward.cli.app import Format, app, say, show
from goalward.errors import UnknownNameError
from goalward.table import Cell, Columns, Table

if TYPE_CHECKING:
    from goalward.registry import Registry
    from goalward.settings import Setting
    from goalward.studies.store import Store
    from goalward.studies.study import Study

__all__ = ["cache_state", "doctor", "installed", "list_things", "run_checks"]

PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "pydantic", "matplotlib", "typer", "rich", "distributed", "gymnasium")
# V* of the start of the UC-SSP paper's grid, as printed there, with the decimals of our own planner.
PUBLISHED_VALUE = 5.3014
STUDY = {
    "name": "doctor",
    "runs": 2,
    "episodes": 200,
    "worlds": [{"world": "grid-world-v0"}],
    "agents": [{"agent": "psrl"}, {"agent": "uniform"}],
}


@app.command("list")
def list_things(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="agents, figures, priors, studies or worlds.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show the settings of one of them.")] = None,
    format: Format = "text",
) -> None:
    """List the agents, figures, priors, studies or worlds by name."""
    from goalward.registry import summary

    if kind == "studies":
        show(studies_table(name), format=format)
        return
    registry = registry_of(kind)
    if name is None:
        texts = {entry: summary(thing) for entry, thing in registry}
        for entry, thing in registry:
            if purpose := getattr(thing, "__dict__", {}).get("recommended"):
                texts[entry] += f" RECOMMENDED for {purpose}."
        show(names_table(kind, texts), format=format)
    else:
        show(settings_table(registry, name), format=format)


def registry_of(kind: str) -> Registry[Any]:
    from goalward.agents.base import registry as agents
    from goalward.beliefs.base import registry as priors
    from goalward.figures import registry as figures
    from goalward.worlds.base import registry as worlds

    registries: dict[str, Registry[Any]] = {"agents": agents, "figures": figures, "priors": priors, "worlds": worlds}
    if kind not in registries:
        raise UnknownNameError("list", kind, (*registries, "studies"))
    return registries[kind]


def names_table(kind: str, descriptions: Mapping[str, str]) -> Table:
    rows = [{"name": name, "description": text} for name, text in descriptions.items()]
    return Table(rows, name=kind, notes=[f"goalward list {kind} NAME shows the settings of one"])


def studies_table(name: str | None) -> Table:
    from goalward.studies.study import shipped_studies

    known = {spec.name: spec.description for spec in shipped_studies()}
    if name is None:
        return names_table("studies", known)
    if name not in known:
        raise UnknownNameError("study", name, known)
    facts = {"name": name, "description": known[name], "settings": f"goalward run {name} --show"}
    return Table.facts(facts, "study")


def settings_table(registry: Registry[Any], name: str) -> Table:
    """Return the settings of an entry: their defaults as a command line takes them, and what is allowed."""
    from goalward.registry import summary
    from goalward.settings import settings_of

    entry = registry.find(name)
    thing = getattr(entry, "build", entry)  # a world is built by a function
    needs = getattr(thing, "needs", ())
    rows = [
        {"setting": setting, "default": default_text(about, setting in needs), "allowed": about.allowed}
        for setting, about in settings_of(thing).items()
    ]
    python_only = getattr(thing, "python_only", "")
    notes = [f"in Python only: {python_only}"] if python_only else []
    return Table(rows, ["setting", "default", "allowed"], "settings", f"{name}: {summary(entry)}", notes)


def default_text(setting: Setting, from_world: bool) -> str:
    """Write the default of a setting as a command line takes it; only the first line of a longer text."""
    from goalward.settings import MISSING, plain

    if setting.default is MISSING:
        return "computed from the true world" if from_world else "required"
    if setting.registry is not None and setting.default is not None:
        # An inline table of TOML, which has no word for None.
        values = plain(setting.default)
        return f"{{{', '.join(f'{name} = {value!r}' for name, value in values.items() if value is not None)}}}"
    first, _, rest = str(setting.default).partition("\n")
    return f"{first} ..." if rest else first


@app.command()
def doctor(
    test: Annotated[bool, typer.Option("--test/--no-test", help="Also test it, which takes some ten seconds.")] = True,
    format: Format = "text",
) -> None:
    """Print what is installed and whether it works."""
    checks = run_checks() if test else []
    passed = all(check["passed"].value for check in checks)
    columns: Columns = ["passed", "seconds", "test", *(["reason"] if not passed else [])]
    tables = [Table.facts(installed(), "installed"), Table(checks, columns, "checks")]
    show(*tables[: 1 + test], format=format)
    if test:
        verdict = "all tests passed" if passed else "some tests failed; goalward --debug doctor shows more"
        say("", verdict, format=format)
    if not passed:
        raise typer.Exit(1)


def installed() -> dict[str, str]:
    """Return what is installed where."""
    from importlib.metadata import PackageNotFoundError, version

    from goalward.studies.executors import cores
    from goalward.studies.run_file import host

    facts = {
        "goalward": __version__,
        "python": f"{platform.python_version()} in {sys.prefix}",
        "system": f"{platform.system()} {platform.machine()}, {host()['processor']}",
        "cores": f"{cores()} of {host()['cores']} may be used",
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    return facts | {"kernel_cache": cache_state()}


def cache_state() -> str:
    """Return where compiled kernels are stored, and how many there are."""
    from goalward import jit

    folder = jit.cache_directory()
    if folder is None:
        return "none: no folder can be written, so every process compiles its own; set GOALWARD_CACHE_DIR"
    files = list(folder.rglob("*.nbc"))
    # Several installations with the same sources share the folder, each with its own copies.
    compiled, megabytes = len({path.name for path in files}), sum(path.stat().st_size for path in files) / 1e6
    return f"{folder} (writable): {compiled} of {len(jit.kernels())} kernels are compiled, {megabytes:.1f} MB"


def run_checks() -> list[dict[str, Any]]:
    """Run all tests; return a row for each, with the reason if it failed."""
    tests: list[tuple[str, Callable[[], str]]] = [
        ("kernels compile or load", check_kernels),
        ("the planner agrees with a published value", check_planner),
        ("a run is the same twice, in this process and in others", check_runs),
    ]
    rows = []
    for name, test in tests:
        start = time.perf_counter()
        try:
            reason = test()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - start
        passed = Cell(not reason, "FAILED" if reason else "ok")
        rows.append({"passed": passed, "seconds": Cell(seconds, f"{seconds:.1f} s"), "test": name, "reason": reason})
    return rows


def check_kernels() -> str:
    from goalward.learning.warm_up import warm_up

    warm_up()
    return ""


def check_planner() -> str:
    from goalward.planning.solve import solve
    from goalward.worlds import grid_world

    value = float(solve(grid_world(success=0.95)).values[0])
    return "" if abs(value - PUBLISHED_VALUE) < 5e-5 else f"the value is {value}, not {PUBLISHED_VALUE}"


def check_runs() -> str:
    """Run a small study twice here and once in two processes, and compare the files."""
    from goalward.studies.executors import Processes, ThisProcess
    from goalward.studies.runner import run_study
    from goalward.studies.store import Store
    from goalward.studies.study import Study

    study = Study.from_dict(STUDY)
    with tempfile.TemporaryDirectory() as folder:
        digests = []
        for name, workers in (("one", ThisProcess), ("two", ThisProcess), ("three", lambda: Processes(2))):
            store = Store.open(Path(folder) / name, create=True)
            report = run_study(study, store, workers)
            if report.failures:
                return report.failures[0].error
            digests.append(data_digests(study, store))
    names = ("one process", "the same process again", "two processes")
    return next((f"{names[i]} made other results" for i in (1, 2) if digests[i] != digests[0]), "")


def data_digests(study: Study, store: Store) -> list[str]:
    design = study.design
    return [store.read(key).document["data_sha256"] for cell in design.cells for key in design.keys(cell)]
