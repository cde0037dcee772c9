"""Grids with a plan: four rooms, mazes, wind, ground of different cost."""

from __future__ import annotations

import numpy as np

from goalward.settings import checked_integer, checked_number
from goalward.ssp.layout import GridLayout
from goalward.ssp.model import SSP
from goalward.worlds.base import register
from goalward.worlds.grid import DIRECTIONS, check_size, grid_map, grid_world

__all__ = ["four_rooms", "maze", "sand_grid", "windy_grid"]

WIND = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)


@register("four-rooms-v0")
def four_rooms(side: int = 4, success: float = 0.85) -> SSP:
    """FourRooms: a square of four rooms joined by four doors.

    Description
    -----------
    The rooms of Sutton, Precup and Singh (1999): most steps stay inside a room, and few cells lead out of it.

    States
    ------
    The free cells, row by row: four rooms of `side` times `side` cells and four doors, without the goal.

    Actions
    -------
    As in GridWorld.

    Transitions
    -----------
    As in GridWorld, with probability `success` in the direction of the action; a step into a wall stays.

    Costs
    -----
    1 for every action.

    Start and goal
    --------------
    From the top left cell to the bottom right one. The doors are in the middle of the walls.

    Known values
    ------------
    Default settings: V*(start) = 20.1865.

    Version history
    ---------------
    v0: first version.
    """
    n = checked_integer("side", side, 1)
    check_size(2 * n + 1, 2 * n + 1)
    cells = np.full((2 * n + 1, 2 * n + 1), ".")
    cells[n, :] = cells[:, n] = "#"
    doors = [n // 2, n + 1 + n // 2]
    cells[n, doors] = cells[doors, n] = "."
    cells[0, 0], cells[-1, -1] = "S", "G"
    return grid_map("\n".join("".join(row) for row in cells), success)


@register("maze-v0")
def maze(rows: int = 4, columns: int = 4, openings: int = 0, success: float = 0.85, seed: int = 0) -> SSP:
    """Maze: narrow passages, with one way between any two cells unless walls are opened.

    Description
    -----------
    A maze carved by a random walk that backs up where it is stuck. What is learnt in one passage says nothing about
    another, and dead ends have to be tried.

    States
    ------
    The `rows` times `columns` cells and the gaps between those that are joined, row by row, without the goal.

    Actions
    -------
    As in GridWorld.

    Transitions
    -----------
    As in GridWorld, with probability `success` in the direction of the action; a step into a wall stays. All draws come
    from ``numpy.random.default_rng(seed)``.

    Costs
    -----
    1 for every action.

    Start and goal
    --------------
    From the top left cell to the bottom right one. `openings` of the walls between cells are opened afterwards.

    Known values
    ------------
    Default settings: V*(start) = 14.9219.

    Version history
    ---------------
    v0: first version.
    """
    R, C = checked_integer("rows", rows, 1), checked_integer("columns", columns, 2)
    rng = np.random.default_rng(checked_integer("seed", seed, 0))
    check_size(2 * R - 1, 2 * C - 1)
    cells = np.full((2 * R - 1, 2 * C - 1), "#")
    cells[0, 0] = "."
    path = [(0, 0)]
    while path:
        row, column = path[-1]
        ahead = [(row + down, column + right) for down, right in ((0, -2), (0, 2), (-2, 0), (2, 0))]
        ahead = [(r, c) for r, c in ahead if 0 <= r < 2 * R - 1 and 0 <= c < 2 * C - 1 and cells[r, c] == "#"]
        if not ahead:
            path.pop()
            continue
        there = ahead[rng.integers(len(ahead))]
        cells[there] = cells[(row + there[0]) // 2, (column + there[1]) // 2] = "."
        path.append(there)
    walls = [(r, c) for r, c in np.argwhere(cells == "#").tolist() if (r + c) % 2]
    for wall in rng.permutation(len(walls))[: checked_integer("openings", openings, 0, len(walls))]:
        cells[walls[wall]] = "."
    cells[0, 0], cells[-1, -1] = "S", "G"
    return grid_map("\n".join("".join(row) for row in cells), success)


@register("sand-grid-v0")
def sand_grid(rows: int = 6, columns: int = 6, success: float = 0.85, cost_min: float = 0.01, seed: int = 0) -> SSP:
    """SandGrid: a slippery grid on ground that is dear to cross in some cells and cheap in others.

    Description
    -----------
    GridWorld with costs of very different size, so that the shortest way is not the cheapest.

    States
    ------
    As in GridWorld.

    Actions
    -------
    As in GridWorld.

    Transitions
    -----------
    As in GridWorld.

    Costs
    -----
    Every action from a cell costs the same: ``cost_min ** u`` with u uniform on [0, 1) for each cell, drawn from
    ``numpy.random.default_rng(seed)``, so the logarithms of the costs are uniform.

    Start and goal
    --------------
    From the top left cell to the bottom right one.

    Known values
    ------------
    Default settings: V*(start) = 0.9111.

    Version history
    ---------------
    v0: first version.
    """
    grid = grid_world(rows, columns, success)
    least = checked_number("cost_min", cost_min, 1e-12, 1.0)
    exponents = np.random.default_rng(checked_integer("seed", seed, 0)).random(grid.states)
    return grid.with_costs(np.repeat(least**exponents, 4).reshape(-1, 4))


@register("windy-grid-v0")
def windy_grid(gusts: float = 0.0) -> SSP:
    """WindyGrid: a wind across the middle of a grid carries the walker upwards.

    Description
    -----------
    The windy grid of Sutton and Barto (1998, example 6.5).

    States
    ------
    The 7 times 10 cells, row by row, without the goal cell.

    Actions
    -------
    As in GridWorld.

    Transitions
    -----------
    One cell in the direction of the action and as many up as the wind of the column says: 0 0 0 1 1 1 2 2 1 0. Where
    there is wind, with probability `gusts` each it is one stronger or one weaker. One stops at the edge.

    Costs
    -----
    1 for every action.

    Start and goal
    --------------
    From the first cell of the fourth row to its eighth cell.

    Known values
    ------------
    Without gusts V*(start) = 15.0000, the 15 steps that the book prints.

    Version history
    ---------------
    v0: first version.
    """
    share = checked_number("gusts", gusts, 0.0, 0.5)
    goal = (3, 7)
    cells = [(row, column) for row in range(7) for column in range(10) if (row, column) != goal]
    number = {cell: state for state, cell in enumerate(cells)} | {goal: len(cells)}
    P = np.zeros((len(cells), 4, len(cells) + 1))
    for (row, column), state in number.items():
        for action, (down, right) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0))):
            for change, chance in ((0, 1.0 - 2.0 * share), (-1, share), (1, share)):
                if state < len(cells):
                    wind = WIND[column] + (change if WIND[column] else 0)
                    there = min(max(row + down - wind, 0), 6), min(max(column + right, 0), 9)
                    P[state, action, number[there]] += chance
    places = np.array([row * 10 + column for row, column in cells])
    layout = GridLayout(7, 10, places, np.array([goal[0] * 10 + goal[1]]), wind=WIND)
    start = number[3, 0]
    return SSP.from_dense(P, np.ones((len(cells), 4)), start, action_names=DIRECTIONS, layout=layout)
