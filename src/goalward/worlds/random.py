"""Random dense models, among them the best guess at the RandomMDP of the published figure."""

from __future__ import annotations

import numpy as np

from goalward.model.ssp import SSP
from goalward.settings import checked_choice, checked_integer, checked_number
from goalward.worlds.base import check_dense, register

__all__ = ["PUBLISHED_SEED", "random_mdp"]

# The first seed whose smallest cost lies in [0.035, 0.045] and whose uniform policy costs 1.52 +- 0.1 more than V*.
PUBLISHED_SEED = 5


@register("random-mdp-v0")
def random_mdp(
    states: int = 8, actions: int = 2, seed: int = PUBLISHED_SEED, rows: str = "uniform", cost_min: float = 0.0
) -> SSP:
    """RandomMDP: a dense model whose kernel and costs are drawn uniformly at random.

    Description
    -----------
    The small random problem of the PSRL-SSP paper: 8 states and 2 actions. The published instance is not given; of it
    one knows the smallest cost, 0.04, and the slope of a learner that acts uniformly at random, 1.52 per episode. The
    default seed is the first whose smallest cost lies in 0.035..0.045 and whose uniformly random policy loses
    1.52 +- 0.1 against the best: the published figure's instance as far as it can be recovered.

    States
    ------
    `states` non-goal states. The paper does not say whether its 8 states include the goal; here they do not. For the
    other reading take ``states=7``, where the same search finds ``seed=11``.

    Actions
    -------
    `actions` of them, available everywhere.

    Transitions
    -----------
    Every row is a distribution over all states and the goal, drawn from ``numpy.random.default_rng(seed)`` before the
    costs. ``rows="uniform"``: independent uniforms on [0, 1), divided by their sum. ``rows="dirichlet"``: independent
    standard exponentials, divided by their sum, which is Dirichlet(1, ..., 1).

    Costs
    -----
    Independent and uniform on [cost_min, 1): ``cost_min + (1 - cost_min) * u``. The floor holds for every draw; the
    smallest cost of an instance lies above it.

    Start and goal
    --------------
    The start is state 0. Every pair leads to the goal in one step with positive probability.

    Known values
    ------------
    Default instance: smallest cost 0.0430, V*(start) = B* = 3.5166, the uniformly random policy costs 4.9666.

    Version history
    ---------------
    v0: first version.
    """
    S = checked_integer("states", states, 1)
    A = checked_integer("actions", actions, 1)
    floor = checked_number("cost_min", cost_min, 0.0, 1.0)
    rng = np.random.default_rng(checked_integer("seed", seed, 0))
    checked_choice("rows", rows, ("uniform", "dirichlet"))
    check_dense(S, A)
    P = rng.random((S, A, S + 1)) if rows == "uniform" else rng.standard_exponential((S, A, S + 1))
    P /= P.sum(axis=2, keepdims=True)
    costs = floor + (1.0 - floor) * rng.random((S, A))
    return SSP.from_dense(P, costs)
