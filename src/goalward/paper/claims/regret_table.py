"""Measured Bayesian regret beside the terms of Theorem 1, for several K, S and A.

The constant of the bound is not known, so rows must be compared with each other: as K, S or A grows, the regret must
not grow faster than the sum of the terms. B* and the terms are means over the drawn worlds, each with its own B* and
c_min.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goalward.errors import TheoryError
from goalward.paper.claims.run_source import drawn_worlds
from goalward.planning.hardness import hardness
from goalward.results.results import Results, load_results
from goalward.statistics import Interval, mean_interval
from goalward.studies.store import Store
from goalward.theory.regret_bounds import theorem_1

__all__ = ["RegretRow", "has_theorem_runs", "regret_rows", "stored_regret_rows"]


@dataclass(frozen=True)
class RegretRow:
    """Regret after K episodes, and the two terms of the bound, which are None if K < S² A."""

    S: int
    A: int
    K: int
    B_star: float
    regret: Interval
    main: float | None
    lower_order: float | None

    @property
    def ratio(self) -> float | None:
        """The mean regret divided by the bound without its constant."""
        if self.main is None or self.lower_order is None:
            return None
        return self.regret.value / (self.main + self.lower_order)


def theorem_studies(store: Store) -> list[str]:
    """Return the names of the studies of a results folder that test Theorem 1."""
    return [name for name in store.studies() if "claims-theorem" in name]


def has_theorem_runs(folder: Path) -> bool:
    """Return whether a test of Theorem 1 left runs in a folder, which need not exist."""
    return folder.is_dir() and any(folder.iterdir()) and bool(theorem_studies(Store.open(folder)))


def stored_regret_rows(store: Store) -> list[RegretRow]:
    """Return the rows of the longest runs that a test of Theorem 1 left in a results folder."""
    designs = [store.read_design(reference) for name in theorem_studies(store) for reference in store.designs(name)]
    if not designs:
        raise TheoryError(f"{store.folder}: no runs of Theorem 1; goalward claims --only theorem-1 makes them")
    design = max(designs, key=lambda each: (each.cells[0].episodes, each.runs))
    K = design.cells[0].episodes
    # The sweeps of S and A have a setting in common.
    return list(dict.fromkeys(regret_rows(load_results(store, design), [K // 20, K // 4, K])))


def regret_rows(results: Results, lengths: Sequence[int]) -> list[RegretRow]:
    """Return the rows of a study whose worlds are drawn anew for each run, after each number of episodes in `lengths`.

    Long curves have only some hundreds of points. If a length is not one of them, K is the last point before it.
    """
    rows = []
    for cell in results.cells:
        worlds = drawn_worlds(results, cell)
        hard = [hardness(world) for world in worlds]
        S, A = worlds[0].costs.shape
        for length in lengths:
            if cell.points[-1] < length:
                continue
            place = int(np.searchsorted(cell.points, length, side="right")) - 1
            K = int(cell.points[place])
            main = lower = None
            if S * S * A <= K:
                bounds = [theorem_1(S, A, K, each.B_star, each.c_min) for each in hard]
                main = float(np.mean([bound.main for bound in bounds]))
                lower = float(np.mean([bound.lower_order for bound in bounds]))
            regret = mean_interval(cell.curves["gap_regret"][cell.complete, place])
            rows.append(RegretRow(S, A, K, float(np.mean([each.B_star for each in hard])), regret, main, lower))
    return rows
