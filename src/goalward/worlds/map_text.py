"""Read and check maps drawn with characters.

`goalward.worlds.grid_map` describes the format. Lines before the map may also set the cost of ``.`` and ``S``; every
other character that is not predefined needs a line with its cost.
"""

from __future__ import annotations

import math
import re
import textwrap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.arrays import Bools, Floats
from goalward.errors import SettingError

START, GOAL, WALL, FREE, PIT = "S", "G", "#", ".", "O"
USUAL = f"{START} start, {GOAL} goal, {WALL} wall, {FREE} free, {PIT} pit"
FIXED = (GOAL, WALL, PIT)
HEADER = re.compile(r"\s*(\S+)\s*=\s*(.*\S)\s*")


class Drawing(NamedTuple):
    """A map that was read from text.

    `cells` holds the characters, `costs` the cost of a step from each cell, and `wind` the number of cells that the
    wind of each column carries upwards, or None.
    """

    cells: NDArray[np.str_]
    costs: Floats
    wind: tuple[int, ...] | None

    @property
    def plain(self) -> bool:
        """Whether the map has neither pits nor wind, and all costs are 1."""
        return self.wind is None and not (self.cells == PIT).any() and bool((self.costs == 1.0).all())

    @property
    def free(self) -> Bools:
        """Whether each cell is a state: all cells except walls and goals are."""
        return np.asarray((self.cells != WALL) & (self.cells != GOAL))


def read_drawing(text: str) -> Drawing:
    """Return the map in a text; raises SettingError with the wrong row, character or line."""
    lines = textwrap.dedent(text.expandtabs()).splitlines()
    prices: dict[str, float] = {FREE: 1.0, START: 1.0}
    wind: tuple[int, ...] | None = None
    while lines and (not lines[0].strip() or HEADER.fullmatch(lines[0])):
        header = HEADER.fullmatch(lines.pop(0))
        if header is None:
            continue
        name, value = header.groups()
        if name == "wind":
            wind = read_wind(value)
        else:
            prices[name] = read_price(name, value)
    cells = read_cells("\n".join(lines), prices)
    if wind is not None and len(wind) != cells.shape[1]:
        raise SettingError(f"wind has {len(wind)} numbers, but the map has {cells.shape[1]} columns; write one each")
    starts, goals = (int(np.count_nonzero(cells == mark)) for mark in (START, GOAL))
    if starts != 1:
        raise SettingError(f"the map has {starts} starts; mark exactly one cell with {START}")
    if not goals:
        raise SettingError(f"the map has no goal; mark at least one cell with {GOAL}")
    costs = np.ones(cells.shape)
    for mark, price in prices.items():
        costs[cells == mark] = price
    return Drawing(cells, costs, wind)


def read_price(mark: str, value: str) -> float:
    try:
        price = float(value)
    except ValueError:
        price = math.nan
    if len(mark) != 1 or mark in FIXED or not 0.0 <= price < math.inf:
        raise SettingError(
            f"{mark} = {value} is not valid before the map; write the cost of a character, at least 0, such as ~ = 5,"
            f" or the wind; {', '.join(FIXED)} have no cost"
        )
    return price


def read_wind(value: str) -> tuple[int, ...]:
    try:
        return tuple(int(force) for force in value.replace(",", " ").split())
    except ValueError:
        raise SettingError(f"wind is {value}; it must be one integer per column, such as 0 0 1 1 0") from None


def read_cells(text: str, prices: dict[str, float]) -> NDArray[np.str_]:
    """Return the characters of a map; raises SettingError for unknown characters or rows of different lengths."""
    lines = [line.rstrip() for line in textwrap.dedent(text).rstrip().splitlines()]
    if not lines:
        raise SettingError(f"the map is empty; draw it with {USUAL}, one line per row")
    known = {*prices, *FIXED}
    for row, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise SettingError(
                f"row {row} of the map has {len(line)} cells, but row 0 has {len(lines[0])}; rows must be equally long"
            )
        unknown = next((column for column, cell in enumerate(line) if cell not in known), None)
        if unknown is not None:
            shown = "a blank or a tab" if line[unknown].isspace() else repr(line[unknown])
            raise SettingError(
                f"row {row}, column {unknown} of the map is {shown}; it must be {USUAL}, or a character with a cost"
                " line before the map, such as ~ = 5"
            )
    return np.array([list(line) for line in lines])
