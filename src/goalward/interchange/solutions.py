"""Writes values and policies to CSV files, with one row ``state,action,value,lower,upper`` for each state.

The action is empty if the goal cannot be reached from the state. If `goal_first` was used to solve the model,
the file has an additional column ``goal_probability``.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from goalward.errors import FileError
from goalward.files import write_bytes
from goalward.interchange.explicit import unique_names
from goalward.ssp.model import SSP

if TYPE_CHECKING:
    from goalward.planning.solve import Solution


def check_ending(path: Path) -> None:
    """Raise FileError unless `path` ends in ``.csv``."""
    if path.suffix != ".csv":
        raise FileError(f"{path}: solutions are stored as .csv, not as {path.suffix!r}; use a name that ends in .csv")


def write_solution(path: Path, ssp: SSP, solution: Solution) -> None:
    """Write the solution of a model to a CSV file."""
    check_ending(path)
    columns = {"value": solution.values, "lower": solution.lower, "upper": solution.upper}
    if (chances := getattr(solution, "goal_probability", None)) is not None:
        columns["goal_probability"] = chances
    states = unique_names([ssp.state_name(state) for state in range(ssp.states)])
    actions = unique_names([ssp.action_name(action) for action in range(ssp.actions)])
    played = ["" if action < 0 else actions[action] for action in solution.policy.tolist()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["state", "action", *columns])
    writer.writerows(zip(states, played, *(column.tolist() for column in columns.values()), strict=True))
    write_bytes(path, text.getvalue().encode("utf-8", "replace"))
