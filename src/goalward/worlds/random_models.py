"""Random dense models, among them the RandomMDP whose curves are those of the published figure."""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats
from goalward.settings import checked_choice, checked_integer, checked_number
from goalward.ssp.model import SSP
from goalward.worlds.base import check_dense, register

__all__ = ["draw_rows_and_costs", "random_mdp"]


@register("random-mdp-v1")
def random_mdp(
    states: int = 7, actions: int = 2, seed: int = 26_959, rows: str = "dirichlet", cost_min: float = 0.0
) -> SSP:
    """RandomMDP: a dense model whose kernel and costs are drawn uniformly at random.

    Description
    -----------
    The small random problem of the PSRL-SSP paper, which does not give its instance. The default seed was chosen by
    what it reproduces: of all searched seeds it is the one on which the five algorithms come closest to their published
    curves. ``benchmarks/published_instance.py`` is the search, and docs/worlds.md has its table.

    States
    ------
    `states` non-goal states. The paper has 8 states and does not say whether they include the goal; here they do.

    Actions
    -------
    `actions` of them, available everywhere.

    Transitions
    -----------
    Every row is a distribution over all states and the goal, drawn from ``numpy.random.default_rng(seed)`` before the
    costs. ``rows="dirichlet"``: independent standard exponentials, divided by their sum, which is Dirichlet(1, ..., 1),
    the uniform distribution on the simplex. ``rows="uniform"``: independent uniforms on [0, 1), divided by their sum.

    Costs
    -----
    Independent and uniform on [cost_min, 1): ``cost_min + (1 - cost_min) * u``. The floor holds for every draw; the
    smallest cost of an instance lies above it.

    Start and goal
    --------------
    The start is state 0. Every pair leads to the goal in one step with positive probability.

    Known values
    ------------
    Default instance: smallest cost 0.0423, V*(start) = 1.8366, B* = 2.3211; the uniformly random policy costs 3.2868.

    Version history
    ---------------
    v1: rows are uniform on the simplex, the goal is one of the 8 states.
    """
    return SSP.from_dense(*draw_rows_and_costs(states, actions, seed, rows, cost_min))


def draw_rows_and_costs(states: int, actions: int, seed: int, rows: str, cost_min: float) -> tuple[Floats, Floats]:
    """Return the kernel ``P[S, A, S + 1]`` and the costs ``[S, A]`` of one seed."""
    S = checked_integer("states", states, 1)
    A = checked_integer("actions", actions, 1)
    floor = checked_number("cost_min", cost_min, 0.0, 1.0)
    rng = np.random.default_rng(checked_integer("seed", seed, 0))
    checked_choice("rows", rows, ("uniform", "dirichlet"))
    check_dense(S, A)
    P = rng.random((S, A, S + 1)) if rows == "uniform" else rng.standard_exponential((S, A, S + 1))
    P /= P.sum(axis=2, keepdims=True)
    costs = floor + (1.0 - floor) * rng.random((S, A))
    return P, costs
