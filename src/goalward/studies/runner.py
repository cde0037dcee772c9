"""Carry out the missing runs of a study, and store their results.

Stored runs are not repeated, and a failed run does not stop the other runs. A study that is killed loses the runs in
flight, and continues when it is run again.

Runs are sent to workers in batches, because sending a run costs about as much as a short run. The first run of each
cell is sent alone and shows how long the runs of the cell take. Later batches take about half a second each. The
longest runs come first. The runs of a batch are stored as soon as the batch is finished.

A run whose process dies is tried once more, and then recorded as failed. If an error was not caused by a run, the study
stops with a message. Examples are a lost scheduler, a worker with another version of goalward, and a full disk.

Several processes may work on one study in one folder. Before each batch, a process skips the runs that are stored by
now, and postpones the runs that another process is making (`presence.Presence`).
"""

from __future__ import annotations

import fnmatch
import math
import re
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError, WorkerError
from goalward.formatting import plural
from goalward.learning.warm_up import warm_up
from goalward.progress import in_notebook, phase
from goalward.settings import Count, Size, check
from goalward.signals import check_interrupt, keeping
from goalward.studies.design import Cell, Design
from goalward.studies.presence import Presence
from goalward.studies.store import Failure, Store
from goalward.studies.study import Study
from goalward.studies.worker import carry_out, identity
from goalward.studies.worker_process import UNLIMITED, Batch, Limits, RunResult
from goalward.studies.workers import BROKEN, CHECK_SECONDS, Workers, open_workers

BATCH_SECONDS = 0.5
OVERDUE_SECONDS = 60.0  # after this time a batch on another machine is handed out again, if workers are idle
OVERDUE_TIMES = 10.0  # and it has taken this many times as long as its runs usually take
WRITERS = 8  # threads that store files


class Job(NamedTuple):
    """A run that has to be made: its `key`, the index of its `cell`, and the number of the `run` in the cell."""

    key: str
    cell: int
    run: int


@dataclass
class Report:
    """The progress of a study while it runs, and the outcome afterwards."""

    design: Design
    total: int
    """Runs of the study, or of the shard."""
    stored: int
    """Runs that were stored before; at the end, also runs that other processes have stored."""
    damaged: list[tuple[Path, str]] = field(default_factory=list)
    """Damaged files that were set aside, with reasons; their runs are made again."""
    done: int = 0
    """Runs that were made and stored."""
    failures: list[Failure] = field(default_factory=list)
    lost: int = 0
    """Runs that were handed out again, because a worker or the connection was lost."""
    elsewhere: int = 0
    """Runs that other processes stored while this process was running."""
    workers: int = 0
    others: int = 0
    """Other processes that work on the same runs."""
    seconds: float = 0.0
    seconds_left: float | None = None
    waiting: str = ""
    """The problem with the workers for which the study is waiting; empty if there is none."""
    stopped: str | None = None
    """Why the study stopped early; None if it did not."""

    @property
    def ended(self) -> int:
        """The number of runs that were missing at the start and have ended since."""
        return self.done + self.elsewhere + len(self.failures)

    @property
    def complete(self) -> bool:
        """Whether every run of the study, or of the shard, is stored."""
        return self.stored + self.done == self.total

    @property
    def notes(self) -> list[str]:
        """Remarks for the progress display."""
        counts = {
            f"{len(self.failures):,} failed": len(self.failures),
            f"{self.lost:,} handed out again": self.lost,
            f"{self.elsewhere:,} made by others": self.elsewhere,
            f"{self.others:,} other process{'es' * (self.others != 1)} in this folder": self.others,
            self.waiting: len(self.waiting),
        }
        return [text for text, number in counts.items() if number]

    @property
    def problem(self) -> str:
        """The reason why runs are missing; empty if all runs are stored."""
        if self.complete:
            return ""
        missing = self.total - self.stored - self.done
        errors = [f"{failure.agent} in {failure.world}: {failure.error}" for failure in self.failures]
        return f"{missing} of {self.total} runs are missing: {(errors or [str(self.stopped)])[0]}"


Watch = Callable[[Report], None]


def read_shard(text: str | None) -> tuple[int, int]:
    """Parse a shard such as ``3/16``, which means part 3 of 16; None means the whole study."""
    parts = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", "1/1" if text is None else text)
    if parts is None:
        raise SettingError(f"shard is {text!r}; it must be i/n with i from 1 to n, such as 3/16")
    return int(parts[1]), int(parts[2])


def chosen_cells(design: Design, only: Collection[str]) -> list[int]:
    """Return the indices of the cells that match choices such as ``agent=psrl`` and ``world=grid*``.

    A choice can match a label, a label without its swept settings, or the name of an algorithm or world. Two choices of
    agents select both agents, and two choices of worlds select both worlds.
    """

    def names(cell: Cell) -> dict[str, set[str]]:
        agent, world = cell.agent.agent.rpartition(":")[2], cell.world.world.rpartition(":")[2]
        return {
            "agent": {cell.agent.label, cell.agent.label.partition(", ")[0], agent},
            "world": {cell.world.label, cell.world.label.partition(", ")[0], world},
        }

    known = [names(cell) for cell in design.cells]
    fitting: dict[str, set[int]] = {}
    for choice in only:
        kind, equals, pattern = (part.strip() for part in choice.partition("="))
        if not equals or kind not in ("agent", "world"):
            raise SettingError(f"expected agent=... or world=..., got {choice!r}")
        cells = {index for index, cell in enumerate(known) if any(fnmatch.fnmatchcase(n, pattern) for n in cell[kind])}
        if not cells:
            raise UnknownNameError(f"{kind} of this study", pattern, set().union(*(cell[kind] for cell in known)))
        fitting[kind] = fitting.get(kind, set()) | cells
    return sorted(set(range(len(known))).intersection(*fitting.values()))


def jobs_of(design: Design, shard: tuple[int, int] = (1, 1), only: Collection[str] = ()) -> list[Job]:
    """Return the runs of a study, or of one shard. A shard has every n-th run, so all shards take about the same time.

    A run that several cells share is one job, which belongs to the first of these cells. For `only`, see
    `chosen_cells`.
    """
    number, shards = shard
    if not 1 <= number <= shards:
        raise SettingError(f"shard is {number}/{shards}; it must be i/n with i from 1 to n, such as 3/16")
    jobs: dict[str, Job] = {}
    for index in chosen_cells(design, only):
        for run, key in enumerate(design.keys(design.cells[index])):
            jobs.setdefault(key, Job(key, index, run))
    return list(jobs.values())[number - 1 :: shards]


@dataclass(frozen=True)
class Options:
    """Options for running a study, which change no result. `goalward.run` explains the options."""

    shard: tuple[int, int] = (1, 1)
    only: Collection[str] = ()
    limits: Limits = UNLIMITED
    retries: int = 0
    retry_failed: bool = False
    tags: Collection[str] = ()
    dask: str | None = None


DEFAULT = Options()


def run_study(
    study: Study,
    store: Store,
    workers: int | Executor | Workers | Callable[[], Workers] | None = None,
    options: Options = DEFAULT,
    *,
    watch: Watch | None = None,
) -> Report:
    """Carry out the runs of a study that are not stored yet; `goalward.run` explains the parameters.

    Workers are opened only if a run is missing. A `Workers` object of the caller stays open. Ctrl-C and SIGTERM raise
    `Interrupted`, and finished runs stay stored.
    """
    if isinstance(workers, int):
        check("workers", workers, Size)
    options.limits.checked()
    check("retries", options.retries, Count)
    jobs = jobs_of(study.design, options.shard, options.only)
    store.sweep()
    states = store.states(job.key for job in jobs)
    damaged = [(store.set_aside(key, run.reason), run.reason) for key, run in states.items() if run.state == "damaged"]
    absent = [job for job in jobs if not states[job.key].stored]
    left_out = "" if options.retry_failed else "failed"
    failed = [job for job in absent if states[job.key].state == left_out]
    missing = [job for job in absent if states[job.key].state != left_out]
    if missing:
        study.check()
    reference = study.design.reference
    store.save_study(reference, study.stored_text(store.stored(reference), options.tags), study.attachments)
    report = Report(study.design, len(jobs), len(jobs) - len(absent), damaged)
    session = Session(study, store, missing, options, report, watch)
    for job in failed:
        session.fail(job, states[job.key].reason)
    if missing:
        kept = f"finished runs are stored in {store.folder}; run the same command again to continue"
        opened = workers() if callable(workers) else workers
        running = opened if isinstance(opened, Workers) else open_workers(opened, options.dask)
        try:
            with keeping(kept):
                session.carry_out(running)
        finally:
            session.presence.leave()
            if running is not workers:
                running.close()
    # Somebody may have removed files meanwhile: only those that are there count.
    there = sum(store.has(job.key) for job in jobs)
    removed = report.stored + report.done + report.elsewhere - there
    if removed > 0 and report.stopped is None:
        report.stopped = f"{removed} runs were removed from {store.folder} meanwhile; the same command makes them again"
    report.done = min(report.done, there)
    report.stored, report.others = there - report.done, 0
    return report


class Session:
    """One execution of a study; `jobs` are the missing runs."""

    def __init__(
        self, study: Study, store: Store, jobs: list[Job], options: Options, report: Report, watch: Watch | None
    ):
        self.design, self.attachments, self.store = study.design, study.attachments, store
        self.options, self.report, self.watch = options, report, watch
        shard = "of".join(map(str, options.shard))
        self.presence = Presence(store.folder, f"{study.design.reference.rpartition('/')[2]}-{shard}")
        self.pending: dict[int, deque[Job]] = {}
        """The runs of each cell that still have to be handed out."""
        self.put_back(jobs)
        self.held: list[Job] = []
        """Runs that another process is making."""
        self.in_flight: dict[Future[list[Any]], list[Job]] = {}
        self.since: dict[Future[list[Any]], float] = {}
        """When the batches in flight were handed out; infinite for one that was handed out again."""
        self.tries: Counter[str] = Counter()
        """How often a run has failed."""
        self.ended: Counter[int] = Counter()
        self.spent: dict[int, float] = defaultdict(float)
        """How many runs of each cell have ended, and how many seconds they took."""
        self.settled: set[str] = set()
        """The keys of the runs that have ended."""
        self.start = time.perf_counter()
        self.checked = time.monotonic()

    @property
    def waiting(self) -> int:
        """The number of runs that have not been handed out yet."""
        return sum(map(len, self.pending.values())) + len(self.held)

    def pace(self, cell: int) -> float:
        """Return the mean duration, in seconds, of the runs of a cell so far."""
        return self.spent[cell] / self.ended[cell]

    def carry_out(self, workers: Workers) -> None:
        """Hand out all jobs and store their results."""
        self.notice(workers)
        self.presence.claim([])
        # One worker compiles the kernels of the agents, and the others read them from the cache. The kernels
        # of users' own agents are compiled in the first run.
        agents = [self.design.cells[cell].agent for cell in self.pending]
        names = dict.fromkeys(agent.agent for agent in agents if not agent.code)
        workers.well = time.monotonic()
        try:
            self.submit(workers, [], Batch(warm_up, [list(names)]))
            while self.in_flight or (self.waiting and self.report.stopped is None):
                if [] not in self.in_flight.values():
                    self.hand_out(workers)
                if not self.in_flight and self.waiting and self.report.stopped is None:
                    time.sleep(CHECK_SECONDS)  # for the workers, or for runs of another process
                ended, _ = wait(self.in_flight, CHECK_SECONDS, FIRST_COMPLETED)
                check_interrupt()
                for future in ended:
                    workers.well = time.monotonic()
                    self.take_in(future)
                for future, jobs in list(self.in_flight.items()):
                    if jobs and all(job.key in self.settled for job in jobs):  # another worker has made them
                        del self.in_flight[future]
                self.check_workers(workers)
                self.notice(workers)
        finally:
            for future in self.in_flight:
                future.cancel()

    def hand_out(self, workers: Workers) -> None:
        """Submit batches until the workers are busy."""
        if workers.remote:
            self.repeat_overdue()
        going = sum(math.isfinite(self.since[future]) for future in self.in_flight)
        while self.pending and going < workers.limit and self.report.stopped is None:
            batch = self.still_missing(self.next_batch(workers.size), workers.size)
            if batch and not self.submit(workers, batch, self.batch_of(batch)):
                return
            going += bool(batch)
        if not self.pending:
            self.put_back(self.held)
            self.held = []

    def still_missing(self, jobs: list[Job], workers: int) -> list[Job]:
        """Return those `jobs` that are not stored yet and that no other process is making."""
        making = (job.key for others in self.in_flight.values() for job in others)
        taken, missing = self.presence.claim([job.key for job in jobs], making, workers), []
        self.report.others = self.presence.others
        for job in jobs:
            if job.key in self.settled:  # an overdue run that was handed out twice
                continue
            if self.store.has(job.key):
                self.report.elsewhere += 1
            elif job.key in taken:
                self.held.append(job)
            else:
                missing.append(job)
        return missing

    def batch_of(self, jobs: list[Job]) -> Batch:
        """Return `jobs` as a batch that contains everything that a worker needs."""
        specs = [self.design.spec(self.design.cells[job.cell], job.run) for job in jobs]
        models, files = (spec.model_digest for spec in specs), set().union(*(spec.sources for spec in specs))
        limits = self.options.limits
        shared = identity(), self.attachments.only(models, files), limits.seconds is not None
        return Batch(carry_out, specs, shared, limits)

    def submit(self, workers: Workers, jobs: list[Job], batch: Batch) -> bool:
        """Submit a batch and return True; if no worker can accept the batch, put its `jobs` back and return False."""
        try:
            future = workers.submit(batch)
        except Exception as error:
            self.put_back(jobs)
            if not isinstance(error, ConnectionError):
                self.stop(error)
            return False
        self.in_flight[future], self.since[future] = jobs, time.monotonic()
        return True

    def repeat_overdue(self) -> None:
        """Hand out overdue batches again, because their workers may be frozen or disconnected."""
        now = time.monotonic()
        for future, jobs in self.in_flight.items():
            usual = sum(self.pace(job.cell) if job.cell in self.ended else math.inf for job in jobs)
            if now - self.since[future] > max(OVERDUE_SECONDS, OVERDUE_TIMES * usual):
                self.since[future] = math.inf
                self.report.lost += len(jobs)
                self.put_back(jobs)

    def next_batch(self, workers: int) -> list[Job]:
        """Return the jobs of the next batch: first one job of each cell, later several jobs of the slowest cell.

        A run that was tried before gets a batch of its own, because any run of a larger batch could have killed the
        worker.
        """
        going = {job.cell for jobs in self.in_flight.values() for job in jobs}
        fresh = [cell for cell in self.pending if cell not in self.ended and cell not in going]
        # While the first run of a cell is going on, other cells come first.
        known = [cell for cell in self.pending if cell in self.ended]
        cell = fresh[0] if fresh else max(known, key=self.pace, default=next(iter(self.pending)))
        size = 1
        if cell in self.ended:
            fair = math.ceil(self.waiting / (4 * workers))
            size = max(1, min(int(BATCH_SECONDS / max(self.pace(cell), 1e-6)), fair))
        jobs = self.pending[cell]
        batch = [jobs.popleft()]
        while jobs and len(batch) < size and not self.tries[batch[0].key] and not self.tries[jobs[0].key]:
            batch.append(jobs.popleft())
        if not jobs:
            del self.pending[cell]
        return batch

    def put_back(self, jobs: list[Job]) -> None:
        """Put `jobs` into the queue of runs that have to be handed out."""
        for job in jobs:
            self.pending.setdefault(job.cell, deque()).append(job)

    def take_in(self, future: Future[list[Any]]) -> None:
        """Store the results of a finished batch; if the connection was lost, put the runs of the batch back."""
        jobs = self.in_flight.pop(future)
        if not jobs:
            self.start = time.perf_counter()  # the kernels are compiled
        try:
            self.settle(jobs, future.result())
        except (ConnectionError, CancelledError):
            self.report.lost += len(jobs)
            self.put_back(jobs)
        except BrokenExecutor:
            self.stop(WorkerError(BROKEN))
        except (SettingError, OSError):  # no process can be started here
            raise
        except Exception as error:
            self.stop(error)

    def settle(self, jobs: list[Job], answers: list[Any]) -> None:
        """Store finished runs and failures; put failed runs back if they may be tried again."""
        ended: list[tuple[Job, RunResult]] = []
        for job, result in zip(jobs, answers, strict=True) if jobs else ():
            if result.error and self.tries[job.key] < max(self.options.retries, result.died):
                self.tries[job.key] += 1
                self.report.lost += result.died
                self.put_back([job])
            elif job.key not in self.settled:  # otherwise it was handed out twice
                ended.append((job, result))
        # Synchronising several files with the disk takes as long as one.
        with ThreadPoolExecutor(WRITERS) as threads:
            errors = list((threads.map if len(ended) > 1 else map)(self.write, ended))
        for (job, result), error in zip(ended, errors, strict=True):
            self.ended[job.cell] += 1
            self.spent[job.cell] += result.seconds
            if error is not None:
                # Nothing is wrong with the run, so it is still missing and not failed.
                self.stop(FileError(f"results cannot be stored ({error})"))
                continue
            self.settled.add(job.key)
            if result.file is not None:
                self.report.done += 1
            else:
                self.fail(job, result.error)

    def fail(self, job: Job, error: str) -> None:
        """Add a failed run to the report."""
        cell = self.design.cells[job.cell]
        path = self.store.failure_path(job.key)
        self.report.failures.append(Failure(cell.world.label, cell.agent.label, job.run, error, path))

    def write(self, ended: tuple[Job, RunResult]) -> FileError | None:
        """Store a run or the record of its failure; return the error if the file cannot be written."""
        job, result = ended
        try:
            if result.file is not None:
                self.store.add(job.key, result.file)
            else:
                said = {name: value for name, value in result._asdict().items() if name not in ("file", "died")}
                content = self.design.spec(self.design.cells[job.cell], job.run).document()
                facts = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "content": content}
                self.store.add_failure(job.key, {"key": job.key, "run": job.run, **said, **facts})
        except FileError as error:
            return error
        return None

    def check_workers(self, workers: Workers) -> None:
        """Check the workers about once a second; stop if no worker has been available for too long."""
        now = time.monotonic()
        if now - self.checked < CHECK_SECONDS:
            return
        self.checked = now
        try:
            self.report.waiting = workers.waiting_for()
        except WorkerError as error:
            self.stop(error)
            self.in_flight.clear()  # no answer will come

    def stop(self, error: Exception) -> None:
        """Stop handing out runs, because of an error that was not caused by a run."""
        reason = str(error) if isinstance(error, GoalwardError) else f"{type(error).__name__}: {error}"
        if isinstance(error, ImportError):
            reason += "; install the same goalward on every worker"
        self.report.stopped = self.report.stopped or f"{reason}; stored runs are kept and are not run again"

    def notice(self, workers: Workers) -> None:
        """Update the report, and pass it to `watch`."""
        self.report.seconds, self.report.workers = time.perf_counter() - self.start, workers.size
        self.report.seconds_left = self.time_left(workers.size)
        if self.watch is not None:
            self.watch(self.report)

    def time_left(self, workers: int) -> float | None:
        """Estimate the remaining time in seconds; None before the first run has ended."""
        if not self.ended:
            return None
        usual = sum(self.spent.values()) / self.ended.total()
        left = Counter({cell: len(jobs) for cell, jobs in self.pending.items()})
        for jobs in (*self.in_flight.values(), self.held):
            left.update(job.cell for job in jobs)
        seconds = sum(number * (self.pace(cell) if cell in self.ended else usual) for cell, number in left.items())
        return seconds / workers


@contextmanager
def study_progress() -> Iterator[Watch]:
    """Show the progress of a study as a bar; without a terminal, print only the number of missing runs."""
    with phase("loading the kernels, which are compiled the first time") as entry:

        def watch(report: Report) -> None:
            wanted = report.total - report.stored
            if not entry.total and not sys.stderr.isatty() and not in_notebook():
                stored = f", {report.stored:,} already stored" if report.stored else ""
                print(f"{plural(wanted, 'run')} to make{stored}", file=sys.stderr)
            entry.total, entry.unit = wanted, "runs"
            if report.ended or report.waiting:
                entry.text = "making runs"
            entry.advance(report.ended)
            entry.seconds_left = report.seconds_left  # this estimate knows that long runs come first
            entry.parts = lambda: [*[f"{report.workers:,} workers"] * (report.workers > 1), *report.notes]

        yield watch
