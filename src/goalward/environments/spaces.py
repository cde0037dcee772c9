"""Reads the spaces of an environment into an `Encoding`, and checks what `reset` and `step` return."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from goalward.acting.encoding import MAX_STATES, Encoding, Space, brief, size
from goalward.environments.goal_and_cost_rules import name_of
from goalward.errors import SettingError
from goalward.settings import between, check

MOST_STATES = 1_000_000
"""Tabular agents cannot learn more states than this."""
MOST_ACTIONS = 10_000
ACTION_NAMES = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pick up", "drop off"),
    "BlackjackEnv": ("stick", "hit"),
}
BOX_ADVICE = (
    "to learn with continuous states in at most 4 dimensions, use gw.learn(gw.agents.ContinuousPSRL(),"
    " gw.ContinuousTask.from_gymnasium(env, goal=...), episodes); to cut the observations into cells, use"
    " gw.Environment(gw.Discretize(env, bins=...), ...); if few different observations appear, number them with"
    " gw.Environment(env, key=lambda observation: tuple(observation.ravel().tolist()), ...)"
)
RESET = "reset(seed=...) must return (observation, info), where info is a dictionary"


def check_environment(environment: Any) -> None:
    """Raise SettingError if an object is not a single environment with the interface of Gymnasium."""
    missing = [name for name in ("reset", "step") if not callable(getattr(environment, name, None))]
    if missing:
        raise SettingError(
            f"world is {environment!r}, which has no {' and no '.join(missing)}; it must be an SSP, or an environment"
            " with the interface of Gymnasium"
        )
    if hasattr(environment, "num_envs"):
        raise SettingError(f"{name_of(environment)} is a vector of environments; pass a single environment")


def first_observation(environment: Any, **seed: int) -> Any:
    """Reset an environment and return its observation."""
    result = environment.reset(**seed)
    if not isinstance(result, tuple | list) or len(result) != 2 or not isinstance(result[1], Mapping):
        raise SettingError(f"{name_of(environment)}.reset returned {brief(result)}; {RESET}")
    return result[0]


def checked_step(environment: Any, result: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return the result of ``step``; raises SettingError unless it has the form that Gymnasium requires."""
    if isinstance(result, tuple | list) and len(result) == 5:
        return result  # type: ignore[return-value]
    raise SettingError(
        f"{name_of(environment)}.step returned {brief(result)}; it must return (observation, reward, terminated,"
        " truncated, info)"
    )


def encoding_of(
    environment: Any,
    key: Callable[[Any], Hashable] | None = None,
    max_states: int = MAX_STATES,
    sizes: tuple[int, int] | None = None,
) -> Encoding:
    """Return the `Encoding` that assigns numbers to the observations and actions of an environment.

    If the environment was made from a model, `sizes` has the numbers of states and actions of the model. If such an
    environment has no observation space, observations are states. A Discrete space may have extra values for the goal.
    """
    name, space = name_of(environment), getattr(environment, "observation_space", None)
    observations = None
    if key is None and space is not None:
        observations = space_of(space)
        if observations is None and type(space).__name__ == "Box":
            raise SettingError(f"the observations of {name} are {' '.join(str(space).split())}; {BOX_ADVICE}")
        if observations is not None and size(observations) > MOST_STATES:
            raise SettingError(
                f"the observations of {name} can take {size(observations):,} values, but at most {MOST_STATES:,} states"
                " are allowed. If far fewer values appear, pass key=lambda observation: str(observation). Otherwise,"
                " pass a key that combines values"
            )
    if key is None and sizes is not None and (space is None or type(space).__name__ == "Discrete"):
        start = 0 if observations is None else observations["start"]
        n = sizes[0] if observations is None else min(sizes[0], observations["n"])
        observations = {"kind": "discrete", "n": n, "start": start}
    moves = actions_of(environment, sizes and sizes[1])
    names = ACTION_NAMES.get(type(getattr(environment, "unwrapped", environment)).__name__)
    names = names if names is not None and len(names) == size(moves) else None  # a wrapper may change the actions
    check("max_states", max_states, between(1, MOST_STATES))
    return Encoding(observations, moves, max_states=max_states, key=key, action_names=names)


def actions_of(environment: Any, actions: int | None) -> Space:
    """Return the action space of an environment; if it has no action space, `actions` is the number of actions."""
    name, space = name_of(environment), getattr(environment, "action_space", actions)
    if space is None:
        raise SettingError(
            f"{name} has no action_space; set action_space to the number of actions, or to a space such as"
            " gymnasium.spaces.Discrete(4)"
        )
    moves = space_of(space)
    if moves is None or size(moves) > MOST_ACTIONS:
        raise SettingError(
            f"the actions of {name} are {space}; there must be at most {MOST_ACTIONS:,} actions. To choose some of"
            " the actions, use a wrapper such as gymnasium.wrappers.TransformAction"
        )
    return moves


def space_of(space: Any) -> Space | None:
    """Return a finite Gymnasium space or an integer in the form that `Encoding` uses; return None for other spaces."""
    kind = type(space).__name__
    if kind == "int":
        return {"kind": "discrete", "n": space, "start": 0}
    if kind == "Discrete":
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if kind == "MultiDiscrete":
        n, start = space.nvec.ravel().tolist(), space.start.ravel().tolist()
        return {"kind": "array", "n": n, "start": start, "shape": list(space.shape)}
    if kind == "MultiBinary":
        count = math.prod(space.shape)
        return {"kind": "array", "n": [2] * count, "start": [0] * count, "shape": list(space.shape)}
    if kind not in ("Tuple", "Dict"):
        return None
    parts: list[Any] = [space_of(part) for part in (space.spaces.values() if kind == "Dict" else space.spaces)]
    if None in parts:
        return None
    named = [list(pair) for pair in zip(space.spaces, parts, strict=True)]
    return {"kind": kind.lower(), "parts": named if kind == "Dict" else parts}
