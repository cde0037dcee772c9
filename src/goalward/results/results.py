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
from goalward.formatting import with_margin
from goalward.html_tables import facts_html, table_html
from goalward.long_work import counted
from goalward.studies.attachments import Attachments
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import MOST_EPISODES, recorded
from goalward.studies.run_spec import RunSpec
from goalward.studies.store import NoRun, Store
from goalward.table import Table

__all__ = [
    "CURVES", "MEASURES", "CellResults", "Results", "checked_measure", "load_results", "named", "open_results",
    "world_name",
]  # fmt: skip

MEASURES = ("regret", "gap_regret")
CURVES = (*MEASURES, "steps")
"""What can be drawn along the episodes: both regrets so far, and the steps of the episode."""
CURVE_POINTS = 400


@dataclass(frozen=True, eq=False)
class CellResults:
    """The runs of one cell; arrays have one entry for each stored run.

    Attributes
    ----------
    runs
        Which runs of the cell are stored, counted from 0.
    truncated, episodes_done, total_steps, seconds
        Whether a run was cut off, how many episodes it finished, its steps, its processor time.
    points
        The episodes at which the curves are given.
    curves
        The regrets ``[run, point]``, for each measure, and the steps of single episodes. Where V* is not known, the
        regrets are NaN.
    finals
        The regret at the end of a run, for each measure; NaN if it was cut off.
    ended_by
        How many epochs ended by each cause, over all runs.
    missing, failed, damaged
        The numbers of the other runs.
    caveat
        What the agent's notes ask every table and figure to show; empty if there is nothing.
    paid
        The regret at the end of a run, for each measure; if it was cut off, what it had paid by then.
    """

    cell: Cell
    runs: Int64s
    truncated: Bools
    episodes_done: Int64s
    total_steps: Int64s
    seconds: Floats
    points: Int64s
    curves: dict[str, Floats]
    finals: dict[str, Floats]
    ended_by: Counter[str]
    missing: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    caveat: str = ""
    paid: dict[str, Floats] = field(default_factory=dict)

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
        return Table([row for each in self.cells for row in run_rows(each)])

    def summary(self, level: float = 0.95, bootstrap: bool = False) -> Table:
        """Return a table with one row for each agent in each world: means over runs, with their intervals."""
        from goalward.results.summary import summarise

        return summarise(self, level, bootstrap).table

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
        from goalward.results.summary import summarise

        stored, planned = self.count()
        rows = [
            (row.world, row.agent, f"{row.complete:,} of {row.planned:,}", with_margin(row.regret),
             with_margin(row.gap_regret))
            for row in summarise(self).rows
        ]  # fmt: skip
        headings = ("world", "agent", "complete runs", "regret", "gap regret")
        table = table_html(headings, rows, right=[2, 3, 4])
        facts = [("runs", f"{stored:,} of {planned:,} stored")]
        hint = "means with 95 % intervals; <code>goalward.report(results)</code> shows the page"
        return facts_html(f"Results of {self.design.name}", facts, table, hint)

    def __repr__(self) -> str:
        stored, planned = self.count()
        return f"Results({self.design.name!r}: {stored:,} of {planned:,} runs)"


def run_rows(found: CellResults) -> Iterator[dict[str, Any]]:
    cell = found.cell
    for place, run in enumerate(found.runs.tolist()):
        yield {
            "world": cell.world.label,
            "agent": cell.agent.label,
            "episodes": cell.episodes,
            "run": run,
            "truncated": bool(found.truncated[place]),
            "episodes_done": int(found.episodes_done[place]),
            "steps": int(found.total_steps[place]),
            "seconds": float(found.seconds[place]),
            **{measure: float(found.finals[measure][place]) for measure in MEASURES},
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


def checked_measure(measure: str, known: tuple[str, ...] = MEASURES) -> str:
    """Return the name of a measure; raise SettingError if there is none of this name."""
    if measure not in known:
        raise SettingError(f"measure is {measure!r}; it must be one of {', '.join(known)}")
    return measure


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
    found = list(threads.map(lambda key: read_run(store, key, points), design.keys(cell)))
    stored = [(run, each) for run, each in enumerate(found) if isinstance(each, OneRun)]
    absent = [(run, each.state) for run, each in enumerate(found) if isinstance(each, NoRun)]
    curves = {
        measure: np.array([each.curves[place] for _, each in stored]).reshape(len(stored), len(points))
        for place, measure in enumerate(CURVES)
    }
    ended_by: Counter[str] = Counter()
    for _, each in stored:
        ended_by.update(each.ended_by)
    return CellResults(
        cell=cell,
        runs=np.array([run for run, _ in stored], dtype=np.int64),
        truncated=np.array([each.truncated for _, each in stored], dtype=np.bool_),
        episodes_done=np.array([each.episodes_done for _, each in stored], dtype=np.int64),
        total_steps=np.array([each.total_steps for _, each in stored], dtype=np.int64),
        seconds=np.array([each.seconds for _, each in stored], dtype=np.float64),
        points=points,
        curves=curves,
        finals={measure: curves[measure][:, -1] for measure in MEASURES},
        paid={measure: np.array([each.paid[place] for _, each in stored]) for place, measure in enumerate(MEASURES)},
        ended_by=ended_by,
        missing=[run for run, state in absent if state == "missing"],
        failed=[run for run, state in absent if state == "failed"],
        damaged=[run for run, state in absent if state == "damaged"],
        caveat=next((each.caveat for _, each in stored), ""),
    )


class OneRun(NamedTuple):
    """What results keep of one run."""

    truncated: bool
    episodes_done: int
    total_steps: int
    seconds: float
    ended_by: dict[str, int]
    caveat: str
    curves: list[Floats]
    paid: list[float]


def read_run(store: Store, key: str, points: Int64s) -> OneRun | NoRun:
    """Return what results keep of a run, or why there is none."""
    stored = store.find(key)
    if isinstance(stored, NoRun):
        return stored
    outcome = stored.outcome
    # Short runs have every episode recorded, so the column of episode numbers need not be read.
    short = points[-1] <= MOST_EPISODES
    try:
        curves = stored.columns(*CURVES)
        episodes = np.arange(1, len(curves[0]) + 1) if short else stored.episodes
    except FileError as error:
        return NoRun("damaged", str(error))
    finished = int(np.searchsorted(episodes, outcome["episodes_done"], side="right"))
    return OneRun(
        outcome["truncated"],
        outcome["episodes_done"],
        outcome["total_steps"],
        float(stored.document["timing"]["cpu_seconds"]),
        outcome["ended_by"],
        stored.caveat,
        [at_points(points, episodes[:finished], curve[:finished]) for curve in curves],
        [float(curve[-1]) if len(curve) else np.nan for curve in curves],
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
