"""Racetrack: drive round a bend without leaving the track."""

from __future__ import annotations

from itertools import product
from typing import Annotated

from annotated_types import Ge, Le

from goalward.settings import Share
from goalward.ssp.model import SSP
from goalward.worlds.base import register
from goalward.worlds.map_text import GOAL, START, read_drawing

__all__ = ["racetrack"]

BEND = """\
####......G
###.......G
##........G
#.........G
#.....#####
#....######
#....######
#....######
#.S..######
"""
Drive = tuple[int, int, int, int]


@register("racetrack-v0")
def racetrack(track: str = BEND, slip: Share = 0.1, fastest: Annotated[int, Ge(1), Le(20)] = 3) -> SSP:
    """Racetrack: a car with inertia goes round a bend as fast as it dares.

    The racetrack of Barto, Bradtke and Singh (1995), on a small track. Who is fast cannot turn; who leaves the track
    starts again. States are positions with speeds, so there is no picture.

    States
        What can be reached of: row, column, and the speeds down and right, each from -`fastest` to `fastest`.
    Actions
        Nine accelerations: -1, 0 or 1 down and -1, 0 or 1 to the right.
    Transitions
        The acceleration is added to the speed, but with probability `slip` it is not; then the car moves by its speed.
        What lies under the straight line is passed, cell by cell. A car that leaves the track is back at the start and
        stands.
    Costs
        1 for every action.
    Start and goal
        The start is the cell ``S`` of the track, at rest; the goal is to get to or through a cell ``G``. The track is a
        map as `grid_map` reads it, of the characters ``S G # .``.
    Known values
        V*(start) = 5.3340 with the default settings.
    """
    cells = read_drawing(track).cells
    marks = {(row, column): str(cells[row, column]) for row, column in product(*map(range, cells.shape))}
    row, column = next(cell for cell, mark in marks.items() if mark == START)
    start: Drive = (row, column, 0, 0)

    def passed(drive: Drive) -> Drive | str:
        """Return where the car is after moving by its speed."""
        row, column, down, right = drive
        steps = max(abs(down), abs(right))
        for step in range(1, steps + 1):
            # The cell nearest to the line; a half goes to the larger number.
            below, beside = ((2 * speed * step + steps) // (2 * steps) for speed in (down, right))
            mark = marks.get((row + below, column + beside))
            if mark == GOAL:
                return "goal"
            if mark in (None, "#"):
                return start
        return row + down, column + right, down, right

    def successors(drive: Drive, action: tuple[int, int]) -> list[tuple[Drive | str, float, float]]:
        row, column, down, right = drive
        faster = (row, column, bounded(down + action[0], fastest), bounded(right + action[1], fastest))
        reached: dict[Drive | str, float] = {}
        for moved, share in ((faster, 1.0 - slip), (drive, slip)):
            if share > 0.0:
                there = passed(moved)
                reached[there] = reached.get(there, 0.0) + share
        return [(there, share, 1.0) for there, share in reached.items()]

    return SSP.from_successors(start, list(product((-1, 0, 1), repeat=2)), successors, goal="goal")


def bounded(speed: int, limit: int) -> int:
    """Return a speed within the limit."""
    return max(-limit, min(limit, speed))
