"""How settings are checked, and how they are read from text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, MultipleOf

import goalward as gw
from goalward.agents import Uniform
from goalward.agents.base import registry as agents
from goalward.errors import SettingError, UnknownNameError
from goalward.settings import (
    MISSING,
    Confidence,
    Declared,
    NotNegative,
    Positive,
    Share,
    Size,
    between,
    check,
    checked,
    read_settings,
    settings_of,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("1_000", 1000),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("false", False),
        ("True", True),
        ("False", False),
        ("None", None),
        ("random", "random"),
        ('"True"', "True"),
        ("[1, 0]", [1, 0]),
        ("{kind='dirichlet', concentration=1}", {"kind": "dirichlet", "concentration": 1}),
        ("S.#\n..G", "S.#\n..G"),
        ("#S.G", "#S.G"),
        ("a=b", "a=b"),
        ("1\nx = 2", "1\nx = 2"),
        ("2020-01-01", "2020-01-01"),
        ("", ""),
    ],
)
def test_values_are_read_as_toml_and_else_as_text(text: str, value: object) -> None:
    found = read_settings([f" name = {text} "])["name"]
    assert (type(found), found) == (type(value), value)


def test_what_is_printed_can_be_typed() -> None:
    """The defaults that goalward list agents prints, apart from priors, which are printed as objects."""
    for _, agent in agents:
        for name, setting in settings_of(agent).items():
            if setting.default is not MISSING and setting.registry is None:
                assert read_settings([f"{name}={setting.default}"])[name] == setting.default


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["rows"], "expected NAME=VALUE, such as rows=5, got 'rows'"),
        (["=3"], "expected NAME=VALUE, such as rows=5, got '=3'"),
        (["rows=3", "rows=4"], "rows is set twice, to 3 and '4'; keep one value"),
    ],
)
def test_pairs_that_cannot_be_read(pairs: list[str], message: str) -> None:
    with pytest.raises(SettingError) as error:
        read_settings(pairs)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_numbers(value: object) -> None:
    assert check("x", value, Share) == check("x", value, Confidence) == 0.5


def test_ends_of_an_interval() -> None:
    assert check("x", 0, Share) == 0.0
    assert check("x", 1, Share) == 1.0
    for end in (0, 1):
        with pytest.raises(SettingError, match=f"x is {end}; it must be a number between 0 and 1, both excluded"):
            check("x", end, Confidence)


@pytest.mark.parametrize(
    "value", ["0.5", True, None, math.nan, math.inf, -math.inf, 10**400, -(10**400), 1j, [0.5], np.array([0.5]), b"1"]
)
def test_what_is_not_a_number_is_refused(value: object) -> None:
    with pytest.raises(SettingError, match=r"it must be a number$"):
        check("x", value, float)
    with pytest.raises(SettingError, match=r"it must be a number from 0$"):
        check("x", value, NotNegative)


def test_intervals_in_words() -> None:
    for kind, text in {
        Positive: "a positive number",
        Annotated[float, Gt(2.0)]: "a number above 2",
        Annotated[float, Ge(2.0)]: "a number from 2",
        between(0.0, 1): "a number from 0 to 1",
        between(0, 1): "an integer in 0..1",
    }.items():
        with pytest.raises(SettingError) as error:
            check("x", "y", kind, "!")
        assert str(error.value) == f"x is 'y'; it must be {text}!"


def test_integers() -> None:
    assert check("x", np.int32(3), Size) == 3
    assert type(check("x", np.int32(3), Size)) is int
    assert check("x", 10**400, Size) == 10**400
    for value in (0, 2.0, "3", True, None):
        with pytest.raises(SettingError, match=r"it must be an integer of at least 1"):
            check("x", value, Size)
    with pytest.raises(SettingError, match=r"x is 9; it must be an integer in 1\.\.8"):
        check("x", 9, between(1, 8))


def test_pydantic_checks_what_the_limits_do_not_say() -> None:
    even = Annotated[int, Ge(0), MultipleOf(2)]
    assert check("x", 4, even) == 4
    for value in (5, -2):
        with pytest.raises(SettingError, match="it must be an integer of at least 0"):
            check("x", value, even)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000])
def test_absurd_values_are_refused(value: str) -> None:
    with pytest.raises(SettingError, match="too many digits, or is nested too deeply"):
        read_settings([f"states={value}"])


@dataclass
class Pair:
    """A type that Pydantic does not check strictly on its own."""

    left: int


def tower(
    world: object,
    rows: Annotated[int, Ge(1), Le(8)] = 3,
    success: Share = 0.5,
    level: Confidence = 0.9,
    limit: Positive | None = None,
    ties: Literal["random", "first"] = "random",
    cells: int | Sequence[int] = 12,
    known: bool = True,
    anything: OnlyForTypeCheckers = None,  # type: ignore[name-defined]  # noqa: F821
    table: np.ndarray | None = None,
    label: str = "",
    pair: Pair | None = None,
    other: Pair = None,  # type: ignore[assignment]
    untyped=5,  # type: ignore[no-untyped-def]
) -> dict[str, Any]:
    """Return the arguments."""
    return dict(locals())


build = checked(tower, "tower")


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("rows", np.int64(2), 2),
        ("success", 1, 1.0),
        ("success", np.float32(0.5), 0.5),
        ("limit", 3, 3.0),
        ("limit", None, None),
        ("cells", (1, 2), (1, 2)),
        ("cells", np.array([1, 2]), [1, 2]),
        ("known", np.bool_(True), True),
        ("anything", "goes", "goes"),
        ("other", "is not checked", "is not checked"),
        ("untyped", [1], [1]),
    ],
)
def test_values_become_what_the_annotation_says(name: str, value: object, result: object) -> None:
    found = build(None, **{name: value})[name]
    assert (type(found), found) == (type(result), result)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", 9, "rows is 9; it must be an integer in 1..8"),
        ("rows", True, "rows is True; it must be an integer in 1..8"),
        ("rows", "3", "rows is '3'; it must be an integer in 1..8"),
        ("success", math.nan, "success is nan; it must be a number from 0 to 1"),
        ("level", 1, "level is 1; it must be a number between 0 and 1, both excluded"),
        ("limit", 0.0, "limit is 0.0; it must be a positive number or None"),
        ("limit", math.inf, "limit is inf; it must be a positive number or None"),
        ("ties", "last", "ties is 'last'; it must be 'random' or 'first'"),
        ("cells", [0.5], "cells is [0.5]; it must be an integer or a list with each entry an integer"),
        ("known", 1, "known is 1; it must be True or False"),
        ("table", 3, "table is 3; it must be of type ndarray or None"),
        ("label", 3, "label is 3; it must be a text"),
    ],
)
def test_what_the_annotation_does_not_allow_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(SettingError) as error:
        build(None, **{name: value})
    assert str(error.value) == message


def test_arguments_by_position_and_by_name() -> None:
    assert build(None, np.int64(4), success=1)["rows"] == 4
    with pytest.raises(UnknownNameError, match="no setting of tower is called 'row'; did you mean 'rows'"):
        build(None, row=3)
    with pytest.raises(TypeError, match="too many positional arguments"):
        build(None, 3, 0.5, 0.9, None, "random", 3, True, None, None, "", None, None, 5, 6)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'world'"):
        build()
    assert "world" not in settings_of(build)


def test_a_class_checks_the_arguments_of_its_constructor() -> None:
    class Keep(Declared):
        def __init__(self, rows: Size = 3, offsets: Sequence[float] = (0.5,)):
            self.rows, self.offsets = rows, np.array(offsets)

    class Castle(Keep):
        def __init__(self, towers: Size = 2):
            super().__init__(2 * towers)
            self.towers = towers

    assert Keep(np.int64(2)).settings() == {"rows": 2, "offsets": [0.5]}
    assert Castle(3).rows == 6
    assert Castle.complete({}) == {"towers": 2}
    with pytest.raises(UnknownNameError, match="no setting of Castle is called 'tower'; did you mean 'towers'"):
        Castle(tower=3)  # type: ignore[call-arg]
    with pytest.raises(SettingError, match="rows is 0; it must be an integer of at least 1"):
        Keep(rows=0)


def test_equal_settings_make_equal_priors_and_agents() -> None:
    assert gw.Dirichlet(0.1) == gw.Dirichlet(concentration=0.1) != gw.Dirichlet(0.2)
    assert gw.agents.PSRL() == gw.agents.PSRL(prior=None) != gw.agents.PSRL(gw.Dirichlet(0.1))
    assert gw.agents.PSRL(gw.Dirichlet(0.1)) != gw.agents.make("tsde", prior=gw.Dirichlet(0.1))
    run = gw.learn(gw.agents.QLearning(), gw.worlds.grid_world(), 5)
    assert run.agent == gw.agents.QLearning()  # whatever it has learnt
    assert len({gw.agents.PSRL(), gw.agents.PSRL(), gw.Dirichlet(), gw.Dirichlet(), gw.agents.QLearning()}) == 3


def test_a_default_may_be_made_for_each_agent() -> None:
    class Diary(Uniform):
        pages: list[int] = field(default_factory=lambda: [1, 2])
        author: str = field(kw_only=True)

    assert Diary(author="me").pages == [1, 2]
    assert Diary.complete({"author": "me"}) == {"pages": [1, 2], "author": "me"}
    with pytest.raises(SettingError, match="Diary needs author; add it to its settings"):
        Diary()  # type: ignore[call-arg]
    with pytest.raises(SettingError, match="Diary needs author; add it to its settings"):
        Diary.complete({})
