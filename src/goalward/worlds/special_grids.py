"""Grids with walls, wind or unequal costs. Some are from the UC-SSP paper (Tarbouriech et al., ICML 2020)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from goalward.settings import Count, NotNegative, Share, Size, between, check
from goalward.ssp.model import SSP
from goalward.worlds.base import register
from goalward.worlds.grid import check_size, grid_map, grid_world

WIND = "wind = 0 0 0 1 1 1 2 2 1 0"


@register("four-rooms-v0")
def four_rooms(side: Size = 4, success: Share = 0.85) -> SSP:
    """FourRooms: a square of four rooms joined by four doors.

    These are the rooms of Sutton, Precup and Singh (1999). Most steps stay inside a room, and few cells lead out of it.
    Actions, transitions, costs, start and goal are those of GridWorld.

    :States: All free cells except the goal, row by row. Each of the four rooms has `side` times `side` cells. There is
        a door in the middle of each wall between two rooms.
    :Known values: V*(start) = 20.1865 with the default settings.
    """
    n = side
    check_size(2 * n + 1, 2 * n + 1)
    cells = np.full((2 * n + 1, 2 * n + 1), ".")
    cells[n, :] = cells[:, n] = "#"
    doors = [n // 2, n + 1 + n // 2]
    cells[n, doors] = cells[doors, n] = "."
    cells[0, 0], cells[-1, -1] = "S", "G"
    return grid_map("\n".join("".join(row) for row in cells), success)


@register("maze-v0")
def maze(
    rows: Size = 4, columns: Annotated[int, Ge(2)] = 4, openings: Count = 0, success: Share = 0.85, seed: Count = 0
) -> SSP:
    """Maze: narrow passages with exactly one path between any two cells, unless `openings` adds more.

    A random depth-first search with ``numpy.random.default_rng(seed)`` draws the maze. Then `openings` random walls
    between cells are opened. The agent must try the passages one by one, including blind alleys. Actions, transitions,
    costs, start and goal are those of GridWorld.

    :States: The `rows` times `columns` cells and the gaps between connected cells, row by row. The goal is not a state.
    :Known values: V*(start) = 14.9219 with the default settings.
    """
    R, C, rng = rows, columns, np.random.default_rng(seed)
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
    for wall in rng.permutation(len(walls))[: check("openings", openings, between(0, len(walls)))]:
        cells[walls[wall]] = "."
    cells[0, 0], cells[-1, -1] = "S", "G"
    return grid_map("\n".join("".join(row) for row in cells), success)


@register("sand-grid-v0")
def sand_grid(
    rows: Size = 6,
    columns: Size = 6,
    success: Share = 0.85,
    cost_min: Annotated[float, Ge(1e-12), Le(1.0)] = 0.01,
    seed: Count = 0,
) -> SSP:
    """SandGrid: a slippery grid with random costs, which are high in some cells and low in others.

    The costs have very different sizes, so the shortest path is not the cheapest path. States, actions, transitions,
    start and goal are those of GridWorld.

    :Costs: All actions in a cell cost ``cost_min ** u``. For each cell, ``numpy.random.default_rng(seed)`` draws u
        uniformly from [0, 1). So the logarithms of the costs are uniform.
    :Known values: V*(start) = 0.9111 with the default settings.
    """
    grid = grid_world(rows, columns, success)
    exponents = np.random.default_rng(seed).random(grid.states)
    return grid.with_costs(np.repeat(cost_min**exponents, 4).reshape(-1, 4))


@register("windy-grid-v0")
def windy_grid() -> SSP:
    """WindyGrid: wind in the middle columns of a grid carries the walker upwards.

    This is the windy grid of Sutton and Barto (1998, example 6.5).
    Actions and costs are those of GridWorld.

    :States: All 7 times 10 cells except the goal, row by row.
    :Transitions: The walker moves one cell in the direction of the action. Then the wind carries the walker up by 0 0 0
        1 1 1 2 2 1 0 cells (one number for each column). The edge stops the walker.
    :Start and goal: The start is the first cell of the fourth row, and the goal is the eighth cell of that row.
    :Known values: V*(start) = 15.0000, as in the book.
    """
    rows = [".........."] * 3
    return grid_map("\n".join([WIND, *rows, "S......G..", *rows]), success=1.0)


@register("sand-pit-v0")
def sand_pit(cost: Share = 0.1, success: Share = 0.95) -> SSP:
    """SandPit: a small slippery grid on which one cell costs more than all others.

    This is the grid of the UC-SSP paper with sand in the middle. If `cost` is smaller, a longer detour around the sand
    is worthwhile, and c_min is smaller. Actions, transitions, start and goal are those of GridWorld.

    :States: The states of GridWorld with 3 rows and 4 columns.
    :Costs: In the sand (row 1, column 1), every action costs 1. In all other cells, every action costs `cost`.
    :Known values: V*(start) = 0.5470 with the default settings. The paper prints 2.66, 0.55, 0.07 and 0.02 for the
        costs 0.5, 0.1, 0.01 and 0.001.
    """
    return grid_map(f". = {cost!r}\nS = {cost!r}\n~ = 1\nS...\n.~..\n...G", success)


@register("free-corner-v0")
def free_corner(cost: Share = 0.4, success: Share = 0.95) -> SSP:
    """FreeCorner: a small slippery grid on which the first four cells cost nothing.

    This is the grid of the UC-SSP paper with some zero costs. Algorithms that divide by the smallest cost need a
    variant. There are no zero-cost loops, because every policy eventually slips out of the corner. Actions,
    transitions, start and goal are those of GridWorld.

    :States: The states of GridWorld with 3 rows and 4 columns.
    :Costs: In rows 0 and 1 of columns 0 and 1, actions cost 0. In all other cells, actions cost `cost`.
    :Known values: V*(start) = 0.8642 with the default settings.
    """
    return grid_map(f". = {cost!r}\nS = 0\n, = 0\nS,..\n,,..\n...G", success)


@register("self-loop-v0")
def self_loop(stay_cost: NotNegative = 0.1, exit_cost: NotNegative = 1.0) -> SSP:
    """SelfLoop: stay in the only state at a low cost per step, or pay once to reach the goal.

    This is the smallest world in which the policy with the lowest average cost per step never reaches the goal. So
    methods that minimise the average cost stay forever. The first figure of the UC-SSP paper shows this world.

    :States: The start is the only state.
    :Actions: stay and exit.
    :Transitions: Both actions are deterministic. stay has no effect, and exit reaches the goal.
    :Costs: stay costs `stay_cost`, and exit costs `exit_cost`.
    :Start and goal: The start is the only state.
    :Known values: V*(start) = exit_cost, which is 1.0000 with the default settings.
    """
    transitions, costs = np.array([[[1.0, 0.0], [0.0, 1.0]]]), [[stay_cost, exit_cost]]
    return SSP.from_dense(transitions, costs, action_names=("stay", "exit"))
