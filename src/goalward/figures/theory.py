"""Compares runs with the paper's bounds in six panels. Thick lines are means; thin lines or bands show runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from goalward.arrays import Floats, Int64s
from goalward.figures.drawing import finish_axes, new_figure
from goalward.figures.styles import COLOURS
from goalward.formatting import mathtext
from goalward.results.curves import band_of
from goalward.theory.run_report import Report

PANELS = {
    "regret": {"gap_regret": "gap regret", "theorem": "", "reference": "reference"},
    "epochs": {"epochs": "epochs L", "epoch_bound": "the lemma's bound"},
    "regret = R1 + R2 + R3": {"R1": "R1", "R2": "R2", "R3": "R3", "regret": "regret"},
    "gap regret in units": {
        "over_reference": "of reference (no bound)",
        "over_limit": "of C log k (a bound in the limit)",
    },
    "distance from the empirical rows / radius": {"true_ratio": "true rows", "sampled_ratio": "sampled rows"},
    "L1 distance of sampled from true rows": {"played_pairs": "pairs played", "all_pairs": "all pairs"},
}
MOST_LINES = 8
LOGARITHMIC = ("regret", "epochs", "gap regret in units", "L1 distance of sampled from true rows")


def theory_figure(reports: Sequence[Report], title: str) -> Figure:
    """Draw the bounds and the runs of one agent. All runs are in the same world or distribution of worlds."""
    points = reports[0].points
    curves = {name: np.array([report.curves[name] for report in reports]) for name in reports[0].curves}
    for name, unit in (("over_reference", curves["reference"]), ("over_limit", curves["log_limit"])):
        curves[name] = curves["gap_regret"] / np.where(unit > 0.0, unit, np.nan)
    figure = new_figure(12.0, 7.0)
    for panel, (name, lines) in zip(figure.subplots(2, 3).ravel(), PANELS.items(), strict=True):
        for colour, (curve, label) in zip(COLOURS[4::-1], lines.items(), strict=False):
            numbers = curves[curve]
            if curve == "theorem":
                label, numbers = scaled_theorem(reports[0].theorem, numbers, curves["gap_regret"])
            resolved = float(curves["resolved"][:, -1].mean())
            if curve == "over_limit" and not math.isnan(resolved):
                label += f"; {100.0 * resolved:.2g} % of C resolved"
            draw(panel, points, numbers, colour, label)
        finish_axes(panel)
        panel.set_xscale("log")
        if name in LOGARITHMIC and any(np.nanmax(line.get_ydata(), initial=0.0) > 0.0 for line in panel.lines):
            panel.set_yscale("log")
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("episodes k")
        panel.legend(frameon=False, fontsize=8)
    count = len(reports)
    runs = f"{count} runs and their mean" if count <= MOST_LINES else f"mean of {count} runs with 95 % t-intervals"
    if count == 1:
        runs = "one run"
    figure.suptitle(mathtext(f"{title}: {runs}"))
    return figure


def scaled_theorem(theorem: str, bounds: Floats, regrets: Floats) -> tuple[str, Floats]:
    """Return a label and a curve for the bound of `theorem`, scaled to end at the mean regret."""
    last = float(bounds[:, -1].mean())
    factor = float(regrets[:, -1].mean()) / last if last > 0.0 else math.nan
    return f"order of {theorem}, times {factor:.1e}", bounds * factor


def draw(panel: Axes, points: Int64s, numbers: Floats, colour: str, label: str) -> None:
    """Draw the curves of all runs and their mean. If no value is finite, draw nothing."""
    if not np.isfinite(numbers).any():
        return
    mean, low, high = band_of(numbers, 0.95)
    if len(numbers) > MOST_LINES:
        panel.fill_between(points, low, high, facecolor=(colour, 0.2), linewidth=0.0)
    elif len(numbers) > 1:
        panel.plot(points, numbers.T, color=colour, linewidth=0.6, alpha=0.35)
    panel.plot(points, mean, color=colour, linewidth=1.8, label=label)
