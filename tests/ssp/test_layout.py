"""Where the states of a grid lie."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from goalward import SSP, GridLayout
from goalward.errors import ShapeError
from goalward.ssp.layout import state_label


@pytest.fixture
def layout() -> GridLayout:
    """Two rows of three cells: states in 0, 2 and 3, the goal in 5, walls in 1 and 4."""
    return GridLayout(2, 3, [3, 0, 2], [5])


def test_equality_goes_by_content(layout: GridLayout) -> None:
    twin = GridLayout(2, 3, np.array([3, 0, 2]), np.array([5]))
    assert twin == layout
    for other in (GridLayout(3, 2, [3, 0, 2], [5]), GridLayout(2, 3, [0, 3, 2], [5]), GridLayout(2, 3, [3, 0, 2], [4])):
        assert other != layout
    assert layout != "layout"


def test_it_does_not_change(layout: GridLayout) -> None:
    with pytest.raises(AttributeError, match="rows"):
        layout.rows = 9  # type: ignore[misc]
    for twin in (layout, pickle.loads(pickle.dumps(layout))):
        assert twin == layout
        for array in (twin.cells, twin.goals):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_the_callers_array_stays_the_callers() -> None:
    cells = np.array([0, 1], dtype=np.int32)
    layout = GridLayout(1, 3, cells, [2])
    cells[0] = 7
    assert layout.cells.tolist() == [0, 1]


def test_repr(layout: GridLayout) -> None:
    assert repr(layout) == "GridLayout(2 x 3, states=3, goals=[5])"


@pytest.mark.parametrize(
    ("rows", "columns", "cells", "goals", "message"),
    [
        (2, 2, [0, 4], [3], "cell 4 lies outside a grid of 2 x 2 cells, .* from 0 to 3"),
        (2, 2, [0, -1], [3], "cell -1 lies outside"),
        (2, 2, [0, 1], [2**40], "cell 1099511627776 lies outside"),
        (2, 2, [0, 0], [3], "cell 0 .* is taken twice; every state and goal needs a cell of its own"),
        (2, 2, [0, 3], [3], "cell 3 .* is taken twice"),
        (0, 2, [], [], "the grid has 0 x 2 cells; rows and columns must be positive integers"),
        (2.5, 2, [0], [3], r"the grid has 2\.5 x 2 cells"),
        ("2", 2, [0], [3], "the grid has '2' x 2 cells"),
        (2, 2, [0.5], [3], "cells has dtype float64"),
        (2, 2, [[0]], [3], r"cells has shape \(1, 1\); pass a list of cell numbers"),
        (2, 2, [0], 3, r"goals has shape \(\)"),
        (2, 2, [2**70], [3], "cells has dtype object"),
        (2, 2, [[0], [1, 2]], [3], "cells is not an array"),
        (2, 2, [0], [[3], 1], "goals is not an array"),
        ([2, 2], 2, [0], [3], r"the grid has \[2, 2\] x 2 cells; rows and columns must be positive integers"),
        ([2, 2], [2, 2], [0], [3], r"the grid has \[2, 2\] x \[2, 2\] cells"),
    ],
)
def test_faults(rows: Any, columns: Any, cells: Any, goals: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        GridLayout(rows, columns, cells, goals)


def test_floors_name_the_cells_below_each_other() -> None:
    layout = GridLayout(4, 2, [0, 6, 2], [7], floors=["ground", "cellar"])
    P = np.eye(4)[[[1], [2], [3]]]
    world = SSP.from_dense(P, np.ones((3, 1)), layout=layout, state_names=["0", "1", "lift"])
    assert [state_label(world, state) for state in range(4)] == [
        "row 0, column 0, ground", "row 1, column 0, cellar", "lift", "goal",
    ]  # fmt: skip
    assert GridLayout(**layout.fields()) == layout
    with pytest.raises(ShapeError, match="4 rows for 3 floors"):
        GridLayout(4, 2, [0], [7], floors=["a", "b", "c"])
