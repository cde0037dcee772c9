"""The results of a study, cell by cell, as arrays.

Curves are read at several hundred points, so that many thousand runs fit into memory. Half of the points are evenly
spaced on a linear scale, half on a logarithmic scale. The curve of a run that was cut off is NaN after the last
finished episode. Means over all episodes leave out these runs (see `CellResults.complete`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.progress import counted, in_notebook, shown
from goalward.results.measures import COMPARED, CURVES, MEASURES, values_of
from goalward.studies import run_file
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import recorded
from goalward.studies.runner import Options, Watch, run_study, study_progress
from goalward.studies.status import check_study
from goalward.studies.store import NoRun, Store
from goalward.studies.study import Study
from goalward.studies.worker_process import Limits
from goalward.table import Table

CURVE_POINTS = 400


@dataclass(frozen=True, eq=False)
class CellResults:
    """The results of one cell. Arrays have one entry for each stored run.

    Attributes
    ----------
    runs
        The numbers of the stored runs, counted from 0.
    truncated, episodes_done
        Whether a run was cut off, and how many episodes it finished.
    values
        For each of `MEASURES`, the value of each run. The regret of a run that was cut off is the regret until the cut.
    points
        The episodes at which the curves have values.
    curves
        For each of `CURVES` that was read, an array ``[run, point]``. The curves are the regrets, and the cost and the
        steps of each episode. If V* is not known, the regrets are NaN.
    ended_by
        How many epochs each stop condition ended, summed over all runs.
    missing, failed, damaged
        The numbers of the runs in these states, counted from 0.
    caveat
        The caveat that every table and figure must show; empty if there is none.
    """

    cell: Cell
    runs: Int64s
    truncated: Bools
    episodes_done: Int64s
    values: dict[str, Floats]
    points: Int64s
    curves: dict[str, Floats]
    ended_by: Counter[str]
    missing: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    caveat: str = ""

    @property
    def finals(self) -> dict[str, Floats]:
        """The final regrets and the cost per episode of complete runs; NaN for runs that were cut off."""
        finals = {name: self.values[name] for name in COMPARED if name in self.values}
        return {name: np.where(self.truncated, np.nan, values) for name, values in finals.items()}

    @property
    def has_model(self) -> bool:
        """False if the regrets of all runs are NaN, because the world has no model."""
        return not len(self.runs) or not bool(np.isnan(self.values["gap_regret"]).all())

    @property
    def complete(self) -> Bools:
        """For each stored run, whether all its episodes are finished."""
        return ~self.truncated


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of a study: its `design`, the results of its `cells`, and the results `folder`."""

    design: Design
    cells: list[CellResults]
    folder: Path | None = None
    """The results folder; None for results that were never stored."""

    def worlds(self) -> dict[str, list[CellResults]]:
        """Return the cells of each world, by the label of the world."""
        worlds: dict[str, list[CellResults]] = {}
        for cell in self.cells:
            worlds.setdefault(cell.cell.world.label, []).append(cell)
        return worlds

    def agents(self) -> list[str]:
        """Return the labels of the agents, in the order of the study."""
        return list(dict.fromkeys(cell.cell.agent.label for cell in self.cells))

    def algorithms(self) -> dict[str, str]:
        """Return the name of each agent's algorithm, by the label of the agent."""
        return {cell.cell.agent.label: str(cell.cell.agent.identity["name"]).rpartition(":")[2] for cell in self.cells}

    def caveats(self) -> dict[str, str]:
        """Return the caveat of each agent that has a caveat, by the label of the agent."""
        return {cell.cell.agent.label: cell.caveat for cell in self.cells if cell.caveat}

    def runs(self) -> Table:
        """Return a table with one row for each stored run; regrets of a run that was cut off are NaN."""
        return Table([row for cell in self.cells for row in run_rows(cell)], name="runs")

    def summary(self, level: float = 0.95, interval: str = "t", reference: bool = False) -> Table:
        """Return a table with one row for each agent in each world: means over runs, with their intervals.

        `interval` selects means with t-intervals ("t") or medians with intervals ("median"), at confidence `level`. If
        there is one world, the notes compare each agent with the first agent, run by run. `reference` adds a column
        with the gap regret divided by `goalward.theory.RegretLimit.reference`, which is a heuristic scale and not a
        bound.
        """
        from goalward.results.summary import summary_table

        return summary_table(self, level, interval, reference)

    def status(self, check: bool = False) -> Table:
        """Return a table with one row for each cell: how many runs are stored, and which runs failed or are missing.

        Only the names and sizes of files are checked. With `check`, every file is read and verified.
        """
        if self.folder is None:
            raise SettingError("these results were never stored; run the study with a folder")
        return Table(check_study(Store.open(self.folder), self.design, read=check).rows, name="cells")

    def count(self) -> tuple[int, int]:
        """Return the number of stored runs and the number of all runs; a run that several cells share counts once."""
        stored: set[str] = set()
        planned: set[str] = set()
        for results in self.cells:
            keys = self.design.keys(results.cell)
            planned.update(keys)
            stored.update(keys[run] for run in results.runs)
        return len(stored), len(planned)

    def _repr_html_(self) -> str:
        """Return the results as a notebook shows them: the means of each cell."""
        stored, planned = self.count()
        title = f"Results of {self.design.name}: {stored:,} of {planned:,} runs stored"
        facts = Table.facts({"page": "goalward.report(results)"}, title=title)
        return f"<div>{facts.html()}{self.summary().html()}</div>"

    def __repr__(self) -> str:
        stored, planned = self.count()
        return f"Results({self.design.name!r}: {stored:,} of {planned:,} runs)"


def run_rows(results: CellResults) -> Iterator[dict[str, Any]]:
    cell, values = results.cell, results.values | results.finals
    for index, run in enumerate(results.runs.tolist()):
        yield {
            "world": cell.world.label,
            "agent": cell.agent.label,
            "episodes": cell.episodes,
            "run": run,
            "truncated": bool(results.truncated[index]),
            "episodes_done": int(results.episodes_done[index]),
            **{measure.name: values[measure.name][index].item() for measure in MEASURES},
        }


def named(results: Results, agent: str) -> str:
    """Return `agent`; raise UnknownNameError if the study has no agent with this label."""
    known = results.agents()
    if agent not in known:
        raise UnknownNameError(f"agent in {results.design.name}", agent, known)
    return agent


def run(
    study: Study | str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    *,
    workers: int | Executor | None = None,
    dask: str | None = None,
    shard: tuple[int, int] = (1, 1),
    only: Collection[str] = (),
    time_limit: float | None = None,
    memory_limit: int | None = None,
    retries: int = 0,
    retry_failed: bool = False,
    tags: Collection[str] = (),
    watch: Watch | None = None,
) -> Results:
    """Run a study and return its results; runs that are already stored are not repeated.

    Notebooks show the progress. In a script, call `run` below ``if __name__ == "__main__":``, because worker processes
    import the script.

    Parameters
    ----------
    study
        A `Study`, the path of a TOML file, the name of a shipped study, or a dict with the keys of a study file.
    folder
        The results folder; by default ``results/NAME``, as on the command line.
    workers
        The number of processes, or a `concurrent.futures.Executor`, which stays open. By default, there is one process
        for each core; 1 means only this process.
    dask
        The address of a Dask scheduler, instead of processes on this machine.
    shard
        The part of the study to run: ``(3, 16)`` is part 3 of 16, for example in an array job.
    only
        The cells to run, for example ``["agent=psrl", "world=grid*"]``.
    time_limit, memory_limit
        The seconds and the megabytes of memory that a run may use; a run that uses more fails. Python and goalward
        alone use 250 MB. The limits change neither the key of a run nor its result.
    retries, retry_failed
        How often to retry a run that fails, and whether to retry runs that failed earlier.
    tags
        Labels that are stored with the study and shown in exports.
    watch
        A function that is called with the progress whenever runs have ended.
    """
    if not isinstance(study, Study):
        study = Study.from_dict(study) if isinstance(study, Mapping) else Study.load(study)
    path = Path("results") / study.design.name if folder is None else Path(folder)
    options = Options(shard, only, Limits(time_limit, memory_limit), retries, retry_failed, tags, dask)
    with shown(), study_progress() if watch is None and in_notebook() else nullcontext(watch) as seen:
        report = run_study(study, Store.open(path, create=True), workers, options, watch=seen)
    if report.problem:
        warnings.warn(f"{report.problem}; see {path}", stacklevel=2)
    return open_results(path, study.design.reference)


def open_results(folder: str | Path, study: str | None = None) -> Results:
    """Return the results of a study in a folder; without `study`, the folder must hold exactly one study.

    If the study was run with several designs, for example different numbers of runs, the latest design is read.
    ``NAME/DIGEST`` selects another design, which is stored in ``studies/NAME/DIGEST.toml``.
    """
    store = Store.open(folder)
    return load_results(store, store.design(study))


def load_results(store: Store, design: Design, curves: Collection[str] = CURVES) -> Results:
    """Read the stored runs of a study, with the requested `curves`."""
    wanted = counted("reading results", "cells", design.cells, len(design.cells))
    return Results(design, [load_cell(store, design, cell, curves) for cell in wanted], store.folder)


def load_cell(store: Store, design: Design, cell: Cell, wanted: Collection[str]) -> CellResults:
    points = curve_points(cell.episodes)
    # Short runs have every episode recorded, so the column of episode numbers need not be read.
    names = wanted if cell.episodes <= run_file.MOST_EPISODES else (*wanted, "episode")
    runs: list[int] = []
    outcomes: list[dict[str, Any]] = []
    values: dict[str, list[float]] = {measure.name: [] for measure in MEASURES}
    curves: dict[str, list[Floats]] = {name: [] for name in wanted}
    absent: dict[str, list[int]] = {"missing": [], "failed": [], "damaged": []}
    caveat = ""
    for number, key in enumerate(design.keys(cell)):
        run = store.find(key)
        if isinstance(run, NoRun):
            absent[run.state].append(number)
            continue
        try:
            measured, columns = values_of(run), dict(zip(names, run.columns(*names), strict=True))
        except FileError:
            absent["damaged"].append(number)
            continue
        runs.append(number)
        outcomes.append(run.outcome)
        for name, lines in curves.items():
            lines.append(at_points(points, columns.get("episode"), columns[name], run.outcome["episodes_done"]))
        for name, value in measured.items():
            values[name].append(value)
        caveat = caveat or run.caveat
    shape = len(runs), len(points)
    return CellResults(
        cell=cell,
        runs=np.array(runs, dtype=np.int64),
        truncated=np.array([outcome["truncated"] for outcome in outcomes], dtype=np.bool_),
        episodes_done=np.array([outcome["episodes_done"] for outcome in outcomes], dtype=np.int64),
        values={name: np.array(numbers) for name, numbers in values.items()},
        points=points,
        curves={name: np.array(lines).reshape(shape) for name, lines in curves.items()},
        ended_by=sum((Counter(outcome["ended_by"]) for outcome in outcomes), Counter()),
        caveat=caveat,
        **absent,
    )


def curve_points(episodes: int) -> Int64s:
    """Return the episodes at which curves are read, counted from 1."""
    kept = recorded(episodes) + 1
    linear = np.linspace(0, len(kept) - 1, CURVE_POINTS)
    logarithmic = np.searchsorted(kept, np.geomspace(1, episodes, CURVE_POINTS)).clip(max=len(kept) - 1)
    return np.asarray(kept[np.unique(np.concatenate([np.rint(linear), logarithmic]).astype(np.int64))])


def at_points(points: Int64s, episodes: Int64s | None, column: Floats, done: int) -> Floats:
    """Return a curve at the `points`, NaN after episode `done`. If `episodes` is None, `column` has all episodes."""
    if episodes is None and done == len(column) == points[-1]:
        return column[points - 1]
    known = np.arange(1, len(column) + 1) if episodes is None else episodes
    finished = int(np.searchsorted(known, done, side="right"))
    if not finished:
        return np.full(len(points), np.nan)
    with np.errstate(invalid="ignore"):  # infinite regret, after a dead end
        return np.interp(points, known[:finished], column[:finished], left=np.nan, right=np.nan)
