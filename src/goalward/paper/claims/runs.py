"""The source of the runs that the tests of claims need.

The runs of studies are stored in a results folder and reused. Runs that test sampled models are not stored. The
workers return only the numbers that were computed from the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed
from typing import Any, TypeVar

from goalward import worlds
from goalward.errors import TheoryError
from goalward.learning.warm_up import warm_up
from goalward.progress import phase
from goalward.results.results import CellResults, Results, load_results
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.run_spec import make_world
from goalward.studies.runner import Report, run_study
from goalward.studies.store import Store
from goalward.studies.study import Study
from goalward.studies.worker_process import Batch, RunResult
from goalward.studies.workers import Workers

Result = TypeVar("Result")
OURS = "PSRL-SSP"
PAPER_WORLDS: dict[str, Callable[[], SSP]] = {"GridWorld": worlds.grid_world, "RandomMDP": worlds.random_mdp}


class RunSource:
    """Makes the runs of a test with `workers`, and stores the runs of studies in `store`."""

    def __init__(self, store: Store, workers: Workers):
        self.store, self.workers = store, workers

    def size(self, number: int) -> int:
        """Return `number`, which counts runs or episodes; a subclass may reduce the number for smaller tests."""
        return number

    def results(self, name: str, *, runs: int, episodes: int) -> Results:
        """Carry out the study `name` with these numbers of runs and episodes, and return its results."""
        # The study gets a new name, because the folder may hold the study in its original size.
        written = Study.load(name)
        study = written.replace(name=f"claims-{written.spec.name}-{episodes}", runs=runs, episodes=episodes)
        with phase(f"making the runs of {study.spec.name}", unit="runs") as making:

            def note(report: Report) -> None:
                making.total = report.total - report.stored
                making.advance(report.ended)

            report = run_study(study, self.store, self.workers, watch=note)
        if report.problem:
            raise TheoryError(f"there is no verdict from {name}: {report.problem}")
        return load_results(self.store, study.design)

    def map(self, function: Callable[..., Result], tasks: Iterable[Sequence[Any]]) -> list[Result]:
        """Call `function` with the arguments in each entry of `tasks`, and return the answers in order."""
        batches = [Batch(apply, [arguments], (function,)) for arguments in tasks]
        with phase("making runs with their models", len(batches), "runs") as making:
            self.workers.submit(Batch(warm_up, [["psrl"]])).result()
            futures = [self.workers.submit(batch) for batch in batches]
            for done, _ in enumerate(as_completed(futures), start=1):
                making.advance(done)
        answers = [future.result()[0] for future in futures]
        for index, answer in enumerate(answers):
            if isinstance(answer, RunResult):  # a process died; try once more
                (answers[index],) = self.workers.submit(batches[index]).result()
                if isinstance(answers[index], RunResult):
                    raise TheoryError(f"there is no verdict, because a run failed: {answer.error}")
        return answers


def apply(arguments: Sequence[Any], function: Callable[..., Result]) -> Result:
    return function(*arguments)


def cell_of(results: Results, world: str, agent: str) -> CellResults:
    """Return the results of the cell with these labels of the world and the agent."""
    for cell in results.cells:
        if (cell.cell.world.label, cell.cell.agent.label) == (world, agent):
            return cell
    raise TheoryError(f"the study {results.design.name} has no agent {agent} in the world {world}")


def drawn_worlds(results: Results, cell: CellResults) -> list[SSP]:
    """Return the world of each run of a cell."""
    return [make_world(spec.world, Attachments()) for spec in results.design.specs(cell.cell)]
