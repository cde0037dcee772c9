"""Read and check maps drawn with characters.

`goalward.worlds.grid_map` describes the format. Lines before the map may also set the cost of ``.`` and ``S``. Every
character that is not predefined needs a line with its cost.
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

    `cells` has the characters, and `costs` has the cost of a step from each cell. `wind` has one number for each
    column: the wind carries the walker up by this many cells. `wind` is None if the map has no wind.
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
        """Whether each cell is a state. All cells except walls and goals are states."""
        return np.asarray((self.cells != WALL) & (self.cells != GOAL))


def read_drawing(text: str) -> Drawing:
    """Return the map that `text` draws; raises SettingError, which names the invalid row, character or line."""
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
        raise SettingError(f"wind has {len(wind)} numbers for {cells.shape[1]} columns; write one number per column")
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
            f"the line {mark} = {value} before the map is not valid; set the wind, or set the cost of a character to"
            f" at least 0, such as ~ = 5. The characters {', '.join(FIXED)} cannot have a cost"
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
        raise SettingError(f"the map is empty; write one line of text per row: {USUAL}")
    known = {*prices, *FIXED}
    for row, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise SettingError(
                f"row {row} of the map has {len(line)} cells, but row 0 has {len(lines[0])}; make all rows equally long"
            )
        unknown = next((column for column, cell in enumerate(line) if cell not in known), None)
        if unknown is not None:
            shown = "a blank or a tab" if line[unknown].isspace() else repr(line[unknown])
            raise SettingError(
                f"row {row}, column {unknown} of the map is {shown}; write {USUAL}, or set the cost of another"
                " character in a line before the map, such as ~ = 5"
            )
    return np.array([list(line) for line in lines])
