"""How long a study will take: processor seconds of each run, and how many shards of a job array suit it.

A run is taken to need as long as the stored runs of its cell, if there are any. Otherwise the first run of the cell is
made with a fraction of its episodes, and the time is taken to grow in proportion. Agents plan most at the beginning, so
the estimate is rather too high.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goalward.errors import SettingError
from goalward.execution.runner import jobs_of
from goalward.execution.worker import build
from goalward.learning.learn import learn
from goalward.results.record import StoredRun
from goalward.results.store import Store
from goalward.studies.design import Cell
from goalward.studies.study import Study

__all__ = ["MOST_SHARDS", "SHORTEST_SECONDS", "Estimate", "estimate_time"]

MOST_SHARDS = 1_000
"""Slurm's usual limit for an array is 1,001 jobs."""
SHORTEST_SECONDS = 600.0
"""Shorter jobs cost a scheduler more than they are worth."""
RUNS_LOOKED_AT = 20
PILOT_SHARE = 50
PILOT_EPISODES = 20
PILOT_STEPS = 200_000


@dataclass(frozen=True)
class Estimate:
    """How long the missing runs of a study will take.

    Attributes
    ----------
    runs
        How many runs there are.
    missing
        How many of them are not stored.
    seconds
        Processor seconds of all missing runs.
    longest
        Processor seconds of the longest run.
    measured
        How many cells were estimated from stored runs; the others from pilots.
    cells
        How many cells there are.
    """

    runs: int
    missing: int
    seconds: float
    longest: float
    measured: int
    cells: int

    def shards(self, wanted: int | None = None) -> int:
        """Return into how many jobs to divide the study: none shorter than ten minutes, if that can be."""
        if wanted is not None:
            if not 1 <= wanted <= MOST_SHARDS:
                raise SettingError(f"shards is {wanted}; it must be from 1 to {MOST_SHARDS:,}, the size of an array")
            return wanted
        return max(1, min(MOST_SHARDS, self.runs, int(self.seconds / SHORTEST_SECONDS)))

    def shard_seconds(self, shards: int) -> float:
        """Return roughly how long the longest of so many shards takes."""
        return max(self.seconds / shards, self.longest)


def estimate_time(study: Study, folder: Path, watch: Callable[[str], object] | None = None) -> Estimate:
    """Estimate the time of the runs of a study that a results folder does not have.

    `watch` is called with the name of each cell before its pilot is run.
    """
    study.check()
    store = Store.open(folder) if folder.exists() else None
    jobs = jobs_of(study.design)
    paces: dict[int, float] = {}
    measured = 0
    for index, cell in enumerate(study.design.cells):
        stored = stored_seconds(study, store, cell)
        measured += stored is not None
        if stored is None and watch is not None:
            watch(f"{cell.agent.label} in {cell.world.label}")
        paces[index] = pilot_seconds(study, cell) if stored is None else stored
    missing = [job for job in jobs if store is None or not store.has(job.key)]
    return Estimate(
        len(jobs),
        len(missing),
        math.fsum(paces[job.cell] for job in missing),
        max(paces.values(), default=0.0),
        measured,
        len(paces),
    )


def stored_seconds(study: Study, store: Store | None, cell: Cell) -> float | None:
    """Return the processor seconds of a stored run of a cell; None if there is none."""
    if store is None:
        return None
    for run in range(min(study.design.runs, RUNS_LOOKED_AT)):
        found = store.find(study.design.spec(cell, run).key)
        if isinstance(found, StoredRun):
            return float(found.document["timing"]["cpu_seconds"])
    return None


def pilot_seconds(study: Study, cell: Cell) -> float:
    """Make a short run twice, the second without compiling, and return what the whole run would take."""
    spec = study.design.spec(cell, 0)
    world, agent = build(spec, study.attachments)
    episodes = min(spec.episodes, max(PILOT_EPISODES, spec.episodes // PILOT_SHARE))
    learn(agent, world, 1, spec.seed, max_steps=PILOT_STEPS)
    start = time.process_time()
    run = learn(agent, world, episodes, spec.seed, max_steps=PILOT_STEPS)
    return (time.process_time() - start) * spec.episodes / max(1, len(run.costs))
