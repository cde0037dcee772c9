"""The pools of workers that carry out runs: this process, processes of this machine, or a Dask cluster.

Each is a thin layer over a `concurrent.futures.Executor`. Whatever decides a run travels with it, so all pools give the
same bits.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from typing import Any

from goalward.errors import SettingError
from goalward.learning.warm_up import warm_up
from goalward.signals import undivided
from goalward.studies import worker
from goalward.studies.thread_limits import one_thread, use_one_thread

__all__ = ["ClusterLostError", "Dask", "InProcess", "Pool", "Processes", "cores", "open_pool"]

DIED = "the worker processes ended"
MOST_STARTS = 3  # how often to start workers that die before the first run
CONNECT_SECONDS = 10.0  # how long to try to reach a Dask scheduler, at the start and when it is lost


class ClusterLostError(Exception):
    """The scheduler of a cluster no longer answers."""


class Pool(ABC):
    """Workers that call functions for the session of a study."""

    workers = 1
    """How many calls go on at once."""
    prefetch = 0
    """How many calls may be submitted beyond those that are going on."""
    fails_as_one = False
    """Whether a worker that dies takes the calls of all the others with it."""

    @property
    def gone(self) -> bool:
        """Whether no worker can be reached any more."""
        return False

    @property
    def empty(self) -> bool:
        """Whether there is no worker at the moment."""
        return False

    @abstractmethod
    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a function called."""

    @abstractmethod
    def warm(self, agents: Sequence[str]) -> None:
        """Compile the kernels that these agents use before the first run."""

    def restart(self) -> None:  # noqa: B027 (most pools need not)
        """Replace the workers after one died."""

    def close(self) -> None:  # noqa: B027
        """Let the workers go when all calls are done."""

    def stop(self) -> None:  # noqa: B027
        """Let the workers go at once, whatever they are doing."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_pool(workers: int | None = None, dask: str | None = None) -> Pool:
    """Return a pool: by default one process for each core; with one worker, this process."""
    if dask is not None:
        if workers is not None:
            raise SettingError("give the number of workers or a Dask cluster, not both")
        return Dask(dask)
    number = cores() if workers is None else workers
    if number < 1:
        raise SettingError(f"workers is {number}; it must be at least 1")
    return InProcess() if number == 1 else Processes(number)


class InProcess(Pool):
    """Calls functions here, as soon as they are submitted."""

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

    def warm(self, agents: Sequence[str]) -> None:
        """Compile the kernels, so that no run is measured with its compilation."""
        warm_up(agents)


class Processes(Pool):
    """Worker processes on this machine."""

    fails_as_one = True

    def __init__(self, workers: int):
        self.workers = self.prefetch = workers
        # Not fork: a forked copy of a process with threads can hang. The fork server imports goalward once for all.
        kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self.context: Any = multiprocessing.get_context(kind)
        self.begin()

    def begin(self) -> None:
        """Start an executor and its workers; again, if the fork server is killed at that moment."""
        for _ in range(MOST_STARTS):
            with contextlib.suppress(BrokenExecutor):
                self.start()
                return
            time.sleep(0.2)  # a server that was killed takes a moment to be gone
        raise SettingError(f"{DIED} as soon as they had started; out of memory? Try fewer workers")

    def start(self) -> None:
        """Start an executor and its first worker; raise BrokenExecutor if that one cannot be started."""
        use_one_thread()
        if self.context.get_start_method() == "forkserver":
            start_server()
        self.executor = ProcessPoolExecutor(self.workers, mp_context=self.context, initializer=prepare_worker)
        try:
            with undivided():  # nobody would know a worker that is half started, and could kill it
                self.first = self.submit(int)
        except BaseException:
            self.stop()
            raise

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work; raise BrokenExecutor if a worker has died, or the fork server."""
        try:
            return self.executor.submit(function, *arguments)
        except (EOFError, ConnectionError) as error:
            raise BrokenExecutor(f"the fork server does not answer: {error}") from None

    def warm(self, agents: Sequence[str]) -> None:
        """Compile the kernels in one worker; the others read them from the cache."""
        never_ran = 0
        for _ in range(MOST_STARTS):
            try:
                self.submit(warm_up, agents).result()
                return
            except BrokenExecutor:
                # One that was killed is replaced. In a script without a guard, none ever gets as far as a call.
                never_ran += self.first.exception() is not None
                if never_ran > 1:
                    raise SettingError(
                        f"{DIED} as soon as they had started; in a script, call goalward.run below"
                        ' if __name__ == "__main__":, or give workers=1'
                    ) from None
                self.restart()
        raise SettingError(
            f"{DIED} {MOST_STARTS} times while they loaded the kernels; out of memory? Try fewer workers"
        )

    def restart(self) -> None:
        """Start a fresh executor."""
        self.stop()
        self.begin()

    def close(self) -> None:
        """Wait for the workers to leave."""
        self.executor.shutdown()

    def stop(self) -> None:
        """Kill the workers."""
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()


def start_server() -> None:
    """Start the fork server, if it does not run, with SIGINT blocked.

    It ignores Ctrl-C by itself, but only once it has imported what workers need; before, it would print a traceback.
    What it forks inherits the mask, so a worker is safe as well until it is prepared.
    """
    forkserver.set_forkserver_preload(["goalward.studies.worker"])
    resource_tracker.ensure_running()  # unblocks SIGINT when it has to start the tracker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def prepare_worker() -> None:
    """Ignore SIGINT (the parent handles it), print to standard error, and exit when the parent dies."""
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # see `start_server`
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=follow_parent, args=(parent.sentinel,), daemon=True).start()


def follow_parent(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


class Dask(Pool):
    """The workers of a Dask cluster, which replaces lost ones by itself."""

    def __init__(self, address: str):
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise SettingError("Dask is not installed; pip install 'goalward[dask]'") from None
        check_address(address)
        for name in ("distributed.client", "distributed.core", "distributed.utils", "distributed.comm", "tornado"):
            # They would print tracebacks when the scheduler is lost, which goalward says itself in one line.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self.client: Any = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SettingError(
                f"no Dask scheduler answers at {address!r} ({error}); start it: dask scheduler"
            ) from None
        try:
            threads = self.client.nthreads()
            if not threads:
                self.client.close()
                raise SettingError(f"the Dask cluster at {address} has no workers; start some: dask worker {address}")
            self.workers = self.prefetch = sum(threads.values())
            self.identity = worker.identity()
            self.check_versions(address)
            self.executor = self.client.get_executor(pure=False)
        except OSError as error:
            self.client.close()
            raise SettingError(f"the Dask scheduler at {address} no longer answers ({error}); start it again") from None

    def check_versions(self, address: str) -> None:
        """Raise SettingError if a worker has another goalward, which may compute something else."""
        for name, there in self.answers(identity_or_reason).items():
            if there != self.identity:
                self.client.close()
                raise SettingError(worker.other_version(f"worker {name} of {address}", there, self.identity))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work. A worker that joined later refuses it if its goalward differs."""
        with noticing_loss():
            future: Future[Any] = self.executor.submit(worker.call_alike, self.identity, function, *arguments)
        return future

    def warm(self, agents: Sequence[str]) -> None:
        """Compile the kernels on every worker."""
        with noticing_loss():
            self.answers(warm_up, agents)

    def answers(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function on every worker; those that leave meanwhile have no answer."""
        found = self.client.run(function, *arguments, on_error="return")
        for answer in found.values():
            if isinstance(answer, Exception) and not isinstance(answer, OSError):
                raise answer
        return {name: answer for name, answer in found.items() if not isinstance(answer, OSError)}

    @property
    def gone(self) -> bool:
        """Whether the client has given up on the scheduler."""
        return str(self.client.status) in ("closing", "closed")

    @property
    def empty(self) -> bool:
        """Whether the scheduler answers that it has no workers."""
        try:
            return not self.client.nthreads()
        except (OSError, TypeError, AttributeError):  # it does not answer; `gone` tells whether it is lost
            return False

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()

    def stop(self) -> None:
        """Cancel what is going on and leave the cluster."""
        if not self.gone:
            self.executor.shutdown(wait=False)
        self.client.close()


@contextmanager
def noticing_loss() -> Iterator[None]:
    """Raise ClusterLostError in place of the errors of a connection that is closed."""
    try:
        yield
    except OSError as error:
        raise ClusterLostError(str(error)) from None


def check_address(address: str) -> None:
    """Raise SettingError at once if nobody listens at an address; Dask itself would go on trying."""
    kind, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if kind not in ("", "tcp", "tls") or not host or not port.isdigit():
        raise SettingError(f"the address of a Dask scheduler is {address!r}; it must look like tcp://host:8786")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise SettingError(
            f"nobody answers at {address!r} ({error}); start a scheduler there: dask scheduler"
        ) from None


def identity_or_reason() -> tuple[str, int, str] | str:
    """Return the identity of a worker, or why it has none."""
    try:
        return worker.identity()
    except Exception as error:
        return f"no goalward ({error}) in {sys.version.split()[0]}"
