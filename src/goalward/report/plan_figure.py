"""Pictures of single runs: where the agent went and what it believes; what ended the epochs that cost regret."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from goalward.arrays import Floats, Int64s
from goalward.model.ssp import SSP
from goalward.number_format import short_count
from goalward.report.figure_style import COLOURS, finish_axes, new_figure
from goalward.report.grid_figure import (
    GOAL,
    MOST_CELLS_WITH_VALUES,
    WALL,
    draw_actions,
    draw_frame,
    draw_numbers,
    draw_start_and_goals,
    draw_values,
    ink_colours,
    legend_entries,
    places,
)
from goalward.report.grid_text import layout_of

__all__ = ["causes_figure", "visits_figure"]

SMALLEST_SHARE = 0.005
HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++")


def visits_figure(world: SSP, values: Floats, policy: Int64s, visits: Int64s, title: str = "") -> Figure:
    """Draw two grids: the values and the policy that the agent has come to, and how often it was where.

    The arrows of the second are the actions played most often; cells where it never was are left empty.
    """
    layout = layout_of(world)
    longest = max(layout.rows, layout.columns)
    inches = min(1.1, 8.0 / longest)
    width, height = layout.columns * inches, layout.rows * inches
    figure = Figure(figsize=(2 * width + 4.2, max(height, 1.6) + 1.7), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    with_text = longest <= MOST_CELLS_WITH_VALUES

    image = draw_values(left, layout, values)
    draw_frame(left, layout, "the last plan: expected cost and action")
    colours = ink_colours(image, values)
    if with_text:
        draw_numbers(left, layout, values, colours, inches)
    draw_actions(left, world, policy, colours, with_text, inches)
    draw_start_and_goals(left, world, layout, inches)
    figure.colorbar(image, ax=left, shrink=0.8, label="expected cost to the goal")

    draw_visits(right, figure, world, visits, inches, with_text)
    draw_frame(right, layout, "visits and most frequent action")
    draw_start_and_goals(right, world, layout, inches)
    figure.legend(
        handles=legend_entries(layout, values), loc="outside lower center", ncols=4, frameon=False, borderpad=0.2
    )
    figure.suptitle(title)
    return figure


def draw_visits(axes: Axes, figure: Figure, world: SSP, visits: Int64s, inches: float, with_text: bool) -> None:
    """Colour the cells by how often the agent was there, on a logarithmic scale."""
    layout = layout_of(world)
    total = visits.sum(axis=1).astype(np.float64)
    seen = total > 0
    axes.set_facecolor(WALL)
    ground = np.full((layout.rows * layout.columns, 3), np.nan)
    ground[layout.cells] = 1.0
    ground[layout.goals] = [int(GOAL[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    paper = np.where(np.isnan(ground), 0.0, ground).reshape(layout.rows, layout.columns, 3)
    alpha = (~np.isnan(ground[:, 0])).astype(float).reshape(layout.rows, layout.columns)
    axes.imshow(np.dstack([paper, alpha]), interpolation="nearest")
    grid = layout.to_grid(np.where(seen, total, np.nan), goal=np.nan)
    least = float(total[seen].min()) if seen.any() else 1.0
    scale = LogNorm(least, max(float(total.max()), 2.0 * least))
    image = axes.imshow(grid, cmap="viridis_r", norm=scale, interpolation="nearest")
    colours = ink_colours(image, np.where(seen, total, least))
    if with_text:
        for x, y, number, colour in zip(*places(layout.cells, layout), total, colours, strict=True):
            text = short_count(int(number))
            size = min(13.0, 72.0 * inches * 1.35 / max(4, len(text)))
            axes.text(x, y - 0.16, text, ha="center", va="center", fontsize=size, color=colour)
    policy = np.where(seen, visits.argmax(axis=1), -1)
    draw_actions(axes, world, policy, colours, with_text, inches)
    figure.colorbar(image, ax=axes, shrink=0.8, label="visits")


def causes_figure(worlds: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Draw, for each world and agent, the share of the regret paid in epochs by what ended them; the sum beside it."""
    shares = {
        world: {agent: shown_shares(parts) for agent, parts in agents.items()} for world, agents in worlds.items()
    }
    causes = list(dict.fromkeys(cause for agents in shares.values() for parts in agents.values() for cause in parts))
    looks = {cause: bar_look(number) for number, cause in enumerate(causes)}
    bars = max(len(agents) for agents in worlds.values())
    figure = new_figure(1.5 + 4.8 * len(worlds), 1.6 + 0.42 * bars)
    panels = figure.subplots(1, len(worlds), squeeze=False).ravel()
    for panel, (world, agents) in zip(panels, shares.items(), strict=True):
        for row, (agent, parts) in enumerate(agents.items()):
            start = 0.0
            for cause, share in parts.items():
                panel.barh(row, share, left=start, height=0.7, **looks[cause])
                start += share
            panel.text(1.02, row, f"{math.fsum(worlds[world][agent].values()):,.0f}", va="center", fontsize=9)
        panel.set_yticks(range(len(agents)), list(agents))
        panel.invert_yaxis()
        panel.set_xlim(0.0, 1.25)
        panel.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
        panel.set_xlabel("share of the gap regret; its sum at the right")
        panel.set_title(world)
        finish_axes(panel)
        panel.grid(visible=False, axis="y")
    handles = [Patch(label=cause, **looks[cause]) for cause in causes]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=max(1, min(3, len(handles))), frameon=False,
        title="the epoch was ended by", fontsize=9, title_fontsize=9,
    )  # fmt: skip
    return figure


def shown_shares(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each cause, those too small to be seen as one."""
    total = math.fsum(parts.values())
    if total <= 0.0:
        return {}
    shares = {cause: part / total for cause, part in parts.items() if part >= SMALLEST_SHARE * total}
    rest = 1.0 - math.fsum(shares.values())
    return shares | ({"something else": rest} if rest >= SMALLEST_SHARE else {})


def bar_look(number: int) -> dict[str, Any]:
    """Return how the bars of a cause are told from the others: by colour and by hatching."""
    hatch = HATCHES[number % len(HATCHES)]
    return {"facecolor": COLOURS[number % len(COLOURS)], "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
