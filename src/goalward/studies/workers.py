"""The workers that carry out runs: this process, processes of this machine, a Dask cluster, or any executor.

`Workers` accepts batches of calls and limits how many batches are submitted at once. Each run is sent with everything
that determines its result, so all workers return the same bits.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

from goalward.errors import SettingError, WorkerError
from goalward.settings import Size, check
from goalward.studies.worker_process import LEAVE_SECONDS, READY, UNLIMITED, Batch, Child, RunResult, Tee, one_thread

BROKEN = "a worker died, and this executor cannot be started again; open another executor"
LOST = "the connection to the scheduler was lost"
CHECK_SECONDS = 1.0  # how often to ask for the health of the workers
CONNECT_SECONDS = 10.0  # how long to try to reach a Dask scheduler
ANSWER_SECONDS = 5.0  # how long a scheduler may take to answer
FETCH_SECONDS = 120.0  # how long the result of a batch may take to come from the worker that holds it
EMPTY_SECONDS = 600.0  # how long to wait for lost workers or a lost scheduler
FETCHERS = 8  # threads that get results from a cluster; a frozen worker blocks one of them
EMPTY = "the cluster has no workers; start workers"
GONE = "the scheduler does not answer; start the scheduler again"
MOST_STARTS = 3  # how often to try to start a process that ends before it accepts a call
NEVER_STARTED = (
    "the worker processes ended as soon as they had started; in a script, call goalward.run below"
    ' if __name__ == "__main__":, or give workers=1. Out of memory? Try fewer workers'
)


class Workers:
    """Workers that use an executor of the user, as in ``Workers(executor, size=8)``. The executor stays open."""

    well = 0.0
    """When the workers were last healthy, as `time.monotonic` counts."""
    remote = True
    """Whether a worker can freeze or lose its connection unnoticed."""

    def __init__(self, executor: Executor, size: int | None = None):
        self.executor = executor
        self.size = size or getattr(executor, "_max_workers", None) or cores()

    @property
    def limit(self) -> int:
        """The number of batches that may be submitted at once."""
        return 2 * self.size

    def submit(self, batch: Batch) -> Future[list[Any]]:
        """Submit a batch; the future has the answer to each call, or a `RunResult` for a call whose process died.

        Raises ConnectionError if no worker can be reached at the moment, and WorkerError if the executor is unusable.
        """
        try:
            return self.executor.submit(make, batch)
        except BrokenExecutor:
            raise WorkerError(BROKEN) from None
        except RuntimeError as error:  # "cannot schedule new futures after shutdown"
            raise WorkerError(f"the executor accepts no more runs ({error}); open another executor") from None

    def waiting_for(self) -> str:
        """Return the current `problem`; raise WorkerError if a problem has lasted for too long."""
        problem, now = self.problem(), time.monotonic()
        if not problem:
            self.well = now
        if now - self.well > EMPTY_SECONDS:
            raise WorkerError(f"{problem}, and run the study again")
        return problem

    def problem(self) -> str:
        """Return the reason why no run can be made at the moment; empty if runs can be made."""
        return ""

    def close(self) -> None:
        """Release the workers; unfinished calls are abandoned."""


def open_workers(workers: int | Executor | None = None, dask: str | None = None) -> Workers:
    """Return `workers` processes (by default one for each core), or the workers of an executor or of a Dask cluster."""
    if dask is not None:
        if workers is not None:
            raise SettingError("give the number of workers or a Dask cluster, not both")
        return Dask(dask)
    if isinstance(workers, Executor):
        return Workers(workers)
    number = cores() if workers is None else check("workers", workers, Size)
    return ThisProcess() if number == 1 else Processes(number)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThisProcess(Workers):
    """The current process as the only worker; it makes each call as soon as it is submitted."""

    remote = False
    limit = 1  # so that a result is stored before the next call begins

    def __init__(self) -> None:
        self.size = 1

    def submit(self, batch: Batch) -> Future[list[Any]]:
        future: Future[list[Any]] = Future()
        try:
            # The output of an agent must not end up in a document on standard output.
            output = Tee(sys.stderr)
            with one_thread(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                future.set_result(make(batch))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Workers):
    """Worker processes on this machine. For each worker, a thread of this process notices if the worker dies."""

    remote = False

    def __init__(self, size: int):
        self.size, self.threads = size, ThreadPoolExecutor(size)
        self.local, self.lock = threading.local(), threading.Lock()
        self.started: list[Child] = []
        self.closed = False

    def submit(self, batch: Batch) -> Future[list[Any]]:
        return self.threads.submit(self.make, batch)

    def make(self, batch: Batch) -> list[Any]:
        """Return the answers to all calls, in order. If the process dies, another process makes the remaining calls."""
        answers: list[Any] = []
        while len(answers) < len(batch.tasks):
            child: Child | None = getattr(self.local, "child", None)
            # A process that was killed at a limit still counts as alive for a moment.
            if child is None or child.ended or not child.process.is_alive():
                child = self.local.child = self.start()
            answers += child.make(batch._replace(tasks=batch.tasks[len(answers) :]))
        return answers

    def start(self) -> Child:
        """Start a process; try again if the process or the fork server dies during the start."""
        for _ in range(MOST_STARTS):
            with contextlib.suppress(ConnectionError, EOFError):  # the fork server was killed
                with self.lock:
                    if self.closed:
                        raise WorkerError("the workers are closed")
                    try:
                        child = Child()
                    except RuntimeError:  # this process is itself a child, and imports a script that runs a study
                        raise SettingError(NEVER_STARTED) from None
                    self.started = [one for one in self.started if one.process.is_alive()] + [child]
                if child.receive(UNLIMITED) == READY:
                    return child
            time.sleep(0.2)  # a killed server takes a moment to disappear
        raise SettingError(NEVER_STARTED)

    def close(self) -> None:
        """Ask idle processes to exit, and kill busy processes."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        with self.lock:
            self.closed = True
        for child in self.started:
            child.end()
        for child in self.started:
            child.process.join(LEAVE_SECONDS)


_limited = Processes(1)  # makes the calls that have limits, one process for each calling thread


def make(batch: Batch) -> list[Any]:
    """Make the calls of a batch in this process or, if the batch has limits, in a process that can be killed."""
    return list(batch.answers()) if batch.limits == UNLIMITED else _limited.make(batch)


class Dask(Workers):
    """The workers of a Dask cluster. Workers may join and leave; the scheduler reassigns the calls of lost workers.

    Dask's own executor loses calls when the connection drops. This class keeps track of all calls. If the connection or
    the scheduler is lost, the calls end with a ConnectionError.
    """

    def __init__(self, address: str):
        import logging

        try:
            self.library: Any = importlib.import_module("distributed")
        except ImportError:
            raise SettingError("Dask is not installed; run pip install '.[dask]' in a checkout of goalward") from None
        # These loggers would print tracebacks when the scheduler is lost; the runner reports the loss in one line.
        logs = ("distributed", *(f"distributed.{part}" for part in ("client", "core", "utils", "comm", "batched")))
        for name in (*logs, "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.address, self.size = address, 0
        self.calls: dict[str, tuple[Any, Future[Any], int]] = {}
        self.threads = ThreadPoolExecutor(FETCHERS)
        try:
            self.connect(CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            raise SettingError(
                f"no Dask scheduler answers at {address!r} ({error}); start a scheduler there with `dask"
                " scheduler` and give its address, such as tcp://host:8786"
            ) from None
        if self.problem():
            self.close()
            raise SettingError(f"the Dask cluster at {address} has no workers; start one with: dask worker {address}")

    def connect(self, seconds: float) -> None:
        """Connect to the scheduler; raise OSError if the scheduler does not answer in time."""
        self.client: Any = self.library.Client(self.address, timeout=seconds, set_as_default=False)

    def submit(self, batch: Batch) -> Future[list[Any]]:
        answer: Future[list[Any]] = Future()
        try:
            if self.client.status != "running":
                raise ConnectionError(LOST)
            call = self.client.submit(make, batch, pure=False)
            self.calls[call.key] = call, answer, len(batch.tasks)
            call.add_done_callback(lambda call: self.threads.submit(self.fetch, call.key))
        except Exception:
            if self.client.status == "running":
                raise
            raise ConnectionError(LOST) from None
        return answer

    def fetch(self, key: str) -> None:
        """Fetch the answers to a batch of calls from the worker that computed them."""
        call, answer, number = self.calls.pop(key, (None, None, 0))
        if call is None or answer is None or not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(call.result(timeout=FETCH_SECONDS))
        except BaseException as error:
            kind = type(error).__name__
            if kind == "KilledWorker":  # Dask has tried the batch on several workers
                reason = "the workers that made this run died; out of memory?"
                answer.set_result([RunResult(error=reason, died=number > 1)] * number)
            else:
                # Workers catch the errors of runs. If the connection was lost, the runs are handed out again.
                lost = isinstance(error, OSError | TimeoutError) or "Cancelled" in kind
                answer.set_exception(ConnectionError(LOST) if lost else error)

    def problem(self) -> str:
        """Ask the scheduler for its number of threads, and end lost calls. If necessary, connect again first."""
        try:
            if self.client.status == "closed":
                self.connect(CHECK_SECONDS)
            number = sum(self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWER_SECONDS).values())
        except Exception:  # Dask raises many kinds of errors while it tries to connect
            return GONE
        for key, (call, *_) in list(self.calls.items()):
            if call.status in ("cancelled", "lost"):
                self.fetch(key)
        self.size = max(1, number)
        return "" if number else EMPTY

    def close(self) -> None:
        """Disconnect from the cluster, which then drops the remaining calls."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self.client.close(timeout=ANSWER_SECONDS)
