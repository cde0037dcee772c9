"""Tuples packed at once against the same tuples read one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalward import SSP
from goalward.model import packed_tuples as module
from goalward.model import transitions as transitions_module
from goalward.model.packed_tuples import packed_tuples

TYPES = [(int,), (int, float)]
plain = st.integers(-(2**31), 2**31 - 1)
anything = st.one_of(plain, st.integers(), st.floats(), st.booleans(), st.text(max_size=2), st.none(), st.tuples(plain))


@given(st.lists(st.tuples(plain, st.floats(allow_nan=False)), min_size=1))
def test_columns_are_those_of_the_tuples(batch: list[tuple[int, float]]) -> None:
    packed = packed_tuples(batch, TYPES)
    assert packed is not None, "this version of Python writes tuples in another way"
    first, second = packed
    assert [first.dtype, second.dtype] == [np.int64, np.float64]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == batch


@given(st.lists(st.one_of(st.tuples(plain, plain), st.tuples(anything, anything), anything), min_size=1))
def test_anything_else_is_left_alone(batch: list[object]) -> None:
    """Columns are returned if and only if all tuples have the same types, those allowed, and integers are short."""

    def fits(entry: object, kind: type) -> bool:
        return (
            type(entry) is tuple
            and len(entry) == 2
            and (type(entry[0]), type(entry[1])) == (int, kind)
            and all(type(number) is float or -(2**31) <= number < 2**31 for number in entry)
        )

    packed = packed_tuples(batch, TYPES)
    assert (packed is not None) == any(all(fits(entry, kind) for entry in batch) for kind in (int, float))
    if packed is not None:
        found = [tuple(entry) for entry in zip(*(column.tolist() for column in packed), strict=True)]
        assert repr(found) == repr(batch)


@pytest.mark.parametrize("cost", [1, 1.0, np.float64(1.0)])
@pytest.mark.parametrize("name", [int, np.int64, str])
def test_models_are_the_same(cost: object, name: type, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = []
    for state in range(60):
        for action in range(2):
            for share, after in zip((0.25, 0.75), rng.integers(0, 61, 2).tolist(), strict=True):
                table.append((name(state), name(action), name(after), share, cost))
    goal = name(60)
    monkeypatch.setattr(transitions_module, "BATCH", 50)
    quick = SSP.from_transitions(table, goals=[goal])
    monkeypatch.setattr(module, "format_is_known", lambda: False)
    one_by_one = SSP.from_transitions(table, goals=[goal])
    assert quick == one_by_one
    assert quick.state_names == one_by_one.state_names
    mixed = SSP.from_transitions([*table, (name(0), "more", goal, 1.0, cost)], goals=[goal])
    assert mixed.actions == 3
