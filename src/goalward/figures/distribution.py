"""The figure of a cost distribution: bounds of P(cost <= b), the mean, and the mean of the worst episodes."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from goalward.figures.drawing import finish_axes, new_figure
from goalward.planning.distribution import CostDistribution, interval

SHOWN = 0.999  # probability on the horizontal axis; a longer tail would squeeze the curve
WORST = 0.95
LINE, MEAN, TAIL = "#0072b2", "#000000", "#d55e00"


def distribution_figure(distribution: CostDistribution, title: str = "cost of an episode") -> Figure:
    """Draw the bounds of P(cost <= b), with the mean and the mean of the worst 5 % of the episodes."""
    costs, lower, upper = distribution.costs, distribution.lower, distribution.upper
    last = int(np.searchsorted(lower, SHOWN * lower[-1])) + 1
    first = max(int(np.searchsorted(upper, 1e-4)) - 1, 0)
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    shown = slice(first, last + 1)
    axes.fill_between(costs[shown], lower[shown], upper[shown], step="post", color=LINE, alpha=0.25, linewidth=0.0)
    name = "P(cost ≤ b)" if distribution.exact else "bounds of P(cost ≤ b)"
    axes.step(costs[shown], lower[shown], where="post", color=LINE, linewidth=1.8, label=name)
    if not distribution.exact:
        axes.step(costs[shown], upper[shown], where="post", color=LINE, linewidth=0.9)
    tail = distribution.cvar(WORST)
    if np.isfinite(distribution.mean):
        axes.axvline(distribution.mean, color=MEAN, linestyle=(0, (5, 2)), label=f"mean {distribution.mean:.4g}")
        label = f"mean of the worst 5 %: {interval(tail)}"
        axes.axvline(tail.upper, color=TAIL, linestyle=(0, (1, 1)), label=label)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("b")
    axes.set_ylabel("probability")
    axes.set_title(title)
    axes.legend(frameon=False, loc="lower right")
    finish_axes(axes)
    return figure
