"""Wrappers around an environment: which of them may change what its steps return.

A wrapper that charges more, observes less or ends episodes early makes another task of an environment. What is known of
the environment below it, such as its table of transitions, its model or its first states, then says nothing about what
an agent meets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["changing_wrapper", "keeps_endings"]

PASSIVE = {
    "Wrapper", "OrderEnforcing", "PassiveEnvChecker", "TimeLimit", "RecordEpisodeStatistics", "RecordVideo",
    "RenderCollection", "HumanRendering", "AddWhiteNoise", "ObstructView",
}  # fmt: skip
"""Classes of Gymnasium whose `step` and `reset` pass on what they get; a time limit truncates, which is no end."""


def changing_wrapper(environment: Any) -> str | None:
    """Return the name of the outermost wrapper that may change observations, actions, rewards or ends; None if none."""
    return next((type(layer).__name__ for layer in wrappers(environment) if not is_passive(layer)), None)


def keeps_endings(environment: Any) -> bool:
    """Return whether no wrapper can end an episode: all steps go through Gymnasium's own classes."""
    return all(in_gymnasium(definer(layer, "step")) for layer in wrappers(environment))


def wrappers(environment: Any) -> Iterator[Any]:
    """Yield the wrappers around an environment, the outermost one first."""
    bare = getattr(environment, "unwrapped", environment)
    while environment is not None and environment is not bare:
        yield environment
        environment = getattr(environment, "env", None)


def is_passive(layer: Any) -> bool:
    definers = [definer(layer, method) for method in ("step", "reset")]
    return all(in_gymnasium(kind) and kind.__name__ in PASSIVE for kind in definers) and (
        layer.observation_space == layer.env.observation_space and layer.action_space == layer.env.action_space
    )


def definer(layer: Any, method: str) -> type:
    """Return the class that defines a method, or the object's own class if the method was set on the object."""
    kinds = type(layer).__mro__
    return kinds[0] if method in vars(layer) else next((kind for kind in kinds if method in vars(kind)), kinds[0])


def in_gymnasium(kind: type) -> bool:
    return kind.__module__.startswith("gymnasium.")
