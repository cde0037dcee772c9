"""Where the states of a grid world lie, for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalward.errors import ShapeError

if TYPE_CHECKING:
    from goalward.ssp.model import SSP

__all__ = ["GridLayout", "state_label"]


class GridLayout:
    """A grid of cells, numbered row by row; a cell that has no state and is not a goal is a wall. Immutable.

    Attributes
    ----------
    rows, columns
        The size of the grid.
    cells
        The cell of each state.
    goals
        The cells that are goals.
    ground
        The character of each cell on the map that the grid was read from, row by row; None if there was none.
    wind
        How many cells the wind of each column carries upwards; None if there is no wind.
    """

    rows: int
    columns: int
    cells: NDArray[np.int32]
    goals: NDArray[np.int32]
    ground: str | None
    wind: tuple[int, ...] | None

    def __init__(
        self,
        rows: int,
        columns: int,
        cells: ArrayLike,
        goals: ArrayLike,
        ground: str | None = None,
        wind: Sequence[int] | None = None,
    ):
        size = as_array([rows, columns])
        if size is None or size.shape != (2,) or size.dtype.kind not in "iu" or size.min() < 1:
            raise ShapeError(f"a grid of {rows!r} x {columns!r} cells; rows and columns must be positive integers")
        arrays = {}
        for name, given in (("cells", cells), ("goals", goals)):
            array = as_array(given)
            if array is None:
                raise ShapeError(f"{name} is {given!r}; it must be a list of cell numbers, not of lists")
            if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
                raise ShapeError(
                    f"{name} has dtype {array.dtype} and shape {array.shape}; it must be a list of cell numbers"
                )
            outside = array[(array < 0) | (array >= int(rows) * int(columns))]
            if len(outside):
                raise ShapeError(
                    f"cell {outside[0]} lies outside a grid of {rows} x {columns} cells; they are numbered row by row"
                    f" from 0 to {int(rows) * int(columns) - 1}"
                )
            arrays[name] = array.astype(np.int32)
            arrays[name].flags.writeable = False
        taken = np.sort(np.concatenate(list(arrays.values())))
        twice = taken[1:][taken[1:] == taken[:-1]]
        if len(twice):
            raise ShapeError(f"cell {twice[0]} is taken twice; every state and goal needs its own")
        if ground is not None and not (isinstance(ground, str) and len(ground) == int(rows) * int(columns)):
            raise ShapeError(f"ground is {ground!r:.40}; it must be a text with a character for each cell")
        if wind is not None and not (len(wind) == int(columns) and all(type(force) is int for force in wind)):
            raise ShapeError(f"wind is {wind!r:.40}; it must be an integer for each column")
        blown = None if wind is None else tuple(wind)
        self.__dict__.update(rows=int(rows), columns=int(columns), **arrays, ground=ground, wind=blown)

    def to_grid(self, values: NDArray[np.float64], goal: float = 0.0) -> NDArray[np.float64]:
        """Lay one number per state out on the grid; walls are NaN."""
        array = as_array(values)
        if array is None or array.dtype.kind not in "biuf":
            raise ShapeError(
                f"values is {values!r}; it must be {len(self.cells)} numbers, one for each state of the grid"
            )
        if array.shape != self.cells.shape:
            raise ShapeError(f"values has shape {array.shape}; the grid has {len(self.cells)} states, one each")
        grid = np.full(self.rows * self.columns, np.nan)
        grid[self.cells] = array
        grid[self.goals] = goal
        return grid.reshape(self.rows, self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridLayout):
            return NotImplemented
        return (
            (self.rows, self.columns, self.ground, self.wind) == (other.rows, other.columns, other.ground, other.wind)
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.goals, other.goals)
        )

    def __hash__(self) -> int:
        return hash((self.rows, self.columns, self.cells.tobytes(), self.goals.tobytes()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a GridLayout does not change: {name!r} cannot be set; make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a GridLayout does not change: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return GridLayout, (self.rows, self.columns, self.cells, self.goals, self.ground, self.wind)

    def __repr__(self) -> str:
        return f"GridLayout({self.rows} x {self.columns}, states={len(self.cells)}, goals={self.goals.tolist()})"


def as_array(given: ArrayLike) -> NDArray[Any] | None:
    """Return an array, or None if lists of different lengths make none."""
    try:
        return np.asarray(given)
    except ValueError:
        return None


def state_label(ssp: SSP, state: int) -> str:
    """Return the name of a state, or its place on the grid if it has no name, or else its number."""
    if ssp.state_names is None and ssp.layout is not None and state < ssp.states:
        row, column = divmod(int(ssp.layout.cells[state]), ssp.layout.columns)
        return f"row {row}, column {column}"
    return ssp.state_name(state)
