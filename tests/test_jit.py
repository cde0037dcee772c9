"""The care of compiled kernels: fresh code, one specialisation each, caches that can or cannot be written."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pytest

import goalward
from goalward import jit as _jit
from goalward.ssp import graph

RunPython = Callable[..., str]

CALLEE = "from goalward.jit import kernel\n\n\n@kernel\ndef step(x):\n    return x + 1.0\n"
CALLER = (
    "from goalward.jit import kernel\nfrom goalward.callee import step\n\n\n"
    "@kernel\ndef walk(x):\n    return step(step(x))\n"
)
WALK = "from goalward.caller import walk; print(walk(0.0), len(walk.stats.cache_hits))"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Lay out a package of the same name with the same decorator and two kernels, one of which calls the other."""
    folder = tmp_path / "site" / "goalward"
    folder.mkdir(parents=True)
    for name in ("jit.py", "progress.py", "formatting.py"):
        shutil.copy(_jit.PACKAGE / name, folder)
    (folder / "__init__.py").write_text("")
    (folder / "callee.py").write_text(CALLEE)
    (folder / "caller.py").write_text(CALLER)
    return folder


def edit_callee(package: Path) -> None:
    source = (package / "callee.py").read_text()
    assert "x + 1.0" in source
    (package / "callee.py").write_text(source.replace("x + 1.0", "x + 10.0"))


def test_an_edited_callee_is_not_served_stale(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    cache = str(tmp_path / "cache")
    assert run_python(WALK, path=package.parent, GOALWARD_CACHE_DIR=cache) == "2.0 0"
    assert run_python(WALK, path=package.parent, GOALWARD_CACHE_DIR=cache) == "2.0 1"
    edit_callee(package)
    assert run_python(WALK, path=package.parent, GOALWARD_CACHE_DIR=cache) == "20.0 0"


def test_without_the_hash_it_would_be(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    """Numba looks at the caller's file only; if this ever fails, the hash of all sources has become needless."""
    fixed = f"from goalward import jit; jit.source_hash = lambda: 'fixed'; {WALK}"
    cache = str(tmp_path / "cache")
    assert run_python(fixed, path=package.parent, GOALWARD_CACHE_DIR=cache) == "2.0 0"
    edit_callee(package)
    assert run_python(fixed, path=package.parent, GOALWARD_CACHE_DIR=cache) == "2.0 1"


def test_the_hash_covers_packages_with_kernels_and_versions(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("with_kernels", "without"):
        (package / folder).mkdir()
        (package / folder / "constants.py").write_text("x = 1\n")
    (package / "with_kernels" / "kernels.py").write_text(CALLEE)
    seen = {_jit.source_hash(package)}
    (package / "without" / "constants.py").write_text("x = 2\n")
    (package / "formatting.py").write_text("")  # beside the kernels, but no kernel reads a constant of it
    assert _jit.source_hash(package) in seen
    (package / "with_kernels" / "constants.py").write_text("x = 2\n")
    seen.add(_jit.source_hash(package))
    edit_callee(package)
    seen.add(_jit.source_hash(package))
    shutil.move(package / "callee.py", package / "renamed.py")
    seen.add(_jit.source_hash(package))
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    seen.add(_jit.source_hash(package))
    assert len(seen) == 5


def test_nothing_is_written_beside_the_sources(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    before = sorted(package.rglob("*"))
    cache = tmp_path / "cache"
    run_python(WALK, path=package.parent, GOALWARD_CACHE_DIR=str(cache))
    assert sorted(package.rglob("*")) == before
    assert {path.suffix for path in cache.rglob("*") if path.is_file()} == {".nbi", ".nbc"}


WHERE = f"{WALK}; from goalward.jit import cache_directory; print(cache_directory())"

REASON = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from goalward.jit import cache_directory
    print(cache_directory(), *(warning.message for warning in caught))
"""


def test_a_given_folder_that_cannot_be_written(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    """Kernels are then compiled in each process; no other folder is used behind the user's back."""
    (tmp_path / "file").write_text("no folder")
    for _ in range(2):
        text = run_python(WHERE, path=package.parent, GOALWARD_CACHE_DIR=str(tmp_path / "file" / "cache"))
        assert text.split() == ["2.0", "0", "None"]


def test_a_folder_that_is_full(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    # No file may have a byte, as on a full disk: the kernels run all the same and are not kept.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    cache = tmp_path / "cache"
    assert run_python(limit + WALK, path=package.parent, GOALWARD_CACHE_DIR=str(cache)) == "2.0 0"
    assert not list(cache.rglob("*.nb?"))
    for expected in ("2.0 0", "2.0 1"):  # with room again they are kept
        assert run_python(WALK, path=package.parent, GOALWARD_CACHE_DIR=str(cache)) == expected


def test_a_given_folder_that_others_can_write_is_refused(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    text = run_python(REASON, path=package.parent, GOALWARD_CACHE_DIR=str(tmp_path / "open"))
    assert text.startswith(f"None compiled kernels are not cached: other users can write to {tmp_path / 'open'}")


def test_kernels_of_other_versions_are_removed_after_a_month(
    package: Path, tmp_path: Path, run_python: RunPython
) -> None:
    for name, days in (("kernels-old", 31), ("kernels-recent", 29)):
        (tmp_path / name).mkdir()
        then = time.time() - days * 24 * 3600
        os.utime(tmp_path / name, (then, then))
    run_python(REASON, path=package.parent, GOALWARD_CACHE_DIR=str(tmp_path))
    kept = {path.name for path in tmp_path.glob("kernels-*")}
    assert "kernels-recent" in kept
    assert "kernels-old" not in kept


def test_the_cache_lies_in_the_users_cache_directory(package: Path, tmp_path: Path, run_python: RunPython) -> None:
    code = "from goalward.jit import cache_directory; print(cache_directory().parent)"
    places = {"GOALWARD_CACHE_DIR": "", "HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    assert run_python(code, path=package.parent, **places) == str(tmp_path / ".cache" / "goalward")


def test_one_specialisation_per_kernel(tmp_path: Path) -> None:
    """After tests/compile_kernels.py, which must reach every kernel, and after work; in a cache that was empty."""
    record = Path(os.environ.get("GOALWARD_KERNEL_RECORD", tmp_path / "record.json"))
    if not record.exists():
        program = Path(__file__).with_name("compile_kernels.py")
        environment = os.environ | {"GOALWARD_CACHE_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-W", "error", program, record], env=environment, check=True)
    compiled = json.loads(record.read_text())
    names = {f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.__name__}" for kernel in _jit.kernels()}
    missed = {name for name in names if not any(file.startswith(f"{name}-") for file in compiled["warmed_up"])}
    assert not missed, "reach these kernels in tests/compile_kernels.py"
    assert len(compiled["warmed_up"]) == len(_jit.kernels())
    assert {name: number for name, number in compiled["warmed_up"].items() if number > 1} == {}
    assert compiled["worked"] == compiled["warmed_up"]


BITS = """
import hashlib
import numpy as np
import goalward as gw
from goalward.planning import solve as solving

rng = np.random.default_rng(0)
models = [gw.worlds.grid_world(), gw.worlds.random_mdp(states=8, actions=2, seed=0, rows="uniform")]
for costs in ([0.0, 1.0], [1e-9, 1e9], [1.0, 1.0]):
    kernel = rng.dirichlet(np.full(9, 0.2), size=(8, 3))
    kernel[rng.random((8, 3, 9)) < 0.5] = 0.0
    models.append(gw.SSP.from_dense(kernel, rng.choice(costs, size=(8, 3)), normalize=True))
content = hashlib.sha256()
with np.errstate(all="ignore"):
    for solving.DENSE_STATES in (128, 0):
        for ssp in models:
            solution = solving.solve_all(ssp)
            again = solving.solve_all(ssp.with_costs(ssp.costs * 1.01), start=solution)
            for part in (*vars(solution).values(), *vars(again).values()):
                if part is not solution.ssp and part is not again.ssp:
                    content.update(np.asarray(part).tobytes())
print(type(solving.policy_iteration).__name__, content.hexdigest())
"""


def test_uncompiled_kernels_give_the_same_bits(run_python: RunPython) -> None:
    kind, bits = run_python(BITS).split()
    plain_kind, plain_bits = run_python(BITS, NUMBA_DISABLE_JIT="1").split()
    assert (kind, plain_kind) == ("CPUDispatcher", "function")
    assert bits == plain_bits


def all_modules() -> list[str]:
    names = [module.name for module in pkgutil.walk_packages(goalward.__path__, "goalward.")]
    return [name for name in names if not name.endswith("__main__") and not name.startswith("goalward.examples.")]


def test_every_kernel_is_seen_by_the_hash() -> None:
    """A decorator with a comment behind it, or indented, would escape."""
    for name in all_modules():
        importlib.import_module(name)
    sources = {name: source for name, source in _jit.kernel_sources().items() if _jit.MARK in source}
    modules = {"goalward." + name.removesuffix(".py").replace("/", ".") for name in sources}
    found = _jit.kernels()
    assert {kernel.py_func.__module__ for kernel in found} == modules
    assert len(found) == sum(source.count(b"\n@kernel\n") for source in sources.values())


def assigned_names(module: str) -> tuple[set[str], dict[str, str]]:
    """Return the names a module assigns at its top, and those it imports, with where from."""
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text())
    own: set[str] = set()
    taken: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            own |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            taken |= {alias.asname or alias.name: node.module for alias in node.names}
    return own, taken


def test_constants_of_kernels_stand_in_hashed_files() -> None:
    """Numba freezes the constants a kernel reads: one from a file without kernels could change unnoticed."""
    for kernel in _jit.kernels():
        module = kernel.py_func.__module__
        own, taken = assigned_names(module)
        for name in kernel.py_func.__code__.co_names:
            value = vars(sys.modules[module]).get(name)
            if isinstance(value, int | float | str | tuple | np.ndarray | np.generic) and name not in own:
                home = taken[name]
                assert f"{home.removeprefix('goalward.').replace('.', '/')}.py" in _jit.kernel_sources(), (
                    f"{module}.{kernel.__name__} reads {name} from {home}, which the hash does not cover"
                )


def test_the_compiler_is_held_to_ieee_arithmetic() -> None:
    for kernel in _jit.kernels():
        options = kernel.targetoptions
        assert not options.get("fastmath")
        assert options.get("error_model") == "numpy"
        assert options.get("nopython")
        assert not options.get("parallel")


def test_kernels_take_logarithms_from_math() -> None:
    """NumPy's own are not rounded like those of compiled code, so the uncompiled kernel would give other bits."""
    for kernel in _jit.kernels():
        found = re.findall(r"np\.(?:log|exp)\w*\(", inspect.getsource(kernel.py_func))
        assert found == [], f"{kernel.py_func.__module__}.{kernel.__name__} calls {found[0]}"


def test_kernels_notice_an_interrupt() -> None:
    """Signals come again and again from another process; whether the kernel returns depends on no moment."""

    @numba.njit  # type: ignore[misc]
    def spin(steps: int) -> int:
        for step in range(steps):
            if _jit.interrupted(step):
                return step
        return -1

    send = (
        "import os, signal, sys, time\nwhile True:\n    os.kill(int(sys.argv[1]), signal.SIGINT)\n    time.sleep(0.01)"
    )
    handled: list[int] = []
    spin(1)
    before = signal.signal(signal.SIGINT, lambda number, frame: handled.append(number))
    sender = subprocess.Popen([sys.executable, "-c", send, str(os.getpid())])
    try:
        stopped = spin(2**42)  # hours, if nothing stopped it
    finally:
        sender.kill()
        sender.wait()
        signal.signal(signal.SIGINT, before)
    assert stopped >= 0
    assert handled, "the signal is not lost: its handler runs after the kernel"


def test_small_problems_are_analysed_uncompiled_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "_steps", Counter())
    monkeypatch.setattr(_jit, "LITTLE", 1_000)
    assert _jit.lightly(graph.find_sure_states, 999) is graph.find_sure_states.py_func  # type: ignore[attr-defined]
    assert _jit.lightly(graph.find_sure_states, 2) is graph.find_sure_states
    rng = np.random.default_rng(0)
    for _ in range(30):
        dense = rng.dirichlet(np.full(7, 0.2), size=(6, 2))
        dense[rng.random(dense.shape) < 0.7] = 0.0
        dense[dense.sum(axis=2) == 0.0, 0] = 1.0
        ssp = goalward.SSP.from_dense(dense, np.ones((6, 2)), normalize=True)
        monkeypatch.setattr(_jit, "LITTLE", 10**9)
        plain = graph.sure_states(ssp, ssp.available)
        _jit.compile_always()
        for one, other in zip(plain, graph.sure_states(ssp, ssp.available), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
