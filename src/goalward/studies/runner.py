"""Carry out the missing runs of a study, and store what comes back.

Runs that are stored are not run again, and a run that fails does not stop the others. A study that is killed loses the
runs in flight, and continues when it is run again.

Runs are handed out in batches, because handing one out costs about as much as a short run. The first run of each cell
goes alone and shows how long its kind takes. Then come batches of about half a second, the longest runs first, smaller
batches towards the end. Each file is stored as soon as its batch comes back.

A worker that dies takes the batches in flight with it. Their runs are then tried one at a time; a run that is alone
when a worker dies, twice, is recorded as failed. An error that is not that of a run (a lost scheduler, a worker with
another goalward, a full disk) stops the study with one sentence and blames no run.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from pathlib import Path

from goalward.errors import FileError, GoalwardError, SettingError, WorkerError
from goalward.settings import checked_integer
from goalward.signals import check_interrupt, keeping
from goalward.studies.design import Design
from goalward.studies.executors import CHECK_SECONDS, FEWER, LOST, Workers, open_workers
from goalward.studies.spec import canonical
from goalward.studies.store import Failure, Store
from goalward.studies.study import Study
from goalward.studies.worker import Job, Outcome, carry_out, failure_of, identity

__all__ = ["Progress", "Report", "Watch", "jobs_of", "read_shard", "run_in_folder", "run_study"]

BATCH_SECONDS = 0.5
EMPTY_SECONDS = 600.0  # how long to wait for workers when all of a cluster have left
MOST_DEATHS = 2  # how often a worker may die with the same run alone
MOST_RESTARTS = 3  # how often workers may die one after the other without a single result
WRITERS = 8  # threads that store files


@dataclass
class Progress:
    """The progress of a study."""

    total: int
    stored: int
    """Runs that were stored before."""
    done: Counter[str] = field(default_factory=Counter)
    """Runs that have ended since, by the label of their agent."""
    wanted: Counter[str] = field(default_factory=Counter)
    """Runs that were missing at the start, by the label of their agent."""
    failed: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    note: str = ""
    """What the study is waiting for, if anything."""


Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Report:
    """What running a study has done: of `total` runs `stored` were there before and `done` are new."""

    design: Design
    total: int
    stored: int
    done: int
    seconds: float
    failures: list[Failure]
    damaged: list[tuple[Path, str]]
    stopped: str | None = None
    """Why the rest was not run, if it was not."""

    @property
    def complete(self) -> bool:
        """Whether every run of the study, or of the shard, is stored."""
        return self.stored + self.done == self.total

    @property
    def problem(self) -> str:
        """Why runs are missing; empty if none is."""
        if self.complete:
            return ""
        missing = self.total - self.stored - self.done
        errors = [f"{failure.agent} in {failure.world}: {failure.error}" for failure in self.failures]
        return f"{missing} of {self.total} runs are missing: {(errors or [str(self.stopped)])[0]}"


def read_shard(text: str | None) -> tuple[int, int]:
    """Read a shard such as ``3/16``; None is the whole study."""
    parts = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", "1/1" if text is None else text)
    if parts is None:
        raise SettingError(f"shard is {text!r}; it must be i/n with i from 1 to n, such as 3/16")
    return int(parts[1]), int(parts[2])


def jobs_of(design: Design, shard: tuple[int, int] = (1, 1)) -> list[Job]:
    """Return the runs of a study, or of one shard: every n-th, so that all shards take about the same time.

    A run that several cells share is one job, that of the first of these cells.
    """
    number, shards = shard
    if not 1 <= number <= shards:
        raise SettingError(f"shard is {number}/{shards}; it must be i/n with i from 1 to n, such as 3/16")
    different: dict[str, int] = {}
    for index, cell in enumerate(design.cells):
        different.setdefault(
            canonical([cell.world.identity, cell.world.draw, cell.agent.identity, cell.episodes]), index
        )
    # Keys are made for the runs of this shard alone: those of a million runs take a minute.
    chosen = [(index, run) for index in different.values() for run in range(design.runs)][number - 1 :: shards]
    jobs: dict[str, Job] = {}
    for index, run in chosen:
        cell = design.cells[index]
        job = Job(design.spec(cell, run), index, run, cell.world.label, cell.agent.label)
        jobs.setdefault(job.key, job)
    return list(jobs.values())


def run_in_folder(
    study: Study,
    folder: Path,
    *,
    workers: int | Executor | None = None,
    dask: str | None = None,
    shard: tuple[int, int] = (1, 1),
    watch: Watch | None = None,
) -> Report:
    """Carry out the runs of a study that a results folder does not have.

    Raises `Interrupted` on Ctrl-C and SIGTERM; what is done by then stays stored. `goalward.run` has the parameters.
    """
    if isinstance(workers, int):
        checked_integer("workers", workers, 1)
    store = Store.open(folder, create=True)
    with keeping(f"what is done is stored in {folder}, and the same command continues there"):
        return run_study(study, store, lambda: open_workers(workers, dask), shard=shard, watch=watch)


def run_study(
    study: Study,
    store: Store,
    workers: Workers | Callable[[], Workers],
    *,
    shard: tuple[int, int] = (1, 1),
    watch: Watch | None = None,
) -> Report:
    """Carry out the runs of a study that are not stored yet.

    Parameters
    ----------
    workers
        The workers, which are left open; or a function that opens them if a run is missing, and they are closed at the
        end.
    shard
        Which part of the study: ``(i, n)`` is part i of n.
    watch
        Called with the progress whenever runs have ended.
    """
    jobs = jobs_of(study.design, shard)
    store.sweep()
    damaged = store.set_damaged_aside(job.key for job in jobs)
    unusable = {path for path, _ in damaged}
    missing = [job for job in jobs if not store.has(job.key) or store.path(job.key) in unusable]
    if missing:
        study.check()
    store.save_study(study.design.reference, study.text, study.attachments)
    session = Session(study, store, missing, len(jobs), watch)
    if missing:
        opened = workers if isinstance(workers, Workers) else workers()
        finished = False
        try:
            session.carry_out(opened)
            finished = session.stopped is None
        finally:
            if opened is not workers:
                opened.close(kill=not finished)
    before = {job.key for job in jobs} - {job.key for job in missing}
    # Somebody may have removed files meanwhile: only those that are there count.
    stored, done = sum(map(store.has, before)), sum(map(store.has, session.added))
    removed, stopped = len(before) + len(session.added) - stored - done, session.stopped
    if removed and stopped is None:
        stopped = f"{removed} stored runs were removed from {store.folder} meanwhile; the same command makes them again"
    return Report(study.design, len(jobs), stored, done, session.seconds, session.failures, damaged, stopped)


class Session:
    """One study, carried out once: `jobs` are the missing ones of `total` runs."""

    def __init__(self, study: Study, store: Store, jobs: list[Job], total: int, watch: Watch | None):
        self.design, self.attachments, self.store, self.watch = study.design, study.attachments, store, watch
        self.pending: dict[int, deque[Job]] = {}
        for job in jobs:
            self.pending.setdefault(job.cell, deque()).append(job)
        self.suspects: deque[Job] = deque()
        """Runs that were in flight when a worker died. Each runs alone, so that no other run is blamed."""
        self.alone: Future[list[Outcome]] | None = None
        self.deaths: Counter[str] = Counter()
        self.broken = False
        self.restarts = 0
        self.in_flight: dict[Future[list[Outcome]], list[Job]] = {}
        self.pace: dict[int, float] = {}
        self.added: list[str] = []
        """The keys of the runs that were stored."""
        self.failures: list[Failure] = []
        self.stopped: str | None = None
        self.start = time.perf_counter()
        self.checked = self.workers_seen = time.monotonic()
        self.progress = Progress(total, total - len(jobs))
        self.progress.wanted.update(job.agent_label for job in jobs)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.start

    @property
    def waiting(self) -> int:
        """How many runs have not been handed out yet."""
        return sum(map(len, self.pending.values())) + len(self.suspects)

    def carry_out(self, workers: Workers) -> None:
        """Hand out all jobs and store what comes back."""
        self.notice(workers)
        try:
            self.warm_up(workers)
            self.start, self.workers_seen = time.perf_counter(), time.monotonic()
            while self.in_flight or (self.waiting and self.stopped is None):
                self.hand_out(workers)
                ended, _ = wait(self.in_flight, CHECK_SECONDS, FIRST_COMPLETED)
                check_interrupt()
                lost = [job for future in ended for job in self.take_in(future)]
                if self.broken:
                    lost += self.take_back()
                    self.restart(workers)
                self.suspect(lost)
                if ended:
                    self.workers_seen = time.monotonic()
                if not self.has_workers(workers):
                    break
                self.notice(workers)
        finally:
            for future in self.in_flight:  # Dask's executor has no `cancel_futures`
                future.cancel()

    def warm_up(self, workers: Workers) -> None:
        """Compile the kernels of the agents before the first run; those of users' own agents are compiled in it."""
        agents = [jobs[0].spec.agent for jobs in self.pending.values()]
        try:
            workers.warm_up(agent["name"] for agent in agents if "code" not in agent)
        except SettingError:
            raise
        except Exception as error:
            self.stop(error)

    def hand_out(self, workers: Workers) -> None:
        """Keep the workers busy."""
        if self.stopped is not None or self.alone in self.in_flight:
            return
        if self.suspects:
            if not self.in_flight:
                self.alone = self.submit(workers, [self.suspects.popleft()])
            return
        while self.pending and len(self.in_flight) < workers.limit and not self.broken and self.stopped is None:
            self.submit(workers, self.next_batch(workers.size))

    def submit(self, workers: Workers, jobs: list[Job]) -> Future[list[Outcome]] | None:
        """Hand out a batch with what its runs need. If that is impossible, the batch waits again."""
        models, files = (job.spec.model_digest for job in jobs), set().union(*(job.spec.sources for job in jobs))
        try:
            future = workers.submit(carry_out, identity(), jobs, self.attachments.only(models, files))
        except Exception as error:
            self.put_back(jobs)  # it was not in flight, so it is not suspected
            self.broken = isinstance(error, BrokenExecutor)
            if not self.broken:
                self.stop(error)
            return None
        self.in_flight[future] = jobs
        return future

    def next_batch(self, workers: int) -> list[Job]:
        """Return the jobs to hand out next: first one of each cell, then several of the slowest cell at once."""
        going = {job.cell for jobs in self.in_flight.values() for job in jobs}
        fresh = [cell for cell in self.pending if cell not in self.pace and cell not in going]
        # While the first run of a cell is going on, other cells come first.
        known = [cell for cell in self.pending if cell in self.pace]
        cell = fresh[0] if fresh else max(known, key=self.pace.__getitem__, default=next(iter(self.pending)))
        size = 1
        if cell in self.pace:
            fair = math.ceil(self.waiting / (4 * workers))
            size = max(1, min(int(BATCH_SECONDS / max(self.pace[cell], 1e-6)), fair))
        jobs = self.pending[cell]
        batch = [jobs.popleft() for _ in range(min(size, len(jobs)))]
        if not jobs:
            del self.pending[cell]
        return batch

    def put_back(self, jobs: list[Job]) -> None:
        """Have some runs handed out again."""
        for job in jobs:
            self.pending.setdefault(job.cell, deque()).append(job)

    def take_in(self, future: Future[list[Outcome]]) -> list[Job]:
        """Store what a batch brought back; return the runs that were lost because their worker died."""
        jobs = self.in_flight.pop(future)
        try:
            self.settle(future.result())
        except (BrokenExecutor, CancelledError) as error:
            self.broken = self.broken or isinstance(error, BrokenExecutor)
            return jobs
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # Dask has tried the batch on several workers
                return jobs
            self.stop(error)
        return []

    def take_back(self) -> list[Job]:
        """Return the runs in flight that cannot come back any more; store those that are back already."""
        lost = []
        for future in list(self.in_flight):
            lost += self.take_in(future) if future.done() else self.in_flight.pop(future)
        return lost

    def suspect(self, lost: list[Job]) -> None:
        """Have lost runs tried one at a time; a run that was alone each time a worker died has failed."""
        if len(lost) != 1:
            self.suspects.extend(lost)
            return
        job = lost[0]
        self.deaths[job.key] += 1
        if self.deaths[job.key] < MOST_DEATHS:
            self.suspects.appendleft(job)
        else:
            error = RuntimeError("the worker process died during this run, twice; out of memory?")
            self.settle([Outcome(job, 0.0, failure=failure_of(job, error, ""))])

    def restart(self, workers: Workers) -> None:
        """Replace the workers; raise SettingError if they die again and again without a result."""
        self.broken = False
        self.restarts += 1
        if self.restarts > MOST_RESTARTS:
            raise SettingError(f"the workers died {self.restarts} times in a row; {FEWER}")
        try:
            workers.restart()
        except WorkerError as error:
            self.stop(error)

    def has_workers(self, workers: Workers) -> bool:
        """Ask for the health of the workers now and then; return False if none is left to wait for."""
        now = time.monotonic()
        if now - self.checked < CHECK_SECONDS:
            return True
        self.checked = now
        try:
            health = workers.health()
        except BrokenExecutor:  # the connection was lost for a moment, and no run is to blame
            self.put_back(self.take_back())
            self.restart(workers)
            return True
        if health == "ok":
            self.workers_seen, self.progress.note = now, ""
            return True
        self.progress.note = "the cluster has no workers; waiting for some"
        if health == "gone":
            self.stop(WorkerError(LOST))
        elif now - self.workers_seen > EMPTY_SECONDS:
            self.stop(WorkerError("the cluster has had no workers for some time; start some, and run the study again"))
        else:
            return True
        self.notice(workers)
        return False

    def stop(self, error: Exception) -> None:
        """Hand out nothing more, for a reason that is not the fault of a run."""
        reason = str(error) if isinstance(error, GoalwardError) else f"{type(error).__name__}: {error}"
        if isinstance(error, ImportError):
            reason += "; install the same goalward on every worker"
        self.stopped = self.stopped or f"{reason}; what is stored is not run again"

    def settle(self, outcomes: list[Outcome]) -> None:
        """Store runs and failures."""
        self.restarts = 0
        # The disk synchronises several files in the time of one.
        with ThreadPoolExecutor(WRITERS) as threads:
            errors = list((threads.map if len(outcomes) > 1 else map)(self.write, outcomes))
        for outcome, error in zip(outcomes, errors, strict=True):
            job = outcome.job
            before = self.pace.get(job.cell, outcome.seconds)
            self.pace[job.cell] = 0.5 * before + 0.5 * outcome.seconds
            if error is not None:
                # Nothing is wrong with the run, so it is still missing and not failed.
                self.stop(FileError(f"results cannot be stored ({error})"))
                continue
            self.progress.done[job.agent_label] += 1
            if outcome.failure is None:
                self.added.append(job.key)
            else:
                self.progress.failed += 1
                path = self.store.failure_path(job.key)
                self.failures.append(Failure(job.world_label, job.agent_label, job.run, outcome.failure["error"], path))

    def write(self, outcome: Outcome) -> FileError | None:
        """Store a run or its failure; return why that was impossible, if it was."""
        try:
            if outcome.file is not None:
                self.store.add(outcome.job.key, outcome.file)
            elif outcome.failure is not None:
                self.store.add_failure(outcome.job.key, outcome.failure)
        except FileError as error:
            return error
        return None

    def notice(self, workers: Workers) -> None:
        """Report the progress."""
        self.progress.seconds = self.seconds
        self.progress.seconds_left = self.time_left(workers.size)
        if self.watch is not None:
            self.watch(self.progress)

    def time_left(self, workers: int) -> float | None:
        """Estimate how long the rest takes; None before the first run has ended."""
        if not self.pace:
            return None
        usual = sum(self.pace.values()) / len(self.pace)
        left = Counter({cell: len(jobs) for cell, jobs in self.pending.items()})
        for jobs in (*self.in_flight.values(), list(self.suspects)):
            left.update(job.cell for job in jobs)
        return sum(number * self.pace.get(cell, usual) for cell, number in left.items()) / workers
