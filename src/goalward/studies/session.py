"""The carrying out of a study: runs are handed out to workers, and what comes back is stored.

Runs are handed out in batches, because handing one out costs about as much as a short run. The first run of each cell
goes alone and shows how long its kind takes. Then come batches of about half a second, the longest runs first, smaller
batches towards the end. Each file is stored as soon as its batch comes back.

A worker that dies takes the batches in flight with it, and they are run again. A run that was in flight twice when a
worker died is run alone; if the worker dies again, that run kills it and is recorded as failed.
"""

from __future__ import annotations

import math
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from goalward.errors import FileError, WorkerError
from goalward.signals import check_interrupt
from goalward.studies.attachments import Attachments
from goalward.studies.design import Design
from goalward.studies.executors import ClusterLostError, Pool
from goalward.studies.status import Failure
from goalward.studies.store import Store
from goalward.studies.worker import Job, Outcome, carry_out, failure_of

__all__ = ["Progress", "Session", "Watch"]

BATCH_SECONDS = 0.5
CHECK_SECONDS = 1.0  # how often to check that there still are workers
LOST = "the scheduler cannot be reached any more; what is stored is not run again"
EMPTY_SECONDS = 600.0  # how long to wait for workers when all of a cluster have left
MOST_ATTEMPTS = 3
WRITERS = 8  # threads that store files


@dataclass
class Progress:
    """How far a study has come."""

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
    """What keeps the study from going on, if anything does."""


Watch = Callable[[Progress], None]


class Session:
    """One study, carried out once: `jobs` are the missing ones of `total` runs."""

    def __init__(
        self, design: Design, attachments: Attachments, store: Store, jobs: list[Job], total: int, watch: Watch | None
    ):
        self.design, self.attachments, self.store, self.watch = design, attachments, store, watch
        self.pending: dict[int, deque[Job]] = {}
        for job in jobs:
            self.pending.setdefault(job.cell, deque()).append(job)
        self.suspects: deque[Job] = deque()
        self.attempts: Counter[str] = Counter()
        self.in_flight: dict[Future[list[Outcome]], list[Job]] = {}
        self.pace: dict[int, float] = {}
        self.added: list[str] = []
        """The keys of the runs that were stored."""
        self.failures: list[Failure] = []
        self.stopped: str | None = None
        self.start = time.perf_counter()
        self.workers_seen = time.monotonic()
        self.progress = Progress(total, total - len(jobs))
        self.progress.wanted.update(self.label(job) for job in jobs)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.start

    @property
    def waiting(self) -> int:
        """How many runs have not been handed out yet."""
        return sum(map(len, self.pending.values())) + len(self.suspects)

    @property
    def trying_suspect(self) -> bool:
        """Whether a run that may kill its worker is going on. It runs alone, so that no other run is blamed."""
        jobs = (job for batch in self.in_flight.values() for job in batch)
        return any(self.attempts[job.key] == MOST_ATTEMPTS - 1 for job in jobs)

    def built_in_agents(self) -> list[str]:
        """Return the agents of the missing runs whose kernels can be compiled beforehand: not those of users' files."""
        agents = [jobs[0].spec.agent for jobs in self.pending.values()]
        return [agent["name"] for agent in agents if not {"source", "code"} & agent.keys()]

    def label(self, job: Job) -> str:
        """Return the label of the agent of a run."""
        return self.design.cells[job.cell].agent.label

    def carry_out(self, pool: Pool) -> None:
        """Hand out all jobs and store what comes back."""
        try:
            self.notice(pool)
            pool.warm(self.built_in_agents())
            self.start, self.workers_seen = time.perf_counter(), time.monotonic()
            while self.in_flight or (self.waiting and self.stopped is None):
                self.hand_out(pool)
                ended, _ = wait(self.in_flight, CHECK_SECONDS, FIRST_COMPLETED)
                check_interrupt()
                if pool.gone:
                    self.stopped = LOST
                    break
                if ended:
                    self.workers_seen = time.monotonic()
                elif self.is_deserted(pool):
                    self.stopped = (
                        "the cluster has had no workers for some time; start some, and the same command goes on"
                    )
                    pool.stop()
                    return
                lost = [jobs for future in ended if (jobs := self.take_in(future))]
                if lost:
                    self.recover(pool, lost)
                self.notice(pool)
        except ClusterLostError:
            self.stopped = LOST
        except BaseException:
            pool.stop()
            raise
        pool.close()

    def is_deserted(self, pool: Pool) -> bool:
        """Return whether there have been no workers for too long; say so while there are none."""
        now = time.monotonic()
        if not pool.empty:
            self.workers_seen, self.progress.note = now, ""
            return False
        self.progress.note = "the cluster has no workers; waiting for some"
        return now - self.workers_seen > EMPTY_SECONDS

    def hand_out(self, pool: Pool) -> None:
        """Keep the workers busy."""
        if self.stopped is not None:
            return
        if self.suspects and not self.in_flight:
            self.submit(pool, [self.suspects.popleft()])
        if self.trying_suspect:
            return
        # A worker that dies in between may make new suspects.
        while not self.suspects and len(self.in_flight) < pool.workers + pool.prefetch and any(self.pending.values()):
            self.submit(pool, self.next_batch(pool.workers))

    def submit(self, pool: Pool, jobs: list[Job]) -> None:
        """Hand out a batch with what its runs need."""
        needed = self.attachments.needed_by(job.spec for job in jobs)
        try:
            future = pool.submit(carry_out, jobs, needed)
        except BrokenExecutor:
            # A worker has died. This batch was not in flight, so it is not suspected.
            self.recover(pool, [])
            future = pool.submit(carry_out, jobs, needed)
        self.in_flight[future] = jobs

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

    def take_in(self, future: Future[list[Outcome]]) -> list[Job]:
        """Store what a batch brought back; return the runs that were lost because their worker died."""
        jobs = self.in_flight.pop(future)
        try:
            outcomes = future.result()
        except (Exception, CancelledError) as error:
            if is_loss(error):
                return jobs
            if isinstance(error, WorkerError) or (isinstance(error, ImportError) and "goalward" in str(error)):
                self.stopped = f"{error}; what is stored is not run again"
                return []
            # No run has failed but the sending, for example of a model.
            outcomes = [Outcome(job, 0.0, failure=failure_of(job, error, traceback.format_exc())) for job in jobs]
        self.settle(outcomes)
        return []

    def settle(self, outcomes: list[Outcome]) -> None:
        """Store runs and failures."""
        # The disk synchronises several files in the time of one.
        with ThreadPoolExecutor(WRITERS) as threads:
            errors = list(threads.map(self.write, outcomes))
        for outcome, error in zip(outcomes, errors, strict=True):
            job = outcome.job
            before = self.pace.get(job.cell, outcome.seconds)
            self.pace[job.cell] = 0.5 * before + 0.5 * outcome.seconds
            if error is not None:
                # Nothing is wrong with the run, so it is still missing and not failed.
                self.stopped = self.stopped or f"results cannot be stored ({error}); what is stored is not run again"
                continue
            self.progress.done[self.label(job)] += 1
            if outcome.failure is None:
                self.added.append(job.key)
            else:
                self.progress.failed += 1
                cell, path = self.design.cells[job.cell], self.store.failure_path(job.key)
                why = outcome.failure["error"]
                self.failures.append(Failure(cell.world.label, cell.agent.label, job.run, why, path))

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

    def recover(self, pool: Pool, lost: list[list[Job]]) -> None:
        """Go on after a worker died: put the lost runs back, and run those alone that were lost twice."""
        if pool.fails_as_one:
            # Batches that had come back before are not lost.
            back = [future for future in self.in_flight if future.done()]
            lost = [*lost, *(jobs for future in back if (jobs := self.take_in(future)))]
            lost += self.in_flight.values()
            self.in_flight.clear()
            pool.restart()
        for job in (job for jobs in lost for job in jobs):
            self.attempts[job.key] += 1
            if self.attempts[job.key] >= MOST_ATTEMPTS:
                error = RuntimeError("the worker process died during this run, three times; out of memory?")
                self.settle([Outcome(job, 0.0, failure=failure_of(job, error, ""))])
            elif self.attempts[job.key] == MOST_ATTEMPTS - 1:
                self.suspects.append(job)
            else:
                self.pending.setdefault(job.cell, deque()).append(job)

    def notice(self, pool: Pool) -> None:
        """Report the progress."""
        self.progress.seconds = self.seconds
        self.progress.seconds_left = self.time_left(pool.workers)
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


def is_loss(error: BaseException) -> bool:
    """Return whether an error means that a worker died, and not that a run failed."""
    return isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ == "KilledWorker"
