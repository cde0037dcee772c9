"""Sources of runs for tests: real runs on a small scale, and results that are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.paper.claims.runs import RunSource
from goalward.results.results import CellResults, Results
from goalward.studies.design import Cell, Design
from goalward.studies.spec import AgentSpec, WorldSpec
from goalward.studies.store import Store
from goalward.studies.workers import ThisProcess


class SmallSource(RunSource):
    """Makes real runs, this many of this length."""

    def __init__(self, folder: Path, runs: int, episodes: int):
        super().__init__(Store.open(folder, create=True), ThisProcess())
        self.runs, self.episodes = runs, episodes

    def size(self, number: int) -> int:
        # All sizes up to 1,000 are numbers of runs or worlds.
        return self.runs if number <= 1_000 else self.episodes

    def stored(self, world: str, agent: str) -> Floats:
        """Return the gap regret of all runs of a cell, episode by episode, as the files have it."""
        (name,) = self.store.studies()
        design = self.store.design(name)
        (cell,) = [each for each in design.cells if (each.world.label, each.agent.label) == (world, agent)]
        return np.array([self.store.read(key).column("gap_regret") for key in design.keys(cell)])


class GivenSource(RunSource):
    """Has the results that a test gives it, and calls functions at once."""

    def __init__(self, *cells: CellResults):
        self.given, self.workers = made_up(*cells), ThisProcess()

    def results(self, name: str, *, runs: int, episodes: int) -> Results:
        return self.given


def made_up(*cells: CellResults) -> Results:
    return Results(Design("made-up", "", 0, 4, None, tuple(each.cell for each in cells)), list(cells))


def cell(
    world: str, agent: str, finals: Sequence[float] | Floats, curves: Floats | None = None, points: Int64s | None = None
) -> CellResults:
    """Make up the results of one agent in one world; NaN is a run that was cut off."""
    ends = np.array(finals, dtype=np.float64)
    at = np.array([100]) if points is None else points
    both: dict[str, Any] = {"gap_regret": ends[:, np.newaxis] if curves is None else curves}
    where = Cell(WorldSpec(world="grid-world-v0", label=world), AgentSpec(agent=agent, label=agent), int(at[-1]))
    cut = np.isnan(ends)
    return CellResults(
        where, np.arange(len(ends)), cut, np.where(cut, 0, at[-1]), {"regret": ends, "gap_regret": ends}, at, both,
        Counter(),
    )  # fmt: skip
