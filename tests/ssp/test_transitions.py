"""Models from tables of named transitions."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalward import SSP
from goalward.errors import CostError, ProbabilityError, ShapeError, StateError

TABLE = [
    ("home", "walk", "work", 1.0, 3.0),
    ("home", "bus", "work", 0.5, 1.0),
    ("home", "bus", "stop", 0.5, 1.0),
    ("stop", "wait", "home", 1.0, 0.25),
]


def test_states_and_actions_are_numbered_in_order_of_appearance() -> None:
    ssp = SSP.from_transitions(TABLE, goals=["work"])
    assert ssp.state_names == ("home", "stop")
    assert ssp.action_names == ("walk", "bus", "wait")
    assert ssp.initial_state == 0
    expected = np.zeros((2, 3, 3))
    expected[0, 0, 2] = 1.0
    expected[0, 1, [1, 2]] = 0.5
    expected[1, 2, 0] = 1.0
    assert np.array_equal(ssp.to_dense(), expected)
    assert ssp.costs.tolist() == [[3.0, 1.0, np.inf], [np.inf, np.inf, 0.25]]
    assert repr(ssp) == (
        "SSP(states=2, actions=3, transitions=4, unavailable=3, costs=0.25..3, initial_state=0 'home')"
    )


def test_the_order_of_tuples_inside_a_row_does_not_matter() -> None:
    first, second, third, fourth = TABLE
    assert SSP.from_transitions(iter([first, third, second, fourth]), goals={"work"}) == SSP.from_transitions(
        TABLE, goals=["work"]
    )


def test_the_start_can_be_named() -> None:
    assert SSP.from_transitions(TABLE, goals=["work"], initial_state="stop").initial_state == 1


def test_names_may_be_anything_hashable() -> None:
    ssp = SSP.from_transitions([((0, 0), None, (0, 1), 1.0, 1), ((0, 1), None, "out", 1.0, 1)], goals=["out"])
    assert ssp.state_names == ("(0, 0)", "(0, 1)")
    assert ssp.action_names == ("None",)


def test_several_goals_are_one_and_their_own_transitions_are_left_out() -> None:
    table = [("a", "x", "g", 0.25, 1.0), ("a", "x", "h", 0.75, 1.0), ("g", "y", "g", 1.0, np.nan)]
    ssp = SSP.from_transitions(table, goals=["g", "h"])
    assert ssp == SSP.from_dense([[[0.0, 1.0]]], [[1.0]])
    assert ssp.action_names == ("x",)


def test_costs_that_depend_on_the_next_state_enter_by_their_mean() -> None:
    table = [("a", "x", "g", 0.25, 8.0), ("a", "x", "a", 0.75, 4.0), ("a", "y", "g", 1.0, 7.0)]
    assert SSP.from_transitions(table, goals=["g"]).costs.tolist() == [[5.0, 7.0]]


def test_one_price_is_kept_to_the_bit() -> None:
    table = [("a", "x", "g", 0.1, 0.1), ("a", "x", "a", 0.2, 0.1), ("a", "x", "g", 0.7, 0.1)]
    assert SSP.from_transitions(table, goals=["g"]).costs[0, 0] == 0.1


def test_normalize_weighs_the_costs_by_the_rescaled_probabilities() -> None:
    table = [("a", "x", "g", 0.5, 8.0), ("a", "x", "a", 0.25, 2.0)]
    ssp = SSP.from_transitions(table, goals=["g"], normalize=True)
    assert ssp.costs[0, 0] == pytest.approx(6.0, rel=1e-15)
    assert ssp.to_dense()[0, 0] == pytest.approx(np.array([1 / 3, 2 / 3]))


def test_equal_transitions_add_up_and_zeros_vanish() -> None:
    table = [("a", "x", "g", 0.5, 1.0), ("a", "x", "g", 0.5, 1.0), ("a", "x", "a", 0.0, 1.0)]
    assert SSP.from_transitions(table, goals=["g"]) == SSP.from_dense([[[0.0, 1.0]]], [[1.0]])


def plainly(table: list[Any], goals: list[Hashable]) -> tuple[SSP, tuple[str, ...], tuple[str, ...]]:
    """Make the model tuple by tuple."""
    kept = [entry for entry in table if entry[0] not in goals]
    states = list(dict.fromkeys(entry[0] for entry in kept))
    actions = list(dict.fromkeys(entry[1] for entry in kept))
    kernel = np.zeros((len(states), len(actions), len(states) + 1))
    costs = np.zeros((len(states), len(actions)))
    for state, action, successor, probability, cost in kept:
        place = states.index(state), actions.index(action)
        kernel[place][states.index(successor) if successor in states else len(states)] += probability
        costs[place] += probability * cost
    return SSP.from_dense(kernel, costs), tuple(map(str, states)), tuple(map(str, actions))


@given(st.data())
@settings(max_examples=30)
def test_columns_say_what_tuples_say(data: st.DataObject) -> None:
    """Weights and prices are powers of two, so that sums are exact in any order."""
    names: list[Hashable] = ["a", "b", 3, (4, "x"), None, 2.5]
    goals: list[Hashable] = [names[0], names[5]]
    table = []
    for state in data.draw(st.permutations(names)):
        for action in data.draw(st.lists(st.sampled_from(["x", 1, (2,)]), unique=True, min_size=1)):
            weights = data.draw(st.sampled_from([(1.0,), (0.5, 0.5), (0.25, 0.5, 0.25), (0.5, 0.0, 0.5)]))
            table += [
                (state, action, data.draw(st.sampled_from(names)), weight, data.draw(st.sampled_from([0.0, 1.0, 4.0])))
                for weight in weights
            ]
    table = data.draw(st.permutations([*table, ("b", "out", "a", 0.5, 1.0), ("b", "out", 2.5, 0.5, 2.0)]))
    ssp = SSP.from_transitions(table, goals=goals)
    assert (ssp, ssp.state_names, ssp.action_names) == plainly(table, goals)


def test_tables_of_many_batches() -> None:
    """A long walk, from a generator, with tuples, lists and named tuples."""

    class Move(NamedTuple):
        state: int
        action: str
        successor: int
        probability: float
        cost: int

    def walk() -> Iterator[Any]:
        for state in range(9_999):
            kind = (tuple, list, lambda entry: Move(*entry))[state % 3]
            yield kind((state, "go", state + 1, 0.75, state))
            yield kind((state, "go", state, 0.25, state))

    ssp = SSP.from_transitions(walk(), goals=[9_999])
    assert (ssp.states, ssp.actions, ssp.state_names[4321] if ssp.state_names else None) == (9_999, 1, "4321")
    assert np.array_equal(ssp.successors, np.repeat(np.arange(10_000), 2)[1:-1])
    assert np.array_equal(ssp.probabilities, np.tile([0.25, 0.75], 9_999))
    assert np.array_equal(ssp.costs[:, 0], np.arange(9_999))


def test_a_fault_after_many_batches_is_named() -> None:
    table: list[Any] = [(state, "go", state + 1, 1.0, 1.0) for state in range(9_000)]
    faults: list[tuple[int, Any, type[Exception], str]] = [
        (8_000, (8_000, "go", 8_001, 1.0), ShapeError, "transition 8000 is"),
        (8_000, (8_000, ["go"], 8_001, 1.0, 1.0), TypeError, "unhashable"),
        (8_000, (8_000, "go", 8_001, 1.0, -3), CostError, r"transition \(8000, 'go', 8001, 1\.0, -3\.0\) has cost -3"),
        (8_000, (8_000, "go", 8_001, 1.0, "3"), ShapeError, "the column of costs has dtype"),
    ]
    for number, entry, error, message in faults:
        with pytest.raises(error, match=message):
            SSP.from_transitions([*table[:number], entry, *table[number + 1 :]], goals=[9_000])


def test_what_a_goal_says_of_itself_is_not_read() -> None:
    table = [("g", "y", "g", 7.0, np.nan), ("a", "x", "g", 1.0, 2.0), ("a", "y", "g", 1.0, 3.0)]
    ssp = SSP.from_transitions(table, goals=["g"])
    assert ssp.action_names == ("x", "y")
    assert ssp.costs.tolist() == [[2.0, 3.0]]


def test_too_many_pairs_are_refused_before_they_take_memory() -> None:
    table = [(state, f"to {state}", "g", 1.0, 1.0) for state in range(20_000)]
    with pytest.raises(ShapeError, match="20000 states and 20000 actions, 400000000 pairs; the limit is"):
        SSP.from_transitions(table, goals=["g"])


@pytest.mark.parametrize(
    ("table", "goals", "error", "message"),
    [
        ([], ["g"], ShapeError, r"no transitions; pass tuples \(state, action, next state, probability, cost\)"),
        ([("a", "x", "g", 1.0)], ["g"], ShapeError, r"transition 0 is \('a', 'x', 'g', 1\.0\); pass \(state,"),
        ([("a", "x", "g", 1.0, 1.0), 7], ["g"], ShapeError, "transition 1 is 7"),
        (["abcde"], ["c"], ShapeError, "transition 0 is 'abcde'"),
        ([([0, 1], "x", "g", 1.0, 1.0)], ["g"], TypeError, "unhashable"),
        ([("a", {}, "g", 1.0, 1.0)], ["g"], TypeError, "unhashable"),
        (TABLE, [["work"]], TypeError, "unhashable"),
        (TABLE, [], StateError, "goals is empty; pass states to which some transition leads"),
        (TABLE, "work", StateError, "goals is 'work'; pass a list of states, even for one goal"),
        (TABLE, 7, StateError, "goals is 7; pass a list"),
        (TABLE, ["work", "moon"], StateError, "goal 'moon' is never a next state; pass goals to which some"),
        (TABLE[:3], ["work"], StateError, "state 'stop', reached from 'home' by 'bus', has no transitions of its own"),
        ([("g", "x", "g", 1.0, 1.0)], ["g"], ShapeError, "every transition starts in a goal; add transitions"),
        ([("a", "x", "g", "1", 1.0)], ["g"], ShapeError, "the column of probabilities has dtype <U1"),
        ([("a", "x", "g", 1.0, None)], ["g"], ShapeError, "the column of costs has dtype object"),
        (
            [("a", "x", "g", 1.5, 1.0), ("a", "x", "g", -0.5, 1.0)],
            ["g"],
            ProbabilityError,
            r"transition \('a', 'x', 'g', 1\.5, 1\.0\) has probability 1\.5; probabilities lie in \[0, 1\]",
        ),
        ([("a", "x", "g", np.nan, 1.0)], ["g"], ProbabilityError, "has probability nan"),
        (
            [("a", "x", "g", 0.5, 1.0)],
            ["g"],
            ProbabilityError,
            r"the probabilities of \(state 'a', action 'x'\) sum to 0\.5; .*: pass normalize=True",
        ),
        ([("a", "x", "g", 0.0, 1.0)], ["g"], ProbabilityError, r"\(state 'a', action 'x'\) sum to 0; leave out"),
        (
            [("a", "x", "g", 0.5, 3.0), ("a", "x", "a", 0.5, -1.0)],
            ["g"],
            CostError,
            r"transition \('a', 'x', 'a', 0\.5, -1\.0\) has cost -1; costs must be finite and not negative: to forbid",
        ),
        ([("a", "x", "g", 1.0, np.nan)], ["g"], CostError, "has cost nan"),
        ([("a", "x", "g", 1.0, 1.0), ("a", "x", "a", 0.0, np.inf)], ["g"], CostError, "has cost inf"),
    ],
)
def test_faults(table: Any, goals: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SSP.from_transitions(table, goals=goals)


@pytest.mark.parametrize("start", ["work", "moon", 0, ["home"]])
def test_an_unknown_start(start: Any) -> None:
    with pytest.raises(
        StateError, match=rf"initial_state is {re.escape(repr(start))}; choose a non-goal state .*: 'home', 'stop'"
    ):
        SSP.from_transitions(TABLE, goals=["work"], initial_state=start)
