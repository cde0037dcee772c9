"""The decorator for compiled kernels, and their cache.

Numba stores compiled code beside a stamp of the *caller's* file, so it does not notice an edit of a callee, or of a
constant, in another file. Therefore the cache is a folder named by a hash of the sources of every package that holds
kernels and of the versions that shape the code: any edit there, any upgrade means a new folder. It is in the user's
cache directory; `GOALWARD_CACHE_DIR` moves it. Where nothing can be written, every process compiles its kernels.

Rules for kernels: arrays and scalars in, arrays written, a status returned; loops, not slices (a slice assignment
costs seconds of compile time); one specialisation each, so the same dtypes, layouts and read-only flags at every call.
Arrays are indexed twice as fast by unsigned integers, since signed ones may count from the end.
Logarithms and exponentials come from `math`, which computes the same bits compiled and uncompiled; NumPy's do not.
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
# Integers of fixed size for kernels. Numba makes a float of an uint64 plus a signed integer, so ONE is unsigned.
int64: Any = np.int64
uint32: Any = np.uint32
uint64: Any = np.uint64
ONE: Any = np.uint64(1)
INTERRUPTED = -1  # what kernels return that Ctrl-C has ended
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
    """Hash these sources together with the versions that affect their compilation."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    digest = hashlib.sha256(repr(versions).encode())
    for name, source in kernel_sources(package).items():
        digest.update(f"\0{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:16]


@functools.cache
def cache_directory() -> Path | None:
    """Return the folder of the compiled kernels, created if need be; None if it is not safe or cannot be written."""
    given = os.environ.get("GOALWARD_CACHE_DIR")
    root = Path(given) if given else platformdirs.user_cache_path("goalward", appauthor=False)
    folder = root / f"kernels-{source_hash()}"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        if not (is_private(folder.stat()) and is_private(root.stat())):
            remedy = "make it yours alone (chown, chmod go-w), or set GOALWARD_CACHE_DIR to another folder"
            warnings.warn(f"compiled kernels are not kept: others can write to {root}; {remedy}", stacklevel=2)
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
    """Remove the kernels of other versions that no process has asked for in a month."""
    with contextlib.suppress(OSError):
        for folder in root.glob("kernels-*"):
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


class Compilations(event.Listener):
    """Shows a phase while kernels are compiled, one for nested compilations; loading from the cache shows none."""

    def __init__(self) -> None:
        self.depth = self.count = 0
        self.shown = contextlib.ExitStack()

    def on_start(self, event: Any) -> None:
        self.count += event.data["dispatcher"] in _kernels  # and not a function of Numba's
        if self.depth == 0:
            kept = "" if cache_directory() else ", which cannot be kept: see goalward doctor"
            self.shown.enter_context(phase(f"compiling kernels: {self.count} of at most {len(_kernels)}{kept}"))
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.shown.close()


cast(Any, event).register("numba:compile", Compilations())


def kernel(function: Function) -> Function:
    """Compile a function on its first call, strictly in IEEE arithmetic, and keep the code for later processes."""
    folder = cache_directory()
    settings: Any = numba.config
    compiler: Any = numba.njit
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder or "")
    try:
        # Without Python's lock, so that the progress display goes on. No kernel is passed to another as a value, so
        # none needs the C wrapper for that.
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
    """Let a cache ignore a full disk or a removed folder, and load code without preparing the compiler.

    Numba imports and registers all it can compile before it looks into a cache, which takes 0.1 s of every process.
    Loaded code needs only the runtime.
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
    """Return, inside a kernel, whether Ctrl-C was pressed; Python is asked at each 2^16th step, from 0 on.

    A kernel that may take longer than a fraction of a second asks, and returns at once with a result that promises
    nothing: KeyboardInterrupt is raised on its return. In case a handler of its own ignores the signal, the caller
    carries on, or repeats the call by `completed`. Uncompiled, the answer is no: Python handles signals between two
    steps.
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
    """Ask Python, with its lock; a signal that it noticed is set again, so that its handler runs after the kernel."""
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
    """Return a kernel uncompiled until its calls in this process took LITTLE steps together, then compiled.

    Compiling takes as long as 100,000 steps in Python: without this, the first process that solves a small model takes
    1.5 times as long (5.2 s of CPU time instead of 3.4). For kernels that compute with integers only, which give the
    same results in both forms, overflow and division included.
    """
    _steps[compiled] += steps
    return compiled if UNCOMPILED or _steps[compiled] > LITTLE else cast(Any, compiled).py_func


def compile_always() -> None:
    """Let `lightly` return compiled kernels from now on: a warm-up is for problems of any size."""
    global LITTLE
    LITTLE = 0


def kernels() -> list[Any]:
    """Return every kernel of the package."""
    for name, source in kernel_sources().items():
        if MARK in source:
            importlib.import_module(f"{__package__}.{name.removesuffix('.py').replace('/', '.')}")
    return list(_kernels)
