"""The results of a study, cell by cell, as arrays.

Curves are read at some hundreds of points, evenly spread on a linear and on a logarithmic scale, so that a study of
many thousand runs fits into memory. A run that was cut off has no regret beyond its last finished episode: NaN stands
there, and `complete` leaves it out of whatever is said about all episodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, SettingError, UnknownNameError
from goalward.experiments.cells import Cell, Plan
from goalward.experiments.record import recorded
from goalward.experiments.store import Store

__all__ = ["MEASURES", "CellResults", "Results", "checked_measure", "load_results", "named", "world_name"]

MEASURES = ("regret", "gap_regret")
CURVE_POINTS = 400


@dataclass(frozen=True, eq=False)
class CellResults:
    """The runs of one agent in one world, one entry for each stored run.

    Attributes
    ----------
    runs
        Which runs of the cell are stored, counted from 0.
    truncated, episodes_done, total_steps, seconds
        Whether each was cut off, how many episodes it finished, its steps, its processor time.
    points
        The episodes at which the curves are given.
    curves
        For each measure, ``[run, point]``.
    finals
        For each measure, the regret at the end of each run; NaN if it was cut off.
    ended_by
        How many epochs each cause ended, over all runs.
    missing, failed, damaged
        The other runs of the cell.
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

    @property
    def complete(self) -> Bools:
        """Which of the stored runs had all their episodes."""
        return ~self.truncated


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study."""

    plan: Plan
    cells: list[CellResults]

    def worlds(self) -> dict[str, list[CellResults]]:
        """Return the cells of each world, by its name."""
        worlds: dict[str, list[CellResults]] = {}
        for cell in self.cells:
            worlds.setdefault(world_name(self.plan, cell.cell), []).append(cell)
        return worlds

    def agents(self) -> list[str]:
        """Return the labels of the agents, in the order of the study."""
        return list(dict.fromkeys(cell.cell.agent.label for cell in self.cells))


def world_name(plan: Plan, cell: Cell) -> str:
    """Return the label of the world of a cell, with the number of episodes where the study has several."""
    several = len({other.episodes for other in plan.cells}) > 1
    return f"{cell.world.label}, {cell.episodes:,} episodes" if several else cell.world.label


def named(results: Results, agent: str) -> str:
    """Return the label of an agent of the study, or say that there is none."""
    known = results.agents()
    if agent not in known:
        raise UnknownNameError(f"agent in {results.plan.name}", agent, known)
    return agent


def checked_measure(measure: str) -> str:
    """Return the name of a measure, or say that it is none."""
    if measure not in MEASURES:
        raise SettingError(f"measure is {measure!r}; it must be one of {', '.join(MEASURES)}")
    return measure


def load_results(store: Store, plan: Plan, notice: Callable[[int], object] | None = None) -> Results:
    """Read the stored runs of a study; `notice` is called with the number of runs read so far."""
    cells = []
    count = 0
    for cell in plan.cells:
        loader = Loader(cell)
        for run, key in enumerate(plan.keys(cell)):
            loader.take(store, run, key)
            count += 1
            if notice is not None:
                notice(count)
        cells.append(loader.results())
    return Results(plan, cells)


def curve_points(episodes: int) -> Int64s:
    """Return the episodes at which curves are read, counted from 1."""
    kept = recorded(episodes) + 1
    linear = np.linspace(0, len(kept) - 1, CURVE_POINTS)
    logarithmic = np.searchsorted(kept, np.geomspace(1, episodes, CURVE_POINTS)).clip(max=len(kept) - 1)
    return np.asarray(kept[np.unique(np.concatenate([np.rint(linear), logarithmic]).astype(np.int64))])


def at_points(points: Int64s, episodes: Int64s, regret: Floats) -> Floats:
    """Return a curve at the points, NaN where the run has not come."""
    if not len(episodes):
        return np.full(len(points), np.nan)
    if len(episodes) == episodes[-1] == points[-1]:
        return regret[points - 1]  # nothing was left out
    with np.errstate(invalid="ignore"):  # infinite regret, after a dead end
        return np.interp(points, episodes, regret, left=np.nan, right=np.nan)


class Loader:
    """The results of a cell while they are read."""

    def __init__(self, cell: Cell):
        self.cell = cell
        self.points = curve_points(cell.episodes)
        self.rows: list[tuple[int, bool, int, int, float]] = []
        self.curves: dict[str, list[Floats]] = {measure: [] for measure in MEASURES}
        self.ended_by: Counter[str] = Counter()
        self.missing: list[int] = []
        self.failed: list[int] = []
        self.damaged: list[int] = []

    def take(self, store: Store, run: int, key: str) -> None:
        """Read a run, if it is stored."""
        if not store.has(key):
            (self.missing if store.failure(key) is None else self.failed).append(run)
            return
        try:
            stored = store.read(key)
        except FileError:
            self.damaged.append(run)
            return
        outcome = stored.outcome
        seconds = float(stored.document["timing"]["cpu_seconds"])
        self.rows.append((run, outcome["truncated"], outcome["episodes_done"], outcome["total_steps"], seconds))
        self.ended_by.update(outcome["ended_by"])
        episodes, *curves = stored.columns("episode", *MEASURES)
        finished = int(np.searchsorted(episodes, outcome["episodes_done"], side="right"))
        for measure, curve in zip(MEASURES, curves, strict=True):
            self.curves[measure].append(at_points(self.points, episodes[:finished], curve[:finished]))

    def results(self) -> CellResults:
        """Return what was read, as arrays."""
        curves = {
            measure: np.array(rows, dtype=np.float64).reshape(len(rows), len(self.points))
            for measure, rows in self.curves.items()
        }
        finals = {measure: curve[:, -1] for measure, curve in curves.items()}
        return CellResults(
            self.cell,
            np.array([row[0] for row in self.rows], dtype=np.int64),
            np.array([row[1] for row in self.rows], dtype=np.bool_),
            np.array([row[2] for row in self.rows], dtype=np.int64),
            np.array([row[3] for row in self.rows], dtype=np.int64),
            np.array([row[4] for row in self.rows], dtype=np.float64),
            self.points,
            curves,
            finals,
            self.ended_by,
            self.missing,
            self.failed,
            self.damaged,
        )
