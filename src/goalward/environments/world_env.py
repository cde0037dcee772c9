"""Gymnasium environments of all worlds, registered under ids such as ``goalward/GridWorld-v0``.

Observations are the states 0..S-1 and the goal S. Actions are 0..A-1. The reward of a step is minus its cost. An
episode is `terminated` when it enters the goal or a state from which no path leads to the goal. ``info["goal"]`` says
whether the step reached the goal, and ``info["cost"]`` is the cost of the step. No episode is truncated.

Each step draws one uniform random number and chooses the successor with this number, as `goalward.acting.model_world`
does. So a run of `learn` in the environment is the same as the run in the model, step for step.

An unavailable action does not change the state, and costs as much as the most expensive action of the model. If the
model has unavailable actions, ``info["action_mask"]`` marks the available actions.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from goalward.acting.model_world import draw_successor, dynamics
from goalward.arrays import Bools
from goalward.errors import PolicyError
from goalward.registry import summary
from goalward.ssp.graph import can_reach_goal
from goalward.ssp.model import SSP
from goalward.worlds.base import World, make, registry


class WorldEnv(gymnasium.Env[Any, Any]):
    """A world as a Gymnasium environment.

    Parameters
    ----------
    world
        A model, or the id of a registered world.
    settings
        The settings of a registered world, such as ``rows=5``.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("goalward.environments:goalward/GridWorld-v0", rows=2, columns=2, success=1.0)
    >>> env.reset(seed=0)
    (0, {})
    >>> env.step(3)
    (2, -1.0, False, False, {'cost': 1.0, 'goal': False})
    """

    def __init__(self, world: str | SSP, **settings: Any):
        self.ssp = world if isinstance(world, SSP) else make(world, **settings)
        self.observation_space = spaces.Discrete(self.ssp.states + 1)
        self.action_space = spaces.Discrete(self.ssp.actions)
        self._costs: list[list[float]] = self.ssp.costs.tolist()
        self._largest_cost = float(self.ssp.costs[self.ssp.available].max())
        self._dead_end: Bools = np.append(~can_reach_goal(self.ssp), False)
        self._masks = None if self.ssp.available.all() else self.ssp.available.astype(np.int8)
        self._rows = dynamics(self.ssp)[:3]
        self.state = self.ssp.initial_state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.ssp.initial_state
        return self.state, self.info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        ssp = self.ssp
        if not 0 <= action < ssp.actions:
            raise PolicyError(f"action is {action!r}; this world has the actions 0..{ssp.actions - 1}")
        cost = 0.0
        if self.state != ssp.goal:
            cost = self._costs[self.state][action]
            chance = self.np_random.random()
            if cost == np.inf:
                cost = self._largest_cost
            else:
                self.state = draw_successor(*self._rows, self.state * ssp.actions + int(action), chance)
        reached = self.state == ssp.goal
        info = {"cost": cost, "goal": reached} | self.info()
        return self.state, 0.0 - cost, reached or bool(self._dead_end[self.state]), False, info

    def info(self) -> dict[str, Any]:
        """Return a dictionary with the mask of available actions; it is empty if all actions are always available."""
        if self._masks is None or self.state == self.ssp.goal:
            return {}
        return {"action_mask": self._masks[self.state].copy()}


def environment_id(world: World) -> str:
    """Return the Gymnasium id of a world, which contains the title of its docstring and its version."""
    return f"goalward/{summary(world).partition(':')[0]}-v{world.version}"


def register_worlds(known: Container[str]) -> None:
    """Register all worlds with finitely many states in Gymnasium, except worlds whose id is in `known`."""
    for id, world in registry:
        name = environment_id(world)
        if name not in known and not world.continuous:
            gymnasium.register(name, entry_point="goalward.environments.world_env:WorldEnv", kwargs={"world": id})
