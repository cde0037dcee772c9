"""Models from a function that says what can follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given

import goalward as gw
from goalward import SSP
from goalward.errors import ModelError, ProbabilityError, ShapeError, StateError
from strategies import models

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def slip(cell: tuple[int, int], move: str) -> Iterator[tuple[tuple[int, int], float, float]]:
    """A grid of 3 by 4 in which one step in ten slips to either side."""
    row, column = cell
    down, right = MOVES[move]
    for (y, x), chance in (((down, right), 0.8), ((right, down), 0.1), ((-right, -down), 0.1)):
        yield (min(max(row + y, 0), 2), min(max(column + x, 0), 3)), chance, 1.0


def test_a_grid() -> None:
    ssp = SSP.from_successors((0, 0), MOVES, slip, goal=(2, 3))
    assert (ssp.states, ssp.actions, ssp.initial_state) == (11, 4, 0)
    assert ssp.action_names == ("up", "down", "left", "right")
    assert ssp.state_names is not None
    assert ssp.state_names[:3] == ("(0, 0)", "(0, 1)", "(1, 0)")
    # The same transitions as tuples.
    table = [
        (str((row, column)), move, str(after), chance, cost)
        for row in range(3)
        for column in range(4)
        for move in MOVES
        for after, chance, cost in slip((row, column), move)
    ]
    other = SSP.from_transitions(table, goals=["(2, 3)"], initial_state="(0, 0)")
    assert gw.solve(ssp).values[0] == pytest.approx(gw.solve(other).values[other.initial_state], rel=1e-12)


def test_a_walk_has_the_known_cost() -> None:
    """From x the goal 0 is x steps away, each of which takes 1 / 0.9 tries."""
    walk = SSP.from_successors(5, lambda x: [-1, 1] if x < 9 else [-1], lambda x, a: [(x + a, 0.9, 2), (x, 0.1, 2)], 0)
    assert gw.solve(walk).values[0] == pytest.approx(5 * 2 / 0.9)
    assert walk.states == 9


@given(ssp=models())
def test_what_is_reachable_is_what_the_structure_says(ssp: SSP) -> None:
    """The successors of a model give the model again, but for states that cannot be reached."""
    reachable = np.setdiff1d(np.arange(ssp.states), gw.structure(ssp).unreachable)
    assume(ssp.available.any(axis=1).all())
    assume(any(ssp.goal in ssp.row(state, action)[0] for state in reachable for action in range(ssp.actions)))
    again = SSP.from_successors(
        ssp.initial_state,
        lambda state: np.flatnonzero(ssp.available[state]).tolist(),
        lambda state, action: [
            (int(after), float(chance), float(ssp.costs[state, action]))
            for after, chance in zip(*ssp.row(state, action), strict=True)
        ],
        lambda state: state == ssp.goal,
    )
    assert again.states == len(reachable)
    assert again.state_names is not None
    assert again.action_names is not None
    states = [int(name) for name in again.state_names]
    actions = [int(name) for name in again.action_names]
    assert np.array_equal(again.to_dense(), ssp.to_dense()[np.ix_(states, actions, [*states, ssp.goal])])
    assert np.array_equal(again.costs, ssp.costs[np.ix_(states, actions)])


@pytest.mark.parametrize("goal", [7, [7], {7, 8}, range(7, 9), lambda x: x > 6])
def test_goals_in_every_form(goal: Any) -> None:
    assert SSP.from_successors(0, ["go"], lambda x, _: [(x + 1, 1.0, 1.0)], goal).states == 7


def test_what_can_follow_a_goal_is_never_asked() -> None:
    asked = []

    def successors(state: int, action: str) -> list[tuple[int, float, float]]:
        asked.append(state)
        return [(state + 1, 1.0, 1.0)]

    SSP.from_successors(0, ["go"], successors, goal=3)
    assert asked == [0, 1, 2]


def test_limit() -> None:
    arguments: tuple[int, list[str], Callable[..., Any], int] = (0, ["go"], lambda x, _: [(x + 1, 1.0, 1.0)], 25_000)
    with pytest.raises(ShapeError, match="more than 1,000 states are reachable from 0, such as 1000; pass a"):
        SSP.from_successors(*arguments, limit=1000)
    assert SSP.from_successors(*arguments, limit=25_000).states == 25_000


def test_zero_probabilities_lead_nowhere() -> None:
    ssp = SSP.from_successors(0, ["go"], lambda x, _: [(99, 0.0, 1.0), (1, 1.0, 1.0)], goal=1)
    assert ssp == SSP.from_dense([[[0.0, 1.0]]], [[1.0]])


def test_normalize() -> None:
    ssp = SSP.from_successors(0, ["go"], lambda x, _: [(0, 0.25, 1.0), (1, 0.25, 1.0)], goal=1, normalize=True)
    assert ssp.probabilities.tolist() == [0.5, 0.5]


def one(x: Any, action: Any) -> list[Any]:
    return [(1, 1.0, 1.0)]


@pytest.mark.parametrize(
    ("start", "actions", "successors", "goal", "error", "message"),
    [
        (1, ["a"], one, 1, StateError, "start 1 is a goal; choose another start"),
        ([0], ["a"], one, 1, TypeError, "unhashable"),
        (0, ["a"], one, [[1]], TypeError, "unhashable"),
        (0, ["a"], one, 2, StateError, r"state 1, reached from 0|no goal is among"),
        (0, ["a"], lambda x, a: [(1, 1.0)], 1, ShapeError, r"returned \(1, 1.0\); return \(next state, probability,"),
        (0, ["a"], lambda x, a: [([1], 1.0, 1.0)], 1, TypeError, "unhashable"),
        (
            0,
            ["a"],
            lambda x, a: [],
            1,
            ProbabilityError,
            r"successors\(0, 'a'\) returned no successor; omit the action",
        ),
        (0, ["a"], lambda x, a: [(1, 0.5, 1.0)], 1, ProbabilityError, r"\(state 0, action 'a'\) sum to 0\.5"),
        (0, ["a"], lambda x, a: [(1, "1", 1.0)], 1, ShapeError, "the column of probabilities has dtype"),
        (
            0,
            ["a"],
            lambda x, a: [(1, 1.0, -1.0)],
            1,
            ModelError,
            r"transition \(0, 'a', the goal, 1\.0, -1\.0\) has cost",
        ),
        (
            0,
            lambda x: ["a"] if x == 0 else [],
            lambda x, a: [(1, 0.5, 1.0), (2, 0.5, 1.0)],
            1,
            StateError,
            "state 2, rea",
        ),
    ],
)
def test_faults(start: Any, actions: Any, successors: Any, goal: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SSP.from_successors(start, actions, successors, goal)


def test_errors_of_the_functions_come_through() -> None:
    with pytest.raises(ZeroDivisionError):
        SSP.from_successors(0, ["go"], lambda x, a: [(1, 1 / x, 1.0)], goal=1)
