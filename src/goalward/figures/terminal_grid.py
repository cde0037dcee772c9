"""A grid as text. If the terminal is wide enough, boxes contain values and arrows; otherwise there are only arrows."""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import ShapeError
from goalward.figures.styles import action_marks
from goalward.formatting import number
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import GIVE_UP, SSP

MOST_ROWS = 100
INFINITY, WALL, START = "∞", "█", "●"
LOST = "no sure way to the goal"
Cells = list[list[str]]


def has_picture(ssp: SSP) -> bool:
    """Return whether a model has a grid layout with one floor."""
    return ssp.layout is not None and ssp.layout.floors is None


def layout_of(ssp: SSP) -> GridLayout:
    """Return the layout of a model. Raise ShapeError if the model cannot be drawn."""
    if ssp.layout is None:
        raise ShapeError("the model has no grid layout and cannot be drawn; create the model with layout=...")
    if not has_picture(ssp):
        raise ShapeError("the grid has several floors, which one picture cannot show; `goalward watch` shows them")
    return ssp.layout


def grid_text(ssp: SSP, values: Floats, policy: Int64s, *, width: int = 100) -> str | None:
    """Return a picture of a grid and a legend. The cell of a state shows the state's value and action.

    Action -1 means no action. Lines have at most `width` characters. If not even arrows fit, return None.
    """
    layout = layout_of(ssp)
    if layout.columns > width or layout.rows > MOST_ROWS:
        return None
    marks = [*action_marks(ssp), " "]
    actions = [marks[action] for action in policy]
    entries = [f"{WALL} wall"] if has_walls(layout) else []
    lost = bool(np.isinf(values).any())
    gives_up = [f"{marks[ssp.give_up]} {GIVE_UP}"] if ssp.give_up is not None and ssp.give_up in policy else []
    cells = boxed_cells(ssp, layout, values, actions)
    for padding in (" ", ""):
        if layout.columns * (len(cells[0][0]) + 2 * len(padding) + 1) + 1 <= width:
            lines = [draw_boxes(cells, padding)]
            entries = [f"{START} start", *entries, *[f"{INFINITY} {LOST}"] * lost]
            break
    else:
        gap = " " if 2 * layout.columns - 1 <= width else ""
        bare = ["x" if action == " " else action for action in actions]
        bare[ssp.initial_state] = "S"
        lines = [gap.join(row) for row in arrange(layout, bare, "G", WALL)]
        entries = ["S start", "G goal", *entries, *[f"x {LOST}"] * lost]
    lines.append("   ".join([*entries, *gives_up]))
    if layout.wind is not None:
        lines.append(f"wind of the columns, in cells upwards: {' '.join(map(str, layout.wind))}")
    return "\n".join(lines)


def ground_text(ssp: SSP, width: int = 100) -> str | None:
    """Return the map of a grid and the meaning of its characters, or None if there is no map that fits."""
    layout = layout_of(ssp)
    if layout.ground is None or layout.columns > width or layout.rows > MOST_ROWS:
        return None
    marks = [layout.ground[cell] for cell in layout.cells]
    shown = ["." if mark == "S" else mark for mark in marks]
    shown[ssp.initial_state] = "S"
    lines = ["".join(row) for row in arrange(layout, shown, "G", "#")]
    lines += [f"{mark} {meaning}" for mark, meaning in ground_meanings(ssp).items()]
    return "\n".join(lines)


def ground_meanings(ssp: SSP) -> dict[str, str]:
    """Return the meaning of each character of a map. Without a map, return an empty dictionary."""
    layout = layout_of(ssp)
    if layout.ground is None:
        return {}
    marks = [layout.ground[cell] for cell in layout.cells]
    meanings = {}
    costs = step_costs(ssp)
    for mark in sorted({*marks}):
        span = cost_range(costs[[other == mark for other in marks]])
        meanings[mark] = f"a step costs {span}" if span else "pit"
    return meanings


def step_costs(ssp: SSP) -> Floats:
    """Return the costs of all actions except giving up."""
    return np.delete(ssp.costs, [] if ssp.give_up is None else [ssp.give_up], axis=1)


def cost_range(costs: Floats) -> str:
    """Return the smallest and the largest finite cost as text, or an empty text if no cost is finite."""
    real = np.unique(costs[np.isfinite(costs)])
    return " to ".join(number(cost, 5) for cost in real[[0, -1][: len(real)]])


def arrange(layout: GridLayout, states: list[str], goal: str, wall: str) -> Cells:
    """Return one text for each cell, row by row."""
    cells = [wall] * (layout.rows * layout.columns)
    for cell, text in zip(layout.cells, states, strict=True):
        cells[cell] = text
    for cell in layout.goals:
        cells[cell] = goal
    return [cells[first : first + layout.columns] for first in range(0, len(cells), layout.columns)]


def boxed_cells(ssp: SSP, layout: GridLayout, values: Floats, actions: list[str]) -> Cells:
    """Return the text of each box: the mark of the start, the value and the action. All texts have equal width."""
    written = [number(value, 4, zeros=True, infinity=INFINITY) for value in values]
    room = max(map(len, written))
    states = [f" {value:>{room}} {action}" for value, action in zip(written, actions, strict=True)]
    states[ssp.initial_state] = START + states[ssp.initial_state][1:]
    return arrange(layout, states, "goal".center(room + 3), WALL * (room + 3))


def draw_boxes(cells: Cells, padding: str) -> str:
    bar = "─" * (len(cells[0][0]) + 2 * len(padding))
    top, middle, bottom = (ends[0] + ends[1].join([bar] * len(cells[0])) + ends[2] for ends in ("┌┬┐", "├┼┤", "└┴┘"))
    rows = ["│" + "│".join(f"{padding}{cell}{padding}" for cell in row) + "│" for row in cells]
    return "\n".join([top, f"\n{middle}\n".join(rows), bottom])


def has_walls(layout: GridLayout) -> bool:
    """Return whether at least one cell is neither a state nor a goal."""
    return len(layout.cells) + len(layout.goals) < layout.rows * layout.columns
