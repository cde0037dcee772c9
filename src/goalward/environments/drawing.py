"""A state of a world as a text and as an image: on the grid if the world is one, among all states if not."""

from __future__ import annotations

import math

import numpy as np

from goalward.arrays import Bools, Bytes
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP

__all__ = ["image", "text"]

CELL = 32
WALL, FLOOR, START, GOAL, LOST, WALKER = (
    (60, 60, 70), (240, 240, 235), (190, 210, 240), (120, 190, 120), (220, 140, 130), (230, 120, 30)
)  # fmt: skip


def text(ssp: SSP, state: int, paid: float) -> str:
    """Return the map of a grid, if the world is one, and a line about the state: ``@`` is where the agent is."""
    where = "at the goal" if state == ssp.goal else f"state {ssp.state_name(state)}"
    line = f"{where}, cost so far {paid:g}"
    if ssp.layout is None:
        return line
    cells = np.full(ssp.layout.rows * ssp.layout.columns, "#")
    cells[ssp.layout.cells] = "."
    cells[ssp.layout.cells[ssp.initial_state]] = "S"
    cells[ssp.layout.goals] = "G"
    cells[place_of(ssp.layout, state)] = "@"
    rows = cells.reshape(ssp.layout.rows, ssp.layout.columns)
    return "\n".join(["".join(row) for row in rows.tolist()] + [line])


def image(ssp: SSP, state: int, lost: Bools) -> Bytes:
    """Return an image ``[height, width, 3]``: one square for each cell, or for each state row by row."""
    if ssp.layout is not None:
        rows, columns = ssp.layout.rows, ssp.layout.columns
        cells, goals = ssp.layout.cells, ssp.layout.goals
    else:
        columns = math.ceil(math.sqrt(ssp.states + 1))
        rows = math.ceil((ssp.states + 1) / columns)
        cells, goals = np.arange(ssp.states, dtype=np.int32), np.array([ssp.states], dtype=np.int32)
    colours = np.full((rows * columns, 3), WALL, dtype=np.uint8)
    colours[cells] = FLOOR
    colours[cells[lost]] = LOST
    colours[cells[ssp.initial_state]] = START
    colours[goals] = GOAL
    # The last line of pixels of each square parts it from the next.
    picture = np.full((rows, CELL, columns, CELL, 3), WALL, dtype=np.uint8)
    picture[:, :-1, :, :-1] = colours.reshape(rows, 1, columns, 1, 3)
    place = place_of(ssp.layout, state) if ssp.layout is not None else state
    picture[place // columns, :, place % columns, :][disk()] = WALKER
    return picture.reshape(rows * CELL, columns * CELL, 3)


def place_of(layout: GridLayout, state: int) -> int:
    return int(layout.goals[0] if state == len(layout.cells) else layout.cells[state])


def disk() -> Bools:
    """Return which pixels of a square the agent covers."""
    across = np.arange(CELL) - (CELL - 2) / 2
    return np.asarray(across[:, np.newaxis] ** 2 + across**2 <= (CELL / 3) ** 2)
