"""The ways to run a study: into a store, into a folder, or from Python.

Runs that are stored are not run again, and a run that fails does not stop the others. A study that is killed loses the
runs that were going on, and continues when it is run again.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalward.errors import SettingError
from goalward.results.results import Results, open_results
from goalward.signals import keeping
from goalward.studies.design import Design
from goalward.studies.executors import Pool, open_pool
from goalward.studies.run_file import GRID_POINTS, MOST_EPISODES
from goalward.studies.run_spec import canonical
from goalward.studies.session import Session, Watch
from goalward.studies.status import Failure
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.worker import Job

__all__ = ["Report", "jobs_of", "read_shard", "run", "run_in_folder", "run_study"]

BYTES_PER_EPISODE = 32
BYTES_PER_RUN = 16_384


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
    places = [(index, run) for index in different.values() for run in range(design.runs)][number - 1 :: shards]
    jobs: dict[str, Job] = {}
    for index, run in places:
        cell = design.cells[index]
        job = Job(design.spec(cell, run), index, run, cell.world.label, cell.agent.label)
        jobs.setdefault(job.key, job)
    return list(jobs.values())


def read_shard(text: str | None) -> tuple[int, int]:
    """Read a shard such as ``3/16``; None is the whole study."""
    parts = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", "1/1" if text is None else text)
    if parts is None:
        raise SettingError(f"shard is {text!r}; it must be i/n with i from 1 to n, such as 3/16")
    return int(parts[1]), int(parts[2])


def run_study(
    study: Study,
    store: Store,
    opened: Callable[[], Pool],
    *,
    shard: tuple[int, int] = (1, 1),
    watch: Watch | None = None,
) -> Report:
    """Carry out the runs of a study that are not stored yet.

    Parameters
    ----------
    opened
        Opens the pool; called only if a run is missing.
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
        store.check_room(sum(size_of(job) for job in missing))
    store.save_study(study.design, study.text, study.attachments)
    session = Session(study.design, study.attachments, store, missing, len(jobs), watch)
    if missing:
        session.carry_out(opened())
    before = {job.key for job in jobs} - {job.key for job in missing}
    # Somebody may have removed files meanwhile: only those that are there count.
    stored, done = sum(map(store.has, before)), sum(map(store.has, session.added))
    removed, stopped = len(before) + len(session.added) - stored - done, session.stopped
    if removed and stopped is None:
        stopped = f"{removed} stored runs were removed from {store.folder} meanwhile; the same command makes them again"
    return Report(study.design, len(jobs), stored, done, session.seconds, session.failures, damaged, stopped)


def run_in_folder(
    study: Study,
    folder: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    shard: tuple[int, int] = (1, 1),
    watch: Watch | None = None,
) -> Report:
    """Carry out the runs of a study that a results folder does not have.

    Raises `Interrupted` on Ctrl-C and SIGTERM; what is done by then stays stored. See `run_study` for `shard` and
    `watch`.

    Parameters
    ----------
    workers
        How many processes; 1 means this one alone. All cores, if not given.
    dask
        The address of a Dask scheduler, instead of processes on this machine.
    """
    store = Store.open(folder, create=True)
    with keeping(f"what is done is stored in {folder}, and the same command goes on there"):
        return run_study(study, store, lambda: open_pool(workers, dask), shard=shard, watch=watch)


def run(
    study: Study | str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    *,
    workers: int | None = None,
    dask: str | None = None,
    shard: tuple[int, int] = (1, 1),
    watch: Watch | None = None,
) -> Results:
    """Run a study and return its results; runs that the folder has are not run again.

    In a script, call it below ``if __name__ == "__main__":``, because worker processes import the script.

    Parameters
    ----------
    study
        A `Study`, or what makes one: the name of a TOML file, the name of a shipped study, or a dict.
    folder
        The results folder; ``results/NAME`` if not given, as on the command line.
    workers
        How many processes; 1 means this one alone. All cores, if not given.
    dask
        The address of a Dask scheduler, instead of processes on this machine.
    shard
        Which part of the study to run: ``(3, 16)`` is part 3 of 16, for a job of an array.
    watch
        Called with the progress whenever runs have ended.
    """
    if not isinstance(study, Study):
        study = Study.from_dict(study) if isinstance(study, Mapping) else Study.load(study)
    place = Path("results") / study.design.name if folder is None else Path(folder)
    report = run_in_folder(study, place, workers=workers, dask=dask, shard=shard, watch=watch)
    if not report.complete:
        errors = [failure.error for failure in report.failures] or [str(report.stopped)]
        missing = report.total - report.stored - report.done
        warnings.warn(f"{missing} of {report.total} runs are missing: {errors[0]}; see {place}", stacklevel=2)
    return open_results(place, study.design.reference)


def size_of(job: Job) -> int:
    """Estimate the bytes of the file of a run."""
    episodes = job.spec.episodes
    return BYTES_PER_RUN + BYTES_PER_EPISODE * (episodes if episodes <= MOST_EPISODES else GRID_POINTS)
