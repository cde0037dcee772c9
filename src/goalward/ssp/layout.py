"""Grid geometry: the cells of the states of a grid world, and the results of steps between cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalward.arrays import Int32s
from goalward.errors import ShapeError
from goalward.ssp.checks import number_array

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

DIRECTIONS = ("left", "right", "up", "down")
MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""How many rows down and columns to the right each direction leads."""
WALL = -1


@dataclass(frozen=True, eq=False, repr=False)
class GridLayout:
    """An immutable grid of cells, numbered row by row. A cell that has no state and is not a goal is a wall.

    Attributes
    ----------
    rows, columns
        The size of the grid.
    cells
        The cell of each state.
    goals
        The cells that are goals.
    ground
        The characters of the map from which the grid was read, row by row; None if there is no map.
    wind
        The number of cells by which the wind of each column pushes upwards; None if there is no wind.
    floors
        The names of the floors, or None. Floors are equal parts of the grid, one below the other. In Taxi, every floor
        shows the same map for another location or destination of the passenger.
    """

    rows: int
    columns: int
    cells: NDArray[Any]
    goals: NDArray[Any]
    ground: str | None = None
    wind: Sequence[int] | None = None
    floors: Sequence[str] | None = None

    def __post_init__(self) -> None:
        rows, columns, cells, goals, ground, wind, floors = self.__dict__.values()
        if not all(isinstance(length, int | np.integer) and length > 0 for length in (rows, columns)):
            raise ShapeError(f"the grid has {rows!r} x {columns!r} cells; rows and columns must be positive integers")
        size = int(rows) * int(columns)
        arrays = {name: number_array(name, array, integer=True) for name, array in (("cells", cells), ("goals", goals))}
        for name, array in arrays.items():
            if array.ndim != 1:
                raise ShapeError(f"{name} has shape {array.shape}; pass a list of cell numbers")
        taken, times = np.unique(np.concatenate(list(arrays.values())), return_counts=True)
        wrong = (taken < 0) | (taken >= size) | (times > 1)
        if wrong.any():
            cell = taken[np.argmax(wrong)]
            raise ShapeError(
                f"cell {cell} lies outside a grid of {rows} x {columns} cells, or is taken twice; every state and goal"
                f" needs a cell of its own, numbered row by row from 0 to {size - 1}"
            )
        for name, array in arrays.items():
            arrays[name] = array.astype(np.int32)
            arrays[name].flags.writeable = False
        if ground is not None and not (isinstance(ground, str) and len(ground) == size):
            raise ShapeError(f"ground is {ground!r:.40}; pass a string with one character for each cell")
        if wind is not None and not (len(wind) == int(columns) and all(type(force) is int for force in wind)):
            raise ShapeError(f"wind is {wind!r:.40}; pass a list with one integer for each column")
        if floors is not None and (not floors or rows % len(floors)):
            raise ShapeError(f"{rows} rows for {len(floors)} floors; each floor needs the same number of rows")
        wind, floors = (None if values is None else tuple(values) for values in (wind, floors))
        self.__dict__.update(rows=int(rows), columns=int(columns), **arrays, wind=wind, floors=floors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GridLayout) and self.fields() == other.fields()

    def fields(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain numbers, lists and strings."""
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return GridLayout, tuple(self.fields().values())

    def __repr__(self) -> str:
        return f"GridLayout({self.rows} x {self.columns}, states={len(self.cells)}, goals={self.goals.tolist()})"


def state_label(ssp: SSP, state: int) -> str:
    """Return the name of `state`, or the position on the grid if the name is only a number."""
    layout, name = ssp.layout, ssp.state_name(state)
    if layout is None or not name.isdecimal() or state >= ssp.states:
        return name
    row, column = divmod(int(layout.cells[state]), layout.columns)
    if layout.floors is None:
        return f"row {row}, column {column}"
    floor, row = divmod(row, layout.rows // len(layout.floors))
    return f"row {row}, column {column}, {layout.floors[floor]}"


def neighbours(number: Int32s, cells: NDArray[np.intp], wind: Sequence[int] | None = None) -> Int32s:
    """Return ``reached[cell, direction]``, the state after a step from each cell in each direction of `DIRECTIONS`.

    ``number[row, column]`` is the number of a state, the number of the goal, or `WALL`. With wind, a step leads
    sideways first. Then it leads up or down, by the step plus the wind, until a wall or the edge stops the agent.
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
            for step in range(min(int(np.abs(fall).max(initial=0)), len(number))):
                to_row, _ = moved(number, to_row, to_column, np.where(np.abs(fall) > step, np.sign(fall), 0), 0)
        reached[:, direction] = number[to_row, to_column]
    return reached


def moved(
    number: Int32s, row: NDArray[np.intp], column: NDArray[np.intp], down: int | NDArray[np.intp], right: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row and column after one step; steps into a wall or off the grid have no effect."""
    to_row = np.clip(row + down, 0, number.shape[0] - 1)
    to_column = np.clip(column + right, 0, number.shape[1] - 1)
    wall = number[to_row, to_column] == WALL
    return np.where(wall, row, to_row), np.where(wall, column, to_column)
