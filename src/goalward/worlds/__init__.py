"""The built-in problems, each knowing its own optimal value, found by their names.

>>> import goalward as gw
>>> gw.worlds.make("grid-world", rows=2, columns=3)
SSP(states=5, actions=4, transitions=68, costs=1, initial_state=0)

A new world is one new file in this package: see `goalward.registry`.
"""

from typing import Any

from goalward.worlds.base import World, find, known, load, load_model, make, register, registry
from goalward.worlds.grid import grid_map, grid_world
from goalward.worlds.random_models import random_mdp

__all__ = [
    "World", "find", "grid_map", "grid_world", "known", "load", "load_model", "make", "random_mdp",
    "register",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return registry.attribute(name)


def __dir__() -> list[str]:
    registry.search()
    return sorted({*__all__, *registry.members})
