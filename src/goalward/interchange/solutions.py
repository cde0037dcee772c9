"""Values and policies in CSV files: a row ``state,action,value,lower,upper`` for each state.

There is no action where the goal cannot be reached. Where the solution puts the goal first, ``goal_probability`` is one
more column, which is not read back. Bounds that are read were proved when they were written, not now; `solve` with the
solution as its start proves them again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, GoalwardError, UnknownNameError
from goalward.files import check_regular, write_bytes
from goalward.interchange.columns import Source
from goalward.interchange.explicit import unique_names
from goalward.ssp.model import SSP

if TYPE_CHECKING:
    from goalward.planning.solve import Solution

NUMBERS = ("value", "lower", "upper")
GOAL_PROBABILITY = "goal_probability"
Numbers = tuple[Floats, Int64s, Floats, Floats]
"""The values of a solution, its policy, the lower and the upper bounds."""


def check_ending(path: Path) -> None:
    """Raise FileError if solutions are not stored in files with this ending."""
    if path.suffix != ".csv":
        raise FileError(f"{path}: a solution is stored as .csv; the ending is {path.suffix!r}")


def write_solution(path: Path, ssp: SSP, solution: Solution) -> None:
    """Write a solution."""
    check_ending(path)
    columns = dict(zip(NUMBERS, (solution.values, solution.lower, solution.upper), strict=True))
    if (chances := getattr(solution, GOAL_PROBABILITY, None)) is not None:
        columns[GOAL_PROBABILITY] = chances
    states, actions = names_of(ssp)
    played = ["" if action < 0 else actions[action] for action in solution.policy.tolist()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["state", "action", *columns])
    writer.writerows(zip(states, played, *(column.tolist() for column in columns.values()), strict=True))
    write_bytes(path, text.getvalue().encode("utf-8", "replace"))


def names_of(ssp: SSP) -> tuple[list[str], list[str]]:
    """Return names of states and of actions; repeated ones get a number."""
    states = unique_names([ssp.state_name(state) for state in range(ssp.states)])
    return states, unique_names([ssp.action_name(action) for action in range(ssp.actions)])


def read_numbers(path: Path, ssp: SSP) -> Numbers:
    """Read a solution of a model; raise FileError if it does not fit the model."""
    check_ending(path)
    check_regular(path)
    try:
        source = Source(path, NUMBERS)
        source.require("state", "action", *NUMBERS)
        values, lower, upper = (source.floats(name) for name in NUMBERS)
        state_names, action_names = names_of(ssp)
        states = known_numbers(source, "state", state_names)
        rows = np.bincount(states, minlength=ssp.states)
        if (rows != 1).any():
            state = int(np.argmax(rows != 1))
            raise FileError(f"state {state_names[state]!r} has {rows[state]} rows; each state needs one")
        # The name of an action may be the empty text, which stands for no action where the value is infinite.
        played = np.full(source.rows, -1)
        played[values < np.inf] = known_numbers(source, "action", action_names, values < np.inf)
        order = np.argsort(states)
        numbers = values[order], played[order], lower[order], upper[order]
        check(ssp, numbers)
    except GoalwardError as error:
        raise FileError(f"{path}: {error}") from None
    return numbers


def known_numbers(source: Source, column: str, known: Sequence[str], rows: Bools | None = None) -> Int64s:
    """Return the numbers of the names in a column, in all rows or in some."""
    number = {name: index for index, name in enumerate(known)}
    codes, names = source.names(column, "")
    numbers = np.array([number.get(name, -1) for name in names])[codes]
    unknown = (numbers < 0) if rows is None else (numbers < 0) & rows
    if unknown.any():
        row = int(np.argmax(unknown))
        raise FileError(f"{UnknownNameError(column, names[codes[row]], known)}{source.location(row)}")
    return numbers if rows is None else numbers[rows]


def check(ssp: SSP, numbers: Numbers) -> None:
    """Refuse numbers that are no solution of the model."""
    values, policy, lower, upper = numbers
    plays = policy >= 0
    unavailable = plays & ~ssp.available[np.arange(ssp.states), np.where(plays, policy, 0)]
    bounded = (values >= 0.0) & (lower >= 0.0) & (lower <= upper)
    for wrong, fault in (
        (~bounded, "must have bounds of which the lower is not above the upper, and no negative numbers"),
        (unavailable, "has an action that is not available there"),
        (plays != (values < np.inf), "must have an action if and only if its value is finite"),
    ):
        if wrong.any():
            raise FileError(f"state {ssp.state_name(int(np.argmax(wrong)))!r} {fault}; write the solution again")
