"""Child processes on this machine that make calls and can be killed.

Compiled code can be stopped only by killing its process, so limits of time and memory need such a process.

Linear algebra uses one thread wherever runs are made: there are as many workers as cores, and the number of threads
decides the order of additions, hence the last bit of a result. A number of threads that the user sets has priority.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from goalward.errors import SettingError, WorkerError
from goalward.settings import Positive, Size, check

LOOK_SECONDS = 0.02  # how often to look at the time and the memory of a call that has limits
LEAVE_SECONDS = 2.0  # how long a process may take to exit
LONGEST_OUTPUT = 4000
READY = "ready"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# For the OpenBLAS of NumPy and that of SciPy: a module that is linked to it, and the names of its functions.
THREAD_FUNCTIONS = (
    ("numpy.linalg._umath_linalg", "scipy_openblas_{}_num_threads64_"),
    ("scipy.linalg._fblas", "scipy_openblas_{}_num_threads"),
)


class Limits(NamedTuple):
    """The limits of a run: its seconds, and the megabytes of its process. They are not part of the key of the run.

    Python and goalward use about 250 MB of the memory. The time limit does not include the start of the process or the
    compilation of goalward's kernels.
    """

    seconds: float | None = None
    memory: int | None = None

    def checked(self) -> Limits:
        """Return the limits; raise SettingError if one is not allowed."""
        if self.seconds is not None:
            check("the time limit", self.seconds, Positive)
        if self.memory is not None:
            check("the memory limit", self.memory, Size)
            if not Path("/proc/self/statm").exists():
                raise SettingError("memory can be limited only on Linux; leave out the memory limit")
        return self


UNLIMITED = Limits()


class RunResult(NamedTuple):
    """The result of a run: its file, or what went wrong; also the answer to any call whose process died."""

    seconds: float = 0.0
    file: bytes | None = None
    error: str = ""
    traceback: str = ""
    output: str = ""
    """The end of the output, if the run failed."""
    host: str = platform.node()
    died: bool = False
    """Whether the process died by itself, perhaps through no fault of the run."""


class Batch(NamedTuple):
    """Calls of a function, ``function(task, *shared)`` for each task."""

    function: Callable[..., Any]
    tasks: Sequence[Any]
    shared: Sequence[Any] = ()
    limits: Limits = UNLIMITED

    def answers(self) -> Iterator[Any]:
        """Yield the answer to each call."""
        return (self.function(task, *self.shared) for task in self.tasks)


class Tee:
    """The standard output and error of a worker: passes text on, and keeps the end of a run's output."""

    def __init__(self, stream: Any):
        self.stream, self.end = stream, ""

    def write(self, text: str) -> int:
        """Pass a text on, and keep its end."""
        self.end = (self.end + text)[-LONGEST_OUTPUT:]
        return int(self.stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Child:
    """A process that makes calls for one thread, and a pipe to it."""

    def __init__(self) -> None:
        import multiprocessing

        self.connection, theirs = multiprocessing.Pipe()
        self.output, self.busy, self.ended = "", False, False
        self.process = context().Process(target=serve, args=(theirs,), daemon=True)
        own: Any = multiprocessing.current_process()
        daemon = own._config.pop("daemon", None)  # a daemon, such as a worker of Dask's nanny, may not start processes
        try:
            self.process.start()
        finally:
            own._config.update({} if daemon is None else {"daemon": daemon})
        theirs.close()

    def make(self, batch: Batch) -> Iterator[Any]:
        """Yield the answers, up to the first call that the process does not survive."""
        self.busy = True
        with contextlib.suppress(OSError):  # the process has died; `receive` reports it
            self.connection.send(batch._replace(limits=UNLIMITED))
        for _ in batch.tasks:
            self.output = ""
            answer = self.receive(batch.limits)
            yield answer
            if self.ended:
                self.process.kill()
                return
        self.busy = False

    def receive(self, limits: Limits) -> Any:
        """Return the next answer, or a `RunResult` that says why there is none; raises the error of the call."""
        from multiprocessing.connection import wait

        start, limited = time.monotonic(), False
        while True:
            ready = wait([self.connection, self.process.sentinel], None if limits == UNLIMITED else LOOK_SECONDS)
            kind, value = "died" if ready else "", ""  # type: str, Any
            with contextlib.suppress(EOFError, OSError):
                if self.connection in ready:
                    kind, value = self.connection.recv()
            if kind == "answer":
                return value
            if kind == "error":
                raise value
            if kind == "output":
                sys.stderr.write(value)
                self.output = (self.output + value)[-LONGEST_OUTPUT:]
            if kind == "clock":
                start, limited = time.monotonic(), True
            reason, seconds = "", time.monotonic() - start
            if kind == "died":
                self.process.join(LEAVE_SECONDS)
                reason = f"the process of this run died (exit code {self.process.exitcode}); out of memory?"
            elif limited and limits.seconds is not None and seconds > limits.seconds:
                reason = f"it took longer than the limit of {limits.seconds:g} s"
            elif limits.memory is not None and (used := self.megabytes()) > limits.memory:
                reason = f"it used {used:,.0f} MB of memory, more than the limit of {limits.memory:,} MB"
            if reason:
                self.ended = True
                return RunResult(seconds, error=reason, output=self.output, died=kind == "died")

    def megabytes(self) -> float:
        """Return the memory that the process uses now, in megabytes."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self) -> None:
        """Ask an idle process to exit; kill a busy one."""
        if self.busy:
            self.process.kill()
        else:
            with contextlib.suppress(OSError):
                self.connection.send(None)


_send: list[Callable[[tuple[str, Any]], None]] = []  # in a child: the function that sends a message to its parent


def clock_starts() -> None:
    """Start the time limit of a call now, after its preparation."""
    for send in _send:
        send(("clock", None))


def serve(connection: Any) -> None:
    """Make the calls that arrive through a connection; this function runs in the child process."""
    import multiprocessing
    from multiprocessing.connection import wait

    lock = threading.Lock()

    def send(message: tuple[str, Any]) -> None:
        with lock:  # an agent may print in a thread of its own
            connection.send(message)

    def follow_parent() -> None:
        wait([parent.sentinel])
        os._exit(1)

    parent, own = multiprocessing.parent_process(), multiprocessing.current_process()  # type: Any, Any
    threading.Thread(target=follow_parent, daemon=True).start()
    own._config["daemon"] = False  # an environment may start processes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # see `context`
    sys.stdout = sys.stderr = Tee(SimpleNamespace(write=lambda text: send(("output", text)), flush=lambda: None))
    _send.append(send)
    send(("answer", READY))
    while (batch := connection.recv()) is not None:
        try:
            for answer in batch.answers():
                send(("answer", answer))
        except Exception as error:
            try:
                send(("error", error))
            except Exception:  # it cannot be pickled
                send(("error", WorkerError(f"{type(error).__name__}: {error}")))


def context() -> Any:
    """Return the context that starts processes: if available, a fork server, which imports goalward only once.

    This process is not forked itself, because a forked copy of a process with threads can hang. The server ignores
    Ctrl-C only after its imports; during these it would print a traceback. So it starts with SIGINT blocked. Workers
    inherit the mask from the server, so Ctrl-C does not stop them either until they are ready.
    """
    import multiprocessing  # here, because every command imports this module, and few start processes

    use_one_thread()
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver, resource_tracker

    forkserver.set_forkserver_preload(["goalward.studies.worker"])
    resource_tracker.ensure_running()  # unblocks SIGINT when it has to start the tracker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return multiprocessing.get_context("forkserver")


def use_one_thread() -> None:
    """Limit libraries to one thread, in this process if they are not loaded yet and in the processes it starts."""
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit libraries to one thread inside the block, although NumPy is already loaded.

    This works with the OpenBLAS of the wheels of NumPy and SciPy; others read the variable only when they are loaded.
    """
    import ctypes

    settings = []
    if all(os.environ.get(name, "1") == "1" for name in THREAD_VARIABLES):
        for module, name in THREAD_FUNCTIONS:
            with contextlib.suppress(ImportError, OSError, AttributeError):
                library = ctypes.CDLL(importlib.import_module(module).__file__ or "")
                settings.append((library[name.format("set")], library[name.format("get")]()))
    for set_threads, _ in settings:
        set_threads(1)
    try:
        yield
    finally:
        for set_threads, before in settings:
            set_threads(before)
