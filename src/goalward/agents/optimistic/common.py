"""What optimistic agents have in common: settings, counts, checks and ties.

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
from goalward.agents.base import Agent, OnlineAgent
from goalward.agents.ties import break_ties, checked_order, pick, shares
from goalward.arrays import Floats, Int64s
from goalward.beliefs.counts import Counts
from goalward.errors import ConvergenceError, CostError, StateError
from goalward.settings import Confidence, Size

__all__ = ["ROW_FULL", "Fact", "OnlineOptimist", "Optimist", "at_least_one", "next_power"]

ROW_FULL = -1  # what a kernel returns if it cannot count a step
Fact = Annotated[float, Gt(0.0), ": see gw.hardness(world)"]
Scale = Annotated[float, Gt(0.0), ", 1 for the theory's widths"]
ROW_FULL = -1  # what a kernel returns if it cannot count a step
# Positions in an attempt: its steps so far, its horizon, whether it is in progress, whether the last one failed, and
# for agents with a policy for each step the number of last steps whose policies differ.
TAKEN, HORIZON, IN_PROGRESS, MISSED, DISTINCT = range(5)


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


def at_least_one(visits: Int64s) -> Floats:
    """Return n⁺ = max(n, 1) for each row."""
    return np.maximum(visits.reshape(-1), 1).astype(np.float64)


def next_power(n: Int64s) -> Int64s:
    """Return the next visits at which an estimate is refreshed: 1, 2, 4, 8, ..."""
    return np.maximum(2 * n, 1)
