"""How settings are checked, and how they are read from text."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from goalward.agents.base import registry as agents
from goalward.errors import SettingError
from goalward.settings import checked_choice, checked_integer, checked_number, read_settings


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
        ("{kind='slip', concentration=1}", {"kind": "slip", "concentration": 1}),
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
        for name, setting in agent.schema().settings.items():
            if name in agent.schema().defaults and setting.registry is None:
                assert read_settings([f"{name}={setting.default}"])[name] == setting.default


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["rows"], "'rows' sets nothing; write name=value, such as rows=5"),
        (["=3"], "'=3' sets nothing; write name=value, such as rows=5"),
        (["rows=3", "rows=4"], "rows is set twice; keep one of 3 and '4'"),
    ],
)
def test_pairs_that_cannot_be_read(pairs: list[str], message: str) -> None:
    with pytest.raises(SettingError) as error:
        read_settings(pairs)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_numbers(value: object) -> None:
    assert checked_number("x", value, high=1.0) == 0.5
    assert checked_number("x", value, high=1.0, open=True) == 0.5


def test_ends_of_an_interval() -> None:
    assert checked_number("x", 0, high=1.0) == 0.0
    assert checked_number("x", 1, high=1.0) == 1.0
    for end in (0, 1):
        with pytest.raises(SettingError, match=f"x is {end}; it must be a number between 0 and 1, both excluded"):
            checked_number("x", end, high=1.0, open=True)


@pytest.mark.parametrize(
    "value", ["0.5", True, None, math.nan, math.inf, -math.inf, 10**400, -(10**400), 1j, [0.5], np.array([0.5]), b"1"]
)
def test_what_is_not_a_number_is_refused(value: object) -> None:
    with pytest.raises(SettingError, match=r"it must be a (finite )?number from 0"):
        checked_number("x", value)


def test_intervals_in_words() -> None:
    for interval, text in {
        (0.0, math.inf, True): "a positive number",
        (2.0, math.inf, True): "a number above 2",
        (2.0, math.inf, False): "a number from 2",
        (0.0, 1.0, False): "a number from 0 to 1",
    }.items():
        low, high, open = interval
        with pytest.raises(SettingError) as error:
            checked_number("x", "y", low, high, open=open, note="!")
        assert str(error.value) == f"x is 'y'; it must be {text}!"


def test_integers() -> None:
    assert checked_integer("x", np.int32(3), 1) == 3
    assert type(checked_integer("x", np.int32(3), 1)) is int
    for value in (0, 2.0, "3", True, None):
        with pytest.raises(SettingError, match=r"it must be an integer of at least 1"):
            checked_integer("x", value, 1)
    with pytest.raises(SettingError, match=r"x is 9; it must be an integer in 1\.\.8"):
        checked_integer("x", 9, 1, 8)


def test_choices() -> None:
    assert checked_choice("x", True, (True, False)) is True
    for value in (1, "True", None, []):
        with pytest.raises(SettingError, match="it must be True or False"):
            checked_choice("x", value, (True, False))


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000])
def test_absurd_values_are_refused(value: str) -> None:
    with pytest.raises(SettingError, match="too many digits, or is nested too deeply"):
        read_settings([f"states={value}"])
