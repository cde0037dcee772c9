"""Models on maps: grids in two and three dimensions, rooms, mazes, a race track and a road network with flat tyres.

In all of them, moves sometimes fail. In the grids, a move into a wall has no effect.
"""

from __future__ import annotations

import numpy as np

from models import Model, from_entries, grid

__all__ = ["box", "drunk_grid", "maze", "racetrack", "rescue_grid", "rooms", "tireworld"]

DIRECTIONS = np.array([[-1, 0], [0, -1], [0, 1], [1, 0]])


def rescue_grid(side: int, chance: float) -> Model:
    """Return `models.grid` with an additional probability `chance` of reaching the goal in every step."""
    model = grid(side)
    rows, successors = entry_rows(model), model["successors"]
    states, actions = model["costs"].shape
    every = np.arange(states * actions)
    return from_entries(
        np.concatenate([rows, every]),
        np.concatenate([successors, np.full(len(every), states)]),
        np.concatenate([model["probabilities"] * (1.0 - chance), np.full(len(every), chance)]),
        model["costs"],
    )


def entry_rows(model: Model) -> np.ndarray:
    return np.repeat(np.arange(len(model["indptr"]) - 1), np.diff(model["indptr"]))


def walk(cells: np.ndarray, steps: np.ndarray, open_moves: np.ndarray, success: float, costs: np.ndarray) -> Model:
    """Return a model with a state for each cell of a map; the last cell is the goal.

    A move in direction d adds `steps[d]` to the number of cell i if `open_moves[i, d]`; otherwise it has no effect. An
    action moves in its own direction with probability `success`, and otherwise in a random other direction.
    """
    directions = len(steps)
    target = np.where(open_moves, cells[:, None] + steps, cells[:, None])[:-1]
    slip = (1.0 - success) / (directions - 1)
    share = np.full((directions, directions), slip) + (success - slip) * np.eye(directions)
    states = len(cells) - 1
    rows = np.arange(states * directions).reshape(states, directions, 1)
    shape = (states, directions, directions)
    return from_entries(
        np.broadcast_to(rows, shape).ravel(),
        np.broadcast_to(target[:, None, :], shape).ravel(),
        np.broadcast_to(share, shape).ravel(),
        costs,
    )


def plane(lines: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cell numbers of a rectangle, the change of the number by direction, and which moves stay inside."""
    cells = np.arange(lines * columns)
    line, column = np.divmod(cells, columns)
    inside = np.stack([line > 0, column > 0, column < columns - 1, line < lines - 1], axis=1)
    return cells, DIRECTIONS @ np.array([columns, 1]), inside


def drunk_grid(side: int, success: float = 0.28) -> Model:
    """Return a grid in which actions hardly matter: a random walk with a little drift."""
    cells, steps, inside = plane(side, side)
    return walk(cells, steps, inside, success, np.ones((len(cells) - 1, 4)))


def box(side: int) -> Model:
    """Return a cube of cells with moves in six directions."""
    cells = np.arange(side**3)
    place = np.stack(np.unravel_index(cells, (side,) * 3), axis=1)
    units = np.concatenate([-np.eye(3, dtype=np.int64), np.eye(3, dtype=np.int64)])
    moved = place[:, None, :] + units
    inside = ((moved >= 0) & (moved < side)).all(axis=2)
    return walk(cells, units @ np.array([side * side, side, 1]), inside, 0.75, np.ones((len(cells) - 1, 6)))


def rooms(side: int, room: int, seed: int) -> Model:
    """Return a square of square rooms; each wall between two rooms has one door."""
    rng = np.random.default_rng(seed)
    cells, steps, inside = plane(side, side)
    line, column = np.divmod(cells, side)
    count = side // room + 1
    door = rng.integers(0, room, (2, count, count))
    for direction, (step, along, across) in enumerate(
        zip(DIRECTIONS.sum(axis=1), (line, column, column, line), (column, line, line, column), strict=True)
    ):
        crosses = (along + step) // room != along // room
        wall = np.minimum((along + step) // room, along // room)
        horizontal = int(direction in (1, 2))
        at_door = across % room == door[horizontal, wall, across // room]
        inside[:, direction] &= ~crosses | at_door
    return walk(cells, steps, inside, 0.85, np.ones((len(cells) - 1, 4)))


def maze(side: int, seed: int) -> Model:
    """Return a maze without cycles: a random spanning tree of the square, from a randomised depth-first search."""
    rng = np.random.default_rng(seed)
    cells, steps, inside = plane(side, side)
    passage = np.zeros_like(inside)
    seen = np.zeros(len(cells), dtype=bool)
    path = [len(cells) - 1]
    seen[path[0]] = True
    while path:
        here = path[-1]
        ways = [d for d in range(4) if inside[here, d] and not seen[here + steps[d]]]
        if not ways:
            path.pop()
            continue
        way = ways[rng.integers(len(ways))]
        there = here + int(steps[way])
        passage[here, way] = passage[there, 3 - way] = seen[there] = True
        path.append(there)
    return walk(cells, steps, passage, 0.85, np.ones((len(cells) - 1, 4)))


def tireworld(side: int, seed: int) -> Model:
    """Return a square road network; a drive may end with a flat tyre, and a third of the places have spare tyres.

    A state says where the car is, whether it carries a spare, and whether a tyre is flat. Actions: drive in four
    directions, load a spare, repair. A repair costs 1 with a spare and 50 without.
    """
    rng = np.random.default_rng(seed)
    places = side * side
    cells, steps, inside = plane(side, side)
    has_spare, flat = np.meshgrid([0, 1], [0, 1], indexing="ij")
    place = np.repeat(cells, 4)
    spare, flat = np.tile(has_spare.ravel(), places), np.tile(flat.ravel(), places)
    number = np.arange(4 * places)
    goal_place = places - 1
    states = 4 * goal_place  # the last place is the goal
    stocked = rng.random(places) < 1 / 3
    puncture = rng.uniform(0.1, 0.4, places)
    rows, targets, shares = [], [], []

    def add(states_in: np.ndarray, action: int, place_to: np.ndarray, spare_to: int | np.ndarray,
            flat_to: int | np.ndarray, share: float | np.ndarray) -> None:  # fmt: skip
        target = np.where(place_to == goal_place, states, 4 * place_to + 2 * spare_to + flat_to)
        rows.append(states_in * 6 + action)
        targets.append(target)
        shares.append(np.broadcast_to(share, target.shape))

    alive = place != goal_place
    for direction, step in enumerate(steps):
        drives = number[alive & (flat == 0) & inside[place, direction]]
        to = place[drives] + step
        add(drives, direction, to, spare[drives], 0, 1.0 - puncture[to])
        add(drives, direction, to, spare[drives], 1, puncture[to])
    loads = number[alive & (flat == 0) & (spare == 0) & stocked[place]]
    add(loads, 4, place[loads], 1, 0, 1.0)
    mends = number[alive & (flat == 1)]
    add(mends, 5, place[mends], 0, 0, 1.0)
    costs = np.ones((states, 6))
    costs[:, 5] = np.where(spare[:states] == 1, 1.0, 50.0)
    return from_entries(np.concatenate(rows), np.concatenate(targets), np.concatenate(shares), costs)


def racetrack(width: int, height: int, thickness: int, fastest: int = 4) -> Model:
    """Return a race around a ring of cells; a state is a cell and a velocity, and an action is an acceleration.

    An acceleration fails with probability 0.1. A car that leaves the track stops at its last cell on the track. The
    goal is to cross the line behind the start in the right direction.
    """
    track = np.ones((height, width), dtype=bool)
    track[thickness:-thickness, thickness:-thickness] = False
    cell = np.full(track.shape, -1)
    cell[track] = np.arange(track.sum())
    speeds = 2 * fastest + 1
    states = int(track.sum()) * speeds**2
    line, column = np.nonzero(track)
    place, velocity = np.divmod(np.arange(states), speeds**2)
    down, right = velocity // speeds - fastest, velocity % speeds - fastest
    rows, targets, shares = [], [], []
    for action in range(9):
        for works, share in ((1, 0.9), (0, 0.1)):
            new_down = np.clip(down + works * (action // 3 - 1), -fastest, fastest)
            new_right = np.clip(right + works * (action % 3 - 1), -fastest, fastest)
            y, x, hit, home = drive(track, line[place], column[place], new_down, new_right, thickness)
            speed = np.where(hit, fastest * speeds + fastest, (new_down + fastest) * speeds + new_right + fastest)
            rows.append(np.arange(states) * 9 + action)
            targets.append(np.where(home, states, cell[y, x] * speeds**2 + speed))
            shares.append(np.full(states, share))
    start = int(cell[thickness, 0]) * speeds**2 + fastest * speeds + fastest
    return from_entries(
        np.concatenate(rows), np.concatenate(targets), np.concatenate(shares), np.ones((states, 9)), start
    )


def drive(
    track: np.ndarray, line: np.ndarray, column: np.ndarray, down: np.ndarray, right: np.ndarray, thickness: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Move cars cell by cell; return their rows, their columns, which cars left the track, and which finished.

    The start is below the upper left corner, and cars drive downwards. The finish is that corner, from the right.
    """
    height, width = track.shape
    y, x = line.copy(), column.copy()
    hit, home = np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
    pieces = int(max(np.abs(down).max(), np.abs(right).max()))
    for piece in range(1, pieces + 1):
        to_y = line + np.rint(down * piece / pieces).astype(int)
        to_x = column + np.rint(right * piece / pieces).astype(int)
        inside = (to_y >= 0) & (to_y < height) & (to_x >= 0) & (to_x < width)
        inside[inside] = track[to_y[inside], to_x[inside]]
        # The edge between the corner and the start is closed, so that no car can finish backwards.
        inside &= ~((y >= thickness) & (x < thickness) & (to_y < thickness))
        moving = ~hit & ~home
        hit |= moving & ~inside
        go = moving & inside
        y, x = np.where(go, to_y, y), np.where(go, to_x, x)
        home |= go & (y < thickness) & (x < thickness)
    return y, x, hit & ~home, home
