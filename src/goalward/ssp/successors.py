"""From a function that says what can follow to the table of all that is reachable.

States are found breadth first from the start, so the start is state 0, and the others are numbered by their distance
from it. Goals are recognised before they are entered: what can follow a goal is never asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from goalward.errors import ProbabilityError, ShapeError, StateError
from goalward.ssp.transitions import Transition, check_name

__all__ = ["GOAL", "reachable_transitions"]

Successors = Callable[[Any, Any], Iterable[tuple[Hashable, float, float]]]
Progress = Callable[[int, int], object]
PROGRESS_EVERY = 10_000


class Goal:
    """All goal states, merged."""

    def __repr__(self) -> str:
        return "the goal"


GOAL = Goal()


def reachable_transitions(
    start: Hashable,
    actions: Iterable[Hashable] | Callable[[Any], Iterable[Hashable]],
    successors: Successors,
    goal: object,
    limit: int,
    progress: Progress | None,
) -> Iterator[Transition]:
    """Yield the transitions of all reachable states; those to a goal lead to `GOAL`."""
    is_goal = goal_test(goal)
    check_name(start, "start is")
    if is_goal(start):
        raise StateError(f"start {start!r} is a goal; start somewhere else")
    fixed = None if callable(actions) else list(listed(actions, "actions"))
    seen = {start}
    waiting = deque([start])
    expanded, reached = 0, False
    while waiting:
        state = waiting.popleft()
        available = actions(state) if callable(actions) else fixed
        for action in listed(available, f"actions({state!r})"):
            followed = False
            for entry in listed(successors(state, action), f"successors({state!r}, {action!r})"):
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


def listed(given: Any, name: str) -> Iterable[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ShapeError(f"{name} is {given!r}; it must be a list")
    return given
