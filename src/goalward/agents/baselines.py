"""Two baselines that do not learn.

`Optimal` solves the true model and follows the optimal policy. The expected regret is 0.
`Uniform` plays every available action with the same probability at every step.
"""

from __future__ import annotations

from typing import Any, ClassVar

from goalward.acting.contract import Plan, Steps
from goalward.agents.base import Agent, register
from goalward.planning.replan import Replanner
from goalward.ssp.model import SSP


@register("optimal")
class Optimal(Agent):
    """Follows the optimal policy of the true model."""

    model: SSP
    """The true model."""

    needs: ClassVar[tuple[str, ...]] = ("model",)
    unknown_costs_covered: ClassVar[bool] = True

    @property
    def leaves_free_loops(self) -> bool:
        """Return True, because an optimal policy reaches the goal almost surely."""
        return True

    def plan(self, state: int) -> Plan:
        planned = Replanner().solve(self.model)
        return Plan(planned.policy, model=self.model, values=planned.values)

    def mean_model(self) -> SSP:
        return self.model

    def observe(self, steps: Steps) -> None:
        """Ignore `steps`, because the agent knows the model."""

    @classmethod
    def look_up(cls, world: SSP, episodes: int, names: list[str]) -> dict[str, Any]:
        return dict.fromkeys(names, world)


@register("uniform")
class Uniform(Agent):
    """Plays every available action with the same probability."""

    unknown_costs_covered: ClassVar[bool] = True

    @property
    def leaves_free_loops(self) -> bool:
        """Return True, because the agent plays every action with positive probability."""
        return True

    def plan(self, state: int) -> Plan:
        available = self.task.available.copy()
        available[~available.any(axis=1)] = True
        return Plan(available / available.sum(axis=1, keepdims=True))

    def observe(self, steps: Steps) -> None:
        """Ignore `steps`, because the policy never changes."""
