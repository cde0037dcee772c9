"""From a table of transitions with names of any kind to compressed rows.

A table is kept as columns: names as numbers in order of appearance, probabilities and costs as floats. `encode` makes
columns of tuples batch by batch, so that a generator of millions of tuples is never held as a whole;
`interchange/tables.py` makes them of files. `rows_of` checks columns of either kind and sorts them into rows.

Messages about single transitions name the transition. Messages about rows name state and action as the table does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, compress, islice
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import CostError, ProbabilityError, ShapeError, StateError
from goalward.ssp.checks import ROW_SUM_TOLERANCE, CompressedRows, number_array
from goalward.ssp.name_numbers import NameNumbers, packed_floats

__all__ = [
    "LARGEST_PAIRS",
    "Columns",
    "ModelRows",
    "Transition",
    "by_appearance",
    "check_name",
    "encode",
    "mean_costs",
    "read_transitions",
    "rows_of",
]

Transition = tuple[Hashable, Hashable, Hashable, float, float]
BATCH = 2048  # tuples that stay in a processor's cache while their columns are read one after the other
LARGEST_PAIRS = 1 << 27


class Columns(NamedTuple):
    """A table of transitions as columns; `state_names[states[i]]` is where transition i starts."""

    states: Int64s
    actions: Int64s
    next_states: Int64s
    probabilities: Floats
    costs: Floats
    state_names: Sequence[Hashable]
    action_names: Sequence[Hashable]

    def entry(self, number: int) -> Transition:
        """Return a transition as a tuple."""
        return (
            self.state_names[self.states[number]],
            self.action_names[self.actions[number]],
            self.state_names[self.next_states[number]],
            float(self.probabilities[number]),
            float(self.costs[number]),
        )

    def part(self, kept: Bools) -> Columns:
        """Return the transitions under a mask."""
        return self._replace(**{name: getattr(self, name)[kept] for name in self._fields[:5]})


class ModelRows(NamedTuple):
    """What a table of transitions says: checked, states and actions numbered."""

    rows: CompressedRows
    costs: Floats
    initial_state: int
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]


def read_transitions(
    transitions: Iterable[Transition], goals: Iterable[Hashable], initial_state: Hashable | None, normalize: bool
) -> ModelRows:
    """Give the states and actions of a table of tuples numbers and sort it into rows."""
    if isinstance(goals, str) or not isinstance(goals, Iterable):
        raise StateError(f"goals is {goals!r}; pass a list of states, even for one goal")
    wanted = list(goals)
    columns, states = encode(transitions, wanted)
    for goal in wanted:
        check_name(goal, "goals holds")
    check_name(initial_state, "initial_state is")
    reached = np.zeros(len(columns.state_names) + 1, dtype=np.bool_)
    reached[columns.next_states] = True
    missing = next((goal for goal in wanted if not reached[states.number(goal)]), None)
    if not wanted or missing is not None:
        found = "goals is empty" if not wanted else f"goal {missing!r} is never a next state"
        raise StateError(f"{found}; name goals that some transition leads to")
    is_goal = np.zeros(len(columns.state_names), dtype=np.bool_)
    is_goal[[states.number(goal) for goal in wanted]] = True
    start = -1
    if initial_state is not None and (start := states.number(initial_state)) < 0:
        start = len(columns.state_names)
    return rows_of(columns, is_goal, start, initial_state, normalize, lambda row: "", duplicates=True)


def encode(transitions: Iterable[Transition], goals: Sequence[Hashable]) -> tuple[Columns, NameNumbers]:
    """Make columns of tuples; also return the numbers of the states' names.

    Probabilities and costs of goals mean nothing, so they may be anything.
    """
    states, actions = NameNumbers(2), NameNumbers(1)
    probabilities: list[Floats] = []
    costs: list[Floats] = []
    remaining = iter(transitions)
    seen = 0
    while batch := list(islice(remaining, BATCH)):
        if not set(map(type, batch)) <= {tuple, list} or set(map(len, batch)) != {5}:
            check_tuples(batch, seen)
        flat: list[Any] = list(chain.from_iterable(batch))
        starts = flat[::5]
        try:
            states.add(starts, flat[2::5])
            actions.add(flat[1::5])
        except TypeError:
            check_names(batch, seen)
            raise
        probabilities.append(float_column(flat[3::5], "the column of probabilities", starts, goals))
        costs.append(float_column(flat[4::5], "the column of costs", starts, goals))
        seen += len(batch)
    if not seen:
        raise ShapeError("there are no transitions; give tuples (state, action, next state, probability, cost)")
    start, end = states.columns()
    (played,) = actions.columns()
    shares, paid = np.concatenate(probabilities), np.concatenate(costs)
    return Columns(start, played, end, shares, paid, states.names, actions.names), states


def float_column(given: list[Any], name: str, starts: list[Hashable], goals: Sequence[Hashable]) -> Floats:
    """Return a column of numbers; NaN where the transition starts in a goal and has none."""
    packed = packed_floats(given)
    if packed is not None:
        return packed
    try:
        return number_array(name, given)
    except ShapeError:
        kept = [start not in goals for start in starts]
        values = np.full(len(given), np.nan)
        values[kept] = number_array(name, list(compress(given, kept)))
        return values


def check_tuples(batch: list[Transition], first: int) -> None:
    for number, entry in enumerate(batch, first):
        if not isinstance(entry, tuple | list) or len(entry) != 5:
            raise ShapeError(
                f"transition {number} is {entry!r}; it must be (state, action, next state, probability, cost)"
            )


def check_names(batch: list[Transition], first: int) -> None:
    for number, entry in enumerate(batch, first):
        for name, does in zip(entry, ("starts in", "plays", "leads to"), strict=False):
            check_name(name, f"transition {number} {does}")


def check_name(name: object, found: str) -> None:
    """Raise StateError if something cannot name a state or an action; `found` begins the message."""
    try:
        hash(name)
    except TypeError:
        raise StateError(
            f"{found} {name!r}, a {type(name).__name__}; names of states and actions must be hashable throughout,"
            " such as a text, a number or a tuple of them"
        ) from None


def rows_of(
    columns: Columns,
    is_goal: Bools,
    start: int,
    start_name: object,
    normalize: bool,
    place: Callable[[int], str],
    *,
    duplicates: bool,
) -> ModelRows:
    """Check columns and sort them into rows.

    `is_goal` is a mask over `state_names`. `start` is a number among these, -1 for the first non-goal state, or
    beyond them for a name that the table does not have. `place` says where a row of the table is, for messages.
    Transitions that are there twice are added up if `duplicates` says so, and refused otherwise.
    """
    if is_goal[columns.states].any():
        kept = ~is_goal[columns.states]
        origin, columns, whole = np.flatnonzero(kept), columns.part(kept), place

        def place(row: int) -> str:
            return whole(int(origin[row]))

    states, old_states = by_appearance(columns.states, len(columns.state_names))
    actions, old_actions = by_appearance(columns.actions, len(columns.action_names))
    S, A = len(old_states), len(old_actions)
    if not S:
        raise ShapeError("every state of the table is a goal; give transitions that start somewhere else")
    states[is_goal] = S
    next_states = states[columns.next_states]
    if next_states.min() < 0:
        row = int(np.argmin(next_states))
        state, action, stranger, *_ = columns.entry(row)
        raise StateError(
            f"state {stranger!r}, reached from {state!r} by {action!r}{place(row)}, has no transitions of its own"
            " and is not a goal; add it to goals or give it an action"
        )
    initial_state = 0 if start < 0 else int(states[start]) if start < len(states) else -1
    if not 0 <= initial_state < S:
        raise StateError(
            f"initial_state {start_name!r} is not a non-goal state of the table; {listed(columns, old_states)}"
        )
    if S * A > LARGEST_PAIRS:
        raise ShapeError(
            f"the table has {S} states and {A} actions, {S * A} pairs; the most is {LARGEST_PAIRS}:"
            " call actions alike where different states have different names for them"
        )
    rows = states[columns.states] * A + actions[columns.actions]
    mass = check_numbers(columns, rows, S * A, normalize, place)
    matrix = sparse.coo_array((columns.probabilities, (rows, next_states)), shape=(S * A, S + 1)).tocsr()
    if matrix.nnz < len(rows) and not duplicates:
        check_duplicates(columns, rows, place)
    return ModelRows(
        (matrix.indptr, matrix.indices, matrix.data),
        mean_costs(rows, columns.probabilities, columns.costs, mass).reshape(S, A),
        initial_state,
        tuple(map(str, map(columns.state_names.__getitem__, old_states.tolist()))),
        tuple(map(str, map(columns.action_names.__getitem__, old_actions.tolist()))),
    )


def check_duplicates(columns: Columns, rows: Int64s, place: Callable[[int], str]) -> None:
    """Refuse a transition that is there twice; different goals are different here."""
    keys = rows * len(columns.state_names) + columns.next_states
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if len(again):
        second = again[np.argmin(order[again + 1])]
        first, repeated = int(order[second]), int(order[second + 1])
        raise ShapeError(
            f"the transition{place(repeated)} is the same as the one{place(first)}, {columns.entry(first)[:3]!r};"
            " keep one, or pass sum_duplicates=True (--sum-duplicates) to add them up"
        )


def by_appearance(codes: Int64s, size: int) -> tuple[Int64s, Int64s]:
    """Give codes numbers in order of appearance: the number of each code (-1 if it is absent) and the reverse."""
    first = np.full(size, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    old = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    new = np.full(size, -1, dtype=np.int64)
    new[old] = np.arange(len(old))
    return new, old


def listed(columns: Columns, numbers: Int64s) -> str:
    names = ", ".join(repr(columns.state_names[number]) for number in numbers[:20])
    return f"it has {names}" + (f" and {len(numbers) - 20} more" if len(numbers) > 20 else "")


def check_numbers(columns: Columns, rows: Int64s, size: int, normalize: bool, place: Callable[[int], str]) -> Floats:
    """Check each probability and cost on its own, before averages can hide a fault; return the sum of each row."""
    probabilities, costs = columns.probabilities, columns.costs
    bad = ~((probabilities >= 0.0) & (probabilities <= 1.0 + ROW_SUM_TOLERANCE))
    if bad.any():
        entry = int(np.argmax(bad))
        raise ProbabilityError(
            f"transition {columns.entry(entry)!r}{place(entry)} has probability {probabilities[entry]:g};"
            " probabilities lie in [0, 1]"
        )
    bad = ~((costs >= 0.0) & (costs < np.inf))
    if bad.any():
        entry = int(np.argmax(bad))
        raise CostError(
            f"transition {columns.entry(entry)!r}{place(entry)} has cost {costs[entry]:g};"
            " costs must be finite and not negative:"
            " to forbid an action, leave its transitions out"
        )
    mass: Floats = np.bincount(rows, weights=probabilities, minlength=size).astype(np.float64, copy=False)
    sums = mass[rows]
    off = (sums == 0.0) | ((np.abs(sums - 1.0) > ROW_SUM_TOLERANCE) & (not normalize))
    if off.any():
        entry = int(np.argmax(off))
        state, action, *_ = columns.entry(entry)
        remedy = "pass normalize=True to rescale (--normalize)" if sums[entry] else "leave out what cannot happen"
        first = f", the first{where}," if (where := place(entry)) else ""
        raise ProbabilityError(
            f"the transitions of (state {state!r}, action {action!r}){first} sum to {sums[entry]:.12g};"
            f" probabilities must sum to 1 within {ROW_SUM_TOLERANCE:g}: {remedy}"
        )
    return mass


def mean_costs(rows: Int64s, probabilities: Floats, paid: Floats, mass: Floats) -> Floats:
    """Return each row's mean cost; where all its transitions name one price, exactly that."""
    price = np.zeros(len(mass))
    price[rows] = paid
    differs = paid != price[rows]
    if not differs.any():
        return price
    several = np.bincount(rows, weights=differs, minlength=len(mass)) > 0
    # Weights that sum to one before they meet the costs keep the mean between the smallest and the largest price.
    shares = probabilities / mass[rows]
    return np.where(several, np.bincount(rows, weights=shares * paid, minlength=len(mass)), price)
