"""Slippery grids: the GridWorld of the PSRL-SSP paper, and maps drawn with characters.

With probability `success`, a step moves in the direction of the action. With probability (1 - success)/3 each, it moves
in one of the three other directions instead. Moves into walls or off the grid have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import SettingError
from goalward.settings import Share, Size, check_memory
from goalward.ssp.checks import check_least, pair_name
from goalward.ssp.layout import DIRECTIONS, WALL, GridLayout, neighbours
from goalward.ssp.model import SSP, restrict_actions
from goalward.worlds.base import register
from goalward.worlds.map_text import GOAL, PIT, START, Drawing, read_drawing

# States are built in pieces of this size, so that temporary arrays stay much smaller than the model.
PIECE = 1 << 15
BYTES_PER_CELL = 260.0
TWO_ROOMS = """\
S..#....
...#....
........
...#....
...#...G
"""


@register("grid-world-v0")
def grid_world(rows: Size = 3, columns: Size = 4, success: Share = 0.85) -> SSP:
    """GridWorld: walk from the top left to the bottom right of a slippery grid.

    This is the grid of the PSRL-SSP paper and, with ``success=0.95``, of the UC-SSP paper. Some steps go the wrong way.

    :States: All ``rows * columns - 1`` cells except the goal, row by row. The layout has the positions of the states.
    :Actions: left, right, up and down, all available everywhere.
    :Transitions: With probability `success`, a step moves one cell in the direction of the action. With probability
        ``(1 - success) / 3`` each, it moves in one of the three other directions. Moves off the grid have no effect.
    :Costs: 1 for every action; `SSP.with_costs` changes them.
    :Start and goal: The start is the top left cell, and the goal is the bottom right cell.
    :Known values: With the default settings, V*(start) = B* = T* = 6.0365, and the uniformly random policy costs
        42.087. Policies that always play one action cost 60.317 (right), 120.29 (down) and 1544.4 (up). With
        ``success=0.95``, V*(start) = 5.3014.
    """
    check_size(rows, columns)
    if rows * columns < 2:
        raise SettingError("rows and columns are 1; a grid needs at least two cells, one of which is the goal")
    # The goal is the last cell, so the number of every cell is the number of its state.
    number = np.arange(rows * columns, dtype=np.int32)
    return grid_ssp(number.reshape(rows, columns), 0, success)


@register("grid-map-v0")
def grid_map(text: str = TWO_ROOMS, success: Share = 0.85) -> SSP:
    r"""GridMap: a slippery grid with walls, drawn with characters.

    Each row of the grid is a line of text. ``S`` is the start, ``G`` a goal, ``#`` a wall, ``.`` a free cell and ``O``
    a pit. Lines before the map can define other characters by their cost, as in ``~ = 5``, and set the wind of each
    column, as in ``wind = 0 0 1 1``. Common indentation and empty lines around the map are ignored.

    :States: All cells except walls and goals, row by row. The layout has the positions of the states.
    :Actions: left, right, up and down. They are available everywhere except in pits, where no action is available.
    :Transitions: As in GridWorld; in addition, moves into a wall have no effect. After the move, the wind carries the
        walker up, or down if the wind is negative. The number of cells is the wind of the column in
        which the step began. A wall or the edge stops the walker.
    :Costs: 1 for every action, unless the map sets the cost of the cell's character.
    :Start and goal: The start is the only ``S``. The goal consists of all ``G``. If the start cannot reach the goal,
        the map is still a valid model, but `solve` raises an error. Pits are dead ends; see docs/how-to/give-up.md.
    :Known values: By default, V*(start) = B* = T* = 13.7880, and the uniformly random policy costs 325.57.

    Examples
    --------
    >>> import goalward as gw
    >>> gw.worlds.grid_map("S.#\n..G", success=0.9)
    SSP(states=4, actions=4, transitions=52, costs=1, initial_state=0)
    >>> gw.worlds.grid_map('''
    ...     ~ = 2.5
    ...     wind = 0 1 0
    ...     S~.
    ...     .OG''')
    SSP(states=5, actions=4, transitions=48, unavailable=4, costs=1..2.5, initial_state=0)
    """
    drawn = read_drawing(text)
    check_size(*drawn.cells.shape)
    S = np.count_nonzero(drawn.free)
    number = np.full(drawn.cells.shape, WALL, dtype=np.int32)
    number[drawn.free] = np.arange(S)
    number[drawn.cells == GOAL] = S
    start = int(number[drawn.cells == START][0])
    ssp = grid_ssp(number, start, success, drawn.wind)
    return ssp if drawn.plain else on_ground(ssp, drawn)


def on_ground(ssp: SSP, drawn: Drawing) -> SSP:
    """Return the model with the pits and costs of a map, and a layout with the characters and the wind of the map."""
    assert ssp.layout is not None
    rows, columns = drawn.cells.shape
    ground = "".join(drawn.cells.ravel().tolist())
    layout = GridLayout(rows, columns, ssp.layout.cells, ssp.layout.goals, ground, drawn.wind)
    costs = np.repeat(drawn.costs[drawn.free], 4).reshape(-1, 4)
    pits = (drawn.cells == PIT)[drawn.free]
    return restrict_actions(ssp._replace(costs=costs, layout=layout), np.repeat(~pits, 4).reshape(-1, 4))


def check_size(rows: int, columns: int) -> None:
    """Raise SettingError if a grid has too many cells for 32-bit state numbers or for the memory."""
    limit = int(np.iinfo(np.int32).max)
    if rows * columns > limit:
        raise SettingError(f"a grid of {rows} x {columns} has {rows * columns} cells; at most {limit} are allowed")
    check_memory(f"a grid of {rows} x {columns} cells", BYTES_PER_CELL * rows * columns)


def grid_ssp(number: Int32s, initial_state: int, success: float, wind: Sequence[int] | None = None) -> SSP:
    """Return the model of a grid; `number` has a state number, S (a goal) or `WALL` for each cell."""
    S = int(number.max())
    cells = np.flatnonzero((number >= 0) & (number < S))
    weights = np.full((4, 4), (1.0 - success) / 3.0)
    np.fill_diagonal(weights, success)

    indptr = np.zeros(4 * S + 1, dtype=np.int64)
    successors = np.empty(16 * S, dtype=np.int32)
    probabilities = np.empty(16 * S)
    used = 0
    for first in range(0, S, PIECE):
        counts, targets, mass = slippery_rows(neighbours(number, cells[first : first + PIECE], wind), weights)
        indptr[4 * first + 1 : 4 * first + 1 + len(counts)] = counts
        successors[used : used + len(targets)] = targets
        probabilities[used : used + len(targets)] = mass
        used += len(targets)
    np.cumsum(indptr, out=indptr)
    # Shrink in place: a slice would keep the longer array, and a copy would need the memory twice.
    successors.resize(used, refcheck=False)
    probabilities.resize(used, refcheck=False)
    rows, columns = number.shape
    layout = GridLayout(rows, columns, cells, np.flatnonzero(number == S))
    check_least(indptr, probabilities, pair_name(4))
    # The rows are already canonical: sorted, merged, without zeros. The tests compare them with SSP.from_dense.
    return SSP._trusted(indptr, successors, probabilities, np.ones((S, 4)), initial_state, None, DIRECTIONS, layout)


def slippery_rows(reached: Int32s, weights: Floats) -> tuple[Int64s, Int32s, Floats]:
    """Return three arrays for the transitions of some states: row lengths, successors and probabilities.

    ``reached[state, direction]`` is the next state after a move, and ``weights[action, direction]`` is its probability.
    Directions that lead to the same next state are merged; `slot` is the position of a direction after merging.
    """
    states = np.arange(len(reached))
    order = np.argsort(reached, axis=1, kind="stable")
    ends = np.take_along_axis(reached, order, axis=1)
    slot = np.zeros(ends.shape, dtype=np.intp)
    np.cumsum(ends[:, 1:] != ends[:, :-1], axis=1, out=slot[:, 1:])

    merged = np.zeros_like(reached)
    mass = np.zeros((len(reached), 4, 4))
    for rank in range(4):
        merged[states, slot[:, rank]] = ends[:, rank]
        mass[states, :, slot[:, rank]] += weights[:, order[:, rank]].T
    entries = mass > 0.0
    successors = np.broadcast_to(merged[:, np.newaxis, :], mass.shape)[entries]
    return np.count_nonzero(entries, axis=2).ravel(), successors, mass[entries]
