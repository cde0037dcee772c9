"""Gymnasium environments and similar objects: turning one into a world to learn in, and a world into an environment.

Importing this package registers the built-in worlds with Gymnasium, so ``gymnasium.make("goalward/GridWorld-v0")``
finds them afterwards; ``gymnasium.make("goalward.environments:goalward/GridWorld-v0")`` does both.
"""

try:
    import gymnasium
except ModuleNotFoundError:
    pass  # any object with `reset` and `step` is still an environment to learn in
else:
    from goalward.environments.world_env import register_worlds

    register_worlds(gymnasium.registry)
