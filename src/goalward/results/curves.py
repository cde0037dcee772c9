"""What figures and pages draw of a cell: the mean of its runs with a band, and in which regime its agents are.

A run that was cut off has no regret after its end, and the mean of the other runs would be too small. So a curve ends
where the first run ends.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.arrays import Floats
from goalward.results.results import CellResults, Results
from goalward.statistics import quantile

__all__ = ["band", "regime_of", "runs_text"]


def band(cell: CellResults, measure: str, level: float) -> tuple[Floats, Floats, Floats]:
    """Return the points that all runs have reached, the mean there and half the width of its t-interval."""
    curves = cell.curves[measure]
    if not len(curves):
        return np.empty(0), np.empty(0), np.empty(0)
    common = cell.points <= cell.episodes_done.min()
    curves = curves[:, common]
    n = len(curves)
    reach = np.zeros(curves.shape[1])
    if n > 1:
        with np.errstate(invalid="ignore"):  # infinite regret, after a dead end
            reach = quantile(n - 1, level) * curves.std(axis=0, ddof=1) / math.sqrt(n)
    return cell.points[common].astype(np.float64), curves.mean(axis=0), reach


def regime_of(results: Results) -> str:
    """Say whether confidence widths are those of the theory or tuned; empty if no agent of the study has any."""
    scales = {
        cell.cell.agent.identity.get("settings", {}).get("scale")
        for cell in results.cells
        if "scale" in cell.cell.agent.identity.get("settings", {})
    }
    if not scales:
        return ""
    if scales == {1.0}:
        return "confidence widths of the theory"
    return "tuned confidence widths" if 1.0 not in scales else "confidence widths partly tuned"


def runs_text(results: Results) -> str:
    """Say how many runs the curves are the mean of.

    A study that is not complete has fewer of some cells than of others.
    """
    counts = sorted({len(cell.runs) for cell in results.cells}) or [0]
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"mean of {count} run{'s' * (counts[-1] != 1)}"
