"""The base class of optimistic agents, with settings, counts, checks and tie-breaking.

These agents are defined for known costs in [0, 1]. With `rescale`, an agent plans with all costs divided by the largest
cost, but the costs and the regret of a run are not divided. `scale` multiplies the widths of the confidence intervals.
With scale 1, as in the theory, all intervals hold with probability 1 - delta. The second set of experiments in the
PSRL-SSP paper uses smaller scales.

If costs are unknown, EB-SSP and ULCVI need the range of the costs and add a term to the bonus, as in the papers. The
other optimistic agents need known costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from goalward.acting.contract import Steps, Task
from goalward.agents.base import Agent, check_actions
from goalward.agents.ties import checked_order, pick_all, shares
from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import seen_model
from goalward.beliefs.costs import CostBelief
from goalward.beliefs.counts import Counts
from goalward.errors import ConvergenceError, CostError
from goalward.settings import Confidence, Positive
from goalward.ssp.model import SSP

MAX_SWEEPS = 1_000_000  # a plan that needs more sweeps raises ConvergenceError
ROW_FULL = -1  # a kernel returns this if its row has no room for a new successor


class Optimist(Agent, kw_only=True):
    """An agent that plans in the most favourable model that is consistent with its data."""

    delta: Confidence = 0.1
    """The failure probability: all intervals hold simultaneously with probability 1 - delta."""

    scale: Positive = 1.0
    """A factor of the confidence widths or of the bonus. The theory requires 1."""

    ties: Literal["random", "first"] = "random"
    """How to break ties between equally good actions. "first" plays the first tied action in `action_order`."""

    action_order: Sequence[int] | None = None
    """The actions in order of preference, used with ties="first". The default is 0, 1, 2, ..."""

    rescale: bool = False
    """Whether to divide all costs by the largest cost, for worlds with costs above 1. A note records the divisor."""

    @property
    def leaves_free_loops(self) -> bool:
        """Return True, because optimistic agents raise zero costs or plan with a terminal cost outside the goal."""
        return True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        check_actions(self.name, task)
        if task.costs_unknown and not (self.unknown_costs_covered and task.cost_range):
            remedy = "the range of the costs, as in cost_range=(smallest, largest)"
            remedy = remedy if self.unknown_costs_covered else "known costs, such as cost=1.0"
            raise CostError(f"costs are unknown; pass {remedy}, or use psrl or q-learning instead of {self.name}")
        costs = np.append(task.costs[np.isfinite(task.costs)], (task.cost_range or ()) if task.costs_unknown else ())
        largest = float(costs.max())
        self._unit = largest if self.rescale and largest > 0.0 else 1.0
        if costs.min() < 0.0 or largest > self._unit:
            raise CostError(
                f"costs lie in {costs.min():g}..{largest:g}, but {self.name} needs costs in [0, 1]; pass rescale=True"
                f" to plan in units of the largest cost, or learn in world.with_costs(world.costs / {largest:g})"
            )
        self._order = checked_order(self.action_order, task.actions)
        self._c_max = largest / self._unit
        self.counts, self.paid = Counts(task), CostBelief(task)
        # A writable copy, because a resumed run has a writable deep copy and kernels are compiled for one kind only.
        self._costs = np.where(self.paid.unknown, self.paid.range[0], task.costs) / self._unit
        self.epoch = 0
        self.Q = np.where(task.available, 0.0, np.inf)

    def observe(self, steps: Steps) -> None:
        self.counts.add(steps)
        self.paid.update(steps)

    def mean_model(self) -> SSP | None:
        return seen_model(self.task, self.counts.seen_rows(), self.paid.mean())

    def greedy(self, Q: Floats) -> Int64s:
        """Return an action of smallest `Q` for each state. Every tie is broken once for the whole plan."""
        chances = self.rng.random(len(Q)) if self.ties == "random" else np.zeros(len(Q))
        policy: Int64s = np.empty(len(Q), dtype=np.int64)
        pick_all(Q, self._order, chances, policy)
        return policy

    def mixture(self, Q: Floats) -> Floats | Int64s:
        """Return a policy of smallest `Q`. If `ties` is "random", every step breaks ties independently."""
        return shares(Q) if self.ties == "random" else self.greedy(Q)

    def check_settled(self, residual: float, accuracy: float, sweeps: int) -> None:
        """Raise ConvergenceError if the `residual` of a plan is above `accuracy` after this number of `sweeps`."""
        if not residual <= accuracy:
            raise ConvergenceError(
                f"{self.name}: the plan of epoch {self.epoch} has a residual of {residual:.3g} after {int(sweeps)}"
                f" sweeps, but at most {accuracy:.3g} is allowed; raise scale, so that plans converge faster"
            )

    def notes(self) -> dict[str, int | float | str]:
        """Return notes for the record of a run, with the scale and the tie-breaking rule."""
        notes = super().notes() | {"scale": self.scale, "ties": self.ties}
        return notes | {"costs_divided_by": self._unit} if self.rescale else notes


def at_least_one(visits: Int64s) -> Floats:
    """Return n⁺ = max(n, 1) as a float for each row, where n is the number of `visits`."""
    return np.maximum(visits.reshape(-1), 1).astype(np.float64)
