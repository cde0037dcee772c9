"""From tuples, successor functions and dense arrays to compressed rows.

A table of transitions is kept as columns: names as numbers in order of appearance, probabilities and costs as floats.
`encode` makes columns of tuples batch by batch, so that a generator of millions of tuples is never held as a whole;
`interchange/tables.py` makes them of files. `rows_of` checks columns of either kind and sorts them into rows. Messages
about single transitions name the transition; messages about rows name state and action as the table does.

`reachable_transitions` explores a successor function breadth first from the start, so the start is state 0 and the
others are numbered by their distance from it. Successors of goals are never asked for.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import CostError, ProbabilityError, ShapeError, StateError
from goalward.ssp.checks import (
    ROW_SUM_TOLERANCE,
    CompressedRows,
    canonical_rows,
    checked_names,
    checked_state,
    number_array,
)

__all__ = [
    "GOAL", "LARGEST_PAIRS", "Columns", "Transition", "by_appearance", "check_name", "dense_to_rows",
    "encode", "mean_costs", "merge_goals", "reachable_transitions", "read_transitions", "rows_of",
]  # fmt: skip

Transition = tuple[Hashable, Hashable, Hashable, float, float]
BATCH = 2048  # tuples that stay in a processor's cache while their columns are read one after the other
LARGEST_PAIRS = 1 << 27
PROGRESS_EVERY = 10_000  # states


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

    def select(self, kept: Bools) -> Columns:
        """Return the transitions under a mask."""
        return self._replace(**{name: getattr(self, name)[kept] for name in self._fields[:5]})


def read_transitions(
    transitions: Iterable[Transition], goals: Iterable[Hashable], initial_state: Hashable | None, normalize: bool
) -> dict[str, Any]:
    """Give numbers to the states and actions of a table of tuples; return what `SSP.from_rows` takes."""
    if isinstance(goals, str) or not isinstance(goals, Iterable):
        raise StateError(f"goals is {goals!r}; pass a list of states, even for one goal")
    wanted = list(goals)
    for goal in wanted:
        check_name(goal, "goals holds")
    columns, numbers = encode(transitions, set(wanted))
    check_name(initial_state, "initial_state is")
    reached = set(columns.next_states.tolist())
    missing = next((goal for goal in wanted if numbers.get(goal) not in reached), None)
    if not wanted or missing is not None:
        fault = "goals is empty" if not wanted else f"goal {missing!r} is never a next state"
        raise StateError(f"{fault}; name goals that some transition leads to")
    is_goal = np.zeros(len(numbers), dtype=np.bool_)
    is_goal[[numbers[goal] for goal in wanted]] = True
    start = -1 if initial_state is None else numbers.get(initial_state, len(numbers))
    return rows_of(columns, is_goal, start, initial_state, normalize, lambda row: "", duplicates=True)


def encode(transitions: Iterable[Transition], goals: set[Hashable]) -> tuple[Columns, dict[Hashable, int]]:
    """Make columns of tuples; also return the number of each state's name.

    Probabilities and costs of transitions that start in a goal are ignored, so they may be anything.
    """
    states: dict[Hashable, int] = defaultdict(count().__next__)
    actions: dict[Hashable, int] = defaultdict(count().__next__)
    batches: list[tuple[Any, ...]] = []
    remaining = iter(transitions)
    seen = 0
    while batch := list(islice(remaining, BATCH)):
        check_tuples(batch, seen)
        flat: list[Any] = list(chain.from_iterable(batch))
        starts = flat[::5]
        try:
            names = [numbers_of(states, starts), numbers_of(actions, flat[1::5]), numbers_of(states, flat[2::5])]
        except TypeError:
            check_names(batch, seen)
            raise
        probabilities = float_column("the column of probabilities", flat[3::5], starts, goals)
        batches.append((*names, probabilities, float_column("the column of costs", flat[4::5], starts, goals)))
        seen += len(batch)
    if not seen:
        raise ShapeError("there are no transitions; give tuples (state, action, next state, probability, cost)")
    start, action, end, probability, cost = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    return Columns(start, action, end, probability, cost, list(states), list(actions)), dict(states)


def numbers_of(numbers: dict[Hashable, int], names: list[Hashable]) -> Int64s:
    return np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))


def float_column(name: str, values: list[Any], starts: list[Hashable], goals: set[Hashable]) -> Floats:
    """Return a column of numbers; NaN where a transition starts in a goal."""
    try:
        return number_array(name, values)
    except ShapeError:
        kept = [start not in goals for start in starts]
        numbers = np.full(len(values), np.nan)
        numbers[kept] = number_array(name, [value for value, keep in zip(values, kept, strict=True) if keep])
        return numbers


def check_tuples(batch: list[Transition], first: int) -> None:
    if set(map(type, batch)) <= {tuple, list} and set(map(len, batch)) == {5}:
        return
    for number, entry in enumerate(batch, first):
        if not isinstance(entry, tuple | list) or len(entry) != 5:
            raise ShapeError(
                f"transition {number} is {entry!r}; it must be (state, action, next state, probability, cost)"
            )


def check_names(batch: list[Transition], first: int) -> None:
    for number, entry in enumerate(batch, first):
        for name, does in zip(entry, ("starts in", "plays", "leads to"), strict=False):
            check_name(name, f"transition {number} {does}")


def check_name(name: object, where: str) -> None:
    """Raise StateError if something cannot name a state or an action; `where` begins the message."""
    try:
        hash(name)
    except TypeError:
        raise StateError(
            f"{where} {name!r}, a {type(name).__name__}; names of states and actions must be hashable throughout,"
            " such as a text, a number or a tuple of them"
        ) from None


def rows_of(
    columns: Columns,
    is_goal: Bools,
    start: int,
    start_name: object,
    normalize: bool,
    location: Callable[[int], str],
    *,
    duplicates: bool,
) -> dict[str, Any]:
    """Check columns, sort them into rows and return what `SSP.from_rows` takes.

    `is_goal` is a mask over `state_names`. `start` is a number among these, -1 for the first non-goal state, or
    beyond them for a name that the table does not have. `location` says where a row of the table is, for messages.
    Repeated transitions are added up if `duplicates` is true, and refused otherwise.
    """
    if is_goal[columns.states].any():
        kept = ~is_goal[columns.states]
        origin, columns, whole_table = np.flatnonzero(kept), columns.select(kept), location

        def location(row: int) -> str:
            return whole_table(int(origin[row]))

    states, old_states = by_appearance(columns.states, len(columns.state_names))
    actions, old_actions = by_appearance(columns.actions, len(columns.action_names))
    S, A = len(old_states), len(old_actions)
    if not S:
        raise ShapeError("every state of the table is a goal; give transitions that start somewhere else")
    states[is_goal] = S
    next_states = states[columns.next_states]
    if next_states.min() < 0:
        row = int(np.argmin(next_states))
        state, action, unknown, *_ = columns.entry(row)
        raise StateError(
            f"state {unknown!r}, reached from {state!r} by {action!r}{location(row)}, has no transitions of its own"
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
    mass = check_numbers(columns, rows, S * A, normalize, location)
    matrix = sparse.coo_array((columns.probabilities, (rows, next_states)), shape=(S * A, S + 1)).tocsr()
    if matrix.nnz < len(rows) and not duplicates:
        check_duplicates(columns, rows, location)
    return {
        "indptr": matrix.indptr,
        "successors": matrix.indices,
        "probabilities": matrix.data,
        "costs": mean_costs(rows, columns.probabilities, columns.costs, mass).reshape(S, A),
        "initial_state": initial_state,
        "normalize": normalize,
        "state_names": [str(columns.state_names[number]) for number in old_states.tolist()],
        "action_names": [str(columns.action_names[number]) for number in old_actions.tolist()],
    }


def check_duplicates(columns: Columns, rows: Int64s, location: Callable[[int], str]) -> None:
    """Refuse repeated transitions; transitions to different goals count as different here."""
    keys = rows * len(columns.state_names) + columns.next_states
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if len(again):
        second = again[np.argmin(order[again + 1])]
        first, repeated = int(order[second]), int(order[second + 1])
        raise ShapeError(
            f"the transition{location(repeated)} is the same as the one{location(first)}, {columns.entry(first)[:3]!r};"
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


def check_numbers(columns: Columns, rows: Int64s, size: int, normalize: bool, location: Callable[[int], str]) -> Floats:
    """Check each probability and cost on its own, before averages can hide a fault; return the sum of each row."""
    probabilities, costs = columns.probabilities, columns.costs
    bad = ~((probabilities >= 0.0) & (probabilities <= 1.0 + ROW_SUM_TOLERANCE))
    if bad.any():
        entry = int(np.argmax(bad))
        raise ProbabilityError(
            f"transition {columns.entry(entry)!r}{location(entry)} has probability {probabilities[entry]:g};"
            " probabilities lie in [0, 1]"
        )
    bad = ~((costs >= 0.0) & (costs < np.inf))
    if bad.any():
        entry = int(np.argmax(bad))
        raise CostError(
            f"transition {columns.entry(entry)!r}{location(entry)} has cost {costs[entry]:g};"
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
        first = f", the first{line}," if (line := location(entry)) else ""
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


class Goal:
    """All goal states, merged."""

    def __repr__(self) -> str:
        return "the goal"


GOAL = Goal()


def reachable_transitions(
    start: Hashable,
    actions: Iterable[Hashable] | Callable[[Any], Iterable[Hashable]],
    successors: Callable[[Any, Any], Iterable[tuple[Hashable, float, float]]],
    goal: object,
    limit: int,
    progress: Callable[[int, int], object] | None,
) -> Iterator[Transition]:
    """Yield the transitions of all reachable states; those to a goal lead to `GOAL`."""
    is_goal = goal_test(goal)
    check_name(start, "start is")
    if is_goal(start):
        raise StateError(f"start {start!r} is a goal; start somewhere else")
    fixed = None if callable(actions) else list(checked_list(actions, "actions"))
    seen = {start}
    waiting = deque([start])
    expanded, reached = 0, False
    while waiting:
        state = waiting.popleft()
        available = actions(state) if callable(actions) else fixed
        for action in checked_list(available, f"actions({state!r})"):
            followed = False
            for entry in checked_list(successors(state, action), f"successors({state!r}, {action!r})"):
                if not isinstance(entry, tuple | list) or len(entry) != 3:
                    raise ShapeError(
                        f"successors({state!r}, {action!r}) gave {entry!r}; it must be (next state, probability, cost)"
                    )
                after, probability, cost = entry
                check_name(after, f"successors({state!r}, {action!r}) leads to")
                if probability == 0.0:
                    continue
                followed = True
                if is_goal(after):
                    after, reached = GOAL, True
                elif after not in seen:
                    if len(seen) == limit:
                        raise ShapeError(
                            f"more than {limit:,} states are reachable from {start!r}, such as {after!r};"
                            " pass a larger limit, or leave out of a state what does not matter"
                        )
                    seen.add(after)
                    waiting.append(after)
                yield state, action, after, probability, cost
            if not followed:
                raise ProbabilityError(
                    f"successors({state!r}, {action!r}) gave no successor; leave the action out of actions({state!r})"
                )
        expanded += 1
        if progress is not None and expanded % PROGRESS_EVERY == 0:
            progress(len(seen), expanded)
    if not reached:
        raise StateError(f"no goal is reachable from {start!r} ({len(seen):,} states are); check goal and successors")


def goal_test(goal: object) -> Callable[[Hashable], object]:
    """Return the test of a goal that is given as a function, as a list or set of states, or as one state."""
    if callable(goal):
        return goal
    states = goal if isinstance(goal, list | set | frozenset | range) else [goal]
    for state in states:
        check_name(state, "goal holds")
    return frozenset(states).__contains__


def checked_list(values: Any, name: str) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ShapeError(f"{name} is {values!r}; it must be a list")
    return values


def dense_to_rows(P: ArrayLike) -> CompressedRows:
    """Turn ``P[S, A, S + 1]`` into compressed rows; what is not exactly zero becomes an entry."""
    array = number_array("P", P)
    if array.ndim != 3 or array.shape[2] != array.shape[0] + 1 or 0 in array.shape:
        raise ShapeError(f"P has shape {array.shape}; it must be (S, A, S + 1), the last column being the goal")
    flat = array.reshape(-1, array.shape[2])
    rows, successors = np.nonzero(flat)
    indptr = np.zeros(len(flat) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(flat)), out=indptr[1:])
    return indptr, successors, flat[rows, successors]


def merge_goals(
    P: ArrayLike,
    costs: ArrayLike,
    initial_state: int,
    state_names: Sequence[str] | None,
    goals: Iterable[int],
    normalize: bool,
) -> tuple[CompressedRows, Floats, int, Sequence[str] | None]:
    """Merge the given goal states of ``P[N, A, N]`` into one and drop their rows."""
    kernel, cost_table = number_array("P", P), number_array("costs", costs)
    if kernel.ndim != 3 or kernel.shape[0] != kernel.shape[2] or cost_table.shape != kernel.shape[:2]:
        raise ShapeError(
            f"with goals, P must be (N, A, N) over all states and costs (N, A);"
            f" they have shapes {kernel.shape} and {cost_table.shape}"
        )
    N, A = cost_table.shape
    if not isinstance(goals, Iterable):
        raise StateError(f"goals is {goals!r}; pass a list of states, even for one goal")
    goal_set = {checked_state(goal, N, "a goal") for goal in goals}
    if not goal_set:
        raise StateError("goals is empty; name at least one goal state")
    start = checked_state(initial_state, N)
    if start in goal_set:
        raise StateError(f"initial_state {start} is a goal; start somewhere else")
    names = checked_names("state_names", state_names, N)

    # Checked before the merger, which renumbers states and adds entries up: faults are named as the caller knows them.
    is_goal = np.isin(np.arange(N), list(goal_set))
    open_rows = np.zeros((N, A, N + 1))
    open_rows[~is_goal, :, :N] = kernel[~is_goal]
    indptr, successors, probabilities, _ = canonical_rows(*dense_to_rows(open_rows), cost_table, normalize=normalize)
    number = np.where(is_goal, N - len(goal_set), np.cumsum(~is_goal) - 1)
    pointers = np.concatenate([[0], np.cumsum(np.diff(indptr).reshape(N, A)[~is_goal])])
    kept_names = None if names is None else [name for name, goal in zip(names, is_goal, strict=True) if not goal]
    return (pointers, number[successors], probabilities), cost_table[~is_goal], int(number[start]), kept_names
