"""What optimistic agents have in common: settings, counts, checks and ties.

They are defined for known costs in [0, 1]. With `rescale` they divide the costs of any other world by the largest one
and plan in that unit; the costs and the regret of a run are in true costs all the same. Their confidence widths hold
with probability 1 - delta; `scale` multiplies the widths, with 1 for those of the theory and less for the tuned regime
of the paper's second experiments.

Where costs are unknown, EB-SSP and ULCVI add a term to their bonus, as their papers do; the range of costs has to be
stated. The others are defined for known costs only.
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

MAX_SWEEPS = 1_000_000  # an optimistic plan that needs more sweeps is an error
ROW_FULL = -1  # what a kernel returns if it cannot count a step


class Optimist(Agent, kw_only=True):
    """An agent that plans in the most favourable model among those that it cannot rule out."""

    delta: Confidence = 0.1
    """The confidence: all intervals hold at once with probability 1 - delta."""

    scale: Positive = 1.0
    """Multiplies the width of the intervals, or the bonus; 1 is the theory's."""

    ties: Literal["random", "first"] = "random"
    """What to play where actions look equally good: "random", or "first" in the order of `action_order`."""

    action_order: Sequence[int] | None = None
    """The actions in the order in which "first" prefers them; by their numbers if not given."""

    rescale: bool = False
    """Whether to divide all costs by the largest one, for worlds with costs above 1; the notes of a run say by what."""

    @property
    def leaves_free_loops(self) -> bool:
        """Whether the agent raises zero costs, or plans to a horizon beyond which staying has a cost."""
        return True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        check_actions(self.name, task)
        if task.costs_unknown and not (self.unknown_costs_covered and task.cost_range):
            remedy = "the range of unknown costs, cost_range=(least, largest)"
            remedy = remedy if self.unknown_costs_covered else "known costs, such as cost=1.0"
            raise CostError(f"{self.name} needs {remedy}; or use an agent that learns any costs: psrl, q-learning")
        costs = np.append(task.costs[np.isfinite(task.costs)], (task.cost_range or ()) if task.costs_unknown else ())
        largest = float(costs.max())
        self._unit = largest if self.rescale and largest > 0.0 else 1.0
        if costs.min() < 0.0 or largest > self._unit:
            raise CostError(
                f"costs lie in {costs.min():g}..{largest:g}; {self.name} is defined for costs in [0, 1]: rescale=True"
                f" makes it plan in units of the largest cost, as in world.with_costs(world.costs / {largest:g})"
            )
        self._order = checked_order(self.action_order, task.actions)
        self._c_max = largest / self._unit
        self.counts, self.paid = Counts(task), CostBelief(task)
        # A copy of their own: kernels take the costs writable, as a deep copy leaves them when a run is resumed.
        self._costs = np.where(self.paid.unknown, self.paid.range[0], task.costs) / self._unit
        self.epoch = 0
        self.Q = np.where(task.available, 0.0, np.inf)

    def observe(self, steps: Steps) -> None:
        self.counts.add(steps)
        self.paid.update(steps)

    def mean_model(self) -> SSP | None:
        return seen_model(self.task, self.counts.seen_rows(), self.paid.mean())

    def greedy(self, Q: Floats) -> Int64s:
        """Return a policy of smallest value, ties broken once for the whole plan."""
        chances = self.rng.random(len(Q)) if self.ties == "random" else np.zeros(len(Q))
        policy: Int64s = np.empty(len(Q), dtype=np.int64)
        pick_all(Q, self._order, chances, policy)
        return policy

    def mixture(self, Q: Floats) -> Floats | Int64s:
        """Return a policy of smallest value, ties broken independently at every step."""
        return shares(Q) if self.ties == "random" else self.greedy(Q)

    def check_settled(self, residual: float, accuracy: float, sweeps: int) -> None:
        """Raise ConvergenceError if a plan has not converged."""
        if not residual <= accuracy:
            raise ConvergenceError(
                f"{self.name}: the plan of epoch {self.epoch} has a residual of {residual:.3g} after {int(sweeps)}"
                f" sweeps, but at most {accuracy:.3g} is allowed; raise scale, which makes the goal look nearer"
            )

    def notes(self) -> dict[str, int | float | str]:
        """Return the scale and the rule for ties, without which a result cannot be interpreted."""
        notes = super().notes() | {"scale": self.scale, "ties": self.ties}
        return notes | {"costs_divided_by": self._unit} if self.rescale else notes


def at_least_one(visits: Int64s) -> Floats:
    """Return n⁺ = max(n, 1) for each row."""
    return np.maximum(visits.reshape(-1), 1).astype(np.float64)
