"""Does goalward work where it is installed? Facts about the installation, and tests that take some ten seconds.

The tests compare with something known: the planner with a published value, a run with the same run made again, worker
processes with this one.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from goalward import __version__
from goalward import jit as _jit
from goalward.planning.solve import solve
from goalward.studies.executors import InProcess, Processes, cores
from goalward.studies.run_file import host
from goalward.studies.runner import run_study
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.worlds import grid_world

__all__ = ["Check", "cache_state", "facts", "run_checks"]

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


@dataclass(frozen=True)
class Check:
    """One test: what was tried, whether it passed, how long it took, and what went wrong."""

    name: str
    passed: bool
    seconds: float
    reason: str = ""


def facts() -> list[tuple[str, str]]:
    """Return what is installed where."""
    found = [
        ("goalward", __version__),
        ("python", f"{platform.python_version()} in {sys.prefix}"),
        ("system", f"{platform.system()} {platform.machine()}, {host()['processor']}"),
        ("cores", f"{cores()} of {host()['cores']} may be used"),
    ]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, "not installed"))
    return [*found, ("kernel cache", cache_state())]


def cache_state() -> str:
    """Return where compiled kernels are kept, and how many there are."""
    folder = _jit.cache_directory()
    if folder is None:
        return "none: no folder can be written, so every process compiles its own; set GOALWARD_CACHE_DIR"
    kernels = len(_jit.kernels())
    kept = len(list(folder.rglob("*.nbi")))
    state = "warm" if kept >= kernels else f"cold: {kept} of {kernels} kernels; the first run compiles the others"
    return f"{folder} ({state})"


def run_checks() -> list[Check]:
    """Run all tests."""
    tests: list[tuple[str, Callable[[], str]]] = [
        ("kernels compile or load", check_kernels),
        ("the planner agrees with a published value", check_planner),
        ("a run is the same twice, in this process and in others", check_runs),
    ]
    checks = []
    for name, test in tests:
        start = time.perf_counter()
        try:
            reason = test()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        checks.append(Check(name, not reason, time.perf_counter() - start, reason))
    return checks


def check_kernels() -> str:
    _jit.warm_up()
    return ""


def check_planner() -> str:
    value = float(solve(grid_world(success=0.95)).values[0])
    return "" if abs(value - PUBLISHED_VALUE) < 5e-5 else f"the value is {value}, not {PUBLISHED_VALUE}"


def check_runs() -> str:
    """Run a small study twice here and once in two processes, and compare the files."""
    study = Study.from_dict(STUDY)
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name, pool in (("one", InProcess), ("two", InProcess), ("three", lambda: Processes(2))):
            store = Store.open(Path(folder) / name, create=True)
            report = run_study(study, store, pool)
            if report.failures:
                return report.failures[0].error
            found.append(digests(study, store))
    names = ("one process", "the same process again", "two processes")
    return next((f"{names[i]} made other results" for i in (1, 2) if found[i] != found[0]), "")


def digests(study: Study, store: Store) -> list[str]:
    design = study.design
    return [store.read(key).document["data_sha256"] for cell in design.cells for key in design.keys(cell)]
