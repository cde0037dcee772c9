"""The spaces of an environment as numbers: how many states and actions there are, and which one an observation is.

`Discrete` spaces are numbers already. Observations that are tuples, dictionaries or arrays of finitely many values
(`MultiDiscrete`, `MultiBinary`, `Tuple`, `Dict`) are numbered as they appear. Anything else is refused: `Discretize`
makes `Box` observations finite.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.errors import SettingError, StateError
from goalward.settings import checked_integer
from goalward.worlds.goal_and_cost_rules import name_of

__all__ = ["StateNumbers", "action_space", "check_environment", "equal_cuts"]

MOST_STATES = 1_000_000
"""More combinations than this are no states that tabular agents could learn."""


def check_environment(environment: Any) -> None:
    """Raise SettingError if something is no environment that `learn` can step through."""
    missing = [name for name in ("reset", "step") if not callable(getattr(environment, name, None))]
    if missing:
        raise SettingError(
            f"world is {environment!r}, which has no {' and no '.join(missing)}; it must be an SSP, or an environment"
            " in the manner of Gymnasium"
        )
    if hasattr(environment, "num_envs"):
        raise SettingError(f"{name_of(environment)} is a vector of environments; pass a single one")


def action_space(environment: Any) -> tuple[int, int] | None:
    """Return the number of actions and the number of the first one; None if the environment does not say."""
    space = getattr(environment, "action_space", None)
    if space is None:
        return None
    if type(space).__name__ != "Discrete":
        raise SettingError(
            f"the actions of {name_of(environment)} are {space}; they must be Discrete: choose some of them by a"
            " wrapper such as gymnasium.wrappers.TransformAction"
        )
    return int(space.n), int(space.start)


class StateNumbers:
    """The states of an environment as 0..count-1; `count` is None if the environment does not say."""

    def __init__(self, environment: Any):
        self.name = name_of(environment)
        self.seen: dict[Hashable, int] | None = None
        self.first = 0
        self.count: int | None = None
        space = getattr(environment, "observation_space", None)
        if space is None:
            return
        size = combinations(space)
        if size is None:
            remedy = (
                "wrap it in gw.Discretize(env, bins=...)"
                if type(space).__name__ == "Box"
                else "make them Discrete by a wrapper such as gymnasium.wrappers.TransformObservation"
            )
            raise SettingError(f"the observations of {self.name} are {space}; they must be Discrete: {remedy}")
        if size > MOST_STATES:
            raise SettingError(
                f"the observations of {self.name} take {size:,} values; tables of more than {MOST_STATES:,} states"
                " cannot be learnt: take fewer values together"
            )
        self.count = size
        if type(space).__name__ == "Discrete":
            self.first = int(space.start)
        else:
            self.seen = {}

    def read(self, observed: Any, limit: int) -> int:
        """Return the number of the state that was observed, below `limit`."""
        if self.seen is not None:
            return self.seen.setdefault(hashable(observed), len(self.seen))
        try:
            state = int(observed) - self.first
        except (TypeError, ValueError):
            raise StateError(f"{self.name} gave the state {observed!r}; it must be an integer") from None
        if not 0 <= state < limit:
            raise StateError(
                f"{self.name} gave state {observed!r}; an episode that is not over is in a state of"
                f" {self.first}..{self.first + limit - 1}"
            )
        return state


def combinations(space: Any) -> int | None:
    """Return how many values a space has, None if they are not finitely many."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n)
    if kind == "MultiDiscrete":
        return int(np.prod([int(size) for size in space.nvec.ravel()], dtype=object))
    if kind == "MultiBinary":
        return int(2 ** int(np.prod(space.shape)))
    parts = space.spaces.values() if kind == "Dict" else space.spaces if kind == "Tuple" else None
    if parts is None:
        return None
    total = 1
    for part in parts:
        size = combinations(part)
        if size is None:
            return None
        total *= size
    return total


def hashable(observed: Any) -> Hashable:
    """Return an observation as something that a dictionary takes as its key."""
    if isinstance(observed, np.ndarray):
        return tuple(observed.ravel().tolist())
    if isinstance(observed, tuple | list):
        return tuple(hashable(part) for part in observed)
    if isinstance(observed, dict):
        return tuple((name, hashable(part)) for name, part in sorted(observed.items()))
    return int(observed)


def equal_cuts(count: object, low: float, high: float, dimension: int) -> Floats:
    """Return the points that cut an interval into so many equal cells."""
    number = checked_integer(f"bins[{dimension}]", count, 1)
    if number == 1:
        return np.empty(0)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise SettingError(
            f"dimension {dimension} goes from {low:g} to {high:g} and cannot be cut into equal cells; pass low= and"
            " high=, or the points at which to cut it"
        )
    return np.asarray(low + (high - low) / number * np.arange(1, number), dtype=np.float64)
