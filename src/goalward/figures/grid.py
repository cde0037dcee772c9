"""Draws a solution on a grid: values as colours and texts, actions as arrows.

The colour scale (viridis) suits every kind of colour vision. Walls, dead ends, start and goal have different signs and
different lightness. If a side of the grid has more than 40 cells, the cells have only a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from goalward.arrays import Floats, Int64s
from goalward.figures.drawing import new_figure
from goalward.figures.styles import action_marks
from goalward.figures.terminal_grid import INFINITY, LOST, ground_meanings, has_walls, layout_of
from goalward.formatting import mathtext, number
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP

MOST_CELLS_WITH_TEXTS = 40
COLOURS = "viridis_r"
WALL, DEAD_END, GOAL, PAPER, INK = "#595959", "#d55e00", "#b3b3b3", "#ffffff", "#111111"
ORDINARY = "S.O"
"""Characters of a map that are not written into its cells: free ground and pits."""
STEPS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, 1.0), "down": (0.0, -1.0)}
# Marks on the edge of the grid are drawn whole.
MARK: dict[str, Any] = {"linestyle": "none", "color": PAPER, "markeredgecolor": INK, "clip_on": False, "zorder": 5.0}
START_MARK, GOAL_MARK = MARK | {"marker": "o"}, MARK | {"marker": "*"}


def grid_figure(ssp: SSP, values: Floats, policy: Int64s, title: str = "") -> Figure:
    """Draw the value and the action of every state into the state's cell. Action -1 means no action."""
    layout = layout_of(ssp)
    inches = min(1.1, 12.0 / max(layout.rows, layout.columns))  # the side of a cell
    points = 72.0 * inches
    # A narrow grid still needs room for the legend, and a flat grid needs room for the label of the colour bar.
    figure = new_figure(max(layout.columns * inches + 2.1, 5.6), max(layout.rows * inches, 1.9) + 1.6)
    axes = figure.subplots()
    scale = Normalize(0.0, float(values[np.isfinite(values)].max(initial=0.0)) or 1.0)
    colours = state_colours(values, scale)
    cells = np.full((layout.rows * layout.columns, 3), to_rgb(WALL))
    cells[layout.goals] = to_rgb(GOAL)
    cells[layout.cells] = colours
    axes.imshow(cells.reshape(layout.rows, layout.columns, 3), interpolation="nearest")
    has_texts = max(layout.rows, layout.columns) <= MOST_CELLS_WITH_TEXTS
    draw_frame(axes, layout, title, lines=has_texts)
    # The start is marked in a corner of its cell, if the cell has room.
    corner = 0.34 if points > 20.0 else 0.0
    row, column = divmod(int(layout.cells[ssp.initial_state]), layout.columns)
    axes.plot([column - corner], [row + corner], markersize=min(max(0.2 * points, 6.0), 10.0), **START_MARK)
    rows, columns = np.divmod(layout.goals, layout.columns)
    axes.plot(columns, rows, markersize=min(max(0.6 * points, 12.0), 28.0), **GOAL_MARK)
    if has_texts:
        inks = ink_colours(colours)
        draw_texts(axes, layout, values, inks, points)
        draw_actions(axes, ssp, policy, inks, points)
    figure.colorbar(ScalarMappable(scale, COLOURS), ax=axes, shrink=0.8, label="expected cost to the goal")
    entries = legend_entries(ssp, values)
    figure.legend(handles=entries, loc="outside lower center", ncols=4, frameon=False, borderpad=0.2)
    return figure


def state_colours(values: Floats, scale: Normalize) -> Floats:
    """Return the colour of each state. States with infinite values have a colour of their own."""
    colours = mpl.colormaps[COLOURS](scale(np.where(np.isfinite(values), values, 1.0)))[:, :3]
    colours[np.isinf(values)] = to_rgb(DEAD_END)
    return np.asarray(colours)


def ink_colours(colours: Floats) -> list[str]:
    """Return black or white for each background colour, whichever has more contrast (as in WCAG 2)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return list(np.where(luminance > 0.179, INK, PAPER))


def draw_texts(axes: Axes, layout: GridLayout, values: Floats, inks: Sequence[str], points: float) -> None:
    """Write the value and the map letter of each state into its cell."""
    texts = [number(value, 4 if points >= 43.0 else 3, zeros=True, infinity=INFINITY) for value in values]
    size = min(13.0, 1.35 * points / max(4, *map(len, texts)))
    for cell, text, ink, value in zip(layout.cells, texts, inks, values, strict=True):
        y, x = divmod(int(cell), layout.columns)
        lift, scale = (0.0, 1.6) if np.isinf(value) else (0.16, 1.0)
        axes.text(x, y - lift, text, ha="center", va="center", fontsize=scale * size, color=ink)
        if layout.ground is not None and (mark := layout.ground[cell]) not in ORDINARY:
            look: dict[str, Any] = {"ha": "right", "color": ink, "fontsize": points / 6.0, "weight": "bold"}
            axes.text(x + 0.42, y + 0.4, mathtext(mark), **look)


def draw_actions(axes: Axes, ssp: SSP, policy: Int64s, inks: Sequence[str], points: float) -> None:
    """Draw actions into the lower halves of cells: directions as arrows, all other actions as characters."""
    acting = policy >= 0
    layout, actions, colours = layout_of(ssp), policy[acting], np.array(inks)[acting]
    y, x = np.divmod(layout.cells[acting], layout.columns)
    names = [ssp.action_name(action).lower() for action in range(ssp.actions)]
    if all(name in STEPS for name in names):
        arrows = 0.4 * np.array([STEPS[name] for name in names])[actions]
        axes.quiver(
            x, y + 0.2, arrows[:, 0], arrows[:, 1], color=colours, pivot="mid", width=0.05, angles="uv", units="x",
            scale_units="x", scale=1.0,
        )  # fmt: skip
        return
    marks = action_marks(ssp)
    for column, row, action, ink in zip(x, y, actions, colours, strict=True):
        axes.text(
            column, row + 0.2, mathtext(marks[action]), ha="center", va="center", fontsize=0.4 * points, color=ink
        )


def draw_frame(axes: Axes, layout: GridLayout, title: str, lines: bool) -> None:
    """Label the axes and some rows and columns. If `lines` is true, draw lines between the cells."""
    axes.set_title(mathtext(title, " \n"))
    axes.set_xlabel("column" if layout.wind is None else "column and its wind")
    axes.set_ylabel("row")
    wind = [0] * layout.columns if layout.wind is None else layout.wind
    forces = ["" if force == 0 else f" {'↑' if force > 0 else '↓'}{abs(force)}" for force in wind]
    axes.set_xticks(columns := ticks(layout.columns), [f"{column}{forces[column]}" for column in columns])
    axes.set_yticks(ticks(layout.rows))
    axes.tick_params(length=0)
    if lines:
        axes.set_xticks(np.arange(layout.columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(layout.rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="#dddddd", linewidth=0.8)
        axes.tick_params(which="minor", length=0)


def ticks(count: int) -> list[int]:
    """Return at most twelve round numbers below `count`."""
    values = MaxNLocator(11, integer=True, steps=[1, 2, 5, 10]).tick_values(0, count - 1)
    return [int(tick) for tick in values if 0 <= tick < count]


def legend_entries(ssp: SSP, values: Floats) -> list[Line2D | Patch]:
    """Return legend entries for the signs in the grid."""
    layout = layout_of(ssp)
    entries: list[Line2D | Patch] = [
        Line2D([], [], markersize=8.0, label="start", **START_MARK),
        Line2D([], [], markersize=12.0, label="goal", **GOAL_MARK),
    ]
    if has_walls(layout):
        entries.append(Patch(color=WALL, label="wall"))
    for mark, meaning in ground_meanings(ssp).items():
        if mark not in ORDINARY:
            entries.append(Patch(facecolor=PAPER, label=mathtext(f"{mark}  {meaning}")))
    if np.isinf(values).any():
        entries.append(Patch(color=DEAD_END, label=LOST))
    return entries
