"""The decorator for compiled kernels, and their cache.

Numba's cache checks only the timestamp of the file of a kernel. Numba does not notice changes in other files whose
functions or constants the kernel uses. Therefore the name of the cache folder is a hash of the sources of all packages
with kernels and of the versions of Python, NumPy, Numba and llvmlite. The folder is in the user's cache directory, or
in `GOALWARD_CACHE_DIR` if this variable is set. If the folder is not writable, every process compiles its own kernels.

Rules for kernels: Take arrays and scalars, write results to arrays, and return a status. Use loops, not slices, because
a slice assignment costs seconds of compile time. Always pass the same dtypes, layouts and read-only flags, so that a
kernel is compiled only once. Index with unsigned integers: signed indices may be negative and take twice as long. Take
logarithms and exponentials from `math`, because NumPy's functions may give other bits in compiled code.
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
    """Return a dict from path to source, for this module and all packages that define kernels.

    A test checks that these files define all constants that kernels read.
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
    """Create and return the cache folder of compiled kernels; return None if the folder is unsafe or not writable."""
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
    """Return whether only this user can write to a folder. This matters because Numba executes code from its cache."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def remove_unused(root: Path) -> None:
    """Remove the cache folders in `root` that no process has used for a month."""
    with contextlib.suppress(OSError):
        for folder in root.glob("kernels-*"):
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


class Compilations(event.Listener):
    """A listener that shows a progress phase while kernels are compiled (not while they are loaded from the cache)."""

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
    """Return a kernel that is compiled from `function` at the first call, with strict IEEE arithmetic, and cached."""
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
    """Make a kernel's cache ignore write errors and load code without initialising the compiler.

    Without this change, Numba would initialise its compiler before it reads the cache. This takes 0.1 s in every
    process, but code from the cache needs only Numba's runtime.
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
    """Return, inside a kernel, whether Ctrl-C was pressed; check only if `step` is a multiple of 2^16.

    Kernels that may take longer than a fraction of a second call this function and return at once if the result is
    True. The result of the kernel is then meaningless. When the kernel returns, Python runs its signal handler, which
    usually raises KeyboardInterrupt. If the handler does not raise, `completed` calls the kernel again. In uncompiled
    code, this function always returns False, because Python handles signals between two steps.
    """
    return False


def completed(function: Callable[..., int], *arguments: Any) -> int:
    """Call the kernel `function` until the result is not INTERRUPTED; return this result."""
    result = INTERRUPTED
    while result == INTERRUPTED:
        result = function(*arguments)
    return result


@type_callable(interrupted)
def type_interrupted(_: Any) -> Callable[[Any], Any]:
    return lambda step: types.boolean


@lower_builtin(interrupted, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def compile_interrupted(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
    """Ask Python for a pending signal; set the signal again, so that its handler runs when the kernel returns."""
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
    """Return the uncompiled form of a kernel until it has made LITTLE `steps` in a process, then the compiled form.

    Compiling takes as long as 100,000 steps in Python. If all kernels were compiled, the first process that solves a
    small model would take 5.2 s of CPU time instead of 3.4 s. Use `lightly` only for kernels that compute with
    integers: both forms of such kernels give the same results, even for overflow and division.
    """
    _steps[compiled] += steps
    return compiled if UNCOMPILED or _steps[compiled] > LITTLE else cast(Any, compiled).py_func


def compile_always() -> None:
    """Make `lightly` always return compiled kernels from now on, because a warm-up must compile all kernels."""
    global LITTLE
    LITTLE = 0


def kernels() -> list[Any]:
    """Return a list of all kernels of goalward."""
    for name, source in kernel_sources().items():
        if MARK in source:
            importlib.import_module(f"{__package__}.{name.removesuffix('.py').replace('/', '.')}")
    return list(_kernels)
