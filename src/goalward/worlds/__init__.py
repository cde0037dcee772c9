"""The built-in problems, each knowing its own optimal value, found by their names.

>>> import goalward as gw
>>> gw.worlds.make("grid-world", rows=2, columns=3)
SSP(states=5, actions=4, transitions=68, costs=1, initial_state=0)

A new world is one new function in this package below ``@register``, and one line in the list for type checkers here.
"""

from typing import TYPE_CHECKING, Any

from goalward.worlds.base import World, find, known, load, load_model, make, register, registry
from goalward.worlds.grid import grid_map, grid_world
from goalward.worlds.random_models import random_mdp

__all__ = [
    "World", "cheap_loop_chain", "clusters", "combination_lock", "find", "four_rooms", "free_corner", "grid_map",
    "grid_world", "known", "layers", "load", "load_model", "make", "maze", "needle", "racetrack", "random_mdp",
    "register", "registry", "river_swim", "sand_grid", "sand_pit", "self_loop", "sparse_mdp", "traps",
    "triangle_tireworld", "windy_grid",
]  # fmt: skip

if TYPE_CHECKING:
    from goalward.worlds.chains import cheap_loop_chain, combination_lock, river_swim
    from goalward.worlds.hard_choices import needle, traps
    from goalward.worlds.racetracks import racetrack
    from goalward.worlds.random_models import clusters, layers, sparse_mdp
    from goalward.worlds.special_grids import four_rooms, free_corner, maze, sand_grid, sand_pit, self_loop, windy_grid
    from goalward.worlds.tireworld import triangle_tireworld
else:

    def __getattr__(name: str) -> Any:
        return registry.attribute(name)


def __dir__() -> list[str]:
    registry.search()
    return sorted({*__all__, *registry.members})
