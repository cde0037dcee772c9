"""The spaces of an environment as numbers: how many states and actions there are, and which one an observation is.

The values of a `Discrete` space are counted from its first one. In `MultiDiscrete`, `MultiBinary`, `Tuple` and `Dict`
spaces the components are the digits of the number, the last one counting fastest, as in `numpy.ravel_multi_index`. So
the number of a state depends on the space alone, and an agent that is saved can be resumed elsewhere. Anything else is
refused: `Discretize` makes `Box` observations finite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from goalward.arrays import Floats
from goalward.environments.rules import name_of
from goalward.errors import SettingError, StateError
from goalward.settings import checked_integer

__all__ = ["StateNumbers", "action_space", "check_environment", "equal_cuts", "first_observation"]

MOST_STATES = 1_000_000
"""More combinations than this are no states that tabular agents could learn."""

Encode = Callable[[Any], int]


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


def first_observation(environment: Any, **seed: int) -> Any:
    """Reset an environment; return what it observes. Errors of its own are passed on."""
    try:
        result = environment.reset(**seed)
    except TypeError as error:
        if not re.search("unexpected keyword argument '(seed|options)'", str(error)):
            raise
        raise SettingError(
            f"{name_of(environment)}.reset failed: {error}; reset(seed=...) must return (observation, info)"
        ) from error
    if not isinstance(result, tuple | list) or len(result) != 2 or not isinstance(result[1], Mapping):
        raise SettingError(
            f"{name_of(environment)}.reset returned {result!r:.80}; reset(seed=...) must return (observation, info),"
            " where info is a dictionary"
        )
    return result[0]


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
        self.first = 0
        self.count: int | None = None
        self.encode: Encode = integer
        self.space = getattr(environment, "observation_space", None)
        if self.space is None:
            return
        finite = encoder(self.space)
        if finite is None:
            remedy = (
                "wrap it in gw.Discretize(env, bins=...)"
                if type(self.space).__name__ == "Box"
                else "make them Discrete by a wrapper such as gymnasium.wrappers.TransformObservation"
            )
            raise SettingError(f"the observations of {self.name} are {self.space}; they must be Discrete: {remedy}")
        self.count, self.encode = finite
        if self.count > MOST_STATES:
            raise SettingError(
                f"the observations of {self.name} take {self.count:,} values; tables of more than {MOST_STATES:,}"
                " states cannot be learnt: take fewer values together"
            )
        if type(self.space).__name__ == "Discrete":
            self.first = int(self.space.start)

    def read(self, observed: Any, limit: int) -> int:
        """Return the number of the state that was observed, below `limit`."""
        try:
            state = self.encode(observed)
        except (TypeError, ValueError, KeyError, OverflowError):
            allowed = "an integer" if self.space is None else f"in its observation space, {self.space}"
            raise StateError(f"{self.name} returned the observation {observed!r}; it must be {allowed}") from None
        if not 0 <= state < limit:
            raise StateError(
                f"{self.name} returned the observation {observed!r}, which is state {state}, and the episode is not"
                f" over; the task has the states 0..{limit - 1}"
            )
        return state


def encoder(space: Any) -> tuple[int, Encode] | None:
    """Return how many values a space has and the function that numbers them; None if they are not finitely many."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n), digit(int(space.n), int(space.start))
    if kind == "MultiDiscrete":
        sizes, starts = space.nvec.ravel().tolist(), space.start.ravel().tolist()
        return digits([(size, digit(size, start)) for size, start in zip(sizes, starts, strict=True)], flat)
    if kind == "MultiBinary":
        return digits([(2, digit(2, 0))] * math.prod(space.shape), flat)
    split: Callable[[Any], list[Any]]
    if kind == "Tuple":
        parts, split = [encoder(part) for part in space.spaces], list
    elif kind == "Dict":
        parts, split = [encoder(part) for part in space.spaces.values()], values_of(list(space.spaces))
    else:
        return None
    finite = [part for part in parts if part is not None]
    return digits(finite, split) if len(finite) == len(parts) else None


def integer(value: Any) -> int:
    number = int(value)
    if number != value:
        raise ValueError
    return number


def digit(size: int, start: int) -> Encode:
    """Return the function that numbers start..start+size-1; it raises ValueError for anything else."""

    def encode(value: Any) -> int:
        number = int(value) - start
        if number + start != value or not 0 <= number < size:
            raise ValueError
        return number

    return encode


def digits(parts: list[tuple[int, Encode]], split: Callable[[Any], list[Any]]) -> tuple[int, Encode]:
    """Return how many values a combination of parts has, and the function that numbers them."""

    def encode(value: Any) -> int:
        number = 0
        for (size, part), component in zip(parts, split(value), strict=True):
            number = number * size + part(component)
        return number

    return math.prod(size for size, _ in parts), encode


def flat(value: Any) -> list[Any]:
    return np.asarray(value).ravel().tolist()


def values_of(names: list[Any]) -> Callable[[Any], list[Any]]:
    """Return the function that lists the entries of a dictionary that has these keys and no others."""

    def split(value: Any) -> list[Any]:
        if len(value) != len(names):
            raise ValueError
        return [value[name] for name in names]

    return split


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
