"""Settings: checked where they are used, read from text where they are typed."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from goalward.errors import SettingError, UnknownNameError

__all__ = ["check_names", "checked_integer", "checked_number", "plain", "read_settings"]


def checked_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return an integer setting, or say why it is none."""
    allowed = f"an integer of at least {low}" if high is None else f"an integer in {low}..{high}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < low or (high is not None and number > high):
        raise SettingError(f"{name} is {value!r}; it must be {allowed}")
    return number


def checked_number(name: str, value: Any, low: float, high: float) -> float:
    """Return a real setting in the closed interval, or say why it is none."""
    try:
        number = math.nan if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not low <= number <= high:
        raise SettingError(f"{name} is {value!r}; it must be a number from {low:g} to {high:g}")
    return number


def check_names(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are no settings of their owner, with the nearest one that is."""
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


def read_settings(owner: str, pairs: Iterable[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read texts like ``rows=5``; a value is read as what the default of that setting is."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not equals or not name:
            raise SettingError(f"{pair!r} sets nothing; write name=value, such as rows=5")
        check_names(owner, [name], defaults)
        if name in settings:
            raise SettingError(f"{name} is set twice; keep one of {settings[name]!r} and {text!r}")
        settings[name] = read_value(name, text, defaults[name])
    return settings


def read_value(name: str, text: str, default: object) -> object:
    """Read one value as an integer, a number or a text, whichever the default is."""
    if isinstance(default, str):
        return text
    kind, wanted = (int, "an integer") if isinstance(default, int) else (float, "a number")
    try:
        return kind(text)
    except ValueError:
        raise SettingError(f"{name} is {text!r}; it must be {wanted}") from None
