"""Child processes on this machine that call functions and can be killed.

Compiled code can be stopped only by killing its process, so time limits and memory limits need a child process.

Every process that makes runs uses one thread for linear algebra. There are as many workers as cores, and the number of
threads changes the order of additions, hence the last bits of results. A user can set another number of threads.
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
    """The time limit of a run in seconds, and the memory limit of its process in megabytes.

    Python and goalward alone use about 250 MB. The time for starting and compiling does not count.
    """

    seconds: float | None = None
    memory: int | None = None

    def checked(self) -> Limits:
        """Return the limits; raise SettingError if a limit is not allowed."""
        if self.seconds is not None:
            check("the time limit", self.seconds, Positive)
        if self.memory is not None:
            check("the memory limit", self.memory, Size)
            if not Path("/proc/self/statm").exists():
                raise SettingError("memory can be limited only on Linux; leave out the memory limit")
        return self


UNLIMITED = Limits()


class RunResult(NamedTuple):
    """The result of a run: its file, or its error. Any call whose process died also has a `RunResult` as its answer."""

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
    """Several calls of one function: ``function(task, *shared)`` for each task."""

    function: Callable[..., Any]
    tasks: Sequence[Any]
    shared: Sequence[Any] = ()
    limits: Limits = UNLIMITED

    def answers(self) -> Iterator[Any]:
        """Make the calls, and yield their answers."""
        return (self.function(task, *self.shared) for task in self.tasks)


class Tee:
    """A worker's output stream, which passes text on to `stream` and remembers the end of a run's output."""

    def __init__(self, stream: Any):
        self.stream, self.end = stream, ""

    def write(self, text: str) -> int:
        """Pass `text` on, and remember its end."""
        self.end = (self.end + text)[-LONGEST_OUTPUT:]
        return int(self.stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Child:
    """A child process that makes calls for one thread of this process, and the pipe to the child."""

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
        """Make the calls of a batch and yield their answers, until a call kills the process."""
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
        """Return the next answer, or a `RunResult` with the reason if the process died or exceeded `limits`."""
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
                reason = f"the run took longer than the limit of {limits.seconds:g} s"
            elif limits.memory is not None and (used := self.megabytes()) > limits.memory:
                reason = f"the run used {used:,.0f} MB of memory, more than the limit of {limits.memory:,} MB"
            if reason:
                self.ended = True
                return RunResult(seconds, error=reason, output=self.output, died=kind == "died")

    def megabytes(self) -> float:
        """Return how many megabytes of memory the process uses now."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self) -> None:
        """Ask the process to exit if it is idle, and kill the process if it is busy."""
        if self.busy:
            self.process.kill()
        else:
            with contextlib.suppress(OSError):
                self.connection.send(None)


_send: list[Callable[[tuple[str, Any]], None]] = []  # in a child: the function that sends a message to its parent


def clock_starts() -> None:
    """Start the clock of the time limit for the current call."""
    for send in _send:
        send(("clock", None))


def serve(connection: Any) -> None:
    """Make the calls that arrive through `connection`. This function runs in the child process."""
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
    """Return the context that starts processes: a fork server if the system has one.

    The fork server imports goalward only once. This process is not forked itself, because a forked copy of a process
    with threads can hang. The server starts with SIGINT blocked, because Ctrl-C during its imports would print a
    traceback. Workers inherit the blocked signal, so Ctrl-C does not stop them before they are ready.
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
    """Limit libraries to one thread in child processes, and in this process if the libraries are not loaded yet."""
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit libraries to one thread while the block runs, even if NumPy is already loaded.

    This works only with the OpenBLAS of the wheels of NumPy and SciPy.
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
