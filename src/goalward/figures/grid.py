"""Grids as figures: values as colours and numbers, actions as arrows.

`grid_figure` shows a solution, `plan_figure` the last plan of an agent beside its visits.

Viridis reads the same with every kind of colour vision. Walls, dead ends, start and goal differ in lightness and sign
as well as in hue. What is written in a cell depends on the size of the grid: value and arrow up to 40 cells a side, the
arrow alone up to 100, only the colour beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from goalward.arrays import Floats, Int32s, Int64s
from goalward.continuous.task import ContinuousTask
from goalward.errors import SettingError, UnknownNameError
from goalward.figures import figure
from goalward.figures.regret import curve_figure
from goalward.figures.symbols import UNICODE, action_marks
from goalward.figures.terminal_grid import MAYBE, NEVER, ground_meanings, has_walls, layout_of, maybe_states
from goalward.formatting import mathtext, number, short_count
from goalward.learning.replay import Replay
from goalward.learning.run import Run
from goalward.results.results import CellResults, Results
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP
from goalward.studies.design import Cell
from goalward.studies.factory import make_world
from goalward.studies.rerun import replay_of, rerun

__all__ = ["grid_figure", "learnt_figure", "plan_figure", "run_figure"]

BASELINES = ("optimal", "uniform")
"""Agents that do not learn."""

MOST_CELLS_WITH_VALUES = 40
MOST_CELLS_WITH_ARROWS = 100
WALL, DEAD_END, GOAL, PAPER, INK = "#595959", "#d55e00", "#b3b3b3", "#ffffff", "#111111"
PERHAPS = "#f0a860"  # where the goal is reached maybe
ORDINARY = "S.O"
"""Characters of a map whose cells are not ruled: free ground and pits."""
HATCHES = ("///", "...", "xxx", "ooo", "---")
HATCH_INK = (0.0, 0.0, 0.0, 0.3)
STEPS = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "up": (0.0, 1.0), "down": (0.0, -1.0)}
# Marks on the edge of the grid are drawn whole.
MARK: dict[str, Any] = {"linestyle": "none", "color": PAPER, "markeredgecolor": INK, "clip_on": False, "zorder": 5.0}
START_MARK, GOAL_MARK = MARK | {"marker": "o"}, MARK | {"marker": "*"}


def grid_figure(ssp: SSP, values: Floats, policy: Int64s, title: str = "") -> Figure:
    """Draw the value and the action of every state in its cell; the action -1 stands for none."""
    layout = layout_of(ssp)
    longest = max(layout.rows, layout.columns)
    inches = min(1.1, 13.0 / longest) if longest <= MOST_CELLS_WITH_ARROWS else 9.0 / longest
    figure, axes, bar_axes = empty_figure(layout, inches)
    panel = GridPanel(axes, ssp, inches, title)
    image = panel.draw_values(values)
    panel.draw_actions(action_shares(policy, ssp.actions), ink_colours(image, values))
    figure.colorbar(image, cax=bar_axes, label="expected cost to the goal")
    figure.legend(handles=legend_entries(ssp, values), loc="lower center", ncols=4, frameon=False, borderpad=0.2)
    return figure


def action_shares(policy: Int64s, actions: int) -> Floats:
    """Return the policy as probabilities ``[S, A]``; the action -1 gives a row of zeros."""
    return np.asarray(policy[:, np.newaxis] == np.arange(actions), dtype=np.float64)


def empty_figure(layout: GridLayout, inches: float) -> tuple[Figure, Axes, Axes]:
    """Return a figure with axes for cells of the given size and with axes for the colour bar beside them."""
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


class GridPanel:
    """A grid on axes: walls, goals, start and empty cells are drawn at once, the rest on request.

    Parameters
    ----------
    axes, world
        Where to draw, and a model with a layout.
    inches
        The length of the side of a cell.
    """

    def __init__(self, axes: Axes, world: SSP, inches: float, title: str = ""):
        self.axes, self.world, self.layout, self.inches = axes, world, layout_of(world), inches
        longest = max(self.layout.rows, self.layout.columns)
        self.has_texts = longest <= MOST_CELLS_WITH_VALUES
        self.has_arrows = longest <= MOST_CELLS_WITH_ARROWS
        axes.set_facecolor(WALL)
        self.paint(self.layout.cells, PAPER)
        self.paint(self.layout.goals, GOAL)
        draw_frame(axes, self.layout, title, lines=self.has_texts)
        self.draw_start_and_goals()
        for mark, (hatch, _) in hatched_grounds(world).items():
            self.hatch([cell for cell in self.layout.cells.tolist() if (self.layout.ground or "")[cell] == mark], hatch)

    def hatch(self, cells: Sequence[int], pattern: str) -> None:
        """Rule some cells with a pattern, above their colours."""
        centres = [divmod(cell, self.layout.columns) for cell in cells]
        corners = [[(x - 0.5, y - 0.5), (x + 0.5, y - 0.5), (x + 0.5, y + 0.5), (x - 0.5, y + 0.5)] for y, x in centres]
        self.axes.add_collection(
            PolyCollection(
                corners, facecolors="none", edgecolors=[HATCH_INK], hatch=pattern, linewidths=0.0, zorder=1.5
            ),
            autolim=False,
        )

    def paint(self, cells: Int32s, colour: str) -> None:
        """Give some cells a colour."""
        painted = np.zeros((self.layout.rows * self.layout.columns, 4))
        painted[cells] = (*to_rgb(colour), 1.0)
        self.axes.imshow(painted.reshape(self.layout.rows, self.layout.columns, 4), interpolation="nearest")

    def colour_cells(self, values: Floats, **scale: Any) -> AxesImage:
        """Colour the cells of the states whose value is finite."""
        grid = self.layout.to_grid(np.where(np.isfinite(values), values, np.nan), goal=np.nan)
        return self.axes.imshow(grid, cmap="viridis_r", interpolation="nearest", **scale)

    def draw_values(self, values: Floats) -> AxesImage:
        """Colour the cells by value and write the values; dead ends, of infinite value, have a colour of their own."""
        finite = values[np.isfinite(values)]
        largest = float(finite.max(initial=0.0))
        maybe = maybe_states(self.world, values)
        self.paint(self.layout.cells[np.isinf(values) & ~maybe], DEAD_END)
        self.paint(self.layout.cells[maybe], PERHAPS)
        image = self.colour_cells(values, vmin=0.0, vmax=largest if largest > 0.0 else 1.0)
        digits = 3 if self.inches < 0.6 else 4
        signs = np.where(maybe, "?", UNICODE.infinity).tolist()
        texts = [number(value, digits, zeros=True, infinity=sign) for value, sign in zip(values, signs, strict=True)]
        self.write(texts, ink_colours(image, values), np.isinf(values))
        return image

    def draw_counts(self, counts: Floats, texts: Sequence[str]) -> AxesImage:
        """Colour the cells by count, on a logarithmic scale, and write the texts; zero has no colour."""
        seen = counts > 0
        least = float(counts[seen].min()) if seen.any() else 1.0
        scale = LogNorm(least, max(float(counts.max(initial=0.0)), 2.0 * least))
        shown = np.where(seen, counts, np.nan)
        image = self.colour_cells(shown, norm=scale)
        self.write(texts, ink_colours(image, shown), np.zeros(len(counts), dtype=np.bool_))
        return image

    def write(self, texts: Sequence[str], colours: NDArray[np.str_], alone: NDArray[np.bool_]) -> None:
        """Write a text into the upper half of each cell, or large into its middle if nothing else stands there."""
        if not self.has_texts:
            return
        points = min(13.0, 72.0 * self.inches * 1.35 / max(4, *map(len, texts)))
        for x, y, text, colour, middle in zip(*self.centres(), texts, colours, alone, strict=True):
            lift, scale = (0.0, 1.6) if middle else (0.16, 1.0)
            self.axes.text(x, y - lift, text, ha="center", va="center", fontsize=scale * points, color=colour)

    def centres(self) -> tuple[Int32s, Int32s]:
        """Return the column (x) and the row (y) of every state."""
        return self.layout.cells % self.layout.columns, self.layout.cells // self.layout.columns

    def draw_actions(self, shares: Floats, colours: NDArray[np.str_]) -> None:
        """Draw the actions that ``shares[s, a]`` gives a positive probability; they are small if a text stands above.

        A direction is an arrow. Where an agent chooses among several, their arrows start from one point.
        """
        if not self.has_arrows:
            return
        names = [self.world.action_name(action).lower() for action in range(self.world.actions)]
        offset, length = (0.2, 0.4) if self.has_texts else (0.0, 0.7)
        x, y = self.centres()
        if all(name in STEPS for name in names):
            steps = np.array([STEPS[name] for name in names])
            several = np.count_nonzero(shares, axis=1) > 1
            for chosen, pivot, reach in ((~several, "mid", length), (several, "tail", 0.55 * length)):
                state, action = np.nonzero((shares > 0.0) & chosen[:, np.newaxis])
                if not len(state):
                    continue
                arrows = reach * steps[action]
                self.axes.quiver(
                    x[state], y[state] + offset, arrows[:, 0], arrows[:, 1], color=colours[state], pivot=pivot,
                    width=length / 8.0 if pivot == "mid" else length / 14.0, angles="uv", units="x", scale_units="x",
                    scale=1.0,
                )  # fmt: skip
        else:
            marks = action_marks(self.world)
            for column, row, chosen, colour in zip(x, y, shares > 0.0, colours, strict=True):
                text = "".join(mark for mark, wanted in zip(marks, chosen, strict=True) if wanted)
                if not text:
                    continue
                points = 72.0 * self.inches * length / max(1.0, 0.6 * len(text))
                self.axes.text(
                    column, row + offset, mathtext(text), ha="center", va="center", fontsize=points, color=colour
                )

    def draw_start_and_goals(self) -> None:
        """Mark the goals and the start, the latter in a corner of its cell if the cell has room."""
        points = 72.0 * self.inches
        corner = 0.34 if points > 20.0 else 0.0
        x, y = self.centres()
        start = self.world.initial_state
        size = min(max(0.2 * points, 6.0), 10.0)
        self.axes.plot(x[[start]] - corner, y[[start]] + corner, markersize=size, **START_MARK)
        goals = self.layout.goals
        size = min(max(0.6 * points, 12.0), 28.0)
        self.axes.plot(goals % self.layout.columns, goals // self.layout.columns, markersize=size, **GOAL_MARK)


def draw_frame(axes: Axes, layout: GridLayout, title: str, lines: bool) -> None:
    """Name the axes, number some rows and columns, and rule lines between the cells if asked to."""
    axes.set_title(mathtext(title, kept=" \n"))
    axes.set_xlabel("column" if layout.wind is None else "column and its wind")
    axes.set_ylabel("row")
    columns = range(0, layout.columns, tick_step(layout.columns))
    axes.set_xticks(columns, [column_label(layout, column) for column in columns])
    axes.set_yticks(np.arange(0, layout.rows, tick_step(layout.rows)))
    axes.tick_params(length=0)
    if lines:
        axes.set_xticks(np.arange(layout.columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(layout.rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="#dddddd", linewidth=0.8)
        axes.tick_params(which="minor", length=0)


def column_label(layout: GridLayout, column: int) -> str:
    """Return the number of a column, and how far its wind carries if it has any."""
    force = 0 if layout.wind is None else layout.wind[column]
    return f"{column} {'↑' if force > 0 else '↓'}{abs(force)}" if force else str(column)


def tick_step(count: int) -> int:
    """Return the round distance between ticks that makes at most twelve of them."""
    unit = 1
    while count > 60 * unit:
        unit *= 10
    return next(unit * digit for digit in (1, 2, 5) if count <= 12 * unit * digit)


def ink_colours(image: AxesImage, values: Floats) -> NDArray[np.str_]:
    """Return, for each state, the ink with more contrast against its cell (luminance as in WCAG 2).

    NaN stands for a cell without colour, infinity for a dead end.
    """
    finite = np.isfinite(values)[:, np.newaxis]
    bare = np.where(np.isnan(values)[:, np.newaxis], to_rgb(PAPER), to_rgb(DEAD_END))
    colours = np.where(finite, image.to_rgba(np.where(finite[:, 0], values, 1.0))[:, :3], bare)
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return np.where(luminance > 0.179, INK, PAPER)


def hatched_grounds(world: SSP) -> dict[str, tuple[str, str]]:
    """Return the pattern and the meaning of each character of a map that has a price of its own."""
    meanings = {mark: text for mark, text in ground_meanings(world).items() if mark not in ORDINARY}
    return {mark: (HATCHES[index % len(HATCHES)], text) for index, (mark, text) in enumerate(meanings.items())}


def legend_entries(ssp: SSP, values: Floats | None, shares: Floats | None = None) -> list[Line2D | Patch]:
    """Explain the signs that are in use."""
    layout = layout_of(ssp)
    entries: list[Line2D | Patch] = [
        Line2D([], [], markersize=8.0, label="start", **START_MARK),
        Line2D([], [], markersize=12.0, label="goal", **GOAL_MARK),
    ]
    if has_walls(layout):
        entries.append(Patch(color=WALL, label="wall"))
    for mark, (hatch, meaning) in hatched_grounds(ssp).items():
        entries.append(Patch(facecolor=PAPER, edgecolor=HATCH_INK, hatch=hatch, label=mathtext(f"{mark} {meaning}")))
    if values is not None and np.isinf(values).any():
        maybe = maybe_states(ssp, values)
        if maybe.any():
            entries.append(Patch(color=PERHAPS, label=MAYBE))
        if (np.isinf(values) & ~maybe).any():
            entries.append(Patch(color=DEAD_END, label=NEVER))
    if shares is not None and (np.count_nonzero(shares, axis=1) > 1).any():
        arrows: dict[str, Any] = {"marker": "$\u2194$", "color": INK, "linestyle": "none"}
        entries.append(Line2D([], [], markersize=14.0, label="one of these actions at random", **arrows))
    return entries


def run_figure(world: SSP, run: Run, replay: Replay, title: str) -> Figure:
    """Draw a run from its replay: on a grid the last plan and the visits, elsewhere the regret."""
    if world.layout is None:
        return curve_figure(run, title)
    visits = np.zeros(world.costs.size, dtype=np.int64)
    for frame in replay.frames:
        np.add.at(visits, frame.seen // (world.states + 1), frame.times)
    last = replay.frames[-1]
    # Where the agent draws one of several actions that look equally good, all of them are shown.
    shares = np.asarray(last.tied if last.shares is None else last.shares, dtype=np.float64)
    return plan_figure(world, shares, last.values, visits.reshape(world.costs.shape), title)


def plan_figure(world: SSP, shares: Floats, values: Floats | None, visits: Int64s, title: str = "") -> Figure:
    """Draw two grids: what an agent would do and expects at the end of a run, and its visits.

    Only what the agent has is drawn. The arrows of the second grid are the actions played most often.

    Parameters
    ----------
    shares
        ``shares[s, a]`` is positive if the agent may play a in s.
    values
        The cost that the agent expects from each state; None if it estimates no costs.
    visits
        ``visits[s, a]``: how often each pair was played.
    """
    layout = layout_of(world)
    inches = min(1.1, 8.0 / max(layout.rows, layout.columns))
    width, height = layout.columns * inches, layout.rows * inches
    figure = Figure(figsize=(2 * width + 4.2, max(height, 1.6) + 1.7), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)

    unknown = np.full(world.states, np.nan)
    if values is None:
        panel = GridPanel(left, world, inches, "the last plan: action\n(the agent estimates no costs)")
        image = panel.colour_cells(unknown, vmin=0.0, vmax=1.0)
    else:
        panel = GridPanel(left, world, inches, "the last plan: expected cost and action")
        image = panel.draw_values(values)
        figure.colorbar(image, ax=left, shrink=0.8, label="expected cost to the goal")
    panel.draw_actions(shares, ink_colours(image, unknown if values is None else values))

    panel = GridPanel(right, world, inches, "visits and most frequent action")
    total = visits.sum(axis=1).astype(np.float64)
    image = panel.draw_counts(total, [short_count(int(count)) for count in total])
    frequent = action_shares(np.where(total > 0, visits.argmax(axis=1), -1), world.actions)
    panel.draw_actions(frequent, ink_colours(image, np.where(total > 0, total, np.nan)))
    figure.colorbar(image, ax=right, shrink=0.8, label="visits")

    handles = legend_entries(world, values, shares)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, borderpad=0.2)
    figure.suptitle(mathtext(title))
    return figure


@figure("grid")
def learnt_figure(results: Results, agent: str | None = None, world: str | None = None, run: int = 0) -> Figure:
    """Draw what an agent has learnt on a grid: its last plan, and its visits.

    The default is the learner with the least mean regret in the first grid of the study.
    """
    cell = chosen_cell(results, agent, world, run)
    if not is_grid(results, cell, run):
        raise SettingError(f"{cell.world.label} is not a grid and cannot be drawn; choose another with --world")
    model, repeated = rerun(results.stored_spec(cell, run), results.attachments, keep_replay=True)
    title = f"{cell.agent.label} in {cell.world.label}, run {run}: {cell.episodes:,} episodes"
    title += "".join(f"\n{text}" for label, text in results.caveats().items() if label == cell.agent.label)
    return run_figure(model, repeated, replay_of(repeated), title)


def chosen_cell(results: Results, agent: str | None, world: str | None, run: int) -> Cell:
    """Return the cell of an agent in a world; None stands for the defaults of `learnt_figure`."""
    design = results.design
    worlds = {cell.world.label: cell for cell in design.cells}
    if world is None:
        grids = (label for label, cell in worlds.items() if is_grid(results, cell, run))
        world = next(grids, next(iter(worlds)))
    elif world not in worlds:
        raise UnknownNameError(f"world of {design.name}", world, worlds)
    agents = {cell.cell.agent.label: cell for cell in results.cells if cell.cell.world.label == world}
    if agent is None:
        agent = min(agents, key=lambda label: rank(agents[label], run))
    elif agent not in agents:
        raise UnknownNameError(f"agent of {design.name}", agent, agents)
    return agents[agent].cell


def is_grid(results: Results, cell: Cell, run: int) -> bool:
    """Return whether the world of a run is a grid."""
    world: SSP | ContinuousTask = make_world(results.design.spec(cell, run).world, results.attachments)
    return isinstance(world, SSP) and world.layout is not None


def rank(cell: CellResults, run: int) -> tuple[bool, bool, float]:
    """Return the sort key of an agent: whether the run is missing, whether it is a baseline, its mean regret."""
    regrets = cell.finals["gap_regret"][cell.complete]
    mean = float(regrets.mean()) if len(regrets) else math.inf
    return run not in cell.runs, cell.cell.agent.identity["name"] in BASELINES, mean
