"""The built-in problems, each knowing its own optimal value, and the registry that finds them by name.

>>> import goalward as gw
>>> gw.worlds.make("grid-world", rows=2, columns=3)
SSP(states=5, actions=4, transitions=68, costs=1, initial_state=0)
"""

from goalward.worlds.grid import grid_map, grid_world
from goalward.worlds.load import load
from goalward.worlds.random import random_mdp
from goalward.worlds.registry import World, find, known, make, register

__all__ = ["World", "find", "grid_map", "grid_world", "known", "load", "make", "random_mdp", "register"]
