"""The numbers of observations and actions: against NumPy's mixed radix, through JSON, and what is refused."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from goalward.acting.encoding import Encoding
from goalward.errors import StateError


def discrete(n: int, start: int = 0) -> dict[str, Any]:
    return {"kind": "discrete", "n": n, "start": start}


GRID = {"kind": "array", "n": [3, 4], "start": [0, 5], "shape": [2]}
SQUARE = {"kind": "array", "n": [2, 2, 2, 2], "start": [0] * 4, "shape": [2, 2]}
PAIR = {"kind": "tuple", "parts": [discrete(3, 1), GRID]}
NESTED = {"kind": "dict", "parts": [["cell", GRID], ["bag", {"kind": "dict", "parts": [["full", discrete(2)]]}]]}
MOVES = discrete(4)


def test_numbers_are_those_of_numpy() -> None:
    for value in itertools.product(range(3), range(3), range(5, 9)):
        first, row, column = value
        number = np.ravel_multi_index((first, row, column - 5), (3, 3, 4))
        assert Encoding(PAIR, MOVES).state((first + 1, np.array([row, column]))) == number
        assert Encoding(PAIR, MOVES).state([first + 1, (row, column)]) == number
    for digits in itertools.product(range(2), repeat=4):
        value = np.array(digits, dtype=np.int8).reshape(2, 2)
        assert Encoding(SQUARE, MOVES).state(value) == np.ravel_multi_index(digits, (2,) * 4)


@pytest.mark.parametrize("space", [discrete(5, -2), GRID, SQUARE, PAIR, NESTED], ids=lambda space: space["kind"])
def test_actions_are_the_inverse_of_states(space: dict[str, Any]) -> None:
    """The value of a number has that number; the names differ."""
    encoding = Encoding(space, space)
    numbers = range(encoding.states)
    assert [encoding.state(encoding.action(number)) for number in numbers] == list(numbers)
    assert len({encoding.name(number) for number in numbers}) == encoding.states
    assert encoding.actions == encoding.states


def test_names() -> None:
    encoding = Encoding(NESTED, MOVES, give_up=True, action_names=["up", "right", "down", "left"])
    assert encoding.name(13) == "cell (1, 7), bag (full 1)"
    assert [encoding.action_name(number) for number in (0, 4)] == ["up", "give up"]
    assert [encoding.action(number) for number in (3, 4)] == [3, None]
    assert encoding.name(encoding.states) == "episode ended"
    texts = Encoding(None, MOVES)
    for key in ("hall", (2, 1), b"x" * 100, b"x" * 99):
        texts.state(key)
    assert [texts.name(number) for number in (0, 1)] == ["hall", "(2, 1)"]
    assert texts.name(2) != texts.name(3)


Place = namedtuple("Place", "row column")
KEYS = [
    None, True, 7, -(10**30), 0.1, 1e-320, "7", "é", b"\x00\xff", np.int8(3), np.float32(0.3),
    np.str_("a"), np.bytes_(b"b"), (), (1, (2.5, "x")), (np.int64(4), np.bool_(False)),
    Place(8, 9),
]  # fmt: skip


def test_open_ended_numbers_survive_json_pickle_and_copies() -> None:
    encoding = Encoding(None, MOVES, max_states=30)
    numbers = [encoding.state(key) for key in KEYS]
    assert numbers == list(range(len(KEYS)))
    text = json.dumps(encoding.to_state())
    for again in (Encoding.from_state(json.loads(text)), pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding)):
        assert again == encoding
        assert [again.state(key) for key in KEYS] == numbers
        assert again.state("new") == len(KEYS)
        assert again.find("newer") is None
        assert len(again.keys) == len(KEYS) + 1
    assert len(encoding.keys) == len(KEYS)


def test_a_function_makes_keys() -> None:
    encoding = Encoding(None, MOVES, key=lambda observation: observation.tobytes())
    grid = np.arange(4).reshape(2, 2)
    assert [encoding.state(array) for array in (grid, grid + 1, grid)] == [0, 1, 0]
    again = Encoding.from_state(json.loads(json.dumps(encoding.to_state())))
    with pytest.raises(StateError, match="pass this function again as key=function"):
        again.state(grid)
    assert Encoding.from_state(encoding.to_state(), key=encoding.key).find(grid + 1) == 1


def test_max_states() -> None:
    encoding = Encoding(None, MOVES, max_states=2)
    assert [encoding.state(key) for key in "abab"] == [0, 1, 0, 1]
    with pytest.raises(StateError, match=r"3 different observations, .* max_states is 2; .* larger max_states=, "):
        encoding.state("c")
    assert encoding.state("b") == 1


@pytest.mark.parametrize(
    ("space", "observation"),
    [
        (discrete(4), 4), (discrete(4), -1), (discrete(4, 10), 0), (discrete(4), 0.7), (discrete(4), "1"),
        (discrete(4), None), (discrete(4), float("nan")), (discrete(4), float("inf")), (discrete(4), np.array([1])),
        (GRID, np.array([0, 9])), (GRID, np.array([-1, 5])), (GRID, np.array([0.5, 5.0])), (GRID, np.array([0, 5, 0])),
        (GRID, np.array([[0, 5]])), (GRID, None), (GRID, np.array([np.nan, 5])), (SQUARE, np.zeros(4, int)),
        (PAIR, (1,)), (PAIR, 1), (PAIR, (1, np.array([0, 5]), 0)), (NESTED, {"cell": (0, 5)}), (NESTED, None),
        (NESTED, {"cell": (0, 5), "bag": {"full": 2}}), (NESTED, {"cell": (0, 5), "bag": {"full": 1}, "more": 0}),
        (None, np.zeros(2)), (None, {"a": 1}), (None, [1]), (None, (1, np.zeros(2))), (None, float("nan")),
        (None, int), (None, frozenset()), (None, float("inf")),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused(space: dict[str, Any] | None, observation: Any) -> None:
    encoding = Encoding(space, MOVES)
    with pytest.raises(StateError, match=r"(which allows only|the environment returned) .*key="):
        encoding.state(observation)
    assert not encoding.keys


def test_whole_floats_are_integers() -> None:
    assert Encoding(discrete(4, 1), MOVES).state(np.float32(2.0)) == 1
    assert Encoding(GRID, MOVES).state([1.0, 6.0]) == 5


@pytest.mark.parametrize(
    "observation",
    [
        np.zeros((2, 2)),
        {"image": np.zeros(2), "mission": "go", "list": [1, {2}]},
        (1, np.zeros(2)),
        list(range(50)),
        {3},
    ],
    ids=lambda observation: type(observation).__name__,
)
def test_the_key_in_the_message_works(observation: Any) -> None:
    with pytest.raises(StateError, match="not hashable") as refused:
        Encoding(None, MOVES).state(observation)
    advice = str(refused.value).partition("key=")[2]
    encoding = Encoding(None, MOVES, key=eval(advice))  # noqa: S307 - our own text
    assert [encoding.state(observation), encoding.state(copy.deepcopy(observation))] == [0, 0]
