"""Curves for figures and pages: the mean or median over the runs of a cell, with a band.

The band of a mean is its t-interval. The band of a median contains the middle share `level` of the runs. A run that was
cut off has no regret after its end, and a mean of only the others would be too small. So a curve ends where the
shortest run ends. Costs and steps of single episodes vary a lot, so they are averaged over blocks of episodes first.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from goalward.arrays import Floats
from goalward.results.measures import REGRETS
from goalward.results.results import CellResults, Results
from goalward.statistics import quantile

Band = Literal["mean", "median"]
MOST_BLOCKS = 40


def band(cell: CellResults, measure: str, level: float, kind: Band = "mean") -> tuple[Floats, Floats, Floats, Floats]:
    """Return the points that all runs reach, the mean or median at these points, and the ends of its band."""
    curves = cell.curves[measure]
    common = cell.points <= cell.episodes_done.min(initial=0 if not len(curves) else cell.points[-1])
    points, runs = cell.points[common].astype(np.float64), curves[:, common]
    if measure not in REGRETS and len(points):
        edges = np.unique(np.geomspace(1, len(points) + 1, MOST_BLOCKS).round().astype(np.int64)) - 1
        points = points[edges[1:] - 1]
        runs = np.add.reduceat(runs, edges[:-1], axis=1) / np.diff(edges)
    return points, *band_of(runs, level, kind)


def band_of(runs: Floats, level: float, kind: Band = "mean") -> tuple[Floats, Floats, Floats]:
    """Return the mean or median of ``runs[run, point]`` over runs, and the lower and upper end of its band."""
    n = len(runs)
    if not n:
        return (np.full(runs.shape[1], np.nan),) * 3
    with np.errstate(invalid="ignore"):  # infinite regret, after a dead end
        if kind == "median":
            low, median, high = np.quantile(runs, [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0], axis=0)
            return median, low, high
        mean = runs.mean(axis=0)
        reach = quantile(n - 1, level) * runs.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros_like(mean)
        return mean, mean - reach, mean + reach


def regime_of(results: Results) -> str:
    """Return a text that says which confidence widths the agents use; empty if no agent has confidence widths."""
    # A user's agent may use the name "scale" for something else.
    known = [cell.cell.agent for cell in results.cells if not cell.cell.agent.code and ":" not in cell.cell.agent.agent]
    settings = [agent.identity.get("settings", {}) for agent in known]
    scales = {setting["scale"] for setting in settings if "scale" in setting}
    if not scales:
        return ""
    if scales == {1.0}:
        return "confidence widths of the theory"
    return "tuned confidence widths" if 1.0 not in scales else "confidence widths partly tuned"


def band_text(results: Results, level: float, kind: Band = "mean") -> str:
    """Return a text that describes the curves and bands: mean or median, number of runs, and kind of interval."""
    counts = sorted({len(cell.runs) for cell in results.cells}) or [0]
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    runs = f"{kind} of {count} run{'s' * (counts[-1] != 1)}"
    if counts[-1] < 2:
        return runs
    return f"{runs} with " + (f"{100 * level:g} % t-intervals" if kind == "mean" else f"the middle {100 * level:g} %")
