"""The spaces of an environment as numbers: how many states and actions there are, and which state an observation is.

The values of a `Discrete` space are counted from its first one. In `MultiDiscrete`, `MultiBinary`, `Tuple` and `Dict`
spaces the components are the digits of the number, the last one counting fastest, as in `numpy.ravel_multi_index`. So
the number of a state depends on the space alone, and a saved agent can be resumed in another process. Other spaces are
refused; `Discretize` makes `Box` observations finite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from goalward.environments.rules import name_of
from goalward.errors import SettingError, StateError

__all__ = ["StateEncoding", "action_space", "check_environment", "first_observation"]

MOST_STATES = 1_000_000
"""Tabular agents cannot learn more states than this."""


def check_environment(environment: Any) -> None:
    """Raise SettingError if an object is not a single environment."""
    missing = [name for name in ("reset", "step") if not callable(getattr(environment, name, None))]
    if missing:
        raise SettingError(
            f"world is {environment!r}, which has no {' and no '.join(missing)}; it must be an SSP, or an environment"
            " with the interface of Gymnasium"
        )
    if hasattr(environment, "num_envs"):
        raise SettingError(f"{name_of(environment)} is a vector of environments; pass a single one")


def first_observation(environment: Any, **seed: int) -> Any:
    """Reset an environment and return its observation; errors raised by the environment are passed on."""
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
    """Return the number of actions and the first action; None if the environment has no action space."""
    space = getattr(environment, "action_space", None)
    if space is None:
        return None
    if type(space).__name__ != "Discrete":
        raise SettingError(
            f"the actions of {name_of(environment)} are {space}; they must be Discrete: choose some of them by a"
            " wrapper such as gymnasium.wrappers.TransformAction"
        )
    return int(space.n), int(space.start)


class StateEncoding:
    """Numbers the observations of an environment 0..count-1; `count` is None if it has no observation space."""

    def __init__(self, environment: Any):
        self.name = name_of(environment)
        self.space = getattr(environment, "observation_space", None)
        self.digits: list[tuple[int, int]] = []
        self.count: int | None = None
        if self.space is None:
            return
        digits = digits_of(self.space)
        if digits is None:
            remedy = (
                "wrap it in gw.Discretize(env, bins=...)"
                if type(self.space).__name__ == "Box"
                else "make them Discrete by a wrapper such as gymnasium.wrappers.TransformObservation"
            )
            raise SettingError(f"the observations of {self.name} are {self.space}; they must be Discrete: {remedy}")
        self.digits = digits
        self.count = math.prod(size for size, _ in digits)
        if self.count > MOST_STATES:
            raise SettingError(
                f"the observations of {self.name} take {self.count:,} values; tables of more than {MOST_STATES:,}"
                " states cannot be learnt: combine values"
            )

    def state(self, observation: Any, states: int) -> int:
        """Return the state of an observation, which must be below `states`."""
        try:
            number = self.number(observation)
        except (TypeError, ValueError, KeyError, OverflowError):
            allowed = "an integer" if self.space is None else f"in its observation space, {self.space}"
            raise StateError(f"{self.name} returned the observation {observation!r}; it must be {allowed}") from None
        if not 0 <= number < states:
            raise StateError(
                f"{self.name} returned the observation {observation!r}, which is state {number}, and the episode has"
                f" not ended; the task has the states 0..{states - 1}"
            )
        return number

    def number(self, observation: Any) -> int:
        """Return the number of an observation; raises ValueError or TypeError if it is outside the space."""
        if self.space is None:
            number = int(observation)
            if number != observation:
                raise ValueError
            return number
        number = 0
        for (size, start), value in zip(self.digits, values_of(self.space, observation), strict=True):
            digit = int(value) - start
            if digit + start != value or not 0 <= digit < size:
                raise ValueError
            number = number * size + digit
        return number


def digits_of(space: Any) -> list[tuple[int, int]] | None:
    """Return the size and the first value of each digit of a space; None if the space is not finite."""
    kind = type(space).__name__
    if kind == "Discrete":
        return [(int(space.n), int(space.start))]
    if kind == "MultiDiscrete":
        return list(zip(space.nvec.ravel().tolist(), space.start.ravel().tolist(), strict=True))
    if kind == "MultiBinary":
        return [(2, 0)] * math.prod(space.shape)
    if kind not in ("Tuple", "Dict"):
        return None
    digits: list[tuple[int, int]] = []
    for component in space.spaces.values() if kind == "Dict" else space.spaces:
        inner = digits_of(component)
        if inner is None:
            return None
        digits += inner
    return digits


def values_of(space: Any, observation: Any) -> list[Any]:
    """Return the values of the digits of an observation."""
    kind = type(space).__name__
    if kind == "Discrete":
        return [observation]
    if kind in ("MultiDiscrete", "MultiBinary"):
        return np.asarray(observation).ravel().tolist()
    if len(observation) != len(space.spaces):
        raise ValueError
    pairs = (
        [(component, observation[name]) for name, component in space.spaces.items()]
        if kind == "Dict"
        else zip(space.spaces, observation, strict=True)
    )
    return [value for component, entry in pairs for value in values_of(component, entry)]
