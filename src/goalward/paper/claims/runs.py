"""The runs that the tests of claims need: from a results folder, or made by workers.

Studies stay in the results folder, so their runs are reused. Runs whose sampled models are needed are not stored: the
workers return only the numbers computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from goalward import worlds
from goalward.errors import TheoryError
from goalward.progress import counted, phase
from goalward.results.results import CellResults, Results, load_results
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.executors import Pool
from goalward.studies.factory import make_world
from goalward.studies.runner import run_study
from goalward.studies.session import Progress
from goalward.studies.store import Store
from goalward.studies.study import Study

__all__ = ["OURS", "PAPER_WORLDS", "RunSource", "cell_of", "drawn_worlds"]

Result = TypeVar("Result")
OURS = "PSRL-SSP"
PAPER_WORLDS: dict[str, Callable[[], SSP]] = {"GridWorld": worlds.grid_world, "RandomMDP": worlds.random_mdp}


class SharedPool:
    """A pool that is warmed once and that a study does not close, so that the next study can use it."""

    def __init__(self, pool: Pool):
        self.pool, self.warmed = pool, set[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pool, name)

    def warm(self, agents: Sequence[str]) -> None:
        """Compile the kernels of agents, the first time."""
        if not self.warmed.issuperset(agents):
            self.pool.warm(agents)
            self.warmed.update(agents)

    def close(self) -> None:
        """Leave the pool open."""


class RunSource:
    """Makes the runs of a test in `pool` and stores them in `store`; with `quick`, tests are small."""

    def __init__(self, store: Store, pool: Pool, *, quick: bool):
        self.store, self.quick = store, quick
        self.pool = cast(Pool, SharedPool(pool))

    def choose(self, quick: int, full: int) -> int:
        """Return one of two sizes of a test."""
        return quick if self.quick else full

    def results(self, name: str, *, runs: int, episodes: int) -> Results:
        """Carry out a shipped study with this many runs and episodes, and return its results."""
        # It gets a name of its own, because the folder may hold the study in its original size.
        written = Study.load(name)
        study = written.replace(name=f"claims-{written.spec.name}-{episodes}", runs=runs, episodes=episodes)
        with phase(f"making the runs of {study.spec.name}", unit="runs") as making:

            def note(progress: Progress) -> None:
                making.total = progress.wanted.total()
                making.advance(progress.done.total())

            report = run_study(study, self.store, lambda: self.pool, watch=note)
        if not report.complete:
            failed = [f"{f.agent} in {f.world}: {f.error}" for f in report.failures] or [str(report.stopped)]
            raise TheoryError(f"{len(failed)} runs of {name} failed, so there is no verdict: {failed[0]}")
        return load_results(self.store, study.design)

    def map(self, function: Callable[..., Result], tasks: Iterable[Sequence[Any]], size: int = 1) -> list[Result]:
        """Call a function with each list of arguments, in jobs of `size` calls, and return the answers in order."""
        self.pool.warm(["psrl"])
        all_tasks = list(tasks)
        batches = [all_tasks[start : start + size] for start in range(0, len(all_tasks), size)]
        futures = [self.pool.submit(call_each, function, batch) for batch in batches]
        return [
            answer
            for future in counted("making runs with their models", "parts", futures, len(futures))
            for answer in future.result()
        ]


def call_each(function: Callable[..., Result], tasks: Iterable[Sequence[Any]]) -> list[Result]:
    return [function(*arguments) for arguments in tasks]


def cell_of(results: Results, world: str, agent: str) -> CellResults:
    """Return the results of one agent in one world, by their labels."""
    for cell in results.cells:
        if (cell.cell.world.label, cell.cell.agent.label) == (world, agent):
            return cell
    raise TheoryError(f"the study {results.design.name} has no {agent} in {world}")


def drawn_worlds(results: Results, cell: CellResults) -> list[SSP]:
    """Return the world of each run of a cell."""
    return [make_world(spec.world, Attachments()) for spec in results.design.specs(cell.cell)]
