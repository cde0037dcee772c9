"""Sweeps: combine the swept values of worlds and agents into settings, and label the combinations."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from goalward.errors import SettingError, UnknownNameError
from goalward.studies.spec import AgentSpec, Place, Source, WorldSpec

MOST_COMBINATIONS = 10_000
FIELD = re.compile(r"\{([\w.]+)\}")  # a swept setting in a label


def combinations(
    source: Source, place: Place, entry: WorldSpec | AgentSpec
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield two dicts for each combination of an entry's swept values: all settings, and only the swept settings."""
    number = math.prod(len(values) for values in entry.sweep.values())
    if number > MOST_COMBINATIONS:
        message = f"the sweep has {number:,} combinations, but at most {MOST_COMBINATIONS:,} are allowed; split it"
        raise source.error((*place, "sweep"), message)
    for values in itertools.product(*entry.sweep.values()):
        swept = dict(zip(entry.sweep, values, strict=True))
        settings = entry.settings
        for name, value in swept.items():
            with source.located((*place, "sweep", *name.split("."))):
                settings = with_setting(settings, name, value)
        yield settings, swept


def with_setting(settings: Mapping[str, Any], name: str, value: Any, whole: str = "") -> dict[str, Any]:
    """Return `settings` with one more setting; the name ``prior.concentration`` means a setting of the prior.

    >>> with_setting({"prior": "dirichlet"}, "prior.concentration", 0.1)
    {'prior': {'kind': 'dirichlet', 'concentration': 0.1}}
    """
    outer, dot, inner = name.partition(".")
    before, whole = settings.get(outer), whole or name
    if dot and before is None:
        raise SettingError(f"{whole} is swept, but {outer} is not set; add {outer} = '...' to settings")
    if not dot and before is not None:
        raise SettingError(f"{whole} is both set and swept; remove it from settings or from sweep")
    if dot:
        value = with_setting(before if isinstance(before, dict) else {"kind": before}, inner, value, whole)
    return {**settings, outer: value}


def labelled(label: str, swept: Mapping[str, Any]) -> str:
    """Return a label with the swept values. They replace names in braces; in a label without braces, they are appended.

    >>> labelled("psrl", {"prior.concentration": 0.01, "ties": "first"}), labelled("{rows} rows", {"rows": 3})
    ('psrl, concentration 0.01, ties first', '3 rows')
    """
    last = [name.rpartition(".")[2] for name in swept]
    names = {full: short if last.count(short) == 1 else full for full, short in zip(swept, last, strict=True)}
    values = {**{names[full]: value for full, value in swept.items()}, **swept}
    fields = FIELD.findall(label) if swept else []
    for name in fields:
        if name not in values:
            raise UnknownNameError("swept setting", name, values)
    if fields:
        return FIELD.sub(lambda match: in_words(values[match[1]]), label)
    return ", ".join([label, *(f"{short.replace('.', ' ')} {in_words(swept[full])}" for full, short in names.items())])


def in_words(value: Any) -> str:
    """Return the value of a setting as a label shows it, for example ``dirichlet concentration 0.1``."""
    if isinstance(value, dict):
        return " ".join(
            in_words(entry) if name == "kind" else f"{name} {in_words(entry)}" for name, entry in value.items()
        )
    return value if isinstance(value, str) else f"{value:g}" if value == float(f"{value:g}") else repr(value)
