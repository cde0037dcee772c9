"""Numbers for the names of states and actions, so that arrays can be indexed by them.

Names that are all integers close to each other are their own numbers, counted from the smallest: no name is looked up.
Others are looked up in a dictionary and numbered in order of appearance.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Hashable, Sequence
from contextlib import suppress
from itertools import count
from operator import index, itemgetter

import numpy as np

from goalward.arrays import Floats, Int64s

__all__ = ["NameNumbers", "packed_floats"]

SPARSE = 4  # integers are their own numbers if at least one in four of their range may be in use


class NameNumbers:
    """Gives numbers to the names of some columns, batch by batch; equal names of different columns get the same."""

    def __init__(self, columns: int):
        self.parts: list[list[Int64s]] = [[] for _ in range(columns)]
        self.numbers: dict[Hashable, int] = defaultdict(count().__next__)
        self.plain = True  # all names so far are integers, and kept as they are
        self.names: Sequence[Hashable] = ()

    def add(self, *columns: Sequence[Hashable]) -> None:
        """Take the next names of each column; raise TypeError if one is not hashable."""
        if self.plain:
            found = [packed_integers(names) for names in columns]
            integers = [part for part in found if part is not None]
            if len(integers) == len(found):
                for part, numbers in zip(self.parts, integers, strict=True):
                    part.append(numbers)
                return
            self.look_up_all()
        for part, names in zip(self.parts, columns, strict=True):
            part.append(self.look_up(names))

    def columns(self) -> list[Int64s]:
        """Return the numbers of each column; `names` then has the name of each number."""
        if self.plain:
            least = min(int(part.min()) for parts in self.parts for part in parts)
            largest = max(int(part.max()) for parts in self.parts for part in parts)
            seen = sum(len(part) for parts in self.parts for part in parts)
            if largest - least < SPARSE * seen:
                self.names = range(least, largest + 1)
                return [np.concatenate(parts) - least for parts in self.parts]
            self.look_up_all()
        self.names = list(self.numbers)
        return [np.concatenate(parts) for parts in self.parts]

    def number(self, name: Hashable) -> int:
        """Return the number of a name; -1 if there is none, or any number that no column has."""
        if not self.plain:
            return self.numbers.get(name, -1)
        with suppress(TypeError):
            name = index(name)  # type: ignore[arg-type]  # integers of NumPy are found faster so
        return self.names.index(name) if name in self.names else -1

    def look_up(self, names: Sequence[Hashable]) -> Int64s:
        """Return the numbers that the dictionary has for names; new ones for those that it does not have."""
        if len(names) == 1:
            return np.array([self.numbers[names[0]]])
        return np.frombuffer(struct.pack(f"{len(names)}q", *itemgetter(*names)(self.numbers)), dtype=np.int64)

    def look_up_all(self) -> None:
        """Replace integers by their numbers in the dictionary, in the order in which they came."""
        self.plain = False
        for batch in range(len(self.parts[0])):
            for part in self.parts:
                part[batch] = self.look_up(part[batch].tolist())


def packed_integers(values: Sequence[object]) -> Int64s | None:
    """Return Python integers as an array; None if anything else is among them, or one has more than 64 bits."""
    if set(map(type, values)) != {int}:
        return None
    try:
        return np.frombuffer(struct.pack(f"{len(values)}q", *values), dtype=np.int64)
    except struct.error:
        return None


def packed_floats(values: Sequence[object]) -> Floats | None:
    """Return Python numbers as an array; None if anything else is among them, or one is too large."""
    if not set(map(type, values)) <= {float, int}:
        return None
    try:
        return np.frombuffer(struct.pack(f"{len(values)}d", *values))
    except struct.error:
        return None
