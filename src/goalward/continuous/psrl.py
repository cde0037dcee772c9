"""Continuous PSRL-SSP: posterior sampling for goal tasks with continuous states.

The algorithm follows PSRL-SSP (see `agents/posterior/psrl.py`), but a sampled model has smooth dynamics instead of a
table. Nothing about this algorithm is proved. docs/reference/agents-continuous.md says which parts are published.

Pseudo-code
     1  Input: the box, the goal set, the costs; D features, a lattice over the box
     2  t <- 1, l <- 0, K_{-1} <- 0, t_0 <- 0, k_{t_0} <- 0; give_up <- the largest cost times sum of nodes per axis
     3  for episodes k = 1, ..., K:
     4      while x_t is not in the goal set:
     5          if k - k_{t_l} > K_{l-1} or det(I + sum phi phi^T) of some action has doubled since t_l:
     6              K_l <- k - k_{t_l}
     7              l <- l + 1, t_l <- t, k_{t_l} <- k
     8              repeat at most `draws` times:
     9                  draw dynamics and noise from the posterior
    10                  V_l <- the optimal values on the lattice, where giving up costs give_up
    11                  until V_l(x_t) < give_up
    12              if no draw met line 11: give_up <- 2 give_up, and solve the last draw again
    13          play a_t, which minimises c(x_t, a) + E V_l(x') under the draw, and observe x_{t+1}
    14          update the posterior

Giving up
    In a sampled model, the goal may be out of reach. The paper's theory needs a prior on models whose values are at
    most some bound B. Here, give_up takes the place of B: in every state, the planner may give up at this cost, so all
    values are bounded. If the optimal plan for a draw gives up in the agent's state, the draw is rejected, and a new
    model is drawn. After `draws` rejected draws in a row, give_up is doubled, as EB-SSP doubles its estimate of B. If
    the plan gives up everywhere around the agent, all actions look the same, and the agent plays a random action.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from goalward.acting.contract import Policy, Step, Steps
from goalward.acting.stop_conditions import Ended, Stop
from goalward.agents.base import Learner, register
from goalward.arrays import Floats
from goalward.continuous.lattice import Lattice
from goalward.continuous.policy import LatticePolicy
from goalward.continuous.regression import Dynamics, FourierRegression, update_inverse
from goalward.continuous.task import ContinuousPlan, TaskSpec, checked_costs, per_axis, task_spec
from goalward.errors import SettingError
from goalward.memory import LARGEST_NUMBER
from goalward.planning.evaluate import action_values
from goalward.planning.solve import Solution, solve_all
from goalward.seeds import generator
from goalward.settings import Confidence, Size, between, check
from goalward.ssp.model import SSP
from goalward.worlds.base import is_foreign

MOST_DIMENSIONS = 4
Nodes = Annotated[int, Ge(3)]
MOST_NODES = 1_000_000
NODES = {1: 201, 2: 61, 3: 25, 4: 15}
SWALLOWED = 0.25
"""The lattice ignores noise below this share of the node distance, because interpolation adds as much variance."""


class ContinuousAgent(Learner[TaskSpec, ContinuousPlan]):
    """An algorithm that learns in tasks with continuous states.

    Files do not store the goal and cost functions of a task. If an agent was read from a file and these functions are
    missing, the agent keeps its saved state unchanged until a run resumes with the task.
    """

    continuous: ClassVar[bool] = True

    def begin(self, task: TaskSpec, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self._begun_on = task
        self._saved: dict[str, Any] | None = None
        if task.has_functions:
            self.set_up(task)

    @abstractmethod
    def set_up(self, task: TaskSpec) -> None:
        """Prepare the agent to learn in `task` from scratch; `task` must have its goal and cost functions."""

    def to_state(self) -> dict[str, Any]:
        return super().to_state() if self._saved is None else self._saved

    def restore(self, state: dict[str, Any]) -> None:
        if self.task.has_functions:
            super().restore(state)
        else:
            self._saved = state

    def restart(self) -> None:
        """Start an episode. If a resumed run has a new task object, set up the agent again and restore its state."""
        if self.task is self._begun_on:
            return
        learnt, rng = self.to_state(), self.rng
        self.begin(self.task, generator(0))  # `restore` replaces everything that is drawn here
        try:
            self.restore(learnt)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
            raise SettingError(f"the saved state of {self.name} does not fit the task ({error})") from None
        self.rng = rng

    @staticmethod
    def task_to_state(task: TaskSpec) -> dict[str, Any]:
        """Return `task` as plain data and arrays; for a registered task, the data include its id and settings."""
        plain = {name: getattr(task, name) for name in ("low", "high", "periodic", "episodes")}
        names = {name: list(getattr(task, name)) for name in ("coordinates", "action_names")}
        return plain | names | {"world": None if task.origin is None else dict(task.origin)}

    @staticmethod
    def task_from_state(state: dict[str, Any]) -> TaskSpec:
        """Return the task that `task_to_state` saved; only a registered task has its goal and cost functions."""
        from goalward.continuous import make

        episodes = check("episodes", state["episodes"], between(1, LARGEST_NUMBER))
        if (world := state["world"]) is not None:
            if is_foreign(world["id"]):
                raise ValueError(f"its task comes from {world['id']}, and goalward runs only files that you name")
            return make(world["id"], **world["settings"]).task(episodes)
        box = {name: state[name] for name in ("low", "high", "periodic", "coordinates")}
        return replace(task_spec(**box, actions=list(state["action_names"]), goal=None, cost=1.0), episodes=episodes)


@register("continuous-psrl")
class ContinuousPSRL(ContinuousAgent):
    """Posterior sampling for tasks with at most four continuous dimensions; learns dynamics and noise."""

    recommended: ClassVar[str] = "continuous states"

    features: Annotated[int, Ge(1), Le(4096)] | None = None
    """D, the number of random Fourier features; by default 16 times 2^m in m dimensions."""

    nodes: Nodes | Sequence[Nodes] | None = None
    """The number of lattice nodes on each axis: one number, or a list with one number per axis. The default is 201, 61,
    25 or 15 nodes in 1, 2, 3 or 4 dimensions."""

    draws: Size = 8
    """The cost of giving up is doubled if this many sampled models in a row give up in the agent's state."""

    tolerance: Confidence = 1e-3
    """The guaranteed relative precision of the optimal values of a sampled model on the lattice."""

    def set_up(self, task: TaskSpec) -> None:
        """Run lines 1 and 2 of the pseudo-code."""
        m = task.dimensions
        if m > MOST_DIMENSIONS:
            raise SettingError(
                f"the task has {m} dimensions, but {self.name} allows at most {MOST_DIMENSIONS}. Pass a function state="
                " that computes fewer numbers, and their bounds low= and high=, or use a tabular agent in"
                " gw.Environment(gw.Discretize(env, bins=...), ...)"
            )
        nodes = NODES[m] if self.nodes is None else self.nodes
        self._lattice = Lattice(task, per_axis("nodes", nodes, m, MOST_NODES))
        self._costs = checked_costs(task.cost(self._lattice.points), self._lattice.points, task.actions)
        self.belief = FourierRegression(task, 16 << m if self.features is None else self.features, self.rng)
        self.k = 1  # the current episode
        self.k_start = 0  # k_{t_l}, the episode in which the current epoch began
        self.give_up = float(self._costs.max() * self._lattice.nodes.sum())
        self.rejections = 0
        self._phi: tuple[float, Floats] = (math.nan, np.empty((0, 0)))
        self._previous: Solution | None = None

    def plan(self, state: Floats) -> ContinuousPlan:
        """Start an epoch and return its plan (lines 6 to 12 of the pseudo-code)."""
        K_previous = self.k - self.k_start
        self.k_start = self.k
        dynamics, values = self.draw(state)
        stop = InformationStop(self.belief, K_previous + 1)
        return ContinuousPlan(LookAhead(self, dynamics, values), stop, points=self._lattice.points, values=values)

    def observe(self, steps: Steps) -> None:
        """Update the posterior (line 14 of the pseudo-code) and the episode number k."""
        self.belief.update(steps)
        self.k += int(np.count_nonzero(steps.reached))

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the saved `state`, but raise give_up at least to its initial value for the current task."""
        least = self.give_up if self.task.has_functions else 0.0
        super().restore(state | {"give_up": max(least, state["give_up"])})

    def draw(self, state: Floats) -> tuple[Dynamics, Floats]:
        """Draw models until one does not give up in `state` (lines 8 to 12); return the last model and its values."""
        for _ in range(self.draws):
            dynamics = self.belief.sample(self.rng)
            values = self.solve(dynamics)
            if self._lattice.interpolate(state[np.newaxis], values)[0] < self.give_up * (1.0 - self.tolerance):
                return dynamics, values
            self.rejections += 1
        self.give_up *= 2.0
        return dynamics, self.solve(dynamics)

    def solve(self, dynamics: Dynamics) -> Floats:
        """Return the optimal values of a model on the lattice; the solver starts from the previous model's values."""
        self._previous = solve_all(self.on_lattice(dynamics), self.tolerance, self._previous)
        return self._previous.values

    def on_lattice(self, dynamics: Dynamics) -> SSP:
        points = self._lattice.points
        if self._phi[0] != self.belief.length:
            self._phi = (self.belief.length, self.belief.features(points))
        moved = self.belief.moved(points, self._phi[1], dynamics)
        return self._lattice.model(moved[:, :, np.newaxis, :] + self.shifts(dynamics), self._costs, self.give_up)

    def best_policy(self) -> LatticePolicy:
        """Return the optimal policy of the posterior mean on the lattice."""
        task, lattice = self.task, self._lattice
        model = self.on_lattice(self.belief.mean())
        values = action_values(model, solve_all(model, self.tolerance).values)[:, : task.actions]
        at_nodes = np.append(values, np.zeros((1, task.actions)), axis=0)[lattice.state_of]  # 0 in the goal set
        return LatticePolicy(
            task.low, task.high, task.periodic, lattice.nodes, at_nodes, lattice.nearest(self.belief.states), True,
            task.encoding,
        )  # fmt: skip

    def shifts(self, dynamics: Dynamics) -> Floats:
        """Return equally likely shifts ``[q, m]`` that have the same mean and variance as the noise."""
        m = len(dynamics.noise)
        axes = np.flatnonzero(dynamics.noise > SWALLOWED * self._lattice.spacing)
        shifts = np.zeros((2 * len(axes) + 1, m))
        for i, axis in enumerate(axes):
            width = dynamics.noise[axis] * math.sqrt(len(axes) + 0.5)
            shifts[2 * i + 1, axis], shifts[2 * i + 2, axis] = width, -width
        return shifts

    def notes(self) -> dict[str, int | float | str]:
        return {
            "length_scale": self.belief.length,
            "signal_to_noise": self.belief.ratio,
            "rejected_draws": self.rejections,
            "give_up": self.give_up,
        }


class LookAhead(Policy[Floats]):
    """The policy in line 13: it minimises the cost of a step plus the lattice value of the next state."""

    def __init__(self, agent: ContinuousPSRL, dynamics: Dynamics, values: Floats):
        self.belief, self.lattice, self.task = agent.belief, agent._lattice, agent.task
        self.dynamics, self.values = dynamics, values
        self.shifts = agent.shifts(dynamics)
        self.flat = agent.give_up * agent.tolerance

    def act(self, state: Floats, draw: Callable[[], float]) -> int:
        """Return the action with the least expected cost, or a random action if the plan gives up everywhere nearby."""
        chance = draw()  # at every step, so that the random numbers do not depend on the values
        point = state[np.newaxis]
        moved = self.belief.moved(point, self.belief.features(point), self.dynamics)[0]
        ends = (moved[:, np.newaxis, :] + self.shifts).reshape(-1, len(state))
        ahead = self.lattice.interpolate(ends, self.values).reshape(len(moved), -1).mean(axis=1)
        totals = self.task.cost(point)[0] + ahead
        if ahead.min() >= self.values.max() - self.flat and np.ptp(totals) <= self.flat:
            return int(chance * len(totals))
        return int(np.argmin(totals))


class InformationStop(Stop[Floats]):
    """Ends a plan (line 5) after `goals` goals, or when det(I + sum phi phi^T) has doubled for an action."""

    def __init__(self, belief: FourierRegression, goals: int):
        self.belief, self.goals = belief, goals
        self.inverses: dict[int, Floats] = {}
        self.gains: Floats = np.zeros(len(belief.gram))
        self.room: Floats = np.empty(belief.size)

    def after(self, step: Step[Floats]) -> int:
        self.goals -= step.reached
        action = step.action
        if action not in self.inverses:
            self.inverses[action] = self.belief.inverses[action].copy()
        phi = self.belief.features(step.state[np.newaxis])[0]
        self.gains[action] += math.log1p(update_inverse(self.inverses[action], phi, self.room))
        ended = int(Ended.INFORMATION) if self.gains[action] >= math.log(2.0) else 0
        return ended | int(Ended.GOALS) if step.reached and self.goals <= 0 else ended
