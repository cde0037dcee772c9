"""Converts Gymnasium environments and similar objects to worlds, and worlds to Gymnasium environments.

Importing this package registers the built-in worlds with Gymnasium, so ``gymnasium.make("goalward/GridWorld-v0")``
works. The longer id ``"goalward.environments:goalward/GridWorld-v0"`` makes Gymnasium import this package first.
"""

try:
    import gymnasium
except ModuleNotFoundError:
    pass  # any object with `reset` and `step` is still an environment to learn in
else:
    from goalward.environments.world_env import register_worlds

    register_worlds(gymnasium.registry)
