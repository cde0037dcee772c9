"""Every world as a Gymnasium environment, registered as ``goalward/GridWorld-v0`` and so on.

Observations are the states 0..S-1 and the goal S, actions are 0..A-1. The reward of a step is minus its cost. An
episode is `terminated` on entering the goal, or a state from which no path leads to the goal; ``info["goal"]`` says
which, and ``info["cost"]`` what the step cost. Episodes are never truncated here.

Each step takes one uniform number and draws its successor as `goalward.acting.model_world` does, so a run of `learn` in
the environment is the run in the model, step for step.

An action that is not available leaves the state as it is, at the largest cost of the model; where there are such
actions, ``info["action_mask"]`` shows those that are available.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from goalward.acting.model_world import draw_successor, dynamics
from goalward.arrays import Bools, Bytes
from goalward.errors import PolicyError, SettingError
from goalward.registry import summary
from goalward.settings import MISSING, Setting
from goalward.ssp.graph import can_reach_goal
from goalward.ssp.model import SSP
from goalward.worlds.base import World, make, registry

__all__ = ["WorldEnv", "environment_id", "register_worlds"]

MODES = ("ansi", "rgb_array")
CELL = 32
"""The side of a square of an image, in pixels."""
WALL, FLOOR, START, GOAL, DEAD_END, AGENT = (
    (60, 60, 70), (240, 240, 235), (190, 210, 240), (120, 190, 120), (220, 140, 130), (230, 120, 30)
)  # fmt: skip


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
    >>> import gymnasium
    >>> env = gymnasium.make(
    ...     "goalward.environments:goalward/GridWorld-v0", rows=2, columns=2, success=1.0, render_mode="ansi"
    ... )
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
            Setting(Literal[MODES], MISSING).check("render_mode", render_mode)
        self.render_mode = render_mode
        self.ssp = world if isinstance(world, SSP) else make(world, **settings)
        self.observation_space = spaces.Discrete(self.ssp.states + 1)
        self.action_space = spaces.Discrete(self.ssp.actions)
        self._costs: list[list[float]] = self.ssp.costs.tolist()
        self._largest_cost = float(self.ssp.costs[self.ssp.available].max())
        self._dead_end: Bools = np.append(~can_reach_goal(self.ssp), False)
        self._masks = None if self.ssp.available.all() else self.ssp.available.astype(np.int8)
        self._rows = dynamics(self.ssp)[:3]
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
                cost = self._largest_cost
            else:
                self.state = draw_successor(*self._rows, self.state * ssp.actions + int(action), chance)
        self.paid += cost
        reached = self.state == ssp.goal
        info = {"cost": cost, "goal": reached} | self.info()
        return self.state, 0.0 - cost, reached or bool(self._dead_end[self.state]), False, info

    def info(self) -> dict[str, Any]:
        """Return which actions are available in the state, if not all are everywhere."""
        if self._masks is None or self.state == self.ssp.goal:
            return {}
        return {"action_mask": self._masks[self.state].copy()}

    def render(self) -> str | Bytes | None:
        """Return the state as a text or as an image."""
        if self.render_mode == "ansi":
            return text(self.ssp, self.state, self.paid)
        return image(self.ssp, self.state, self._dead_end[:-1]) if self.render_mode == "rgb_array" else None


def environment_id(world: World) -> str:
    """Return the id of a world in Gymnasium: the name with which its documentation begins, and its version."""
    return f"goalward/{summary(world).partition(':')[0]}-v{world.version}"


def register_worlds(known: Container[str]) -> None:
    """Register every model that Gymnasium does not know yet."""
    for id, world in registry:
        name = environment_id(world)
        if name not in known and not world.continuous:
            gymnasium.register(name, entry_point="goalward.environments.world_env:WorldEnv", kwargs={"world": id})


def text(ssp: SSP, state: int, paid: float) -> str:
    """Return the map of a grid, if the world is one, and a line about the state: ``@`` is where the agent is."""
    where = "at the goal" if state == ssp.goal else f"state {ssp.state_name(state)}"
    line = f"{where}, cost so far {paid:g}"
    layout = ssp.layout
    if layout is None:
        return line
    cells = np.full(layout.rows * layout.columns, "#")
    cells[layout.cells] = "."
    cells[layout.cells[ssp.initial_state]] = "S"
    cells[layout.goals] = "G"
    cells[layout.goals[0] if state == ssp.goal else layout.cells[state]] = "@"
    rows = cells.reshape(layout.rows, layout.columns)
    return "\n".join(["".join(row) for row in rows.tolist()] + [line])


def image(ssp: SSP, state: int, dead_ends: Bools) -> Bytes:
    """Return an image ``[height, width, 3]``: one square for each cell, or for each state row by row."""
    if ssp.layout is not None:
        rows, columns = ssp.layout.rows, ssp.layout.columns
        cells, goals = ssp.layout.cells, ssp.layout.goals
    else:
        columns = math.ceil(math.sqrt(ssp.states + 1))
        rows = math.ceil((ssp.states + 1) / columns)
        cells, goals = np.arange(ssp.states, dtype=np.int32), np.array([ssp.states], dtype=np.int32)
    colours = np.full((rows * columns, 3), WALL, dtype=np.uint8)
    colours[cells] = FLOOR
    colours[cells[dead_ends]] = DEAD_END
    colours[cells[ssp.initial_state]] = START
    colours[goals] = GOAL
    # The last line of pixels of each square separates it from the next.
    picture = np.full((rows, CELL, columns, CELL, 3), WALL, dtype=np.uint8)
    picture[:, :-1, :, :-1] = colours.reshape(rows, 1, columns, 1, 3)
    across = np.arange(CELL) - (CELL - 2) / 2
    disk = across[:, np.newaxis] ** 2 + across**2 <= (CELL / 3) ** 2
    cell = goals[0] if state == ssp.goal else cells[state]
    picture[cell // columns, :, cell % columns, :][disk] = AGENT
    return picture.reshape(rows * CELL, columns * CELL, 3)
