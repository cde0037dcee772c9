"""What a worker does: carry out runs and return their files.

A worker gets plain data and returns bytes. So it needs no access to the results folder, and the same function serves
this process, other processes and other machines. A run that fails returns its traceback instead of a file. Whatever
else is raised is not the fault of a run.

If runs have limits of time or memory, each worker has a process of its own make them, and kills it when a run exceeds
one: compiled code can be stopped in no other way.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from goalward import __version__
from goalward import jit as _jit
from goalward.agents.base import Learner
from goalward.environments.by_name import closing
from goalward.errors import SettingError, WorkerError
from goalward.formatting import duration
from goalward.learning.learn import run_agent
from goalward.learning.warm_up import warm_up
from goalward.settings import checked_integer, checked_number
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.executors import LONGEST_OUTPUT, Tee, context, prepare_worker
from goalward.studies.run_file import RunLabels, encode
from goalward.studies.run_spec import RESULTS_VERSION, RunSpec
from goalward.studies.spec import canonical
from goalward.worlds.base import is_foreign

__all__ = ["UNLIMITED", "Identity", "Job", "Limits", "Outcome", "carry_out", "failure_of", "identity"]

Identity = tuple[str, int, str]

# The worlds and agents of the last cells. Runs of one cell come one after the other, building a large world takes
# longer than learning in it, and learning changes neither. But an environment may carry something from run to run, so
# every run has its own.
_built: dict[str, tuple[Any, Learner]] = {}
_lock = threading.Lock()  # a worker of a cluster may carry out several runs at once, in threads
MOST_BUILT = 4


class Limits(NamedTuple):
    """What a run may use, and how often it is tried again if it fails. They are no part of its key.

    Without `seconds` or `memory`, in megabytes of its process, there is no such limit. Python and goalward take about
    250 MB of the memory. Starting the process and compiling goalward's kernels take none of the time.
    """

    seconds: float | None = None
    memory: int | None = None
    retries: int = 0

    def checked(self) -> Limits:
        """Return the limits; raise SettingError if one is not allowed."""
        if self.seconds is not None:
            checked_number("the time limit", self.seconds, open=True)
        if self.memory is not None:
            checked_integer("the memory limit", self.memory, 1)
            if not Path("/proc/self/statm").exists():
                raise SettingError("memory cannot be limited on this system, only on Linux; leave the limit out")
        checked_integer("retries", self.retries, 0)
        return self


UNLIMITED = Limits()


@dataclass(frozen=True)
class Job:
    """A run that a worker is to carry out, and which run of which cell it is."""

    spec: RunSpec
    cell: int
    run: int
    world_label: str
    agent_label: str

    @property
    def key(self) -> str:
        """The key of the run."""
        return self.spec.key


@dataclass(frozen=True)
class Outcome:
    """How a run ended: with its file, or with what went wrong; and how long it took."""

    job: Job
    seconds: float
    file: bytes | None = None
    failure: dict[str, Any] | None = None


def carry_out(
    expected: Identity, jobs: Sequence[Job], attachments: Attachments, limits: Limits = UNLIMITED
) -> list[Outcome]:
    """Carry out runs, one after the other; raise WorkerError if this goalward is not the expected one."""
    if identity() != expected:
        raise WorkerError(
            f"a worker on {platform.node()} has {identity()}, this process {expected} (version, results, kernels);"
            " install the same goalward everywhere"
        )
    try_run = carry_out_limited if limits.seconds or limits.memory else carry_out_here
    outcomes = []
    for job in jobs:
        for _ in range(1 + limits.retries):
            outcome = try_run(job, attachments, limits)
            if outcome.failure is None:
                break
        outcomes.append(outcome)
    return outcomes


def carry_out_here(job: Job, attachments: Attachments, limits: Limits = UNLIMITED) -> Outcome:
    """Carry out a run in this process, without limits."""
    start, output = time.perf_counter(), sys.stderr
    if isinstance(output, Tee):
        output.take()
    try:
        file = carry_out_one(job, attachments)
    except (Exception, SystemExit) as error:
        printed = output.take() if isinstance(output, Tee) else ""
        seconds = time.perf_counter() - start
        reason, trace = f"{type(error).__name__}: {error}", traceback.format_exc()
        return Outcome(job, seconds, failure=failure_of(job, reason, seconds, trace, printed))
    return Outcome(job, time.perf_counter() - start, file=file)


# Limits

_local = threading.local()
LOOK_SECONDS = 0.02  # how often to look at the memory of a process


class Child:
    """A process that makes runs for one thread of a worker."""

    def __init__(self) -> None:
        import multiprocessing

        ours, theirs = multiprocessing.Pipe()
        self.connection, self.output = ours, ""
        self.process = context().Process(target=serve, args=(theirs,), daemon=True)
        own: Any = multiprocessing.current_process()
        daemon = own._config.pop("daemon", None)  # a worker that Dask's nanny started is one, and may have no children
        try:
            self.process.start()
        finally:
            own._config.update({} if daemon is None else {"daemon": daemon})
        theirs.close()

    def receive(self, seconds: float | None, memory: int | None) -> tuple[Any, str]:
        """Wait for the next message of the process; return it, or why there is none."""
        start = time.monotonic()
        while True:
            message = None
            with contextlib.suppress(EOFError, OSError):  # the process has died
                message = self.connection.recv() if self.connection.poll(LOOK_SECONDS) else None
            if isinstance(message, str):
                sys.stderr.write(message)
                self.output = (self.output + message)[-LONGEST_OUTPUT:]
            elif message is not None:
                return message, ""
            elif not self.process.is_alive():
                return None, f"the process of this run died (exit code {self.process.exitcode}); out of memory?"
            if seconds is not None and time.monotonic() - start > seconds:
                return None, f"it took longer than the limit of {duration(seconds)}"
            if memory is not None and (used := self.megabytes()) > memory:
                return None, f"it used {used:,.0f} MB of memory, more than the limit of {memory:,} MB"

    def megabytes(self) -> float:
        """Return the memory that the process uses now."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def carry_out_limited(job: Job, attachments: Attachments, limits: Limits) -> Outcome:
    """Have a run carried out by a process that is killed if the run exceeds a limit."""
    child: Child | None = getattr(_local, "child", None)
    if child is None or not child.process.is_alive():
        child = _local.child = Child()
    child.output = ""
    start, reason = time.perf_counter(), ""
    with contextlib.suppress(OSError):  # it has died; `receive` says so
        child.connection.send((job, attachments))
    ready, reason = child.receive(None, None)
    if ready:
        start = time.perf_counter()
        outcome, reason = child.receive(limits.seconds, limits.memory)
        if isinstance(outcome, Outcome):
            return outcome
    child.process.kill()
    _local.child = None
    seconds = time.perf_counter() - start
    return Outcome(job, seconds, failure=failure_of(job, reason, seconds, output=child.output))


def serve(connection: Any) -> None:
    """Carry out the runs that come through a connection, in a process of their own."""
    prepare_worker()
    sys.stdout = sys.stderr = Tee(SimpleNamespace(write=connection.send, flush=lambda: None))
    warm: set[str] = set()
    while True:
        try:
            job, attachments = connection.recv()
        except EOFError:
            return
        agent = job.spec.agent
        if "code" not in agent and agent["name"] not in warm:
            warm_up([agent["name"]])
            warm.add(agent["name"])
        connection.send(True)
        connection.send(carry_out_here(job, attachments))


def carry_out_one(job: Job, attachments: Attachments) -> bytes:
    started = datetime.now(UTC)
    # A worker of a cluster may carry out other runs at the same time, in other threads.
    clock, processor = time.perf_counter(), time.thread_time()
    spec = job.spec
    world, agent = build(spec, attachments)
    with closing(world):
        run = run_agent(agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps)
    timing = {
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": time.thread_time() - processor,
    }
    return encode(run, spec, timing, RunLabels(job.world_label, job.agent_label, job.run))


def build(spec: RunSpec, attachments: Attachments) -> tuple[Any, Learner]:
    """Return the world and the agent of a run, those of an earlier run if they are the same."""
    name = canonical([spec.world, spec.agent, spec.episodes])
    built = _built.get(name)
    if built is None:
        built = spec.build(attachments)
        if not isinstance(built[0], SSP) and is_foreign(spec.world["id"]):
            return built
        with _lock:
            while len(_built) >= MOST_BUILT:
                _built.pop(next(iter(_built)))
            _built[name] = built
    return built


def failure_of(job: Job, reason: str, seconds: float, trace: str = "", output: str = "") -> dict[str, Any]:
    """Return the record of a run that failed; `output` is the end of what it printed."""
    return {
        "key": job.key,
        "run": job.run,
        "error": reason,
        "traceback": trace,
        "output": output,
        "host": platform.node(),
        "seconds": seconds,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "content": job.spec.document(),
    }


@functools.cache
def identity() -> Identity:
    """Return what all workers must have in common: the versions, and the hash of the kernels."""
    return __version__, RESULTS_VERSION, _jit.source_hash()
