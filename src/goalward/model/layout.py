"""Where the states of a grid world lie, for drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goalward.errors import ShapeError

__all__ = ["GridLayout"]


class GridLayout:
    """A grid of cells, numbered row by row; a cell without a state that is no goal is a wall.

    Attributes
    ----------
    rows, columns
        The size of the grid.
    cells
        The cell of each state.
    goals
        The cells that are goals.
    """

    def __init__(self, rows: int, columns: int, cells: Sequence[int] | NDArray[np.integer], goals: Sequence[int]):
        self.rows, self.columns = int(rows), int(columns)
        self.cells = np.array(cells, dtype=np.int32)
        self.goals = np.array(goals, dtype=np.int32)
        taken = np.concatenate([self.cells, self.goals])
        outside = taken[(taken < 0) | (taken >= self.rows * self.columns)]
        if len(outside):
            raise ShapeError(f"cell {outside[0]} lies outside a grid of {self.rows} x {self.columns} cells")
        if len(np.unique(taken)) < len(taken):
            raise ShapeError("two states of the layout share a cell; every state and goal needs its own")
        for array in (self.cells, self.goals):
            array.flags.writeable = False

    def to_grid(self, values: NDArray[np.float64], goal: float = 0.0) -> NDArray[np.float64]:
        """Lay one number per state out on the grid; walls are NaN."""
        grid = np.full(self.rows * self.columns, np.nan)
        grid[self.cells] = values
        grid[self.goals] = goal
        return grid.reshape(self.rows, self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridLayout):
            return NotImplemented
        return (
            (self.rows, self.columns) == (other.rows, other.columns)
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.goals, other.goals)
        )

    def __hash__(self) -> int:
        return hash((self.rows, self.columns, self.cells.tobytes(), self.goals.tobytes()))

    def __repr__(self) -> str:
        return f"GridLayout({self.rows} x {self.columns}, states={len(self.cells)}, goals={self.goals.tolist()})"
