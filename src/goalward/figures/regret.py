"""Figures of regret: along the episodes (as in the paper), across a sweep, and for one run.

The figure along the episodes has one panel per world and one line per agent. The line is the mean over runs, with a
band of pointwise t-intervals, or the median, with a band of quantiles. A truncated run has no regret after its end, and
the mean of the other runs would be biased low. So the line ends, with a cross, where one run ends.

Guides show how sqrt(K) and log(K) grow, starting from a point on one of the lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from goalward.arrays import Floats
from goalward.errors import SettingError
from goalward.figures import figure
from goalward.figures.drawing import add_legend, caveat_handles, finish_axes, new_figure
from goalward.figures.styles import LineStyle, agent_styles, marked
from goalward.formatting import mathtext
from goalward.learning.run import Run
from goalward.results.curves import Band, band_of, band_text, regime_of
from goalward.results.curves import band as curve_band
from goalward.results.measures import CURVES, LABELS, REGRETS, checked_measure
from goalward.results.results import CellResults, Results
from goalward.results.summary import SweepRow, sweep_rows
from goalward.settings import Confidence

Axis = Literal["linear", "log"]
NamedLine = tuple[str, str, Floats, Floats]
"""The name of a line, its colour, its points and heights."""
GUIDE = "#666666"
LONGEST_NAME = 24
NAME_HEIGHT = 0.065
"""The height of a name, as a share of the height of its panel."""


@figure("regret")
def regret_figure(
    results: Results,
    measure: str | None = None,
    axes: Axis = "linear",
    level: Confidence = 0.95,
    band: Band = "mean",
    guides: bool | None = None,
) -> Figure:
    """Draw the regret of every agent in every world along the episodes, or the costs if no model is known.

    The default measure on logarithmic axes is the gap regret: realised regret can fall below zero by chance, and
    negative values have no logarithm. With the `band` ``mean``, the band consists of t-intervals. With
    ``median``, the band shows the middle `level` of the runs. `guides` adds sqrt(K) and log(K) (default: on log axes).
    """
    usual = "gap_regret" if axes == "log" else "regret"
    known = any(cell.has_model for cell in results.cells)
    measure = checked_measure(measure or (usual if known else "cost"), CURVES)
    worlds = results.worlds()
    styles = agent_styles(results.algorithms().items())
    columns = min(len(worlds), 3)
    rows = math.ceil(len(worlds) / columns)
    caveats = results.caveats()
    names = {agent: mathtext(marked(agent, caveats)) for agent in styles}
    # Long names do not fit at the ends of the lines, so they go into a legend.
    direct = max(map(len, names.values())) <= LONGEST_NAME
    figure = new_figure(1.0 + (5.2 if direct else 4.4) * columns, 0.9 + 3.4 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, (world, cells) in zip(panels, worlds.items(), strict=False):
        bands = [curve_band(cell, measure, level, band) for cell in cells]
        lines = draw_panel(panel, cells, bands, styles, measure, axes)
        ends = [(names[agent], styles[agent].colour, *line) for agent, line in lines.items()] if direct else []
        if (axes == "log" if guides is None else guides) and measure in REGRETS:
            ends += draw_guides(panel, list(lines.values()), axes == "log")
        name_lines(panel, ends)
        panel.set(title=mathtext(world), xlabel="episode", ylabel=LABELS[measure])
    for panel in panels[len(worlds) :]:
        panel.set_visible(False)
    handles = [] if direct else [Line2D([], [], label=names[agent], **line_look(styles[agent])) for agent in styles]
    if any(cell.truncated.any() for cell in results.cells):
        handles.append(Line2D([], [], color="#444444", marker="x", linestyle="none", label="first run cut off"))
    handles += caveat_handles(caveats)
    blocks = "" if measure in REGRETS else "blocks of episodes averaged"
    said = filter(None, [band_text(results, level, band), blocks, regime_of(results)])
    figure.suptitle("; ".join(said), fontsize=9, color="#444444")
    if handles:
        add_legend(figure, handles)
    return figure


def line_look(style: LineStyle) -> dict[str, Any]:
    return {"color": style.colour, "linestyle": style.dashes, "linewidth": 1.8}


def draw_panel(
    panel: Axes,
    cells: list[CellResults],
    bands: Iterable[tuple[Floats, ...]],
    styles: dict[str, LineStyle],
    measure: str,
    axes: str,
) -> dict[str, tuple[Floats, Floats]]:
    """Draw a line for each agent. Return the points and heights of the lines."""
    lines = {}
    longest = max(cell.cell.episodes for cell in cells)
    for cell, (points, mean, low, high) in zip(cells, bands, strict=True):
        style = styles[cell.cell.agent.label]
        if not len(points):
            continue
        if axes == "log":
            # In the first episodes, intervals of regret contain negative numbers, which logarithmic axes cannot show.
            shown = points >= (min(10.0, longest / 100.0, points[-1]) if measure in REGRETS else 1.0)
            points, mean, low, high = points[shown], mean[shown], low[shown], high[shown]
            low = np.maximum(low, 1e-3 * np.abs(mean))
        lines[cell.cell.agent.label] = (points, mean)
        # Thin edges make overlapping bands distinguishable.
        fill: dict[str, Any] = {"facecolor": (style.colour, 0.14), "edgecolor": (style.colour, 0.7)}
        panel.fill_between(points, low, high, linewidth=0.6 if len(cell.runs) > 1 else 0.0, **fill)
        panel.plot(points, mean, **line_look(style))
        if cell.truncated.any():
            panel.plot(points[-1:], mean[-1:], color=style.colour, marker="x", markersize=9, markeredgewidth=2)
    finish_axes(panel)
    means = np.concatenate([np.empty(0), *(mean for _, mean in lines.values())])
    if not lines:
        some = any(len(cell.runs) for cell in cells)
        say_empty(panel, "no episode that all runs finished" if some else "no runs yet")
    elif np.isnan(means).all():
        say_empty(panel, "V* is not known: no regret")
    if axes == "log":
        panel.set_xscale("log")
        means = means[(means > 0.0) & np.isfinite(means)]
        if len(means):  # an empty logarithmic axis has no limits
            panel.set_yscale("log", nonpositive="mask")
            panel.set_ylim(bottom=0.5 * means.min())
        panel.set_xlim(right=longest)
    else:
        panel.set_xlim(0, longest)
        panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]))
    return lines


def draw_guides(panel: Axes, lines: list[tuple[Floats, Floats]], log: bool) -> list[NamedLine]:
    """Draw sqrt(K) and log(K), scaled to meet a point of one of the lines."""
    places = [(x, y, 0 if log else len(x) // 10) for x, y in lines]
    starts = [(float(y[place]), float(x[place])) for x, y, place in places if len(x) and 0.0 < y[place] < np.inf]
    if not starts:
        return []
    y0, x0 = min(starts) if log else max(starts)
    x = np.geomspace(min(x[0] for x, _ in lines), max(x[-1] for x, _ in lines), 200)
    guides = [(name, GUIDE, x, y0 * growth(x) / growth(x0)) for name, growth in (("√K", np.sqrt), ("log K", np.log1p))]
    for _, _, _, y in guides:
        panel.plot(x, y, color=GUIDE, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1.0)
    return guides


def name_lines(panel: Axes, lines: list[NamedLine]) -> None:
    """Write the name of each line to the right of its end. Names that would overlap are moved apart."""
    to_axes = panel.transScale + panel.transLimits
    ends = []
    for name, colour, _, y in lines:
        last = float(y[np.isfinite(y)][-1]) if np.isfinite(y).any() else math.nan
        if last <= 0.0 and panel.get_yscale() == "log":  # logarithmic axes cannot show zeros
            ends.append((0.0, f"{name} ≤ 0", colour))
        elif math.isfinite(last):
            ends.append((min(float(to_axes.transform((1.0, last))[1]), 1.0), name, colour))
    ends.sort()
    heights: list[float] = []
    for height, _, _ in ends:
        heights.append(max(height, heights[-1] + NAME_HEIGHT if heights else 0.0))
    for i in reversed(range(len(heights))):  # names above the panel move down and push others down
        heights[i] = min(heights[i], 1.0 - NAME_HEIGHT * (len(heights) - 1 - i))
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        panel.text(1.015, height, name, color=colour, va="center", fontsize=9, transform=panel.transAxes)


def say_empty(panel: Axes, message: str) -> None:
    panel.text(0.5, 0.5, message, transform=panel.transAxes, ha="center", va="center", color="#444444")


@figure("growth")
def growth_figure(results: Results, level: Confidence = 0.95, band: Band = "mean") -> Figure:
    """Draw the final gap regret against a swept setting of the world, with fitted powers and a `band`."""
    sweeps = sweep_rows(results, level)
    if not sweeps:
        raise SettingError("growth needs a study that sweeps a numeric setting of a world; choose --kind regret")
    groups = list(dict.fromkeys((row.world, row.setting) for row in sweeps))
    styles = agent_styles(results.algorithms().items())
    figure = new_figure(1.0 + 4.4 * len(groups), 4.4)
    for panel, (world, setting) in zip(figure.subplots(1, len(groups), squeeze=False).ravel(), groups, strict=True):
        group = [row for row in sweeps if (row.world, row.setting) == (world, setting)]
        for row in group:
            draw_growth(panel, row, styles[row.agent], level, band, marked(row.agent, results.caveats()))
        finish_axes(panel)
        panel.set_xscale("log")
        if any(np.isfinite(np.asarray(line.get_ydata())).any() for line in panel.lines):
            panel.set_yscale("log")
        else:
            some = any(len(finals) for row in group for finals in row.finals)
            say_empty(panel, "no regret that is positive and finite" if some else "no complete runs")
        panel.set_xticks(row.values, [f"{value:g}" for value in row.values])
        panel.set_xticks([], minor=True)
        panel.set_title(mathtext(world))
        panel.set_xlabel(mathtext(setting))
        panel.set_ylabel("final gap regret")
        panel.legend(frameon=False)
    if results.caveats():
        figure.legend(handles=caveat_handles(results.caveats()), loc="outside lower center", frameon=False)
    return figure


def draw_growth(panel: Axes, row: SweepRow, style: LineStyle, level: float, kind: Band, label: str) -> None:
    """Draw every run as a dot, the means or medians with bands, and the fitted power."""
    x = np.array(row.values)
    bands = [band_of(np.reshape(finals, (-1, 1)), level, kind) for finals in row.finals]
    means, low, high = np.array(bands)[:, :, 0].T
    # A band that reaches below zero has no lower end on a logarithmic axis.
    reaches = np.maximum([np.minimum(means - low, 0.999 * means), high - means], 0.0)
    for setting, finals in zip(x, row.finals, strict=True):
        panel.plot(np.full(len(finals), setting), finals, ".", color=style.colour, alpha=0.35, markersize=4)
    fitted = row.exponent.value
    slope = "" if math.isnan(fitted) else f": exponent {fitted:.2f} ± {row.exponent.half_width:.2f}"
    panel.errorbar(
        x, means, yerr=reaches, color=style.colour, marker=style.marker, linestyle="none", capsize=3,
        label=f"{mathtext(label)}{slope}",
    )  # fmt: skip
    if math.isnan(fitted):
        return
    # Settings without runs do not affect the height of the line.
    at_one = np.exp(np.nanmean(np.log(means) - fitted * np.log(x)))
    panel.plot(x, at_one * x**fitted, color=style.colour, linestyle=style.dashes, linewidth=1.2)


def curve_figure(run: Run, title: str) -> Figure:
    """Draw both kinds of regret of a run, or the costs of its episodes if the true model is not known."""
    colour = agent_styles([(run.agent.name, run.agent.name)])[run.agent.name].colour
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    episodes = np.arange(1.0, len(run.costs) + 1.0)
    if run.has_model:
        curves = {"realised regret": run.regret, "gap regret": run.gap_regret}
    else:
        curves = {"cost of the episode": run.costs, "average so far": np.cumsum(run.costs) / episodes}
    for heights, width in zip(curves.values(), (0.9, 2.0), strict=True):
        axes.plot(episodes, heights, color=colour, linewidth=width)
    axes.set_ylabel("regret, one run" if run.has_model else "cost, one run")
    axes.set_xlabel("episode")
    axes.set_xlim(left=0.0)
    if axes.dataLim.ymin >= 0.0:
        axes.set_ylim(bottom=0.0)
    axes.set_title(mathtext(title))
    finish_axes(axes)
    name_lines(axes, [(name, colour, episodes, heights) for name, heights in curves.items()])
    return figure
