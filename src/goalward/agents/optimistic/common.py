"""What optimistic agents have in common: settings, counts, checks, ties, and attempts with a horizon.

They are defined for known costs in [0, 1]. With `rescale` they divide the costs of any other world by the largest one
and plan in that unit; the costs and the regret of a run are in true costs all the same. Their confidence widths hold
with probability 1 - delta; `scale` multiplies the widths, with 1 for those of the theory and less for the tuned regime
of the paper's second experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Gt

from goalward.acting.contract import Steps, Task
from goalward.acting.stop import CUT, GOALS, STEPS
from goalward.agents.base import Agent, OnlineAgent, Step
from goalward.agents.ties import break_ties, checked_order, pick, shares
from goalward.arrays import Floats, Int32s, Int64s
from goalward.beliefs.counts import Counts, enter
from goalward.errors import ConvergenceError, CostError, SettingError, StateError
from goalward.jit import kernel
from goalward.settings import Confidence, Size

__all__ = [
    "HORIZON", "IN_PROGRESS", "MISSED", "ROW_FULL", "TAKEN", "Attempts", "Fact", "HorizonOptimist", "OnlineOptimist",
    "Optimist", "at_least_one", "count_step", "next_power",
]  # fmt: skip

LARGEST_PLAN = 1 << 28
Fact = Annotated[float, Gt(0.0), ": see gw.hardness(world)"]
Scale = Annotated[float, Gt(0.0), ", 1 for the theory's widths"]
ROW_FULL = -1  # what a kernel returns if it cannot count a step
# Positions in an attempt: its steps so far, its horizon, whether it is in progress, whether the last one failed.
TAKEN, HORIZON, IN_PROGRESS, MISSED = range(4)


class Optimist(Agent, kw_only=True):
    """An agent that plans in the most favourable model among those that it cannot rule out."""

    delta: Confidence = 0.1
    """The confidence: all intervals hold at once with probability 1 - delta."""

    scale: Scale = 1.0
    """Multiplies the width of the intervals, or the bonus; 1 is the theory's."""

    ties: Literal["random", "first"] = "random"
    """What to play where actions look equally good: "random", or "first" in the order of `action_order`."""

    action_order: Sequence[int] | None = None
    """The actions in the order in which "first" prefers them; by their numbers if not given."""

    max_sweeps: Size = 1_000_000
    """Sweeps after which an optimistic plan that has not settled is an error."""

    rescale: bool = False
    """Whether to divide all costs by the largest one, for worlds with costs above 1; the notes of a run say by what."""

    scales: ClassVar[tuple[float, ...]] = tuple(10.0 ** (-step / 4) for step in range(17))
    """The scales that `goalward.tune` tries: from the theory's down by four powers of ten, four steps each."""

    @property
    def leaves_free_loops(self) -> bool:
        """Whether it makes zero costs positive, or plans to a horizon beyond which staying costs."""
        return True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Check the task and start counting."""
        super().begin(task, rng)
        self._unit = cost_unit(self.name, task, self.rescale)
        self._order = checked_order(self.action_order, task.actions)
        # A copy of their own: kernels take the costs writable, as a deep copy leaves them when a run is resumed.
        self._costs = task.costs / self._unit
        self.counts = Counts(task)
        self.epoch = 0
        self.Q = np.where(task.available, 0.0, np.inf)

    def observe(self, steps: Steps) -> None:
        """Count what happened."""
        self.counts.add(steps)

    def greedy(self, Q: Floats) -> Int64s:
        """Return a policy of smallest value, ties broken once for the whole plan."""
        return break_ties(Q, self._order, self.rng.random(len(Q)) if self.ties == "random" else None)

    def mixture(self, Q: Floats) -> Floats | Int64s:
        """Return a policy of smallest value, ties broken independently at every step."""
        return shares(Q) if self.ties == "random" else self.greedy(Q)

    @property
    def chance_factor(self) -> float:
        """The factor of the uniform numbers that break ties: with 0 the first of the best actions is picked."""
        return 1.0 if self.ties == "random" else 0.0

    def check_settled(self, residual: float, accuracy: float, sweeps: int) -> None:
        """Refuse a plan that has not settled."""
        if not residual <= accuracy:
            raise ConvergenceError(self.name, self.epoch, float(residual), float(accuracy), int(sweeps))

    def notes(self) -> dict[str, int | float | str]:
        """Return the scale and the rule for ties: a result says nothing without them."""
        notes: dict[str, int | float | str] = {"scale": self.scale, "ties": self.ties}
        return notes | {"costs_divided_by": self._unit} if self.rescale else notes


class OnlineOptimist(OnlineAgent, Optimist):
    """An optimist that learns at every step and plays the smallest Q, from Q = V = 0 and B = 1 on."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self.V = np.zeros(task.states + 1)
        self.B = np.ones(1)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Return the argmin of Q."""
        return int(pick(self.Q, state, self._order, draw() * self.chance_factor))

    def values(self) -> Floats:
        """Return V."""
        return self._unit * self.V[:-1]

    def notes(self) -> dict[str, int | float | str]:
        """Return B as it is at the end, beside the scale and the rule for ties."""
        return super().notes() | {"B": self._unit * float(self.B[0])}


class Attempts(OnlineAgent, Optimist):
    """An optimist that plans for one attempt to reach the goal, which ends after `HORIZON` steps at the latest."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task."""
        super().begin(task, rng)
        self._attempt: Int64s = np.zeros(4, dtype=np.int64)

    def learn(self, step: Step[int]) -> int:
        """Count a step; a truncated episode ends the attempt."""
        row, goal = step.state * self.task.actions + step.action, self.task.goal
        while (ended := count_step(row, step.next_state, goal, *self.counts.rows, self._attempt)) == ROW_FULL:
            self.counts.widen()
        return ended + CUT if step.truncated else ended

    def restart(self) -> None:
        """Start an episode, with an attempt of its own."""
        self._attempt[IN_PROGRESS] = self._attempt[MISSED] = 0


class HorizonOptimist(Optimist, kw_only=True):
    """An optimist with plans of finitely many steps; it must be told B* and T*."""

    B_star: Fact
    """B*, the largest optimal value."""

    T_star: Fact
    """T*, the largest expected number of steps of the optimal policy."""

    needs: ClassVar[tuple[str, ...]] = ("B_star", "T_star")

    def check_horizon(self, formula: str, horizon: int) -> None:
        """Raise SettingError if plans of so many steps do not fit into memory; `formula` is for the message."""
        pairs = self.task.costs.size
        if horizon * pairs > LARGEST_PLAN:
            raise SettingError(
                f"the horizon {formula} is {horizon}; its plans of {horizon} steps by {pairs} pairs do not fit into"
                " memory: a smaller T_star is needed"
            )


def cost_unit(name: str, task: Task, rescale: bool) -> float:
    """Return what costs are divided by; raises an error if they lie outside [0, 1] or a state has no action."""
    idle = ~task.available.any(axis=1)
    if idle.any():
        raise StateError(
            f"in state {int(np.argmax(idle))} no action is available; {name} cannot plan around such states: leave them"
            " out, or give them an action that resets to the start at a cost"
        )
    real = task.costs[task.available]
    largest = float(real.max())
    if rescale and largest > 0.0:
        return largest
    if real.min() < 0.0 or largest > 1.0:
        raise CostError(
            f"costs lie in {real.min():g}..{largest:g}; {name} is defined for costs in [0, 1]: rescale=True makes it"
            f" plan in units of the largest cost, as in world.with_costs(world.costs / {largest:g})"
        )
    return 1.0


@kernel
def count_step(
    row: int, successor: int, goal: int,
    size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s, attempt: Int64s,
) -> int:  # fmt: skip
    """Count a step of an attempt; return flags if it ends the attempt, or ROW_FULL with nothing changed."""
    if not enter(row, successor, size, successors, counts):
        return ROW_FULL
    visits[row] += 1
    attempt[TAKEN] += 1
    ended = 0
    if successor == goal:
        ended += GOALS
    if attempt[TAKEN] == attempt[HORIZON]:
        ended += STEPS
    if ended > 0:
        attempt[IN_PROGRESS] = 0
        attempt[MISSED] = successor != goal
    return ended


def at_least_one(visits: Int64s) -> Floats:
    """Return n⁺ = max(n, 1) for each row."""
    return np.maximum(visits.reshape(-1), 1).astype(np.float64)


def next_power(n: Int64s) -> Int64s:
    """Return the next visits at which an estimate is refreshed: 1, 2, 4, 8, ..."""
    return np.maximum(2 * n, 1)
