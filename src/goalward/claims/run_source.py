"""Where claims are tested: a folder of stored runs, workers, and how much to run.

Studies are carried out by the experiments' own runner and stay in the folder, so what is there is not run again. Runs
whose sampled models are looked at are made by the same workers and leave only the numbers read off them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from goalward.errors import TheoryError
from goalward.execution.pools import Pool
from goalward.execution.runner import run_study
from goalward.results.results import CellResults, Results, load_results
from goalward.results.store import Store
from goalward.studies.study import Study

__all__ = ["RunSource", "cell_of"]

Result = TypeVar("Result")


class Lasting:
    """A pool that outlives the study it is lent to."""

    fails_as_one: bool

    def __init__(self, pool: Pool):
        self.pool = pool
        self.workers, self.prefetch, self.fails_as_one = pool.workers, pool.prefetch, pool.fails_as_one
        self.warmed = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand out a piece of work."""
        return self.pool.submit(function, *arguments)

    @property
    def gone(self) -> bool:
        """Whether no worker can be reached any more."""
        return self.pool.gone

    def warm(self) -> None:
        """Compile the kernels, the first time."""
        if not self.warmed:
            self.pool.warm()
            self.warmed = True

    def restart(self) -> None:
        """Make a fresh executor after a worker died."""
        self.pool.restart()

    def close(self) -> None:
        """Stay: there is more to do."""

    def stop(self) -> None:
        """Leave at once."""
        self.pool.stop()


class RunSource:
    """What the tests of claims work with.

    Parameters
    ----------
    store
        Where runs are stored.
    pool
        Where they are carried out.
    quick
        Whether a minute must do.
    """

    def __init__(self, store: Store, pool: Pool, *, quick: bool):
        self.store, self.pool, self.quick = store, Lasting(pool), quick

    def choose(self, quick: int, full: int) -> int:
        """Return how much to run."""
        return quick if self.quick else full

    def results(self, name: str, *, runs: int, episodes: int) -> Results:
        """Carry out a study that comes with goalward, with so many runs and episodes, and return its results."""
        # Under a name of its own: the folder may hold the study as its author wants it.
        written = Study.load(name)
        study = written.replace(name=f"claims-{written.spec.name}-{episodes}", runs=runs, episodes=episodes)
        report = run_study(study, self.store, lambda: self.pool)
        if not report.complete:
            failed = [f"{f.agent} in {f.world}: {f.error}" for f in report.failures] or [str(report.stopped)]
            raise TheoryError(f"{len(failed)} runs of {name} failed, so nothing can be said: {failed[0]}")
        return load_results(self.store, study.design)

    def map(self, function: Callable[..., Result], tasks: Iterable[Sequence[Any]], size: int = 1) -> list[Result]:
        """Call a function for each list of arguments, some at a time, and return the answers in order."""
        self.pool.warm()
        given = list(tasks)
        parts = [given[start : start + size] for start in range(0, len(given), size)]
        futures = [self.pool.submit(call_each, function, part) for part in parts]
        return [answer for future in futures for answer in future.result()]


def call_each(function: Callable[..., Result], tasks: Iterable[Sequence[Any]]) -> list[Result]:
    """Call a function for some lists of arguments."""
    return [function(*arguments) for arguments in tasks]


def cell_of(results: Results, world: str, agent: str) -> CellResults:
    """Return the results of one agent in one world, by their labels."""
    for cell in results.cells:
        if (cell.cell.world.label, cell.cell.agent.label) == (world, agent):
            return cell
    raise TheoryError(f"the study {results.design.name} has no {agent} in {world}")
