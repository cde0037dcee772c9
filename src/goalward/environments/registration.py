"""The worlds in Gymnasium's registry: ``goalward/GridWorld-v0`` and so on."""

from __future__ import annotations

import gymnasium

from goalward.registry import summary
from goalward.worlds.base import World, registry

__all__ = ["environment_id", "register_worlds"]


def environment_id(world: World) -> str:
    """Return what Gymnasium calls a world: the name with which its documentation begins, and its version."""
    return f"goalward/{summary(world).partition(':')[0]}-v{world.version}"


def register_worlds() -> None:
    """Enter every model that Gymnasium does not know yet; goal tasks with continuous states are no models."""
    for id, world in registry:
        name = environment_id(world)
        if name not in gymnasium.registry and not world.continuous:
            gymnasium.register(name, entry_point="goalward.environments.world_env:WorldEnv", kwargs={"world": id})
