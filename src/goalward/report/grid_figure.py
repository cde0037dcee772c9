"""A grid as a figure: values as colours and numbers, the policy as arrows.

Viridis reads the same to every kind of colour vision; walls, dead ends, start and goal are told apart by lightness and
sign as well as by hue. What is written in a cell depends on the room there is: value and arrow up to 40 cells a side,
the arrow alone up to 100, the colour alone beyond.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from goalward.arrays import Floats, Int32s, Int64s
from goalward.model.layout import GridLayout
from goalward.model.ssp import SSP
from goalward.number_format import number
from goalward.report.documents import writing
from goalward.report.grid_text import has_walls, layout_of
from goalward.report.labels import UNICODE, action_marks

__all__ = ["grid_figure", "save_png"]

MOST_CELLS_WITH_VALUES = 40
MOST_CELLS_WITH_ARROWS = 100
WALL, DEAD_END, GOAL, PAPER, INK = "#595959", "#d55e00", "#b3b3b3", "#ffffff", "#111111"
STEPS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, 1.0), "down": (0.0, -1.0)}
# Marks on the edge of the grid are drawn whole.
MARK: dict[str, Any] = {"linestyle": "none", "color": PAPER, "markeredgecolor": INK, "clip_on": False, "zorder": 5.0}
START_MARK, GOAL_MARK = MARK | {"marker": "o"}, MARK | {"marker": "*"}


def grid_figure(ssp: SSP, values: Floats, policy: Int64s, title: str = "") -> Figure:
    """Draw the value and the action of every state where it lies; the action -1 is none."""
    layout = layout_of(ssp)
    longest = max(layout.rows, layout.columns)
    inches = min(1.1, 13.0 / longest) if longest <= MOST_CELLS_WITH_ARROWS else 9.0 / longest
    figure, axes, bar_axes = empty_figure(layout, inches)
    image = draw_values(axes, layout, values)
    draw_frame(axes, layout, title)
    colours = ink_colours(image, values)
    if longest <= MOST_CELLS_WITH_VALUES:
        draw_numbers(axes, layout, values, colours, inches)
    if longest <= MOST_CELLS_WITH_ARROWS:
        draw_actions(axes, ssp, policy, colours, longest <= MOST_CELLS_WITH_VALUES, inches)
    draw_start_and_goals(axes, ssp, layout, inches)
    figure.colorbar(image, cax=bar_axes, label="expected cost to the goal")
    figure.legend(handles=legend_entries(layout, values), loc="lower center", ncols=4, frameon=False, borderpad=0.2)
    return figure


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure to a PNG file."""
    with writing(path):
        figure.savefig(path, format="png")


def places(cells: Int32s, layout: GridLayout) -> tuple[Int32s, Int32s]:
    """Return the columns (x) and rows (y) of cells."""
    return cells % layout.columns, cells // layout.columns


def empty_figure(layout: GridLayout, inches: float) -> tuple[Figure, Axes, Axes]:
    """Return a figure with axes for cells of the given size and axes for the bar of colours beside them."""
    left, right, below, above = 0.75, 1.15, 0.95, 0.45
    width, height = layout.columns * inches, layout.rows * inches
    # A narrow grid still needs the width of the legend, a flat one the height of the bar's label.
    full_width, full_height = max(left + width + right, 5.6), max(below + height + above, 3.4)
    figure = Figure(figsize=(full_width, full_height), dpi=120)
    FigureCanvasAgg(figure)
    left += (full_width - left - width - right) / 2.0
    bar_height = max(height, 2.0)
    below += (full_height - below - bar_height - above) / 2.0
    ground = below + (bar_height - height) / 2.0
    axes = figure.add_axes((left / full_width, ground / full_height, width / full_width, height / full_height))
    bar_axes = figure.add_axes(
        ((left + width + 0.2) / full_width, below / full_height, 0.2 / full_width, bar_height / full_height)
    )
    return figure, axes, bar_axes


def draw_values(axes: Axes, layout: GridLayout, values: Floats) -> AxesImage:
    """Colour the cells: finite values by the scale, dead ends and goals flat; walls are the ground that stays."""
    axes.set_facecolor(WALL)
    flat = np.zeros((layout.rows * layout.columns, 4))
    flat[layout.cells[np.isinf(values)]] = (*to_rgb(DEAD_END), 1.0)
    flat[layout.goals] = (*to_rgb(GOAL), 1.0)
    grid = layout.to_grid(np.where(np.isfinite(values), values, np.nan), goal=np.nan)
    image = axes.imshow(grid, cmap="viridis_r", vmin=0.0, interpolation="nearest")
    axes.imshow(flat.reshape(layout.rows, layout.columns, 4), interpolation="nearest")
    return image


def draw_frame(axes: Axes, layout: GridLayout, title: str) -> None:
    """Name the axes, number some rows and columns, and rule lines between cells that are large enough."""
    axes.set_title(title)
    axes.set_xlabel("column")
    axes.set_ylabel("row")
    axes.set_xticks(np.arange(0, layout.columns, tick_step(layout.columns)))
    axes.set_yticks(np.arange(0, layout.rows, tick_step(layout.rows)))
    axes.tick_params(length=0)
    if max(layout.rows, layout.columns) <= MOST_CELLS_WITH_VALUES:
        axes.set_xticks(np.arange(layout.columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(layout.rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color=PAPER, linewidth=0.8)
        axes.tick_params(which="minor", length=0)


def tick_step(count: int) -> int:
    """Return the round distance between ticks that makes at most twelve of them."""
    unit = 1
    while count > 60 * unit:
        unit *= 10
    return next(unit * digit for digit in (1, 2, 5) if count <= 12 * unit * digit)


def draw_start_and_goals(axes: Axes, ssp: SSP, layout: GridLayout, inches: float) -> None:
    """Mark the start, in a corner of its cell if something is written there, and the goals."""
    points = 72.0 * inches
    corner = 0.34 if points > 20.0 else 0.0
    x, y = places(layout.cells[[ssp.initial_state]], layout)
    axes.plot(x - corner, y + corner, markersize=min(max(0.2 * points, 6.0), 10.0), **START_MARK)
    x, y = places(layout.goals, layout)
    axes.plot(x, y, markersize=min(max(0.6 * points, 12.0), 28.0), **GOAL_MARK)


def ink_colours(image: AxesImage, values: Floats) -> NDArray[np.str_]:
    """Return, for each state, the ink of the higher contrast against its colour (the luminance of WCAG 2)."""
    finite = np.isfinite(values)
    colours = np.where(finite[:, np.newaxis], image.to_rgba(np.where(finite, values, 0.0))[:, :3], to_rgb(DEAD_END))
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return np.where(luminance > 0.179, INK, PAPER)


def draw_numbers(axes: Axes, layout: GridLayout, values: Floats, colours: NDArray[np.str_], inches: float) -> None:
    """Write the value into the upper half of each cell, infinity into the middle."""
    written = [number(value, 3 if inches < 0.6 else 4, zeros=True, infinity=UNICODE.infinity) for value in values]
    points = min(13.0, 72.0 * inches * 1.35 / max(4, *map(len, written)))
    for x, y, value, text, colour in zip(*places(layout.cells, layout), values, written, colours, strict=True):
        lift, scale = (0.16, 1.0) if np.isfinite(value) else (0.0, 1.6)
        axes.text(x, y - lift, text, ha="center", va="center", fontsize=scale * points, color=colour)


def draw_actions(
    axes: Axes, ssp: SSP, policy: Int64s, colours: NDArray[np.str_], below_value: bool, inches: float
) -> None:
    """Draw an arrow for each action that is a direction, else the action's mark; small if a value stands above."""
    layout = layout_of(ssp)
    offset, length, width = (0.2, 0.4, 0.05) if below_value else (0.0, 0.7, 0.1)
    acting = policy >= 0
    x, y = places(layout.cells[acting], layout)
    names = [ssp.action_name(action).lower() for action in range(ssp.actions)]
    if all(name in STEPS for name in names):
        steps = length * np.array([STEPS[name] for name in names])[policy[acting]]
        style: dict[str, Any] = {"angles": "uv", "pivot": "mid", "units": "x", "scale_units": "x", "scale": 1.0}
        axes.quiver(x, y + offset, steps[:, 0], steps[:, 1], color=colours[acting], width=width, **style)
    else:
        marks = action_marks(ssp)
        points = 72.0 * inches * length
        for column, row, action, colour in zip(x, y, policy[acting], colours[acting], strict=True):
            axes.text(column, row + offset, marks[action], ha="center", va="center", fontsize=points, color=colour)


def legend_entries(layout: GridLayout, values: Floats) -> list[Line2D | Patch]:
    """Explain the signs that are in use."""
    entries: list[Line2D | Patch] = [
        Line2D([], [], markersize=8.0, label="start", **START_MARK),
        Line2D([], [], markersize=12.0, label="goal", **GOAL_MARK),
    ]
    if has_walls(layout):
        entries.append(Patch(color=WALL, label="wall"))
    if np.isinf(values).any():
        entries.append(Patch(color=DEAD_END, label="no sure way to the goal"))
    return entries
