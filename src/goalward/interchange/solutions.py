"""Values and policies in files: CSV for spreadsheets, JSON for programs, UMB with the model for model checkers.

========  =========================================================================================================
``.csv``  one row for each state: ``state,action,value,lower,upper``; no action where the goal cannot be reached
``.json`` the same as columns, with the digest of the model; infinite numbers are null
``.umb``  the model, with annotations of the group goalward: ``value``, ``lower``, ``upper`` of states, ``policy`` of
          choices
========  =========================================================================================================

Where the solution puts the goal first, ``goal_probability`` comes as one more column or annotation, to be looked at.

A file says what it says: bounds that are read were proved when they were written, not now. `solve` with the solution as
its start proves them anew.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, GoalwardError, UnknownNameError
from goalward.files import check_regular
from goalward.interchange import umb
from goalward.interchange.compression import write_packed
from goalward.interchange.explicit import choices_of, unique_names
from goalward.interchange.umb_archive import Archive
from goalward.ssp.model import SSP

if TYPE_CHECKING:
    from goalward.planning.solve import Solution

__all__ = ["Numbers", "check_ending", "read_numbers", "write_solution"]

ENDINGS = (".csv", ".json", ".umb")
COLUMNS = ("state", "action", "value", "lower", "upper")
CHANCE = "goal_probability"
FORMAT, VERSION = "goalward-solution", 1


class Numbers(NamedTuple):
    """What a file holds of a solution."""

    values: Floats
    policy: Int64s
    lower: Floats
    upper: Floats


def check_ending(path: Path) -> None:
    """Raise FileError if no solution is kept in files with this ending."""
    if path.suffix not in ENDINGS:
        raise FileError(f"{path}: a solution is kept in .csv, .json or .umb; the ending is {path.suffix!r}")


def write_solution(path: Path, ssp: SSP, solution: Solution) -> None:
    """Write a solution in the format that the ending of the path names."""
    check_ending(path)
    try:
        if path.suffix == ".umb":
            umb.write(path, ssp, solution_annotations(ssp, solution))
        else:
            text = csv_text(ssp, solution) if path.suffix == ".csv" else json_text(ssp, solution)
            write_packed(path, text.encode("utf-8", "replace"), "")
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def read_numbers(path: Path, ssp: SSP) -> Numbers:
    """Read a solution of a model; what does not fit the model is refused."""
    check_ending(path)
    check_regular(path)
    read = {".csv": from_csv, ".json": from_json, ".umb": from_umb}[path.suffix]
    try:
        numbers = read(path, ssp)
        check(ssp, numbers)
    except GoalwardError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    return numbers


def names(ssp: SSP) -> tuple[list[str], list[str]]:
    """Return names of states and actions of which each is there once."""
    states = unique_names([ssp.state_name(state) for state in range(ssp.states)])
    return states, unique_names([ssp.action_name(action) for action in range(ssp.actions)])


def rows(ssp: SSP, solution: Solution) -> Iterator[tuple[str, str | None, float, float, float]]:
    states, actions = names(ssp)
    chosen = [None if action < 0 else actions[action] for action in solution.policy.tolist()]
    yield from zip(
        states, chosen, solution.values.tolist(), solution.lower.tolist(), solution.upper.tolist(), strict=True
    )


def csv_text(ssp: SSP, solution: Solution) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    chances = getattr(solution, CHANCE, None)
    extra = [()] * ssp.states if chances is None else [(chance,) for chance in chances.tolist()]
    writer.writerow(COLUMNS if chances is None else (*COLUMNS, CHANCE))
    for row, chance in zip(rows(ssp, solution), extra, strict=True):
        writer.writerow(["" if cell is None else cell for cell in row] + list(chance))
    return text.getvalue()


def json_text(ssp: SSP, solution: Solution) -> str:
    columns = list(zip(*rows(ssp, solution), strict=True))
    finite = {
        name: [None if number == np.inf else number for number in column]
        for name, column in zip(COLUMNS, columns, strict=True)
    }
    about = {"format": FORMAT, "version": VERSION, "digest": ssp.digest}
    chances = getattr(solution, CHANCE, None)
    extra = {} if chances is None else {CHANCE: chances.tolist()}
    return json.dumps(about | finite | extra, allow_nan=False) + "\n"


def solution_annotations(ssp: SSP, solution: Solution) -> dict[str, umb.Annotation]:
    """Return a solution as annotations of the states and choices that `umb.write` writes."""
    model = choices_of(ssp)
    owner = np.repeat(np.arange(ssp.states + 1), np.diff(model.state_choices))
    played = np.append(solution.policy, 0)[owner] == model.actions
    found = {
        name: umb.Annotation("states", np.append(getattr(solution, attribute), 0.0))
        for name, attribute in (("value", "values"), ("lower", "lower"), ("upper", "upper"))
    }
    if (chances := getattr(solution, CHANCE, None)) is not None:
        found[CHANCE] = umb.Annotation("states", np.append(chances, 1.0))
    return found | {"policy": umb.Annotation("choices", played & (owner < ssp.states))}


def from_csv(path: Path, ssp: SSP) -> Numbers:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            records = csv.reader(file)
            header = next(records, [])
            extra = len(header) - len(COLUMNS) if header[len(COLUMNS) :] == [CHANCE] else 0
            if tuple(header[: len(header) - extra]) != COLUMNS:
                raise FileError(f"the first line is {','.join(header)!r:.60}; it must be {','.join(COLUMNS)}")
            cells = ((f"line {records.line_num}", record[: len(record) - extra]) for record in records if record)
            return collect(ssp, cells)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"is not a CSV file in UTF-8 ({error})") from None


def from_json(path: Path, ssp: SSP) -> Numbers:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"damaged, or not a file of goalward's ({error})") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("version") != VERSION:
        raise FileError(f"not a solution of goalward's (it does not say format {FORMAT!r}, version {VERSION})")
    if found.get("digest") != ssp.digest:
        raise FileError("is the solution of another model; load the model that it belongs to")
    columns: list[list[Any]] = []
    for name in COLUMNS:
        column = found.get(name)
        if not isinstance(column, list) or len(column) != ssp.states:
            raise FileError(f"{name} must be a list of {ssp.states} entries; write the solution again")
        columns.append(column)
    entries = zip(*columns, strict=True)
    return collect(ssp, ((f"entry {number}", entry) for number, entry in enumerate(entries)))


def collect(ssp: SSP, entries: Iterator[tuple[str, Sequence[Any]]]) -> Numbers:
    """Put entries (state, action, value, lower, upper) in the order of the states."""
    states, actions = names(ssp)
    place = {name: number for number, name in enumerate(states)}
    chosen = {name: number for number, name in enumerate(actions)}
    policy = np.full(ssp.states, -2)
    numbers = np.full((3, ssp.states), np.nan)
    for where, entry in entries:
        if len(entry) != len(COLUMNS):
            raise FileError(f"{where} has {len(entry)} fields; it must have {len(COLUMNS)}")
        state, action, *values = entry
        if not isinstance(state, str) or state not in place:
            raise FileError(f"{where}: {UnknownNameError('state', str(state), states[:5000])}")
        if action is not None and not (isinstance(action, str) and (action in chosen or action == "")):
            raise FileError(f"{where}: {UnknownNameError('action', str(action), actions[:5000])}")
        number = place[state]
        if policy[number] != -2:
            raise FileError(f"{where}: state {state!r} is there twice")
        try:
            numbers[:, number] = [np.inf if value is None else float(value) for value in values]
        except (TypeError, ValueError):
            raise FileError(f"{where}: {values!s:.60} are not three numbers") from None
        # An action may be called by the empty text that stands for none in a CSV file.
        plays = action is not None and (action != "" or numbers[0, number] < np.inf)
        policy[number] = chosen.get(action or "", -1) if plays else -1
    if (policy == -2).any():
        raise FileError(f"state {states[int(np.argmax(policy == -2))]!r} is missing; write the solution again")
    return Numbers(numbers[0], policy, numbers[1], numbers[2])


def from_umb(path: Path, ssp: SSP) -> Numbers:
    """Read the annotations of a UMB file that holds the same model."""
    archive = Archive(path)
    found = archive.annotations("goalward")
    missing = [name for name in ("value", "lower", "upper", "policy") if name not in found]
    if missing:
        raise FileError(f"has no annotation {missing[0]!r} of the group goalward; it holds a model without a solution")
    mine, theirs = choices_of(ssp), umb.explicit(archive)
    for array in ("state_choices", "choice_branches", "targets", "probabilities"):
        if not np.array_equal(getattr(mine, array), getattr(theirs, array)):
            raise FileError("holds another model; load the model that the solution belongs to")
    states = [
        archive.numbers(f"{found[name][0]}/states/values.bin", found[name][1]["type"], archive.states)[:-1]
        for name in ("value", "lower", "upper")
    ]
    played: Bools = archive.bits(f"{found['policy'][0]}/choices/values.bin", archive.choices)
    owner = np.repeat(np.arange(archive.states), np.diff(mine.state_choices))
    if np.bincount(owner[played], minlength=1).max(initial=0) > 1:
        raise FileError("its policy plays two choices in one state; write the solution again")
    policy = np.full(archive.states, -1)
    policy[owner[played]] = mine.actions[played]
    return Numbers(states[0], policy[:-1], states[1], states[2])


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
