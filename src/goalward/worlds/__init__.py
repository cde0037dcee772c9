"""The built-in worlds. `make` builds a world from its name. The docstring of each world has its optimal value.

>>> import goalward as gw
>>> gw.worlds.make("grid-world", rows=2, columns=3)
SSP(states=5, actions=4, transitions=68, costs=1, initial_state=0)

To add a world, write a function with the decorator ``@register`` in this package and import the function below.
"""

from typing import TYPE_CHECKING

from goalward.lazy import lazy

if TYPE_CHECKING:
    from goalward.worlds.base import World as World
    from goalward.worlds.base import find as find
    from goalward.worlds.base import known as known
    from goalward.worlds.base import load as load
    from goalward.worlds.base import load_world as load_world
    from goalward.worlds.base import make as make
    from goalward.worlds.base import register as register
    from goalward.worlds.base import registry as registry
    from goalward.worlds.chains import cheap_loop_chain as cheap_loop_chain
    from goalward.worlds.chains import combination_lock as combination_lock
    from goalward.worlds.chains import river_swim as river_swim
    from goalward.worlds.grid import grid_map as grid_map
    from goalward.worlds.grid import grid_world as grid_world
    from goalward.worlds.hard_choices import needle as needle
    from goalward.worlds.hard_choices import traps as traps
    from goalward.worlds.random_models import clusters as clusters
    from goalward.worlds.random_models import layers as layers
    from goalward.worlds.random_models import random_mdp as random_mdp
    from goalward.worlds.random_models import sparse_mdp as sparse_mdp
    from goalward.worlds.special_grids import four_rooms as four_rooms
    from goalward.worlds.special_grids import free_corner as free_corner
    from goalward.worlds.special_grids import maze as maze
    from goalward.worlds.special_grids import sand_grid as sand_grid
    from goalward.worlds.special_grids import sand_pit as sand_pit
    from goalward.worlds.special_grids import self_loop as self_loop
    from goalward.worlds.special_grids import windy_grid as windy_grid
else:
    __getattr__, __dir__, __all__ = lazy(__name__, __file__)
