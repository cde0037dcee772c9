"""What a worker does: carry out runs and return their files.

A worker gets plain data and returns bytes. So it needs no access to the results folder, and the same function serves
this process, other processes and other machines. A run that fails returns its traceback instead of a file. Whatever
else is raised is not the fault of a run.
"""

from __future__ import annotations

import functools
import platform
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from goalward import __version__
from goalward import jit as _jit
from goalward.agents.base import Learner
from goalward.environments.by_name import closing
from goalward.errors import WorkerError
from goalward.learning.learn import run_agent
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.run_file import RunLabels, encode
from goalward.studies.run_spec import RESULTS_VERSION, RunSpec
from goalward.studies.spec import canonical
from goalward.worlds.base import is_foreign

__all__ = ["Identity", "Job", "Outcome", "carry_out", "failure_of", "identity"]

Identity = tuple[str, int, str]

# The worlds and agents of the last cells. Runs of one cell come one after the other, building a large world takes
# longer than learning in it, and learning changes neither. But an environment may carry something from run to run, so
# every run has its own.
_built: dict[str, tuple[Any, Learner]] = {}
_lock = threading.Lock()  # a worker of a cluster may carry out several runs at once, in threads
MOST_BUILT = 4


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


def carry_out(expected: Identity, jobs: Sequence[Job], attachments: Attachments) -> list[Outcome]:
    """Carry out runs, one after the other; raise WorkerError if this goalward is not the expected one."""
    if identity() != expected:
        raise WorkerError(
            f"a worker on {platform.node()} has {identity()}, this process {expected} (version, results, kernels);"
            " install the same goalward everywhere"
        )
    outcomes = []
    for job in jobs:
        start = time.perf_counter()
        try:
            file = carry_out_one(job, attachments)
        except (Exception, SystemExit) as error:
            seconds = time.perf_counter() - start
            outcomes.append(Outcome(job, seconds, failure=failure_of(job, error, traceback.format_exc())))
        else:
            outcomes.append(Outcome(job, time.perf_counter() - start, file=file))
    return outcomes


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


def failure_of(job: Job, error: BaseException, trace: str) -> dict[str, Any]:
    """Return the record of a run that failed."""
    return {
        "key": job.key,
        "run": job.run,
        "error": f"{type(error).__name__}: {error}",
        "traceback": trace,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "content": job.spec.document(),
    }


@functools.cache
def identity() -> Identity:
    """Return what all workers must have in common: the versions, and the hash of the kernels."""
    return __version__, RESULTS_VERSION, _jit.source_hash()
