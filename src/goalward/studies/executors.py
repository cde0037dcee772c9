"""The workers that carry out runs: this process, processes of this machine, a Dask cluster, or any executor.

`Workers` is a `concurrent.futures.Executor` with its size, a way to start again after a worker died, and a health
question. Everything that decides a run is sent with it, so all of them give the same bits. Linear algebra uses one
thread: there are as many workers as cores, and the number of threads decides the order of additions, hence the last
bit of a result. A number of threads that the user has set is kept.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any, TypeVar

from goalward.errors import SettingError, WorkerError
from goalward.settings import checked_integer
from goalward.signals import undivided

__all__ = [
    "CHECK_SECONDS", "FEWER", "LOST", "Dask", "Processes", "ThisProcess", "Workers", "cores", "one_thread",
    "open_workers", "use_one_thread",
]  # fmt: skip

MOST_STARTS = 3  # how often to start workers that die before the first run
LOST = "the scheduler cannot be reached any more"
FEWER = "out of memory? Try fewer workers"
CHECK_SECONDS = 1.0  # how often to ask for the health of the workers
CONNECT_SECONDS = 10.0  # how long to try to reach a Dask scheduler, at the start and when it is lost
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The OpenBLAS that comes with NumPy, and that of SciPy: a module that is linked to it, and the names of its functions.
THREAD_FUNCTIONS = (
    ("numpy.linalg._umath_linalg", "scipy_openblas_{}_num_threads64_"),
    ("scipy.linalg._fblas", "scipy_openblas_{}_num_threads"),
)
Result = TypeVar("Result")


class Workers:
    """An executor of the user, which is neither started again nor shut down: ``Workers(executor, size=8)``."""

    warmed: frozenset[str] = frozenset()
    """The agents whose kernels the workers have compiled."""

    def __init__(self, executor: Executor, size: int | None = None):
        self.executor = executor
        self.size = size or getattr(executor, "_max_workers", None) or cores()

    @property
    def limit(self) -> int:
        """How many calls may be submitted at once."""
        return 2 * self.size

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a function called; raise BrokenExecutor if a worker has died."""
        return self.executor.submit(function, *arguments)

    def call_all(
        self,
        function: Callable[..., Result],
        tasks: Iterable[Sequence[Any]],
        size: int = 1,
        watch: Callable[[int, int], object] = lambda done, total: None,
    ) -> list[Result]:
        """Call a function with each list of arguments, and return the answers in order; lost calls are repeated.

        The calls are handed out in batches of `size`; `watch` is called with the number of finished and of all batches.
        """
        all_tasks = list(tasks)
        batches = [all_tasks[start : start + size] for start in range(0, len(all_tasks), size)]
        answers: dict[int, list[Result]] = {}
        deaths = 0
        while len(answers) < len(batches):
            try:
                missing = [index for index in range(len(batches)) if index not in answers]
                pending = {self.submit(call_each, function, batches[index]): index for index in missing}
                while pending:
                    ended, _ = wait(pending, CHECK_SECONDS, FIRST_COMPLETED)
                    for future in ended:
                        answers[pending.pop(future)] = future.result()
                        deaths = 0
                    watch(len(answers), len(batches))
                    if not ended and self.health() == "gone":
                        raise WorkerError(LOST)
            except BrokenExecutor:
                deaths += 1
                if deaths >= MOST_STARTS:
                    raise SettingError(f"the workers died {deaths} times in a row; {FEWER}") from None
                self.restart()
        return [answer for index in range(len(batches)) for answer in answers[index]]

    def warm_up(self, agents: Iterable[str]) -> None:
        """Let one worker compile the kernels that some agents use; the others then read them from the cache."""
        from goalward.learning.warm_up import warm_up

        new = sorted(set(agents) - self.warmed)
        if new:
            self.call_all(warm_up, [(new,)])
            self.warmed = self.warmed.union(new)

    def restart(self) -> None:
        """Replace the workers after one died."""
        raise WorkerError("a worker died, and this executor cannot be started again; open another one")

    def health(self) -> str:
        """Return "ok", "empty" if there is no worker at the moment, or "gone" if none can be reached any more."""
        return "ok"

    def close(self, kill: bool = False) -> None:
        """Let the workers go when all calls are done, or at once."""


def call_each(function: Callable[..., Result], tasks: Iterable[Sequence[Any]]) -> list[Result]:
    return [function(*arguments) for arguments in tasks]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_workers(workers: int | Executor | None = None, dask: str | None = None) -> Workers:
    """Return workers: by default one process for each core; with 1, this process; or those of an executor."""
    if dask is not None:
        if workers is not None:
            raise SettingError("give the number of workers or a Dask cluster, not both")
        return Dask(dask)
    if isinstance(workers, Executor):
        return Workers(workers)
    number = cores() if workers is None else checked_integer("workers", workers, 1)
    return ThisProcess() if number == 1 else Processes(number)


class ThisProcess(Workers):
    """Calls functions here, as soon as they are submitted."""

    def __init__(self) -> None:
        self.size = 1

    @property
    def limit(self) -> int:
        """One call at a time, so that its result is stored before the next begins."""
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call the function now."""
        future: Future[Any] = Future()
        try:
            # What an agent prints must not get between the lines of a document on standard output.
            with one_thread(), contextlib.redirect_stdout(sys.stderr):
                future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Workers):
    """Worker processes on this machine."""

    def __init__(self, size: int):
        import multiprocessing  # here, because the command line imports this module before it knows its verb

        self.size = size
        self.never_ran = 0
        # Not fork: a forked copy of a process with threads can hang. The fork server imports goalward once for all.
        kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self.context: Any = multiprocessing.get_context(kind)
        self.start()

    def start(self) -> None:
        """Start an executor and its first worker; again, if the fork server is killed at that moment."""
        from concurrent.futures import ProcessPoolExecutor

        use_one_thread()
        for _ in range(MOST_STARTS):
            if self.context.get_start_method() == "forkserver":
                start_server()
            self.executor = ProcessPoolExecutor(self.size, mp_context=self.context, initializer=prepare_worker)
            try:
                with undivided():  # nobody would know a worker that is half started, and could kill it
                    self.first = self.submit(int)
                return
            except BrokenExecutor:
                self.close(kill=True)
                time.sleep(0.2)  # a server that was killed takes a moment to be gone
            except BaseException:
                self.close(kill=True)
                raise
        raise SettingError("the worker processes ended as soon as they had started; " + FEWER)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work; raise BrokenExecutor if a worker has died, or the fork server."""
        try:
            return self.executor.submit(function, *arguments)
        except (EOFError, ConnectionError) as error:
            raise BrokenExecutor(f"the fork server does not answer: {error}") from None

    def restart(self) -> None:
        """Start a fresh executor; raise SettingError if workers never get as far as a call, as in a bare script."""
        self.never_ran += self.first.done() and self.first.exception() is not None
        self.close(kill=True)
        if self.never_ran > 1:
            raise SettingError(
                "the worker processes ended as soon as they had started; in a script, call goalward.run below"
                ' if __name__ == "__main__":, or give workers=1'
            )
        self.start()

    def close(self, kill: bool = False) -> None:
        """Wait for the workers to leave, or kill them."""
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        self.executor.shutdown(wait=not kill, cancel_futures=kill)
        for process in processes if kill else ():
            process.kill()


def start_server() -> None:
    """Start the fork server, if it does not run, with SIGINT blocked.

    It ignores Ctrl-C by itself, but only once it has imported what workers need; before, it would print a traceback.
    What it forks inherits the mask, so a worker is safe as well until it is prepared.
    """
    from multiprocessing import forkserver, resource_tracker

    forkserver.set_forkserver_preload(["goalward.studies.worker"])
    resource_tracker.ensure_running()  # unblocks SIGINT when it has to start the tracker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def prepare_worker() -> None:
    """Ignore SIGINT (the parent handles it), print to standard error, and exit when the parent dies."""
    import multiprocessing

    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # see `start_server`
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=follow_parent, args=(parent.sentinel,), daemon=True).start()


def follow_parent(sentinel: int) -> None:
    from multiprocessing.connection import wait as wait_for_exit

    wait_for_exit([sentinel])
    os._exit(1)


class Dask(Workers):
    """The workers of a Dask cluster, which replaces lost ones by itself; they come and go."""

    def __init__(self, address: str):
        import logging

        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise SettingError("Dask is not installed; pip install 'goalward[dask]'") from None
        check_address(address)
        for name in ("distributed.client", "distributed.core", "distributed.utils", "distributed.comm", "tornado"):
            # They would print tracebacks when the scheduler is lost, which the runner reports in one line.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self.client: Any = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SettingError(
                f"no Dask scheduler answers at {address!r} ({error}); start it: dask scheduler"
            ) from None
        self.size, self.dropped = 0, False
        if self.health() != "ok":
            self.client.close()
            raise SettingError(f"the Dask cluster at {address} has no workers; start some: dask worker {address}")
        self.restart()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work; raise WorkerError if the scheduler is lost."""
        try:
            return super().submit(function, *arguments)
        except OSError:
            raise WorkerError(LOST) from None

    def restart(self) -> None:
        """Take a new executor of the same client."""
        self.executor = self.client.get_executor(pure=False)

    def health(self) -> str:
        """Ask the scheduler; raise BrokenExecutor once if the connection was lost for a moment."""
        if str(self.client.status) in ("closing", "closed"):
            return "gone"
        try:
            self.size = max(1, threads := sum(self.client.nthreads().values()))
        except (OSError, TypeError, AttributeError):  # it does not answer at the moment
            self.dropped = True
            return "empty"
        if self.dropped:
            # What was submitted before may never come back.
            self.dropped = False
            raise BrokenExecutor("the connection to the scheduler was lost for a moment")
        return "ok" if threads else "empty"

    def close(self, kill: bool = False) -> None:
        """Leave the cluster; what it still has to do is cancelled by the runner."""
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self.executor.shutdown(wait=False)
        with contextlib.suppress(Exception):
            self.client.close()


def check_address(address: str) -> None:
    """Raise SettingError at once if nobody listens at an address; Dask itself would keep trying."""
    import socket

    kind, _, location = address.rpartition("://")
    host, _, port = location.rpartition(":")
    if kind not in ("", "tcp", "tls") or not host or not port.isdigit():
        raise SettingError(f"the address of a Dask scheduler is {address!r}; it must look like tcp://host:8786")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise SettingError(
            f"nobody answers at {address!r} ({error}); start a scheduler there: dask scheduler"
        ) from None


def use_one_thread() -> None:
    """Make the libraries use one thread in this process, if they are not loaded yet, and in those it starts."""
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Make the libraries use one thread inside the block, although NumPy is loaded already.

    This works with the OpenBLAS of the wheels of NumPy and SciPy; others read their variable when they are loaded.
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
