"""The arena at a glance: a cell for each agent and world, coloured by its regret relative to the reference."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from goalward.number_format import number
from goalward.report.arena_text import cell_text
from goalward.report.figure_style import caveat_handles, new_figure
from goalward.report.symbols import marked
from goalward.results.ratios import Overall, Ratio, Ratios
from goalward.results.statistics import Interval
from goalward.text_escapes import mathtext

__all__ = ["arena_figure"]

COLOURS = "RdBu_r"
"""Blue for less regret than the reference, red for more, white for the same."""
LOWEST, HIGHEST = 0.1, 10.0
GREY = "#bbbbbb"


def arena_figure(ratios: Ratios) -> Figure:
    """Draw the ratios: worlds in columns, group by group; agents in rows, best first; their means at the right.

    The order of agents, and the means, are those of the last group: the one that is reported.
    """
    group = list(ratios.groups)[-1]
    order = ratios.overall(group)
    columns = [world for worlds in ratios.groups.values() for world in worlds]
    figure = new_figure(3.4 + 0.42 * len(columns) + 2.4, 2.4 + 0.34 * len(order))
    grid = figure.add_gridspec(1, 2, width_ratios=[0.42 * len(columns) + 1.0, 2.4])
    table, means = (figure.add_subplot(grid[0, place]) for place in range(2))
    draw_table(table, ratios, order, columns)
    draw_means(means, order, group)
    if ratios.caveats:
        figure.legend(handles=caveat_handles(ratios.caveats), loc="outside lower center", frameon=False, fontsize=8)
    return figure


def draw_table(panel: Axes, ratios: Ratios, order: list[Overall], columns: list[str]) -> None:
    cells = [[ratios.find(world, each.agent) for world in columns] for each in order]
    shares = [[math.nan if cell is None else cell.ratio.value for cell in row] for row in cells]
    norm = TwoSlopeNorm(0.0, math.log(LOWEST), math.log(HIGHEST))
    image = np.ma.masked_invalid(np.log(np.clip(shares, LOWEST, HIGHEST)))
    panel.set_facecolor("#eeeeee")
    panel.imshow(image, cmap=COLOURS, norm=norm, aspect="auto")
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            panel.text(column, row, cell_text(cell, short), ha="center", va="center", fontsize=6.5, color=ink(cell))
    end = -0.5
    for worlds in list(ratios.groups.values())[:-1]:
        end += len(worlds)
        panel.axvline(end, color="black", linewidth=1.5)
    panel.set_xticks(range(len(columns)), list(map(mathtext, columns)), rotation=60, ha="right", fontsize=8)
    labels = [mathtext(marked(each.agent, ratios.caveats)) for each in order]
    panel.set_yticks(range(len(order)), labels, fontsize=8)
    panel.tick_params(length=0)
    named = [f"{group} ({len(worlds)})" for group, worlds in ratios.groups.items() if group]
    title = [f"gap regret / that of {ratios.reference}", *([" | ".join(named)] if named else [])]
    panel.set_title("\n".join(map(mathtext, title)), fontsize=9)


def draw_means(panel: Axes, order: list[Overall], group: str) -> None:
    for row, each in enumerate(order):
        if math.isnan(each.mean.value):
            continue
        if not math.isnan(each.mean.low):
            panel.plot([each.mean.low, each.mean.high], [row, row], color="black", linewidth=1.2)
        panel.plot(each.mean.value, row, "o" if not each.bound else ">", color="black", markersize=4)
        panel.plot(each.worst, row, "|", color="#d55e00", markersize=9)
    panel.axvline(1.0, color=GREY, linewidth=0.8, zorder=0)
    panel.set_xscale("log")
    panel.set_ylim(len(order) - 0.5, -0.5)
    panel.set_yticks([])
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_xlabel("geometric mean, and | the worst world", fontsize=8)
    panel.set_title(mathtext(f"over {group}") if group else "over all worlds", fontsize=9)


def short(ratio: Interval) -> str:
    return f"{ratio.value:.2f}" if ratio.value < 0.995 else number(ratio.value, 2)


def ink(cell: Ratio | None) -> str:
    """Return a colour that can be read on the cell's."""
    if cell is None or math.isnan(cell.ratio.value):
        return "black"
    return "white" if not LOWEST * 2.0 < cell.ratio.value < HIGHEST / 2.0 else "black"
