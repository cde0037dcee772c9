"""Where runs are carried out: in this process, in processes of this machine, or on a Dask cluster.

Each is a thin layer over a `concurrent.futures.Executor` and has the same shape, so the runner knows no difference, and
results are the same bit for bit: whatever decides them travels with the run.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any, Protocol

from goalward.errors import SettingError
from goalward.execution import worker
from goalward.execution.thread_limits import use_one_thread

__all__ = ["Dask", "InProcess", "Pool", "Processes", "cores", "open_pool"]

CONNECT_SECONDS = 10.0  # how long to try to reach a Dask scheduler, at the start and when it is lost


class Pool(Protocol):
    """What the runner needs of an executor."""

    workers: int
    """How many runs go on at once."""
    prefetch: int
    """How many pieces of work may be handed out beyond those that are going on."""
    fails_as_one: bool
    """Whether a worker that dies takes the work of all the others with it."""

    @property
    def gone(self) -> bool:
        """Whether no worker can be reached any more, nor ever will."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work."""

    def warm(self) -> None:
        """Compile the kernels before the first run."""

    def restart(self) -> None:
        """Make a fresh executor after a worker died."""

    def close(self) -> None:
        """Leave when all work is done."""

    def stop(self) -> None:
        """Leave at once and drop what is going on."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_pool(workers: int | None = None, dask: str | None = None) -> Pool:
    """Return where to carry out runs: by default one process for each core; one worker means this process."""
    if dask is not None:
        if workers is not None:
            raise SettingError("give the number of workers or a Dask cluster, not both")
        return Dask(dask)
    number = cores() if workers is None else workers
    if number < 1:
        raise SettingError(f"workers is {number}; it must be at least 1")
    return InProcess() if number == 1 else Processes(number)


class InProcess:
    """Carries work out as soon as it is handed out, here."""

    workers = 1
    prefetch = 0
    fails_as_one = gone = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Do the work now."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def warm(self) -> None:
        """Compile the kernels."""
        for part in range(worker.exercises()):
            worker.warm(part)

    def restart(self) -> None:
        """There is nothing to restart."""

    def close(self) -> None:
        """There is nothing to close."""

    def stop(self) -> None:
        """There is nothing to stop."""


class Processes:
    """Worker processes on this machine."""

    fails_as_one = True
    gone = False

    def __init__(self, workers: int):
        self.workers = self.prefetch = workers
        # Not fork: a forked copy of a process with threads can hang. The fork server loads goalward once for all.
        kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self.context: Any = multiprocessing.get_context(kind)
        if kind == "forkserver":
            self.context.set_forkserver_preload(["goalward.execution.worker"])
        self.executor = self.begin()

    def begin(self) -> ProcessPoolExecutor:
        """Start an executor."""
        use_one_thread()
        return ProcessPoolExecutor(self.workers, mp_context=self.context, initializer=prepare_worker)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work."""
        return self.executor.submit(function, *arguments)

    def warm(self) -> None:
        """Compile the kernels, the parts spread over the workers, and leave them in the cache."""
        try:
            list(self.executor.map(worker.warm, range(worker.exercises())))
        except BrokenExecutor:
            raise SettingError(
                "the worker processes ended as soon as they had started; in a script, call goalward.run below"
                ' if __name__ == "__main__":, or give workers=1'
            ) from None

    def restart(self) -> None:
        """Start a fresh executor."""
        self.stop()
        self.executor = self.begin()

    def close(self) -> None:
        """Wait for the workers to leave."""
        self.executor.shutdown()

    def stop(self) -> None:
        """Kill the workers."""
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()


def prepare_worker() -> None:
    """Leave Ctrl-C to the parent, and die with it: killed, it cannot say goodbye."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=follow_parent, args=(parent.sentinel,), daemon=True).start()


def follow_parent(sentinel: int) -> None:
    """Wait for the parent's end and leave."""
    wait([sentinel])
    os._exit(1)


class Dask:
    """The workers of a Dask cluster."""

    fails_as_one = False

    def __init__(self, address: str):
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise SettingError("Dask is not installed; pip install 'goalward[dask]'") from None
        try:
            self.client: Any = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SettingError(
                f"no Dask scheduler answers at {address!r} ({error}); start it: dask scheduler"
            ) from None
        threads = self.client.nthreads()
        if not threads:
            self.client.close()
            raise SettingError(f"the Dask cluster at {address} has no workers; start some: dask worker {address}")
        self.workers = self.prefetch = sum(threads.values())
        self.check_versions(address)
        self.executor = self.client.get_executor(pure=False)

    def check_versions(self, address: str) -> None:
        """Refuse workers that would compute something else."""
        here = worker.identity()
        for name, there in self.client.run(identity_or_reason).items():
            if there != here:
                self.client.close()
                raise SettingError(
                    f"worker {name} of {address} has {there}, this process {here} (version, results, kernels);"
                    " install the same goalward everywhere"
                )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work."""
        future: Future[Any] = self.executor.submit(function, *arguments)
        return future

    def warm(self) -> None:
        """Compile the kernels on every worker."""
        self.client.run(warm_all)

    @property
    def gone(self) -> bool:
        """Whether the client has given up on the scheduler."""
        return str(self.client.status) in ("closing", "closed")

    def restart(self) -> None:
        """Dask replaces lost workers by itself."""

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()

    def stop(self) -> None:
        """Cancel what is going on and leave the cluster."""
        if not self.gone:
            self.executor.shutdown(wait=False)
        self.client.close()


def identity_or_reason() -> tuple[str, int, str] | str:
    """Return what a worker is, or why it cannot say."""
    try:
        return worker.identity()
    except Exception as error:
        return f"no goalward ({error}) in {sys.version.split()[0]}"


def warm_all() -> None:
    """Compile all kernels."""
    for part in range(worker.exercises()):
        worker.warm(part)
