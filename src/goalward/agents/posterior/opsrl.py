"""OPSRL-SSP: optimistic posterior sampling.

Reference
    Tiapkin and others: Optimistic Posterior Sampling for Reinforcement Learning with Few Samples and Tight Guarantees
    (NeurIPS 2022), for finite horizon: an imagined best state has all the weight of the prior, and the best of J
    sampled models counts in every pair. The form for shortest paths is ours, where the best state is the goal: nothing
    about it is proved.

Pseudo-code
    PSRL-SSP, with line 9 replaced by

     9  draw theta_1, ..., theta_J from mu_{t_l}
        pi_l <- the optimal policy where playing a in s means to choose one of the rows theta_j(. | s, a)

    and with the prior Dirichlet(0.001, goal=1): each pair has reached the goal once, and hardly anything else.

How it maps
    The models are laid side by side as one model with the actions (a, j), and solved by one call of the planner. With
    J = 1, the default, this is PSRL-SSP with another prior. The goal has some weight in every row, so every policy is
    proper in every sampled model.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from goalward.agents.base import Plan, register
from goalward.agents.posterior.psrl import PSRL
from goalward.beliefs.base import Prior
from goalward.beliefs.dirichlet import Dirichlet
from goalward.errors import SettingError
from goalward.ssp.model import SSP

__all__ = ["OPSRL", "side_by_side"]


@register("opsrl")
class OPSRL(PSRL):
    """Posterior sampling with a prior that hopes for the goal, and with the best of several samples in every pair."""

    prior: Prior = Dirichlet(0.001, goal=1.0)
    """What is believed before anything is seen: here, that every pair has reached the goal once."""

    draws: Annotated[int, Ge(1), Le(1000)] = 1
    """J, how many models are drawn for each plan."""

    def __post_init__(self) -> None:
        if self.draws > 1 and self.value_limit is not None:
            raise SettingError("value_limit needs draws=1: it rejects single samples")

    def draw(self) -> Plan:
        """Line 9; the plan holds no model with more actions than the world."""
        if self.draws == 1:
            return super().draw()
        theta = side_by_side([self.belief.sample(self.rng, self.sharpness) for _ in range(self.draws)])
        planned = self._planner.solve(self.with_floor(theta))
        return Plan(planned.policy // self.draws, values=planned.values)


def side_by_side(models: list[SSP]) -> SSP:
    """Return the model whose action a * J + j is action a of the j-th of J models; their supports may differ."""
    first = models[0]
    lengths = np.stack([np.diff(model.indptr) for model in models], axis=1).ravel()
    indptr = np.append(0, np.cumsum(lengths))
    # Where each row begins among the entries of all models, one model after the other.
    offsets = np.cumsum([0, *(len(model.successors) for model in models[:-1])])
    begins = np.stack([model.indptr[:-1] for model in models], axis=1) + offsets
    entries = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - begins.ravel(), lengths)
    successors = np.concatenate([model.successors for model in models])[entries]
    probabilities = np.concatenate([model.probabilities for model in models])[entries]
    costs = np.stack([model.costs for model in models], axis=2).reshape(first.states, -1)
    return SSP._trusted(indptr, successors, probabilities, costs, first.initial_state)
