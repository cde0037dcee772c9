"""Values and policies in files: CSV for spreadsheets, UMB with the model for model checkers.

========  =========================================================================================================
``.csv``  one row for each state: ``state,action,value,lower,upper``; no action where the goal cannot be reached
``.umb``  the model, with annotations of the group goalward: ``value``, ``lower``, ``upper`` of states, ``policy`` of
          choices
========  =========================================================================================================

Where the solution puts the goal first, ``goal_probability`` is one more column or annotation; it is not read back.

Bounds that are read were proved when they were written, not now. `solve` with the solution as its start proves them
again.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, GoalwardError, UnknownNameError
from goalward.files import check_regular
from goalward.interchange import umb
from goalward.interchange.explicit import choices_of, unique_names
from goalward.ssp.model import SSP

if TYPE_CHECKING:
    from goalward.planning.solve import Solution

__all__ = ["Numbers", "check_ending", "read_numbers", "write_solution"]

COLUMNS = ["state", "action", "value", "lower", "upper"]
GOAL_PROBABILITY = "goal_probability"


class Numbers(NamedTuple):
    """What a file holds of a solution."""

    values: Floats
    policy: Int64s
    lower: Floats
    upper: Floats


def check_ending(path: Path) -> None:
    """Raise FileError if solutions are not stored in files with this ending."""
    if path.suffix not in (".csv", ".umb"):
        raise FileError(f"{path}: a solution is stored as .csv or .umb; the ending is {path.suffix!r}")


def write_solution(path: Path, ssp: SSP, solution: Solution) -> None:
    """Write a solution in the format that the ending of the path names."""
    check_ending(path)
    if path.suffix == ".umb":
        umb.write(path, ssp, solution_annotations(ssp, solution))
    else:
        umb.write_packed(path, csv_text(ssp, solution).encode("utf-8", "replace"))


def read_numbers(path: Path, ssp: SSP) -> Numbers:
    """Read a solution of a model; raise FileError if it does not fit the model."""
    check_ending(path)
    check_regular(path)
    try:
        numbers = from_umb(path, ssp) if path.suffix == ".umb" else from_csv(path, ssp)
        check(ssp, numbers)
    except GoalwardError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    return numbers


def unambiguous_names(ssp: SSP) -> tuple[list[str], list[str]]:
    """Return names of states and of actions; repeated ones get a number."""
    states = unique_names([ssp.state_name(state) for state in range(ssp.states)])
    return states, unique_names([ssp.action_name(action) for action in range(ssp.actions)])


def csv_text(ssp: SSP, solution: Solution) -> str:
    states, actions = unambiguous_names(ssp)
    played = ["" if action < 0 else actions[action] for action in solution.policy.tolist()]
    columns = [states, played, *(array.tolist() for array in (solution.values, solution.lower, solution.upper))]
    header = list(COLUMNS)
    if (chances := getattr(solution, GOAL_PROBABILITY, None)) is not None:
        header.append(GOAL_PROBABILITY)
        columns.append(chances.tolist())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def from_csv(path: Path, ssp: SSP) -> Numbers:
    states, actions = unambiguous_names(ssp)
    state_number = {name: number for number, name in enumerate(states)}
    action_number = {name: number for number, name in enumerate(actions)}
    policy = np.full(ssp.states, -1)
    numbers = np.full((3, ssp.states), np.nan)
    missing = set(states)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            records = csv.reader(file)
            header = next(records, [])
            if header not in (COLUMNS, [*COLUMNS, GOAL_PROBABILITY]):
                raise FileError(f"the first line is {','.join(header)!r:.60}; it must be {','.join(COLUMNS)}")
            for record in filter(None, records):
                line = f"line {records.line_num}"
                if len(record) != len(header):
                    raise FileError(f"{line} has {len(record)} fields; it must have {len(header)}")
                state, action, *values = record[: len(COLUMNS)]
                if state not in state_number:
                    raise FileError(f"{line}: {UnknownNameError('state', state, states[:5000])}")
                if action and action not in action_number:
                    raise FileError(f"{line}: {UnknownNameError('action', action, actions[:5000])}")
                if state not in missing:
                    raise FileError(f"{line}: state {state!r} is repeated")
                missing.remove(state)
                number = state_number[state]
                try:
                    numbers[:, number] = [float(value) for value in values]
                except ValueError:
                    raise FileError(f"{line}: {values!s:.60} are not three numbers") from None
                # The name of an action may be the empty text, which stands for none where the value is infinite.
                if action or numbers[0, number] < np.inf:
                    policy[number] = action_number.get(action, -1)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"is not a CSV file in UTF-8 ({error})") from None
    if missing:
        raise FileError(f"state {min(missing)!r} is missing; write the solution again")
    return Numbers(numbers[0], policy, numbers[1], numbers[2])


def solution_annotations(ssp: SSP, solution: Solution) -> dict[str, umb.Annotation]:
    """Return a solution as annotations of the states and choices that `umb.write` writes."""
    model = choices_of(ssp)
    owner = np.repeat(np.arange(ssp.states + 1), np.diff(model.state_choices))
    played = np.append(solution.policy, 0)[owner] == model.actions
    annotations = {
        name: umb.Annotation("states", np.append(array, 0.0))
        for name, array in (("value", solution.values), ("lower", solution.lower), ("upper", solution.upper))
    }
    if (chances := getattr(solution, GOAL_PROBABILITY, None)) is not None:
        annotations[GOAL_PROBABILITY] = umb.Annotation("states", np.append(chances, 1.0))
    return annotations | {"policy": umb.Annotation("choices", played & (owner < ssp.states))}


def from_umb(path: Path, ssp: SSP) -> Numbers:
    """Read the annotations of a UMB file that holds the same model."""
    archive = umb.Archive(path)
    annotations = archive.annotations("goalward")
    missing = next((name for name in ("value", "lower", "upper", "policy") if name not in annotations), None)
    if missing is not None:
        raise FileError(f"has no annotation {missing!r} of the group goalward; it holds a model without a solution")
    mine, theirs = choices_of(ssp), umb.explicit(archive)
    for array in ("state_choices", "choice_branches", "targets", "probabilities"):
        if not np.array_equal(getattr(mine, array), getattr(theirs, array)):
            raise FileError("holds another model; load the model that the solution belongs to")
    values, lower, upper = (
        archive.numbers(f"{folder}/states/values.bin", about["type"], archive.states)[:-1]
        for folder, about in (annotations[name] for name in ("value", "lower", "upper"))
    )
    played: Bools = archive.bits(f"{annotations['policy'][0]}/choices/values.bin", archive.choices)
    owner = np.repeat(np.arange(archive.states), np.diff(mine.state_choices))
    if np.bincount(owner[played], minlength=1).max(initial=0) > 1:
        raise FileError("its policy plays two choices in one state; write the solution again")
    policy = np.full(archive.states, -1)
    policy[owner[played]] = mine.actions[played]
    return Numbers(values, policy[:-1], lower, upper)


def check(ssp: SSP, numbers: Numbers) -> None:
    """Refuse numbers that are no solution of the model."""
    values, policy, lower, upper = numbers
    wrong = ~((values >= 0.0) & (lower >= 0.0) & (lower <= upper))
    if wrong.any():
        state = int(np.argmax(wrong))
        raise FileError(
            f"state {ssp.state_name(state)!r} has value {values[state]:g} and bounds {lower[state]:g} and"
            f" {upper[state]:g}; none is negative, and the lower bound comes first"
        )
    plays = policy >= 0
    wrong = plays & ~ssp.available[np.arange(ssp.states), np.where(plays, policy, 0)]
    if wrong.any():
        state = int(np.argmax(wrong))
        action = ssp.action_name(int(policy[state]))
        raise FileError(f"the action {action!r} of state {ssp.state_name(state)!r} is not available there")
    wrong = plays != (values < np.inf)
    if wrong.any():
        state = int(np.argmax(wrong))
        raise FileError(f"state {ssp.state_name(state)!r} must have an action if and only if its value is finite")
