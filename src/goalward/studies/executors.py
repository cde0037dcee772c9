"""The workers that carry out runs: this process, processes of this machine, a Dask cluster, or any executor.

`Workers` is a `concurrent.futures.Executor` with its present size, a way to start again after a worker died, and a
health question. Everything that decides a run is sent with it, so all of them give the same bits. Linear algebra uses
one thread: there are as many workers as cores, and the number of threads decides the order of additions, hence the last
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
    "CHECK_SECONDS", "FEWER", "LONGEST_OUTPUT", "Dask", "Processes", "Tee", "ThisProcess", "Workers", "context",
    "cores", "one_thread", "open_workers", "prepare_worker", "use_one_thread",
]  # fmt: skip

MOST_STARTS = 3  # how often to start workers that die before the first run
LOST = "the connection to the scheduler was lost"
FEWER = "out of memory? Try fewer workers"
CHECK_SECONDS = 1.0  # how often to ask for the health of the workers
CONNECT_SECONDS = 10.0  # how long to try to reach a Dask scheduler
ANSWER_SECONDS = 5.0  # how long a scheduler may take to answer
FETCH_SECONDS = 120.0  # how long the result of a batch may take to come from the worker that holds it
EMPTY_SECONDS = 600.0  # how long to wait for workers, or for a scheduler, that have left
# What to wait for, by the health of the workers, and what to say when that has taken too long.
WAITING = {
    "empty": (
        "the cluster has no workers; waiting for some",
        "the cluster has had no workers for some time; start some",
    ),
    "gone": (
        "the scheduler does not answer; waiting for it",
        "the scheduler cannot be reached any more; start it again",
    ),
}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The OpenBLAS that comes with NumPy, and that of SciPy: a module that is linked to it, and the names of its functions.
THREAD_FUNCTIONS = (
    ("numpy.linalg._umath_linalg", "scipy_openblas_{}_num_threads64_"),
    ("scipy.linalg._fblas", "scipy_openblas_{}_num_threads"),
)
FETCHERS = 8  # threads that get results from a cluster; one that is frozen holds one of them up
LONGEST_OUTPUT = 4000
Result = TypeVar("Result")


class Tee:
    """Standard output and error of a worker: passes all on, and keeps the end of what each thread prints in a run."""

    def __init__(self, stream: Any):
        self.stream, self.local = stream, threading.local()

    def write(self, text: str) -> int:
        """Print a text."""
        self.local.end = (getattr(self.local, "end", "") + text)[-LONGEST_OUTPUT:]
        return int(self.stream.write(text) or 0)

    def take(self) -> str:
        """Return what this thread has printed, and forget it."""
        text, self.local.end = getattr(self.local, "end", ""), ""
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Workers:
    """An executor of the user, which is neither started again nor shut down: ``Workers(executor, size=8)``."""

    warmed: frozenset[str] = frozenset()
    """The agents whose kernels the workers have compiled."""
    well = 0.0
    """When the workers were healthy last."""
    remote = True
    """Whether a worker may be frozen or cut off without anybody noticing."""

    def __init__(self, executor: Executor, size: int | None = None):
        self.executor = executor
        self.size = size or getattr(executor, "_max_workers", None) or cores()

    @property
    def limit(self) -> int:
        """How many calls may be submitted at once."""
        return 2 * self.size

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a function called; raise BrokenExecutor if a worker has died, ConnectionError if none is reached now."""
        try:
            return self.executor.submit(function, *arguments)
        except BrokenExecutor:
            raise
        except RuntimeError as error:  # "cannot schedule new futures after shutdown"
            raise WorkerError(f"the executor takes no more runs ({error}); open another one") from None

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
        deaths, self.well = 0, time.monotonic()
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
                    self.waiting_for()
            except ConnectionError:
                self.waiting_for()
                time.sleep(CHECK_SECONDS)
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

    def waiting_for(self) -> str:
        """Ask for the health: return what to wait for, "" for nothing; raise WorkerError if it has taken too long."""
        health, now = self.health(), time.monotonic()
        if health == "ok":
            self.well = now
            return ""
        waiting, given_up = WAITING[health]
        if now - self.well > EMPTY_SECONDS:
            raise WorkerError(f"{given_up}, and run the study again")
        return waiting

    def restart(self) -> None:
        """Replace the workers after one died."""
        raise WorkerError("a worker died, and this executor cannot be started again; open another one")

    def health(self) -> str:
        """Return "ok", "empty" if there is no worker at the moment, or "gone" if none can be reached."""
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

    remote = False

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
            output = Tee(sys.stderr)
            with one_thread(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Workers):
    """Worker processes on this machine."""

    remote = False

    def __init__(self, size: int):
        self.size = size
        self.never_ran = 0
        self.start()

    def start(self) -> None:
        """Start an executor and its first worker; again, if the fork server is killed at that moment."""
        from concurrent.futures import ProcessPoolExecutor

        use_one_thread()
        for _ in range(MOST_STARTS):
            self.executor = ProcessPoolExecutor(self.size, mp_context=context(), initializer=prepare_worker)
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


def context() -> Any:
    """Return how to start processes: by a fork server, which imports goalward once for all, where there is one.

    Not by fork: a forked copy of a process with threads can hang.
    """
    import multiprocessing  # here, because the command line imports this module before it knows its verb

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    start_server()
    return multiprocessing.get_context("forkserver")


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

    sys.stdout = sys.stderr = Tee(sys.stderr)
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
    """The workers of a Dask cluster, which come and go; the scheduler replaces lost ones by itself.

    Dask's own executor loses calls when the connection drops. Here they are kept, and a call that is lost with the
    connection, or with the scheduler, ends with a ConnectionError.
    """

    def __init__(self, address: str):
        import logging
        from concurrent.futures import ThreadPoolExecutor

        try:
            self.library: Any = importlib.import_module("distributed")
        except ImportError:
            raise SettingError("Dask is not installed; pip install '.[dask]' in a checkout") from None
        check_address(address)
        # They would print tracebacks when the scheduler is lost, which the runner reports in one line.
        logs = ("distributed", *(f"distributed.{part}" for part in ("client", "core", "utils", "comm", "batched")))
        for name in (*logs, "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.address, self.size = address, 0
        self.calls: dict[str, tuple[Any, Future[Any]]] = {}
        self.threads = ThreadPoolExecutor(FETCHERS)
        try:
            self.connect(CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            raise SettingError(
                f"no Dask scheduler answers at {address!r} ({error}); start it: dask scheduler"
            ) from None
        if self.health() != "ok":
            self.close()
            raise SettingError(f"the Dask cluster at {address} has no workers; start some: dask worker {address}")

    def connect(self, seconds: float) -> None:
        """Connect to the scheduler; raise OSError if it does not answer in time."""
        self.client: Any = self.library.Client(self.address, timeout=seconds, set_as_default=False)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work; raise ConnectionError if the scheduler does not answer at the moment."""
        answer: Future[Any] = Future()
        try:
            if self.client.status != "running":
                raise ConnectionError(LOST)
            call = self.client.submit(function, *arguments, pure=False)
            self.calls[call.key] = call, answer
            call.add_done_callback(lambda call: self.threads.submit(self.fetch, call.key))
        except Exception:
            if self.client.status == "running":
                raise
            raise ConnectionError(LOST) from None
        return answer

    def fetch(self, key: str) -> None:
        """Get the answer to a call from the worker that has it."""
        call, answer = self.calls.pop(key, (None, None))
        if call is None or answer is None or not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(call.result(timeout=FETCH_SECONDS))
        except BaseException as error:
            # A worker catches what a run raises, so these are lost on the way; the runs are handed out again.
            lost = isinstance(error, OSError | TimeoutError) or "Cancelled" in type(error).__name__
            answer.set_exception(ConnectionError(LOST) if lost else error)

    def restart(self) -> None:
        """Do nothing: the scheduler replaces workers."""

    def health(self) -> str:
        """Ask the scheduler for its threads, connecting again if that is necessary; end calls that are lost."""
        try:
            if self.client.status == "closed":
                self.connect(CHECK_SECONDS)
            number = sum(self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWER_SECONDS).values())
        except Exception:  # of many kinds, while Dask tries to connect
            return "gone"
        for key, (call, _) in list(self.calls.items()):
            if call.status in ("cancelled", "lost"):
                self.fetch(key)
        self.size = max(1, number)
        return "ok" if number else "empty"

    def close(self, kill: bool = False) -> None:
        """Leave the cluster, which then forgets what it still has to do."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self.client.close(timeout=ANSWER_SECONDS)


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
