"""Grids as figures: numbers as colours and texts, actions as arrows.

`grid_figure` shows a solution, `plan_figure` the last plan of an agent beside its visits.

Viridis reads the same with every kind of colour vision. Walls, dead ends, start and goal differ in lightness and sign
as well as in hue. Cells of grids with more than 40 cells a side have only a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from goalward.arrays import Floats, Int32s, Int64s
from goalward.figures.drawing import new_figure
from goalward.figures.regret import curve_figure
from goalward.figures.symbols import action_marks
from goalward.figures.terminal_grid import (
    INFINITY,
    LOST,
    ground_meanings,
    has_picture,
    has_walls,
    layout_of,
)
from goalward.formatting import mathtext, number
from goalward.learning.run import Run
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP
from goalward.studies.rerun import replay_of
from goalward.worlds.base import AnyWorld

MOST_CELLS_WITH_TEXTS = 40
COLOURS = "viridis_r"
WALL, DEAD_END, GOAL, PAPER, INK = "#595959", "#d55e00", "#b3b3b3", "#ffffff", "#111111"
ORDINARY = "S.O"
"""Characters of a map that are not written into its cells: free ground and pits."""
STEPS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, 1.0), "down": (0.0, -1.0)}
# Marks on the edge of the grid are drawn whole.
MARK: dict[str, Any] = {"linestyle": "none", "color": PAPER, "markeredgecolor": INK, "clip_on": False, "zorder": 5.0}
START_MARK, GOAL_MARK = MARK | {"marker": "o"}, MARK | {"marker": "*"}


@dataclass(frozen=True)
class Layer:
    """What one grid shows: a number and a text for each state, and the actions whose ``shares[s, a]`` are positive.

    A number that is NaN leaves its cell white; infinity is a state from which the goal may be missed. `bar` is the
    label of the colour bar, empty for none.
    """

    title: str
    numbers: Floats
    scale: Normalize
    texts: Sequence[str]
    shares: Floats
    bar: str


def grid_figure(ssp: SSP, values: Floats, policy: Int64s, title: str = "") -> Figure:
    """Draw the value and the action of every state in its cell; the action -1 stands for none."""
    layer = value_layer(ssp, values, action_shares(policy, ssp.actions), title)
    return draw_layers(ssp, [layer], legend_entries(ssp, values))


def plan_figure(world: SSP, shares: Floats, values: Floats | None, visits: Int64s, title: str = "") -> Figure:
    """Draw what an agent would do and expects at the end of a run, and beside it its visits and its usual actions.

    `values` is None if the agent estimates no costs: nothing is filled in.
    """
    plan = value_layer(world, values, shares, "the last plan: expected cost and action")
    counts = visits.sum(axis=1)
    seen = np.where(counts > 0, counts, np.nan)
    usual = action_shares(np.where(counts > 0, visits.argmax(axis=1), -1), world.actions)
    least = float(np.nanmin(seen, initial=max(counts.max(initial=0), 1)))
    scale = LogNorm(least, max(float(counts.max(initial=0)), 2.0 * least))
    played = Layer("visits and most frequent action", seen, scale, [f"{count:,}" for count in counts], usual, "visits")
    figure = draw_layers(world, [plan, played], legend_entries(world, values))
    figure.suptitle(mathtext(title))
    return figure


def value_layer(world: SSP, values: Floats | None, shares: Floats, title: str) -> Layer:
    """Return the expected costs as a layer; without them, only the actions."""
    if values is None:
        title = "the last plan: action\n(the agent estimates no costs)"
        return Layer(title, np.full(world.states, np.nan), Normalize(0.0, 1.0), [""] * world.states, shares, "")
    largest = float(values[np.isfinite(values)].max(initial=0.0))
    digits = 4 if cell_inches(layout_of(world), 1) >= 0.6 else 3
    texts = [number(value, digits, zeros=True, infinity=INFINITY) for value in values]
    return Layer(title, values, Normalize(0.0, largest or 1.0), texts, shares, "expected cost to the goal")


def action_shares(policy: Int64s, actions: int) -> Floats:
    """Return the policy as probabilities ``[S, A]``; the action -1 gives a row of zeros."""
    return np.asarray(policy[:, np.newaxis] == np.arange(actions), dtype=np.float64)


def cell_inches(layout: GridLayout, grids: int) -> float:
    """Return the length of the side of a cell in a figure of one or two grids."""
    return min(1.1, (12.0 if grids == 1 else 8.0) / max(layout.rows, layout.columns))


def draw_layers(world: SSP, layers: Sequence[Layer], handles: Sequence[Line2D | Patch]) -> Figure:
    """Draw layers side by side, each with its colour bar, above the legend."""
    layout = layout_of(world)
    inches = cell_inches(layout, len(layers))
    # A narrow grid still needs the width of the legend, a flat one the height of the bar's label.
    width = max(len(layers) * (layout.columns * inches + 2.1), 5.6)
    figure = new_figure(width, max(layout.rows * inches, 1.9) + 1.6)
    for axes, layer in zip(figure.subplots(1, len(layers), squeeze=False).ravel(), layers, strict=True):
        draw_layer(axes, world, layer, inches)
        if layer.bar:
            figure.colorbar(ScalarMappable(layer.scale, COLOURS), ax=axes, shrink=0.8, label=layer.bar)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, borderpad=0.2)
    return figure


def draw_layer(axes: Axes, world: SSP, layer: Layer, inches: float) -> None:
    """Draw one grid whose cells have sides of a length in inches."""
    layout, points = layout_of(world), 72.0 * inches
    colours = state_colours(world, layer)
    cells = np.full((layout.rows * layout.columns, 3), to_rgb(WALL))
    cells[layout.goals] = to_rgb(GOAL)
    cells[layout.cells] = colours
    axes.imshow(cells.reshape(layout.rows, layout.columns, 3), interpolation="nearest")
    has_texts = max(layout.rows, layout.columns) <= MOST_CELLS_WITH_TEXTS
    draw_frame(axes, layout, layer.title, lines=has_texts)
    # The start is marked in a corner of its cell, if the cell has room.
    corner = 0.34 if points > 20.0 else 0.0
    row, column = divmod(int(layout.cells[world.initial_state]), layout.columns)
    axes.plot([column - corner], [row + corner], markersize=min(max(0.2 * points, 6.0), 10.0), **START_MARK)
    rows, columns = np.divmod(layout.goals, layout.columns)
    axes.plot(columns, rows, markersize=min(max(0.6 * points, 12.0), 28.0), **GOAL_MARK)
    if has_texts:
        inks = ink_colours(colours)
        draw_texts(axes, layout, layer, inks, points)
        draw_actions(axes, world, layer.shares, inks, points)


def state_colours(world: SSP, layer: Layer) -> Floats:
    """Return the colour of each state; states of infinite value have one of their own."""
    finite = np.isfinite(layer.numbers)
    colours = mpl.colormaps[COLOURS](layer.scale(np.where(finite, layer.numbers, 1.0)))[:, :3]
    colours[np.isnan(layer.numbers)] = to_rgb(PAPER)
    colours[np.isinf(layer.numbers)] = to_rgb(DEAD_END)
    return np.asarray(colours)


def ink_colours(colours: Floats) -> list[str]:
    """Return, for each colour, the ink with more contrast against it (luminance as in WCAG 2)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return list(np.where(luminance > 0.179, INK, PAPER))


def centres(layout: GridLayout) -> tuple[Int32s, Int32s]:
    """Return the column (x) and the row (y) of every state."""
    return layout.cells % layout.columns, layout.cells // layout.columns


def draw_texts(axes: Axes, layout: GridLayout, layer: Layer, inks: Sequence[str], points: float) -> None:
    """Write texts into the upper halves of cells, large into the middle of dead ends, and the signs of the ground."""
    size = min(13.0, 1.35 * points / max(4, *map(len, layer.texts)))
    for x, y, text, ink, lost in zip(*centres(layout), layer.texts, inks, np.isinf(layer.numbers), strict=True):
        if text:
            lift, scale = (0.0, 1.6) if lost else (0.16, 1.0)
            axes.text(x, y - lift, text, ha="center", va="center", fontsize=scale * size, color=ink)
    for x, y, cell, ink in zip(*centres(layout), layout.cells, inks, strict=True):
        if layout.ground is not None and (mark := layout.ground[cell]) not in ORDINARY:
            look: dict[str, Any] = {"ha": "right", "color": ink, "fontsize": points / 6.0, "weight": "bold"}
            axes.text(x + 0.42, y + 0.4, mathtext(mark), **look)


def draw_actions(axes: Axes, world: SSP, shares: Floats, inks: Sequence[str], points: float) -> None:
    """Draw directions as arrows, several in a state from one point, and other actions as their marks."""
    names = [world.action_name(action).lower() for action in range(world.actions)]
    x, y = centres(layout_of(world))
    if all(name in STEPS for name in names):
        steps = np.array([STEPS[name] for name in names])
        several = np.count_nonzero(shares, axis=1) > 1
        for chosen, pivot, length, width in ((~several, "mid", 0.4, 0.05), (several, "tail", 0.22, 0.03)):
            state, action = np.nonzero((shares > 0.0) & chosen[:, np.newaxis])
            if len(state):
                arrows = length * steps[action]
                axes.quiver(
                    x[state], y[state] + 0.2, arrows[:, 0], arrows[:, 1], color=np.array(inks)[state], pivot=pivot,
                    width=width, angles="uv", units="x", scale_units="x", scale=1.0,
                )  # fmt: skip
        return
    marks = np.array(action_marks(world))
    for column, row, chosen, ink in zip(x, y, shares > 0.0, inks, strict=True):
        text = "".join(marks[chosen])
        size = 0.4 * points / max(1.0, 0.6 * len(text))
        axes.text(column, row + 0.2, mathtext(text), ha="center", va="center", fontsize=size, color=ink)


def draw_frame(axes: Axes, layout: GridLayout, title: str, lines: bool) -> None:
    """Name the axes, number some rows and columns, and rule lines between the cells if asked to."""
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
    """Return at most twelve round numbers below a count."""
    values = MaxNLocator(11, integer=True, steps=[1, 2, 5, 10]).tick_values(0, count - 1)
    return [int(tick) for tick in values if 0 <= tick < count]


def legend_entries(ssp: SSP, values: Floats | None) -> list[Line2D | Patch]:
    """Explain the signs that are in use."""
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
    if values is not None and np.isinf(values).any():
        entries.append(Patch(color=DEAD_END, label=LOST))
    return entries


def run_figure(world: AnyWorld, run: Run, title: str) -> Figure:
    """Draw a run from its replay: on a grid the last plan and the visits, elsewhere the regret or the costs."""
    if not isinstance(world, SSP) or not has_picture(world):
        return curve_figure(run, title)
    visits = np.zeros(world.costs.size, dtype=np.int64)
    frames = replay_of(run).frames
    for frame in frames:
        np.add.at(visits, frame.seen // (world.states + 1), frame.times)
    last = frames[-1]
    shares = np.asarray(last.played if last.shares is None else last.shares, dtype=np.float64)
    return plan_figure(world, shares, last.values, visits.reshape(world.costs.shape), title)
