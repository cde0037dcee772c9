"""Settings: checked where they are used, read from text where they are typed."""

from __future__ import annotations

import math
import numbers
import operator
import os
import tomllib
from collections.abc import Collection, Iterable
from typing import Any

from goalward.errors import SettingError, UnknownNameError

__all__ = [
    "check_memory",
    "check_names",
    "checked_choice",
    "checked_integer",
    "checked_number",
    "plain",
    "read_settings",
]

# What Python prints is read as well as what TOML says.
WORDS = {"True": True, "False": False, "None": None}


def checked_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return an integer setting in ``low..high``; raises SettingError."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or number < low or (high is not None and number > high):
        allowed = f"an integer of at least {low}" if high is None else f"an integer in {low}..{high}"
        raise SettingError(f"{name} is {value!r}; it must be {allowed}")
    return number


def checked_number(
    name: str, value: object, low: float = 0.0, high: float = math.inf, *, open: bool = False, note: str = ""
) -> float:
    """Return a finite number from `low` to `high`, both excluded if the interval is open; raises SettingError.

    `note` is added to the message.

    >>> checked_number("delta", 1, high=1.0, open=True, note=", such as 0.1")
    Traceback (most recent call last):
    goalward.errors.SettingError: delta is 1; it must be a number between 0 and 1, both excluded, such as 0.1
    """
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if math.isinf(number) or not (low < number < high if open else low <= number <= high):
        allowed = interval_text(low, high, open)
        # Why a number that seems large enough is refused.
        finite = allowed.replace("number", "finite number") if math.isinf(number) and math.isinf(high) else allowed
        raise SettingError(f"{name} is {value!r}; it must be {finite}{note}")
    return number


def interval_text(low: float, high: float, open: bool) -> str:
    if math.isinf(high):
        return ("a positive number" if low == 0.0 else f"a number above {low:g}") if open else f"a number from {low:g}"
    return f"a number between {low:g} and {high:g}, both excluded" if open else f"a number from {low:g} to {high:g}"


def checked_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return a setting that is one of some values; raises SettingError."""
    # 1 is equal to True, but it is not one of True and False.
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise SettingError(f"{name} is {value!r}; it must be {' or '.join(map(repr, choices))}")
    return value


def check_memory(what: str, size: float) -> None:
    """Raise SettingError if something needs more bytes than this machine has memory: filling it would end in a kill."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > there:
        raise SettingError(
            f"{what} needs {size / 1e9:,.0f} GB of memory, this machine has {there / 1e9:,.0f}; choose smaller settings"
        )


def check_names(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UnknownNameError if a name is not a setting of its owner."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UnknownNameError(f"setting of {owner}", name, names)


def plain(value: Any) -> Any:
    """Return a setting as data that can be written down: objects give their settings, models their digest."""
    if hasattr(value, "digest"):
        return {"digest": value.digest}
    if hasattr(value, "tolist"):
        return value.tolist()
    described = getattr(value, "settings", None)
    return described() if callable(described) else value


def read_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Read texts like ``rows=5``.

    A value is read as TOML, and as a text if it is not TOML. ``True``, ``False`` and ``None`` are read as in Python.

    >>> read_settings(["rows=5", "ties=first", "known_costs=false", "prior={kind='slip', concentration=1.0}"])
    {'rows': 5, 'ties': 'first', 'known_costs': False, 'prior': {'kind': 'slip', 'concentration': 1.0}}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise SettingError(f"{pair!r} sets nothing; write name=value, such as {name or 'rows'}=5")
        if name in settings:
            raise SettingError(f"{name} is set twice; keep one of {settings[name]!r} and {text!r}")
        settings[name] = read_value(text)
    return settings


def read_value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    try:
        found = tomllib.loads(f"value = {text}")
        if found.keys() == {"value"} and isinstance(found["value"], str | int | float | list | dict):
            return found["value"]
    except tomllib.TOMLDecodeError:
        pass
    except (ValueError, RecursionError):
        raise SettingError(f"{text[:20]}... has too many digits, or is nested too deeply, for a setting") from None
    try:
        return float(text)  # such as .5, which is not TOML
    except ValueError:
        return text
