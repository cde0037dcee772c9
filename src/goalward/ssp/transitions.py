"""Conversion of tuples, successor functions and dense arrays to compressed rows.

A table of transitions is stored as columns. Names are replaced by numbers in order of appearance; probabilities and
costs are floats. `encode` converts tuples to columns batch by batch, so a generator of millions of tuples is never in
memory as a whole. `interchange/tables.py` reads columns from files. `rows_of` checks the columns and converts them to
rows. Error messages use the names in the table.

`reachable_transitions` explores a successor function breadth first from the start, so the start is state 0 and other
states are numbered in order of their distance from the start. The successor function is never called for goals.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import ProbabilityError, ShapeError, StateError
from goalward.ssp.checks import check_costs, check_probabilities, number_array

Transition = tuple[Hashable, Hashable, Hashable, float, float]
Codes = Int32s | Int64s
BATCH = 2048  # tuples that stay in a processor's cache while their columns are read one after the other
BLOCK = 1 << 16
LARGEST_PAIRS = 1 << 27


class Columns(NamedTuple):
    """A table of transitions as columns; transition i starts in the state `state_names[states[i]]`."""

    states: Codes
    actions: Codes
    next_states: Codes
    probabilities: Floats
    costs: Floats
    state_names: Sequence[Hashable]
    action_names: Sequence[Hashable]

    def entry(self, number: int) -> Transition:
        """Return the transition `number` as a tuple."""
        return (
            self.state_names[self.states[number]],
            self.action_names[self.actions[number]],
            self.state_names[self.next_states[number]],
            float(self.probabilities[number]),
            float(self.costs[number]),
        )

    def select(self, rows: Bools | Int64s) -> Columns:
        """Return the transitions that `rows` (a mask or an index array) selects."""
        return self._replace(**{name: getattr(self, name)[rows] for name in self._fields[:5]})


def read_transitions(
    transitions: Iterable[Transition], goals: Iterable[Hashable], initial_state: Hashable | None, normalize: bool
) -> dict[str, Any]:
    """Return the arguments of `SSP.from_rows` for `transitions`, with numbers for states and actions."""
    return rows_of(encode(transitions), partial(goal_mask, goals=goals), initial_state, normalize, lambda row: "")


def encode(transitions: Iterable[Transition]) -> Columns:
    """Convert tuples of transitions to columns."""
    states: dict[Hashable, int] = defaultdict(count().__next__)
    actions: dict[Hashable, int] = defaultdict(count().__next__)
    batches: list[tuple[Any, ...]] = []
    remaining = iter(transitions)
    first = 0
    while batch := list(islice(remaining, BATCH)):
        if not (set(map(type, batch)) <= {tuple, list} and set(map(len, batch)) == {5}):
            for number, entry in enumerate(batch, first):
                if not isinstance(entry, tuple | list) or len(entry) != 5:
                    raise ShapeError(
                        f"transition {number} is {entry!r}; pass (state, action, next state, probability, cost)"
                    )
        flat: list[Any] = list(chain.from_iterable(batch))
        columns = [
            np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
            for numbers, names in ((states, flat[::5]), (actions, flat[1::5]), (states, flat[2::5]))
        ]
        probabilities = number_array("the column of probabilities", flat[3::5])
        batches.append((*columns, probabilities, number_array("the column of costs", flat[4::5])))
        first += len(batch)
    if not batches:
        raise ShapeError("there are no transitions; pass tuples (state, action, next state, probability, cost)")
    arrays: Any = (np.concatenate(pieces) for pieces in zip(*batches, strict=True))
    return Columns(*(*arrays, list(states), list(actions)))


def goal_mask(columns: Columns, goals: Iterable[Hashable]) -> Bools:
    """Return a mask of the names in `goals`; raise StateError for a goal to which no transition leads."""
    if isinstance(goals, str) or not isinstance(goals, Iterable):
        raise StateError(f"goals is {goals!r}; pass a list of states, even for one goal")
    numbers = {name: number for number, name in enumerate(columns.state_names)}
    reached = np.zeros(len(numbers), dtype=np.bool_)
    reached[columns.next_states] = True
    mask = np.zeros(len(numbers), dtype=np.bool_)
    for goal in goals:
        if goal not in numbers or not reached[numbers[goal]]:
            raise StateError(f"goal {goal!r} is never a next state; pass goals to which some transition leads")
        mask[numbers[goal]] = True
    if not mask.any():
        raise StateError("goals is empty; pass states to which some transition leads")
    return mask


def rows_of(
    columns: Columns,
    goals: Callable[[Columns], Bools],
    start: Hashable | None,
    normalize: bool,
    location: Callable[[int], str],
) -> dict[str, Any]:
    """Check `columns`, convert them to rows and return the arguments of `SSP.from_rows`.

    `goals` returns a mask of the state names that are goals. `start` is the name of the initial state, by default the
    first non-goal state. `location` returns the position of a row in the table, as a text for messages.
    """
    is_goal = goals(columns)
    table_rows = None
    if is_goal[columns.states].any():
        table_rows = np.flatnonzero(~is_goal[columns.states])
        columns = columns.select(table_rows)
    states, old_states = by_appearance(columns.states, len(columns.state_names))
    actions, old_actions = by_appearance(columns.actions, len(columns.action_names))
    S, A = len(old_states), len(old_actions)
    if not S:
        raise ShapeError("every transition starts in a goal; add transitions that start in other states")
    check_pairs(S, A)
    states[is_goal] = S

    def where(row: int) -> str:
        return location(row if table_rows is None else int(table_rows[row]))

    unknown = (states < 0)[columns.next_states]
    if unknown.any():
        row = int(np.argmax(unknown))
        state, action, after, *_ = columns.entry(row)
        raise StateError(
            f"state {after!r}, reached from {state!r} by {action!r}{where(row)}, has no transitions of its own"
            " and is not a goal; add this state to goals, or add transitions from it"
        )
    # Each number is checked on its own, before sums and means can hide an error.
    check_probabilities(columns.probabilities, lambda row: f"transition {columns.entry(row)!r}{where(row)}")
    check_costs(columns.costs, lambda row: f"transition {columns.entry(row)!r}{where(row)}")
    state_names = [columns.state_names[number] for number in old_states.tolist()]
    action_names = [columns.action_names[number] for number in old_actions.tolist()]
    if start is not None and start not in state_names:
        names = ", ".join(map(repr, state_names[:20])) + f" and {S - 20} more" * (S > 20)
        raise StateError(f"initial_state is {start!r}; choose a non-goal state of the table: {names}")
    rows, codes, next_states, probabilities, paid, *_ = columns
    columns = columns.select(np.flatnonzero(False))  # no rows, which frees the memory of the columns
    for numbers, table in ((rows, states), (codes, actions), (next_states, states)):
        renumber(numbers, table)
    rows *= A
    rows += codes
    del codes, numbers
    costs = mean_costs(rows, probabilities, paid, S * A).reshape(S, A)
    del paid

    def row_name(row: int) -> str:
        first = int(np.argmax(rows == row))
        return f"(state {state_names[row // A]!r}, action {action_names[row % A]!r}){where(first)}"

    if (rows[1:] >= rows[:-1]).all():
        indptr = np.searchsorted(rows, np.arange(S * A + 1))
    else:
        from scipy import sparse

        matrix = sparse.coo_array((probabilities, (rows, next_states)), shape=(S * A, S + 1)).tocsr()
        indptr, next_states, probabilities = matrix.indptr, matrix.indices, matrix.data
    return {
        "indptr": indptr,
        "successors": next_states,
        "probabilities": probabilities,
        "costs": costs,
        "initial_state": 0 if start is None else state_names.index(start),
        "normalize": normalize,
        "state_names": list(map(str, state_names)),
        "action_names": list(map(str, action_names)),
        "row_name": row_name,
    }


def check_pairs(states: int, actions: int) -> None:
    """Raise ShapeError if a model with `states` states and `actions` actions would take too much memory."""
    if states * actions > LARGEST_PAIRS:
        raise ShapeError(
            f"there are {states} states and {actions} actions, {states * actions} pairs; the limit is {LARGEST_PAIRS}:"
            " use the same action names in all states"
        )


def by_appearance(codes: Codes, size: int) -> tuple[Int32s, Int64s]:
    """Return numbers for codes by appearance: each code's number (-1 if absent) and each number's code."""
    first = np.full(size, len(codes), dtype=np.int64)
    for begin in range((len(codes) - 1) // BLOCK * BLOCK, -1, -BLOCK):
        block = codes[begin : begin + BLOCK]
        first[block[::-1]] = np.arange(begin + len(block) - 1, begin - 1, -1)
    old = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    new = np.full(size, -1, dtype=np.int32)
    new[old] = np.arange(len(old))
    return new, old


def renumber(numbers: Codes, table: Int32s) -> None:
    """Replace each entry n of `numbers` by ``table[n]``, in place."""
    for begin in range(0, len(numbers), BLOCK):
        block = numbers[begin : begin + BLOCK]
        block[:] = table[block]


def mean_costs(rows: Codes, weights: Floats, paid: Floats, size: int) -> Floats:
    """Return the mean cost of each row, without rounding if all transitions of the row have the same cost."""
    price = np.zeros(size)
    price[rows] = paid
    blocks = [slice(begin, begin + BLOCK) for begin in range(0, len(rows), BLOCK)]
    if all(np.array_equal(paid[block], price[rows[block]]) for block in blocks):
        return price
    differs = paid != price[rows]
    several = np.bincount(rows, weights=differs, minlength=size) > 0
    totals = np.bincount(rows, weights=weights, minlength=size)
    # Normalised weights keep the mean between the smallest and the largest cost.
    shares = np.divide(weights, totals[rows], out=np.zeros(len(rows)), where=totals[rows] > 0.0)
    return np.where(several, np.bincount(rows, weights=shares * paid, minlength=size), price)


class Goal:
    """The single goal that replaces all goal states."""

    def __repr__(self) -> str:
        return "the goal"


GOAL = Goal()


def reachable_transitions(
    start: Hashable,
    actions: Iterable[Hashable] | Callable[[Any], Iterable[Hashable]],
    successors: Callable[[Any, Any], Iterable[tuple[Hashable, float, float]]],
    goal: object,
    limit: int,
) -> Iterator[Transition]:
    """Yield the transitions of all states that are reachable from `start`, with `GOAL` in place of every goal."""
    is_goal = goal_test(goal)
    if is_goal(start):
        raise StateError(f"start {start!r} is a goal; choose another start")
    every_action = None if callable(actions) else list(actions)
    seen = {start}
    waiting = deque([start])
    reached = False
    while waiting:
        state = waiting.popleft()
        for action in actions(state) if callable(actions) else every_action or ():
            followed = False
            for entry in successors(state, action):
                if not isinstance(entry, tuple | list) or len(entry) != 3:
                    raise ShapeError(
                        f"successors({state!r}, {action!r}) returned {entry!r}; return (next state, probability, cost)"
                    )
                after, probability, cost = entry
                if probability == 0.0:
                    continue
                followed = True
                if is_goal(after):
                    after, reached = GOAL, True
                elif after not in seen:
                    if len(seen) == limit:
                        raise ShapeError(
                            f"more than {limit:,} states are reachable from {start!r}, such as {after!r};"
                            " pass a larger limit, or remove irrelevant details from the states"
                        )
                    seen.add(after)
                    waiting.append(after)
                yield state, action, after, probability, cost
            if not followed:
                raise ProbabilityError(
                    f"successors({state!r}, {action!r}) returned no successor; omit the action from actions({state!r})"
                )
    if not reached:
        raise StateError(f"no goal is among the {len(seen):,} states reached from {start!r}; check goal and successors")


def goal_test(goal: object) -> Callable[[Hashable], object]:
    """Return a predicate for goals; `goal` is a predicate, a list or set of states, or one state."""
    if callable(goal):
        return goal
    return frozenset(goal if isinstance(goal, list | set | frozenset | range) else [goal]).__contains__


def dense_rows(P: ArrayLike) -> tuple[Int64s, Int64s, Floats]:
    """Return the nonzero entries of ``P[S, A, S + 1]`` as compressed rows."""
    kernel = number_array("P", P)
    if kernel.ndim != 3 or kernel.shape[2] != kernel.shape[0] + 1 or 0 in kernel.shape:
        raise ShapeError(f"P has shape {kernel.shape}; pass shape (S, A, S + 1), with the goal as the last column")
    flat = kernel.reshape(-1, kernel.shape[2])
    rows, successors = np.nonzero(flat)
    return np.append(0, np.cumsum(np.count_nonzero(flat, axis=1))), successors, flat[rows, successors]
