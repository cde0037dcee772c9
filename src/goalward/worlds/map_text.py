"""Maps drawn in characters, read and checked.

`goalward.worlds.grid_map` describes the format. Lines before the map may also give ``.`` and ``S`` a cost; every other
character needs a line that says its cost.
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

    `cells` holds the characters, `costs` what a step from each cell costs, `wind` how far the wind of each column
    carries upwards, or None.
    """

    cells: NDArray[np.str_]
    costs: Floats
    wind: tuple[int, ...] | None

    @property
    def plain(self) -> bool:
        """Whether it has neither pits nor wind, and all costs are 1."""
        return self.wind is None and not (self.cells == PIT).any() and bool((self.costs == 1.0).all())

    @property
    def free(self) -> Bools:
        """Which cells are states: all but walls and goals."""
        return np.asarray((self.cells != WALL) & (self.cells != GOAL))


def read_drawing(text: str) -> Drawing:
    """Read a map; raises SettingError with the row, the character or the line that is wrong."""
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
        raise SettingError(f"wind has {len(wind)} numbers, the map {cells.shape[1]} columns; give one for each")
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
            f"{mark} = {value} is not valid before the map; such a line gives a character its cost, a number from 0,"
            f" as ~ = 5 does, or the wind; {', '.join(FIXED)} have no cost"
        )
    return price


def read_wind(value: str) -> tuple[int, ...]:
    try:
        return tuple(int(force) for force in value.replace(",", " ").split())
    except ValueError:
        raise SettingError(f"wind is {value}; it must be an integer for each column, such as 0 0 1 1 0") from None


def read_cells(text: str, prices: dict[str, float]) -> NDArray[np.str_]:
    """Return the characters of a map, all known and all rows equally long."""
    lines = [line.rstrip() for line in textwrap.dedent(text).rstrip().splitlines()]
    if not lines:
        raise SettingError(f"the map is empty; draw it with {USUAL}, one line for each row")
    known = {*prices, *FIXED}
    for row, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise SettingError(
                f"row {row} of the map has {len(line)} cells, row 0 has {len(lines[0])}; all rows must be equally long"
            )
        unknown = next((column for column, cell in enumerate(line) if cell not in known), None)
        if unknown is not None:
            shown = "a blank or a tab" if line[unknown].isspace() else repr(line[unknown])
            raise SettingError(
                f"row {row}, column {unknown} of the map is {shown}; a cell is {USUAL}, or a character with its cost in"
                " a line before the map, such as ~ = 5"
            )
    return np.array([list(line) for line in lines])
