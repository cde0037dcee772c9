"""The decorator for compiled kernels, and their cache.

Numba's cache checks only the timestamp of the *caller's* file, so it does not notice when a callee or a constant in
another file is edited. Therefore the cache folder is named by a hash of the sources of all packages with kernels and of
the versions of Python, NumPy, Numba and llvmlite: an edit or an upgrade gives a new folder. It is in the user's cache
directory, or in `GOALWARD_CACHE_DIR` if that is set. If it is not writable, every process compiles its own kernels.

Rules for kernels: Take arrays and scalars, write results to arrays, and return a status. Use loops, not slices, because
a slice assignment costs seconds of compile time. Always pass the same dtypes, layouts and read-only flags, so that a
kernel is compiled only once. Index with unsigned integers, which is twice as fast because signed ones may count from
the end. Take logarithms and exponentials from `math`: unlike NumPy's, they give the same bits compiled and uncompiled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import platform
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
import platformdirs
from llvmlite import ir
from numba import types
from numba.core import cgutils, event
from numba.core.runtime.nrt import rtsys
from numba.extending import lower_builtin, type_callable

from goalward.progress import phase

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
UNCOMPILED = bool(getattr(numba.config, "DISABLE_JIT", False))
UNUSED_SECONDS = 30 * 24 * 3600.0
ASK_EVERY = 1 << 16  # steps of a kernel between two checks for an interrupt
MARK = b"\n@kernel\n"
LITTLE = 20_000
# Integers of fixed size for kernels. ONE is unsigned because Numba adds an uint64 and a signed integer as floats.
int64: Any = np.int64
uint32: Any = np.uint32
uint64: Any = np.uint64
ONE: Any = np.uint64(1)
INTERRUPTED = -1  # returned by kernels that Ctrl-C interrupted
_kernels: list[Any] = []
_steps: Counter[Any] = Counter()


def kernel_sources(package: Path = PACKAGE) -> dict[str, bytes]:
    """Return the sources of the packages that hold kernels, and of this module, by path.

    Constants that kernels read are defined in these files; a test checks this.
    """
    names = {path.relative_to(package).as_posix(): path for path in sorted(package.rglob("*.py"))}
    sources = {name: path.read_bytes() for name, path in names.items()}
    packages = {"jit.py", *(name.partition("/")[0] for name, source in sources.items() if MARK in source)}
    return {name: source for name, source in sources.items() if name.partition("/")[0] in packages}


def source_hash(package: Path = PACKAGE) -> str:
    """Return a hash of the kernel sources and of the versions that affect their compilation."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    digest = hashlib.sha256(repr(versions).encode())
    for name, source in kernel_sources(package).items():
        digest.update(f"\0{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:16]


@functools.cache
def cache_directory() -> Path | None:
    """Return the cache folder of compiled kernels, created if needed; None if it is unsafe or not writable."""
    given = os.environ.get("GOALWARD_CACHE_DIR")
    root = Path(given) if given else platformdirs.user_cache_path("goalward", appauthor=False)
    folder = root / f"kernels-{source_hash()}"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        if not (is_private(folder.stat()) and is_private(root.stat())):
            remedy = "make it writable for you alone (chown, chmod go-w), or set GOALWARD_CACHE_DIR to another folder"
            warnings.warn(f"compiled kernels are not cached: other users can write to {root}; {remedy}", stacklevel=2)
            return None
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)
            remove_unused(root)
            return folder
    except OSError:
        return None


def is_private(status: os.stat_result) -> bool:
    """Return whether only this user can write to a folder: Numba unpickles its cache, which executes code."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def remove_unused(root: Path) -> None:
    """Remove cached kernels of other versions that no process has used for a month."""
    with contextlib.suppress(OSError):
        for folder in root.glob("kernels-*"):
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


class Compilations(event.Listener):
    """Shows a progress phase while kernels are compiled, but not while they are loaded from the cache."""

    def __init__(self) -> None:
        self.depth = self.count = 0
        self.shown = contextlib.ExitStack()

    def on_start(self, event: Any) -> None:
        self.count += event.data["dispatcher"] in _kernels  # not Numba's own functions
        if self.depth == 0:
            kept = "" if cache_directory() else ", which cannot be cached: see goalward doctor"
            self.shown.enter_context(phase(f"compiling kernels: {self.count} of at most {len(_kernels)}{kept}"))
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.shown.close()


cast(Any, event).register("numba:compile", Compilations())


def kernel(function: Function) -> Function:
    """Compile a function on its first call, strictly in IEEE arithmetic, and cache the code for later processes."""
    folder = cache_directory()
    settings: Any = numba.config
    compiler: Any = numba.njit
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder or "")
    try:
        # Without Python's lock, the progress display keeps running. The C wrapper is only needed to pass a kernel as an
        # argument, which never happens.
        compiled = compiler(
            cache=folder is not None, nogil=True, fastmath=False, error_model="numpy", no_cfunc_wrapper=True
        )(function)
    finally:
        settings.CACHE_DIR = before
    if folder is not None and not UNCOMPILED:
        adapt_cache(compiled._cache)
    _kernels.append(compiled)
    return cast(Function, compiled)


def adapt_cache(cache: Any) -> None:
    """Make a kernel's cache ignore a full disk or a removed folder, and load code without initialising the compiler.

    Numba initialises its compiler before it looks into the cache, which takes 0.1 s in every process. Code from the
    cache needs only Numba's runtime.
    """
    save, load = cache.save_overload, cache._load_overload

    def save_overload(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            save(*arguments)

    def load_overload(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        with cache._guard_against_spurious_io_errors():
            return load(signature, context)

    cache.save_overload, cache.load_overload = save_overload, load_overload


def interrupted(step: int) -> bool:
    """Return, inside a kernel, whether Ctrl-C was pressed; Python is asked at every 2^16th step, starting with step 0.

    A kernel that may take longer than a fraction of a second calls this, and returns at once if it is interrupted. Its
    result is then meaningless, and Python raises KeyboardInterrupt on its return. If the program's own signal handler
    does not raise, the caller carries on, or repeats the call with `completed`. In uncompiled code the result is always
    False, because Python handles signals between two steps.
    """
    return False


def completed(function: Callable[..., int], *arguments: Any) -> int:
    """Call a kernel until it returns anything but INTERRUPTED."""
    result = INTERRUPTED
    while result == INTERRUPTED:
        result = function(*arguments)
    return result


@type_callable(interrupted)
def type_interrupted(_: Any) -> Callable[[Any], Any]:
    return lambda step: types.boolean


@lower_builtin(interrupted, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def compile_interrupted(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
    """Ask Python, holding its lock; a pending signal is set again, so that its handler runs after the kernel."""
    bit, word, nothing = ir.IntType(1), ir.IntType(32), ir.VoidType()
    tools = cast(Any, cgutils)

    def call(name: str, result: Any, *values: Any) -> Any:
        kind = ir.FunctionType(result, [value.type for value in values])
        return builder.call(tools.get_or_insert_function(builder.module, kind, name), values)

    answer = tools.alloca_once(builder, bit)
    builder.store(bit(0), answer)
    often = builder.and_(arguments[0], arguments[0].type(ASK_EVERY - 1))
    with builder.if_then(builder.icmp_unsigned("==", often, often.type(0)), likely=False):
        lock = call("PyGILState_Ensure", word)
        occurred = call("PyOS_InterruptOccurred", word)
        with builder.if_then(builder.icmp_signed("!=", occurred, word(0)), likely=False):
            call("PyErr_SetInterrupt", nothing)
            builder.store(bit(1), answer)
        call("PyGILState_Release", nothing, lock)
    return builder.load(answer)


def lightly(compiled: Function, steps: int) -> Function:
    """Return a kernel in uncompiled form until its calls in this process exceed LITTLE steps in total, then compiled.

    Compiling takes as long as 100,000 steps in Python: without this, the first process that solves a small model takes
    1.5 times as long (5.2 s of CPU time instead of 3.4). Use this only for kernels that compute with integers: both
    forms then give the same results, even for overflow and division.
    """
    _steps[compiled] += steps
    return compiled if UNCOMPILED or _steps[compiled] > LITTLE else cast(Any, compiled).py_func


def compile_always() -> None:
    """Make `lightly` return compiled kernels from now on; a warm-up compiles for problems of any size."""
    global LITTLE
    LITTLE = 0


def kernels() -> list[Any]:
    """Return every kernel of the package."""
    for name, source in kernel_sources().items():
        if MARK in source:
            importlib.import_module(f"{__package__}.{name.removesuffix('.py').replace('/', '.')}")
    return list(_kernels)
