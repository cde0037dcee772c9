"""Where a step on a grid leads: to the neighbouring cell, unless a wall or the edge is there, and with the wind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goalward.arrays import Int32s

__all__ = ["DIRECTIONS", "WALL", "neighbours"]

DIRECTIONS = ("left", "right", "up", "down")
MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""How many rows down and columns to the right each direction goes."""
WALL = -1


def neighbours(number: Int32s, cells: NDArray[np.intp], wind: Sequence[int] | None = None) -> Int32s:
    """Return ``reached[cell, direction]``, the state in which a step from the cell ends; directions as in `DIRECTIONS`.

    `number` has the state of each cell: its number, that of the goal, or `WALL`. Wind adds to how far a step goes down,
    or up; one goes sideways first, then cell by cell to a wall or the edge.
    """
    columns = number.shape[1]
    row, column = np.divmod(cells, columns)
    reached = np.empty((len(cells), 4), dtype=np.int32)
    for direction, (down, right) in enumerate(MOVES):
        if wind is None:
            to_row, to_column = moved(number, row, column, down, right)
        else:
            to_row, to_column = moved(number, row, column, 0, right)
            fall = down - np.array(wind)[column]
            for step in range(int(np.abs(fall).max(initial=0))):
                to_row, _ = moved(number, to_row, to_column, np.where(np.abs(fall) > step, np.sign(fall), 0), 0)
        reached[:, direction] = number[to_row, to_column]
    return reached


def moved(
    number: Int32s, row: NDArray[np.intp], column: NDArray[np.intp], down: int | NDArray[np.intp], right: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where one step leads: nowhere at a wall or the edge."""
    to_row = np.clip(row + down, 0, number.shape[0] - 1)
    to_column = np.clip(column + right, 0, number.shape[1] - 1)
    wall = number[to_row, to_column] == WALL
    return np.where(wall, row, to_row), np.where(wall, column, to_column)
