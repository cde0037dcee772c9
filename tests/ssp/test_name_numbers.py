"""Numbers of names against a dictionary that is filled name by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalward.ssp.name_numbers import NameNumbers, packed_floats

names = st.one_of(
    st.integers(0, 5), st.integers(-(10**6), 10**6), st.integers(2**63, 2**64), st.text(max_size=2), st.booleans(),
    st.just(1.0), st.tuples(st.integers(0, 2)),
)  # fmt: skip
batches = st.lists(st.lists(st.tuples(names, names), min_size=1, max_size=6), min_size=1, max_size=4)
integers = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(3, 12)), min_size=1), min_size=1, max_size=4)


@given(st.one_of(batches, integers))
def test_equal_names_have_equal_numbers(table: list[list[tuple[Any, Any]]]) -> None:
    numbers = NameNumbers(2)
    for batch in table:
        numbers.add(*(list(column) for column in zip(*batch, strict=True)))
    first, second = numbers.columns()
    given_first = [name for batch in table for name, _ in batch]
    given_second = [name for batch in table for _, name in batch]
    assert [numbers.names[number] for number in first] == given_first
    assert [numbers.names[number] for number in second] == given_second
    assert len(set(numbers.names)) == len(numbers.names)
    for name in given_first + given_second:
        assert numbers.names[numbers.number(name)] == name
    assert numbers.number("a name of nobody") == -1


@pytest.mark.parametrize("known", [3, np.int64(3), 3.0])
def test_integers_close_to_each_other_are_not_looked_up(known: object) -> None:
    numbers = NameNumbers(1)
    numbers.add([4, 3, 6])
    assert numbers.columns()[0].tolist() == [1, 0, 3]
    assert numbers.names == range(3, 7)
    assert numbers.number(known) == 0
    assert not numbers.numbers


def test_names_that_are_not_hashable() -> None:
    with pytest.raises(TypeError):
        NameNumbers(1).add([0, [1]])


def test_packed_floats() -> None:
    numbers = packed_floats([0.5, 1, 2**70])
    assert numbers is not None
    assert numbers.tolist() == [0.5, 1.0, 2.0**70]
    assert packed_floats([True, 0.5]) is None
    assert packed_floats(["0.5"]) is None
    assert packed_floats([10**400]) is None
