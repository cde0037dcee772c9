"""An agent that always plays the cheapest action, whatever it leads to."""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Plan, Steps
from goalward.agents.base import Agent, register

__all__ = ["Impatient"]


@register("impatient")
class Impatient(Agent):
    """Plays the cheapest action in every state, and an arbitrary one now and then."""

    share: float = 0.5
    """The share of arbitrary actions."""

    def plan(self, state: int) -> Plan:
        """Return the same mixture each time."""
        costs, available = self.task.costs, self.task.available
        chances = self.share * available / available.sum(axis=1, keepdims=True)
        chances[np.arange(len(costs)), costs.argmin(axis=1)] += 1.0 - self.share
        return Plan(chances)

    def observe(self, steps: Steps) -> None:
        """Learn nothing."""
