"""Carry out runs in a worker, and return their files.

A worker receives plain data and returns bytes, so a worker needs no access to the results folder. The same function
works in this process, in other processes and on other machines. A run that fails returns its traceback instead of a
file. So an exception that `carry_out` raises was not caused by a run.
"""

from __future__ import annotations

import contextlib
import functools
import platform
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from typing import Any

from goalward import __version__
from goalward import jit as _jit
from goalward.agents.base import Learner
from goalward.environments.by_name import closing
from goalward.errors import GoalwardError, WorkerError
from goalward.learning.learn import run_agent
from goalward.learning.warm_up import warm_up
from goalward.planning.hardness import hardness
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.run_file import encode
from goalward.studies.run_spec import RESULTS_VERSION, RunSpec
from goalward.studies.spec import canonical
from goalward.studies.worker_process import RunResult, Tee, clock_starts
from goalward.worlds.base import is_foreign

Identity = tuple[str, int, str]

# The worlds and agents of the last cells. Consecutive runs of a cell reuse them, because building a large world takes
# longer than learning in it, and learning changes neither the world nor the agent. Environments from outside goalward
# may keep state between runs, so each run builds its own.
_built: dict[str, tuple[Any, Learner]] = {}
_facts: dict[str, dict[str, Any]] = {}  # facts about worlds, by their digests
_warm: set[str] = set()
_lock = threading.Lock()  # a worker of a cluster may carry out several runs at once, in threads
MOST_BUILT = 4
MOST_FACTS = 1_000
MOST_STATES = 10_000  # for larger worlds, computing B*, T* and D takes longer than many runs


def carry_out(spec: RunSpec, expected: Identity, attachments: Attachments, timed: bool = False) -> RunResult:
    """Carry out a run; raise WorkerError if the installed goalward is not the expected one.

    `timed` means that the run has a time limit: the kernels of the agent are then loaded before the clock starts.
    """
    if identity() != expected:
        raise WorkerError(
            f"a worker on {platform.node()} has another goalward: the worker has {identity()}, but the study needs"
            f" {expected}; install the same goalward on every worker"
        )
    agent = spec.agent
    if timed and "code" not in agent and agent["name"] not in _warm:
        warm_up([agent["name"]])
        _warm.add(agent["name"])
    clock_starts()
    start, output = time.perf_counter(), sys.stderr
    if isinstance(output, Tee):
        output.end = ""
    try:
        file = file_of(spec, attachments)
    except (Exception, SystemExit) as error:
        printed = output.end if isinstance(output, Tee) else ""
        seconds, reason = time.perf_counter() - start, f"{type(error).__name__}: {error}"
        return RunResult(seconds, None, reason, traceback.format_exc(), printed)
    return RunResult(time.perf_counter() - start, file)


def file_of(spec: RunSpec, attachments: Attachments) -> bytes:
    """Carry out a run and return its file."""
    started = datetime.now(UTC)
    # A worker of a cluster may carry out other runs at the same time, in other threads.
    clock, processor = time.perf_counter(), time.thread_time()
    world, agent = build(spec, attachments)
    with closing(world):
        run = run_agent(agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps)
    timing = {
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": time.thread_time() - processor,
    }
    return encode(run, spec, timing, facts_of(world) if isinstance(world, SSP) else None)


def build(spec: RunSpec, attachments: Attachments) -> tuple[Any, Learner]:
    """Return the world and the agent of a run; runs of the same cell can share these objects."""
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


def facts_of(world: SSP) -> dict[str, Any]:
    """Return facts about a world that exports show: its digest, its size, and measures of its difficulty."""
    if world.digest not in _facts:
        facts = {"digest": world.digest, "states": world.states, "actions": world.actions}
        if world.states <= MOST_STATES:
            with contextlib.suppress(GoalwardError):  # the values cannot be proved; the run is stored without them
                hard = hardness(world)
                facts |= {name: getattr(hard, name) for name in ("B_star", "T_star", "D", "c_min")}
        if len(_facts) >= MOST_FACTS:
            _facts.clear()
        _facts[world.digest] = facts
    return _facts[world.digest]


@functools.cache
def identity() -> Identity:
    """Return what all workers must share: the versions of goalward and of results, and the hash of the kernels."""
    return __version__, RESULTS_VERSION, _jit.source_hash()
