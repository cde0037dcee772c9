"""Triangle Tireworld: a drive on which every mile may cost a tyre."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from goalward.settings import Share
from goalward.ssp.model import SSP
from goalward.worlds.base import register

Step = tuple["Car | str", float, float]


class Car(NamedTuple):
    """Where the car is, counted from 1, and its tyres: is one flat, is a spare in the boot, is one lying here."""

    row: int
    column: int
    flat: bool
    loaded: bool
    here: bool

    def __str__(self) -> str:
        tyres = {"flat": self.flat, "spare loaded": self.loaded, "spare here": self.here}
        return ", ".join([f"{self.row}-{self.column}", *(name for name, there in tyres.items() if there)])


@register("triangle-tireworld-v0")
def triangle_tireworld(size: Annotated[int, Ge(1), Le(100)] = 2, flat: Share = 0.5) -> SSP:
    """TriangleTireworld: the short way to the goal may strand the car, the longest one never does.

    The problem of Little and Thiebaux (2007) from the planning competition of 2008. Roads are one-way and form a
    triangle. The direct road has no spare tyres, so planners that go for the shortest way get stuck. Every other place
    has a spare or is next to one: the way over the top of the triangle is sure.

    :States: What can be reached of: the place (row and column), whether a tyre is flat, whether a spare is loaded,
        whether one lies here. There are ``2 size + 1`` rows, the first of as many places, each further row of one less.
    :Actions: right, up, down (along roads, with all tyres good), load (a spare that lies here), change (a flat tyre for
        a loaded spare), wait (where nothing else can be done).
    :Transitions: A drive arrives, and with probability `flat` a tyre is flat then. Odd rows have roads to the right,
        and from every place but the last one up; even rows lead down to the next column, and from every odd column up;
        from odd columns of higher odd rows a road leads down. Spares lie in even rows, and at both ends of the odd ones
        above the first.
    :Costs: 1 for every action.
    :Start and goal: From the first to the last place of the first row.
    :Known values: V*(start) = 11.8594 with the default settings. With ``size=1`` it is 6.25, by hand: with all tyres
        good at 2-1 one loads the spare and takes the direct road (3.5 from there), otherwise one goes over the top (7).
    """
    last = 2 * size + 1

    def spare(row: int, column: int) -> bool:
        return row % 2 == 0 or (row > 1 and column in (1, last + 1 - row))

    def roads(row: int, column: int) -> Iterator[tuple[str, tuple[int, int]]]:
        length = last + 1 - row
        if row % 2 == 1 and column < length:
            yield "right", (row, column + 1)
            yield "up", (row + 1, column)
        if row % 2 == 0 and column % 2 == 1:
            yield "up", (row + 1, column)
        if row > 1 and (row % 2 == 0 or column % 2 == 1):
            yield "down", (row - 1, column + 1)

    def actions(car: Car) -> list[str]:
        names = [] if car.flat else [name for name, _ in roads(car.row, car.column)]
        names += ["load"] * (car.here and not car.loaded) + ["change"] * (car.flat and car.loaded)
        return names or ["wait"]

    def successors(car: Car, action: str) -> list[Step]:
        if action == "wait":
            return [(car, 1.0, 1.0)]
        if action == "load":
            return [(car._replace(loaded=True, here=False), 1.0, 1.0)]
        if action == "change":
            return [(car._replace(flat=False, loaded=False), 1.0, 1.0)]
        row, column = dict(roads(car.row, car.column))[action]
        if (row, column) == (1, last):
            return [("goal", 1.0, 1.0)]
        return [
            (Car(row, column, burst, car.loaded, spare(row, column)), share, 1.0)
            for burst, share in ((True, flat), (False, 1.0 - flat))
            if share > 0.0
        ]

    start = Car(1, 1, flat=False, loaded=False, here=False)
    return SSP.from_successors(start, actions, successors, goal="goal")
