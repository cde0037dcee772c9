"""From a table of transitions with names of any kind to compressed rows.

Complaints about single tuples name the tuple, complaints about rows name state and action as the table does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.errors import CostError, ProbabilityError, ShapeError, StateError
from goalward.model.build import ROW_SUM_TOLERANCE, CompressedRows, numbers

__all__ = ["Table", "Transition", "read_transitions"]

Transition = tuple[Hashable, Hashable, Hashable, float, float]


class Table(NamedTuple):
    """What a table of transitions says: checked tuple by tuple, states and actions numbered."""

    rows: CompressedRows
    costs: NDArray[np.float64]
    initial_state: int
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]


def read_transitions(
    transitions: Iterable[Transition], goals: Iterable[Hashable], initial_state: Hashable | None, normalize: bool
) -> Table:
    """Give the states and actions of a table of transitions numbers and sort it into rows."""
    table = list(transitions)
    goal_set = checked_table(table, goals)
    check_name(initial_state, "initial_state is")
    states: dict[Hashable, int] = {}
    actions: dict[Hashable, int] = {}
    for state, action, *_ in table:
        if state not in goal_set:
            states.setdefault(state, len(states))
            actions.setdefault(action, len(actions))
    stranger = next((entry for entry in table if entry[2] not in states and entry[2] not in goal_set), None)
    if stranger is not None:
        raise StateError(
            f"state {stranger[2]!r}, reached from {stranger[0]!r} by {stranger[1]!r}, has no transitions of its own"
            " and is no goal; add it to goals or give it an action"
        )
    if not states:
        raise ShapeError("every state of the table is a goal; give transitions that start somewhere else")
    start = next(iter(states)) if initial_state is None else initial_state
    if start not in states:
        raise StateError(
            f"initial_state {start!r} is not a non-goal state of the table; it has {', '.join(map(repr, states))}"
        )

    entries = [entry for entry in table if entry[0] not in goal_set]
    S, A = len(states), len(actions)
    rows = np.array([states[entry[0]] * A + actions[entry[1]] for entry in entries], dtype=np.int64)
    successors = np.array([states.get(entry[2], S) for entry in entries], dtype=np.int64)
    probabilities = numbers("the column of probabilities", [entry[3] for entry in entries])
    paid = numbers("the column of costs", [entry[4] for entry in entries])
    check_numbers(entries, probabilities, paid)
    mass = np.asarray(np.bincount(rows, weights=probabilities, minlength=S * A), dtype=np.float64)
    off = np.flatnonzero((mass[rows] == 0.0) | ((np.abs(mass[rows] - 1.0) > ROW_SUM_TOLERANCE) & (not normalize)))
    if len(off):
        state, action = entries[off[0]][:2]
        remedy = "pass normalize=True to rescale" if mass[rows[off[0]]] else "leave out what cannot happen"
        raise ProbabilityError(
            f"the transitions of (state {state!r}, action {action!r}) sum to {mass[rows[off[0]]]:.12g};"
            f" probabilities must sum to 1 within {ROW_SUM_TOLERANCE:g}: {remedy}"
        )
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(S * A + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=S * A), out=indptr[1:])
    return Table(
        (indptr, successors[order], probabilities[order]),
        mean_costs(rows, probabilities, paid, mass).reshape(S, A),
        states[start],
        tuple(map(str, states)),
        tuple(map(str, actions)),
    )


def checked_table(table: list[Transition], goals: Iterable[Hashable]) -> set[Hashable]:
    """Check that a table consists of transitions, some of which lead to each goal; return the goals."""
    if not table:
        raise ShapeError("there are no transitions; give tuples (state, action, next state, probability, cost)")
    for number, entry in enumerate(table):
        if not isinstance(entry, tuple | list) or len(entry) != 5:
            raise ShapeError(
                f"transition {number} is {entry!r}; it must be (state, action, next state, probability, cost)"
            )
        for name, does in zip(entry, ("starts in", "plays", "leads to"), strict=False):
            check_name(name, f"transition {number} {does}")
    if isinstance(goals, str) or not isinstance(goals, Iterable):
        raise StateError(f"goals is {goals!r}; pass a list of states, even for one goal")
    wanted = list(goals)
    for goal in wanted:
        check_name(goal, "goals holds")
    reached = {entry[2] for entry in table}
    missing = [goal for goal in wanted if goal not in reached]
    if not wanted or missing:
        found = f"goal {missing[0]!r} is never a next state" if missing else "goals is empty"
        raise StateError(f"{found}; name goals that some transition leads to")
    return set(wanted)


def check_name(name: object, found: str) -> None:
    """Check that something can name a state or an action; lists and arrays cannot."""
    try:
        hash(name)
    except TypeError:
        raise StateError(
            f"{found} {name!r}, a {type(name).__name__}; names of states and actions must be hashable throughout,"
            " such as a text, a number or a tuple of them"
        ) from None


def check_numbers(entries: list[Transition], probabilities: NDArray[np.float64], paid: NDArray[np.float64]) -> None:
    """Check the probability and the cost of every transition on its own, before averages can hide a fault."""
    bad = np.flatnonzero(~((probabilities >= 0.0) & (probabilities <= 1.0 + ROW_SUM_TOLERANCE)))
    if len(bad):
        raise ProbabilityError(
            f"transition {entries[bad[0]]!r} has probability {probabilities[bad[0]]:g}; probabilities lie in [0, 1]"
        )
    bad = np.flatnonzero(~((paid >= 0.0) & (paid < np.inf)))
    if len(bad):
        raise CostError(
            f"transition {entries[bad[0]]!r} has cost {paid[bad[0]]:g}; costs must be finite and not negative:"
            " to forbid an action, leave its transitions out"
        )


def mean_costs(
    rows: NDArray[np.int64], probabilities: NDArray[np.float64], paid: NDArray[np.float64], mass: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each row's mean cost; where all its transitions name one price, exactly that."""
    price = np.zeros(len(mass))
    price[rows] = paid
    several = np.bincount(rows, weights=paid != price[rows], minlength=len(mass)) > 0
    # Weights that sum to one before they meet the costs keep the mean between the smallest and the largest price.
    shares = probabilities / mass[rows]
    return np.where(several, np.bincount(rows, weights=shares * paid, minlength=len(mass)), price)
