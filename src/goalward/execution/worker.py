"""What a worker does: carry out some runs and hand back their files.

A worker gets plain data and returns bytes, so it needs no access to the results folder, and the same function serves
this process, other processes and other machines. A run that fails gives its traceback instead of a file.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from goalward import __version__, _jit
from goalward.agents.base import Learner
from goalward.learning.loop import learn
from goalward.model.ssp import SSP
from goalward.results.record import encode
from goalward.studies.attachments import Attachments
from goalward.studies.factory import make_agent, make_world
from goalward.studies.run_spec import RESULTS_VERSION, RunSpec, canonical

__all__ = ["Job", "Outcome", "carry_out", "exercises", "failure_of", "identity", "warm"]

# Worlds and agents of the last cells: runs of one cell come one after the other, and making a large world takes longer
# than learning in it. Learning changes neither.
_made: dict[str, tuple[SSP, Learner]] = {}
# Workers of a cluster may carry out several runs at once, in threads.
_keeping = threading.Lock()
MOST_MADE = 4


@dataclass(frozen=True)
class Job:
    """A run that is to be carried out, and which run of which cell it is."""

    spec: RunSpec
    cell: int
    run: int

    @property
    def key(self) -> str:
        """The key of the run."""
        return self.spec.key


@dataclass(frozen=True)
class Outcome:
    """What became of a run: its file, or what went wrong; and how long it took."""

    job: Job
    seconds: float
    file: bytes | None = None
    failure: dict[str, Any] | None = None


def carry_out(jobs: Sequence[Job], attachments: Attachments) -> list[Outcome]:
    """Carry out some runs, one after the other."""
    outcomes = []
    for job in jobs:
        start = time.perf_counter()
        try:
            # What an agent prints must not get between the lines of a document on standard output.
            with contextlib.redirect_stdout(sys.stderr):
                file = carry_out_one(job, attachments)
        except (Exception, SystemExit) as error:
            seconds = time.perf_counter() - start
            outcomes.append(Outcome(job, seconds, failure=failure_of(job, error, traceback.format_exc())))
        else:
            outcomes.append(Outcome(job, time.perf_counter() - start, file=file))
    return outcomes


def carry_out_one(job: Job, attachments: Attachments) -> bytes:
    """Carry out a run and return its file."""
    started = datetime.now(UTC)
    clock, processor = time.perf_counter(), time.process_time()
    spec = job.spec
    world, agent = made(spec, attachments)
    run = learn(agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps)
    timing = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": time.process_time() - processor,
    }
    return encode(run, spec, timing)


def made(spec: RunSpec, attachments: Attachments) -> tuple[SSP, Learner]:
    """Return the world and the agent of a run."""
    name = canonical([spec.world, spec.agent, spec.episodes])
    found = _made.get(name)
    if found is None:
        world = make_world(spec.world, attachments)
        found = world, make_agent(spec.agent, world, spec.episodes, attachments)
        with _keeping:
            while len(_made) >= MOST_MADE:
                _made.pop(next(iter(_made)))
            _made[name] = found
    return found


def failure_of(job: Job, error: BaseException, trace: str) -> dict[str, Any]:
    """Return what is recorded of a run that failed."""
    return {
        "key": job.key,
        "run": job.run,
        "error": f"{type(error).__name__}: {error}",
        "traceback": trace,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "content": job.spec.document(),
    }


def exercises() -> int:
    """Return how many parts the warming of the kernels has."""
    _jit.kernels()
    return len(_jit.exercises)


def warm(part: int) -> None:
    """Compile some of the kernels, or load them, before they are needed."""
    _jit.kernels()
    _jit.exercises[part]()


def identity() -> tuple[str, int, str]:
    """Return what must be the same here and on other machines: the version, and the hash of the kernels."""
    return __version__, RESULTS_VERSION, _jit.source_hash()
