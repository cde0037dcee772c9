"""Every world as a Gymnasium environment.

Observations are the states 0..S-1 and the goal S, actions are 0..A-1. A step's reward is minus its cost. An episode is
`terminated` on entering the goal, or a state from which no path leads to the goal; ``info["goal"]`` says which, and
``info["cost"]`` what the step cost. Nothing is ever truncated here.

One uniform number is drawn for each step and read as `goalward.acting.rollout` does, so a run of `learn` in the
environment is the run in the model, step for step.

An action that is not available leaves the state as it is, at the largest cost of the model; where there are such
actions, ``info["action_mask"]`` shows those that are available.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from goalward.acting.rollout import draw_successor, dynamics
from goalward.arrays import Bytes
from goalward.environments.drawing import image, text
from goalward.errors import PolicyError, SettingError
from goalward.settings import checked_choice
from goalward.ssp.graph import can_reach_goal
from goalward.ssp.model import SSP
from goalward.worlds.base import make

__all__ = ["WorldEnv"]

MODES = ("ansi", "rgb_array")


class WorldEnv(gymnasium.Env[Any, Any]):
    """A world as an environment.

    Parameters
    ----------
    world
        A model, or the id of a registered world.
    render_mode
        What `render` returns: "ansi" for a text, "rgb_array" for an image.
    settings
        The settings of a registered world, such as ``rows=5``.

    Examples
    --------
    >>> import goalward as gw, gymnasium
    >>> env = gymnasium.make("goalward/GridWorld-v0", rows=2, columns=2, success=1.0, render_mode="ansi")
    >>> env.reset(seed=0)
    (0, {})
    >>> env.step(3)
    (2, -1.0, False, False, {'cost': 1.0, 'goal': False})
    >>> print(env.render())
    S.
    @G
    state 2, cost so far 1
    """

    metadata = {"render_modes": list(MODES), "render_fps": 4}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, world: str | SSP, render_mode: str | None = None, **settings: Any):
        if isinstance(world, SSP) and settings:
            raise SettingError(f"a model has no settings; leave {', '.join(settings)} out")
        if render_mode is not None:
            checked_choice("render_mode", render_mode, MODES)
        self.render_mode = render_mode
        self.ssp = world if isinstance(world, SSP) else make(world, **settings)
        self.observation_space = spaces.Discrete(self.ssp.states + 1)
        self.action_space = spaces.Discrete(self.ssp.actions)
        self._costs: list[list[float]] = self.ssp.costs.tolist()
        self._dearest = float(self.ssp.costs[self.ssp.available].max())
        self._lost: list[bool] = [*(~can_reach_goal(self.ssp)).tolist(), False]
        self._masks = None if self.ssp.available.all() else self.ssp.available.astype(np.int8)
        self._dynamics = dynamics(self.ssp)
        self.state = self.ssp.initial_state
        self.paid = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self.state, self.paid = self.ssp.initial_state, 0.0
        return self.state, self.info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play an action."""
        ssp = self.ssp
        if not 0 <= action < ssp.actions:
            raise PolicyError(f"action is {action!r}; this world has 0..{ssp.actions - 1}")
        cost = 0.0
        if self.state != ssp.goal:
            cost = self._costs[self.state][action]
            chance = self.np_random.random()
            if cost == np.inf:
                cost = self._dearest
            else:
                self.state = draw_successor(*self._dynamics[:3], self.state * ssp.actions + int(action), chance)
        self.paid += cost
        reached = self.state == ssp.goal
        info = {"cost": cost, "goal": reached} | self.info()
        return self.state, 0.0 - cost, reached or self._lost[self.state], False, info

    def info(self) -> dict[str, Any]:
        """Return what is said of the state: which actions are available, if not all are everywhere."""
        if self._masks is None or self.state == self.ssp.goal:
            return {}
        return {"action_mask": self._masks[self.state].copy()}

    def render(self) -> str | Bytes | None:
        """Return the state as a text or as an image."""
        if self.render_mode == "ansi":
            return text(self.ssp, self.state, self.paid)
        return image(self.ssp, self.state, np.array(self._lost[:-1])) if self.render_mode == "rgb_array" else None
