"""The results of a study, cell by cell, as arrays.

Curves are read at some hundreds of points, half of them evenly spread on a linear scale and half on a logarithmic one,
so that many thousand runs fit into memory. A run that was cut off has no regret after its last finished episode: its
curve is NaN there, and means over all episodes leave it out (`CellResults.complete`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.progress import counted
from goalward.results.measures import CURVES, MEASURES, REGRETS, StoredValues
from goalward.studies.attachments import Attachments
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import MOST_EPISODES, recorded
from goalward.studies.run_spec import RunSpec
from goalward.studies.store import NoRun, Store
from goalward.table import Table

__all__ = ["CellResults", "Results", "load_results", "named", "open_results", "world_name"]

CURVE_POINTS = 400


@dataclass(frozen=True, eq=False)
class CellResults:
    """The runs of one cell; arrays have one entry for each stored run.

    Attributes
    ----------
    runs
        Which runs of the cell are stored, counted from 0.
    truncated, episodes_done
        Whether a run was cut off, and how many episodes it finished.
    values
        The value of each run, for each of `MEASURES`; the regret of a run that was cut off is what it had paid by then.
    points
        The episodes at which the curves are given.
    curves
        The curves ``[run, point]``, for each of `CURVES`: the regrets, and the steps of single episodes. Where V* is
        not known, the regrets are NaN.
    ended_by
        How many epochs ended by each cause, over all runs.
    missing, failed, damaged
        The numbers of the other runs.
    caveat
        What the agent's notes ask every table and figure to show; empty if there is nothing.
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
        """The regrets at the end of complete runs; NaN for runs that were cut off."""
        return {name: np.where(self.truncated, np.nan, self.values[name]) for name in REGRETS}

    @property
    def complete(self) -> Bools:
        """Which of the stored runs finished all their episodes."""
        return ~self.truncated


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of a study."""

    design: Design
    cells: list[CellResults]
    attachments: Attachments = field(default_factory=Attachments)
    """The models and agent files of the results folder, for runs that are carried out again."""
    folder: Path | None = None
    """The results folder; None for results that were never stored."""

    def worlds(self) -> dict[str, list[CellResults]]:
        """Return the cells of each world, by its name."""
        worlds: dict[str, list[CellResults]] = {}
        for cell in self.cells:
            worlds.setdefault(world_name(self.design, cell.cell), []).append(cell)
        return worlds

    def agents(self) -> list[str]:
        """Return the labels of the agents, in the order of the study."""
        return list(dict.fromkeys(cell.cell.agent.label for cell in self.cells))

    def algorithms(self) -> dict[str, str]:
        """Return the name of the algorithm of each agent, by its label."""
        return {cell.cell.agent.label: str(cell.cell.agent.identity["name"]) for cell in self.cells}

    def caveats(self) -> dict[str, str]:
        """Return the caveat of each agent that has one, by its label."""
        return {cell.cell.agent.label: cell.caveat for cell in self.cells if cell.caveat}

    def runs(self) -> Table:
        """Return a table with one row for each stored run; regrets of a run that was cut off are NaN."""
        return Table([row for cell in self.cells for row in run_rows(cell)], name="runs")

    def summary(self, level: float = 0.95, bootstrap: bool = False) -> Table:
        """Return a table with one row for each agent in each world: means over runs, with their intervals."""
        from goalward.results.summary import summary_table

        return summary_table(self, level, bootstrap)

    def stored_spec(self, cell: Cell, run: int) -> RunSpec:
        """Return a run of a cell; raise SettingError if it is not stored: a run that failed cannot be made again."""
        spec = self.design.spec(cell, run)
        if not any(each.cell == cell and run in each.runs for each in self.cells):
            where = f"{cell.agent.label} in {cell.world.label}"
            raise SettingError(f"run {run} of {where} is not stored; choose another run, or see goalward status")
        return spec

    def count(self) -> tuple[int, int]:
        """Return how many runs are stored, and how many the study has; a run that several cells share counts once."""
        stored: set[str] = set()
        planned: set[str] = set()
        for each in self.cells:
            keys = self.design.keys(each.cell)
            planned.update(keys)
            stored.update(keys[run] for run in each.runs)
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


def world_name(design: Design, cell: Cell) -> str:
    """Return the label of the world of a cell, with the number of episodes where the study has several."""
    return f"{cell.world.label}, {cell.episodes:,} episodes" if design.several_lengths else cell.world.label


def named(results: Results, agent: str) -> str:
    """Return the label of an agent of the study; raise UnknownNameError if it has none of this name."""
    known = results.agents()
    if agent not in known:
        raise UnknownNameError(f"agent in {results.design.name}", agent, known)
    return agent


def open_results(folder: str | Path, study: str | None = None) -> Results:
    """Read the results of a study from a folder; without a name, of its only study.

    A study that was run with several designs, for example with different numbers of runs, is read as it was run last;
    ``NAME/DIGEST`` names another design, which is stored in ``studies/NAME/DIGEST.toml``.
    """
    store = Store.open(folder)
    return load_results(store, store.design(study))


def load_results(store: Store, design: Design) -> Results:
    """Read the stored runs of a study."""
    # Threads help, because hashing and decompression release the interpreter.
    with ThreadPoolExecutor() as threads:
        wanted = counted("reading results", "cells", design.cells, len(design.cells))
        cells = [load_cell(store, design, cell, threads) for cell in wanted]
    return Results(design, cells, store.attachments, store.folder)


def load_cell(store: Store, design: Design, cell: Cell, threads: Executor) -> CellResults:
    points = curve_points(cell.episodes)
    runs = list(threads.map(lambda key: read_run(store, key, points), design.keys(cell)))
    stored = [(number, run) for number, run in enumerate(runs) if isinstance(run, OneRun)]
    absent = [(number, run.state) for number, run in enumerate(runs) if isinstance(run, NoRun)]
    curves = {
        name: np.array([run.curves[name] for _, run in stored]).reshape(len(stored), len(points)) for name in CURVES
    }
    ended_by: Counter[str] = Counter()
    for _, run in stored:
        ended_by.update(run.ended_by)
    return CellResults(
        cell=cell,
        runs=np.array([number for number, _ in stored], dtype=np.int64),
        truncated=np.array([run.truncated for _, run in stored], dtype=np.bool_),
        episodes_done=np.array([run.episodes_done for _, run in stored], dtype=np.int64),
        values={measure.name: np.array([run.values[measure.name] for _, run in stored]) for measure in MEASURES},
        points=points,
        curves=curves,
        ended_by=ended_by,
        missing=[number for number, state in absent if state == "missing"],
        failed=[number for number, state in absent if state == "failed"],
        damaged=[number for number, state in absent if state == "damaged"],
        caveat=next((run.caveat for _, run in stored), ""),
    )


class OneRun(NamedTuple):
    """What results keep of one run."""

    truncated: bool
    episodes_done: int
    values: dict[str, float]
    curves: dict[str, Floats]
    ended_by: dict[str, int]
    caveat: str


def read_run(store: Store, key: str, points: Int64s) -> OneRun | NoRun:
    """Return what results keep of a run, or why there is none."""
    stored = store.find(key)
    if isinstance(stored, NoRun):
        return stored
    outcome = stored.outcome
    # Short runs have every episode recorded, so the column of episode numbers need not be read.
    short = points[-1] <= MOST_EPISODES
    try:
        columns = dict(zip(CURVES, stored.columns(*CURVES), strict=True))
        episodes = np.arange(1, len(columns[CURVES[0]]) + 1) if short else stored.episodes
    except FileError as error:
        return NoRun("damaged", str(error))
    run = StoredValues(outcome, float(stored.document["timing"]["cpu_seconds"]), columns)
    finished = int(np.searchsorted(episodes, outcome["episodes_done"], side="right"))
    return OneRun(
        outcome["truncated"],
        outcome["episodes_done"],
        {measure.name: measure.of(run) for measure in MEASURES},
        {name: at_points(points, episodes[:finished], column[:finished]) for name, column in columns.items()},
        outcome["ended_by"],
        stored.caveat,
    )


def curve_points(episodes: int) -> Int64s:
    """Return the episodes at which curves are read, counted from 1."""
    kept = recorded(episodes) + 1
    linear = np.linspace(0, len(kept) - 1, CURVE_POINTS)
    logarithmic = np.searchsorted(kept, np.geomspace(1, episodes, CURVE_POINTS)).clip(max=len(kept) - 1)
    return np.asarray(kept[np.unique(np.concatenate([np.rint(linear), logarithmic]).astype(np.int64))])


def at_points(points: Int64s, episodes: Int64s, regret: Floats) -> Floats:
    """Return a curve at the points; NaN after the last of the episodes."""
    if not len(episodes):
        return np.full(len(points), np.nan)
    if len(episodes) == episodes[-1] == points[-1]:
        return regret[points - 1]  # every episode was recorded
    with np.errstate(invalid="ignore"):  # infinite regret, after a dead end
        return np.interp(points, episodes, regret, left=np.nan, right=np.nan)
