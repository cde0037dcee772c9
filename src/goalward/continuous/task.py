"""A goal task with continuous states: what an agent is told (`BoxTask`), and the dynamics behind it.

An episode starts at a random point of the box and ends in the goal set. In between, an action leads from a state to a
random next state, in a way that the agent is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalward.acting.contract import Step
from goalward.acting.stepping import Simulator, SteppingStage
from goalward.arrays import Floats
from goalward.continuous.base import BoxPlan
from goalward.continuous.box_task import BoxTask, CostFunction, GoalSet, box_task
from goalward.errors import PolicyError, StateError
from goalward.seeds import generator, streams

__all__ = ["BoxSimulator", "GoalTask", "drawn_start"]

StartFunction = Callable[[np.random.Generator], ArrayLike]
StepFunction = Callable[[Floats, int, np.random.Generator], ArrayLike]
MOST_STARTS = 1000
"""How often in a row a start in the goal set is drawn again."""


class GoalTask:
    """A goal task with continuous states and the dynamics behind it.

    Parameters
    ----------
    low, high
        The bounds of the box of states.
    actions
        The number of actions, or their names.
    step
        ``step(state, action, rng)`` returns the next state; it draws what is random from `rng`. Where it leads out of
        the box, the agent takes it for the nearest point of the box.
    goal
        Returns which of some points, ``[n, m]``, lie in the goal set.
    start
        A state, or ``start(rng)``, which returns one. A start in the goal set is drawn again.
    cost
        The cost of a step: a number, one for each action, or a function that returns ``[n, A]`` for points ``[n, m]``.
    periodic
        Which coordinates wrap around, such as angles.
    coordinates
        What pictures call the coordinates; x0, x1, ... by default.

    Examples
    --------
    >>> import goalward as gw
    >>> line = gw.GoalTask(low=[0.0], high=[1.0], actions=["left", "right"], goal=lambda x: x[:, 0] >= 0.95,
    ...                    step=lambda x, a, rng: x + (0.1 if a else -0.1) + rng.normal(0.0, 0.01), start=[0.1])
    >>> line
    GoalTask(1 dimension, 2 actions, box [0..1])
    >>> run = gw.learn(gw.agents.ContinuousPSRL(), line, episodes=5, seed=0)
    >>> bool(run.steps[-1] <= 12)
    True
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        actions: int | Sequence[str],
        step: StepFunction,
        goal: GoalSet,
        start: StartFunction | ArrayLike,
        cost: float | ArrayLike | CostFunction = 1.0,
        periodic: ArrayLike = False,
        coordinates: Sequence[str] | None = None,
    ):
        self.known = box_task(low, high, actions, goal, cost, periodic, coordinates)
        self._simulate: Callable[[int], Simulator[Floats]]
        if callable(start):
            draw = start
        else:
            fixed = self.known.checked_state(start)
            draw = lambda rng: fixed  # noqa: E731
        self._simulate = lambda stream: FunctionSimulator(self.known, draw, step, generator(stream))

    @classmethod
    def from_simulator(cls, known: BoxTask, simulate: Callable[[int], Simulator[Floats]]) -> GoalTask:
        """Return the task of a function that starts a simulator from an integer seed."""
        task = object.__new__(cls)
        task.known, task._simulate = known, simulate
        return task

    @classmethod
    def from_gymnasium(
        cls,
        environment: Any,
        *,
        goal: GoalSet | None = None,
        cost: float | ArrayLike | CostFunction | None = None,
        actions: ArrayLike | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        periodic: ArrayLike | None = None,
        read: Callable[[Any], ArrayLike] | None = None,
    ) -> GoalTask:
        """Return the task of a Gymnasium environment.

        MountainCar, Acrobot and Pendulum are known and need no arguments. For others, say what the agent may know.

        Parameters
        ----------
        environment
            The environment. A step limit of its own cuts episodes off: make it with ``max_episode_steps=None``.
        goal, cost
            The goal set and the costs, as for `GoalTask`. What the environment calls terminated must lie in the goal
            set. Its rewards are not looked at.
        actions
            The actions to choose from, if the action space is continuous: an array ``[A, ...]`` inside the space.
        low, high, periodic
            The box of states, by default the observation space, which must be bounded then.
        read
            Returns the state for an observation, by default the observation itself.
        """
        from goalward.continuous.environment_task import environment_task

        return environment_task(environment, goal, cost, actions, low, high, periodic, read)

    model = graph = None  # the dynamics are not known

    def simulator(self, stream: int) -> Simulator[Floats]:
        """Start a simulator; all its random draws come from the stream."""
        return self._simulate(stream)

    def task(self, episodes: int) -> BoxTask:
        """Return what an agent may know."""
        return replace(self.known, episodes=episodes)

    def stage(self, seed: int, *, limited: bool = False, costs_known: bool = True) -> SteppingStage[Floats, BoxPlan]:
        """Return a stage at the start of an episode."""
        environment, _, acting = streams(seed)
        return SteppingStage(self.simulator(environment), acting, lambda plan: (plan.policy, plan.stop), self.column)

    def column(self, states: list[Floats]) -> Floats:
        """Return states as an array ``[n, m]``."""
        return np.array(states, dtype=np.float64).reshape(len(states), self.dimensions)

    def named(self, id: str, settings: Mapping[str, Any]) -> GoalTask:
        """Return the same task as a world of the registry."""
        twin = object.__new__(GoalTask)
        twin.__dict__.update(self.__dict__)
        twin.known = replace(self.known, origin={"id": id, "settings": dict(settings)})
        return twin

    @property
    def action_names(self) -> tuple[str, ...]:
        """What the actions are called; their numbers if they have no names."""
        return self.known.action_names

    @property
    def dimensions(self) -> int:
        """m, the number of coordinates."""
        return self.known.dimensions

    @property
    def actions(self) -> int:
        """A, the number of actions."""
        return self.known.actions

    def __repr__(self) -> str:
        known = self.known
        sides = " x ".join(f"[{low:.4g}..{high:.4g}]" for low, high in zip(known.low, known.high, strict=True))
        plural = "s" * (known.dimensions > 1)
        return f"GoalTask({known.dimensions} dimension{plural}, {known.actions} actions, box {sides})"


class BoxSimulator:
    """What simulators of goal tasks share."""

    known: BoxTask
    state: Floats
    stuck = False

    def check(self, action: int) -> None:
        """Raise PolicyError if there is no such action."""
        if not 0 <= action < self.known.actions:
            raise PolicyError(f"the plan plays action {action}; the task has the actions 0..{self.known.actions - 1}")

    def cost(self, action: int) -> float:
        """Return what an action costs in the current state."""
        return float(self.known.cost(self.state[np.newaxis])[0, action])


class FunctionSimulator(BoxSimulator):
    """A task that is given by functions, in progress."""

    def __init__(self, known: BoxTask, start: StartFunction, step: StepFunction, rng: np.random.Generator):
        self.known, self.draw, self.move, self.rng = known, start, step, rng
        self.state = self.fresh()

    def fresh(self) -> Floats:
        """Draw a start outside the goal set."""
        return drawn_start(self.known, lambda: self.draw(self.rng))

    def step(self, action: int) -> Step[Floats]:
        """Play an action, and start the next episode if this one is over."""
        before, cost = self.state, self.cost(action)
        state = self.known.checked_state(self.move(before, action, self.rng))
        reached = bool(self.known.goal(state[np.newaxis])[0])
        self.state = self.fresh() if reached else state
        return Step(before, action, cost, state, reached)


def drawn_start(known: BoxTask, draw: Callable[[], ArrayLike]) -> Floats:
    """Draw a start until it lies outside the goal set; raises StateError if that does not happen."""
    for _ in range(MOST_STARTS):
        state = known.checked_state(draw())
        if not known.goal(state[np.newaxis])[0]:
            return state
    raise StateError(f"{MOST_STARTS} starts in a row lie in the goal set; nothing can be learnt from there")
