"""UC-SSP's planner in plain NumPy, for comparison with the compiled planner.

It is vectorised over all state-action pairs, and sorts the states once per sweep.
"""

from __future__ import annotations

import numpy as np

__all__ = ["evi_ssp"]


def evi_ssp(
    counts: np.ndarray, visits: np.ndarray, costs: np.ndarray, beta: np.ndarray, eps: float, gamma: float
) -> tuple[np.ndarray, int]:
    """Return the policy and the pivot horizon for ``counts[S, A, S + 1]`` and the radii ``beta[S, A]``."""
    S = len(costs)
    phat = (counts / np.maximum(visits, 1)[..., np.newaxis])[..., :S]
    budget = np.where(visits == 0, 2.0, beta)[..., np.newaxis] / 2.0
    following = np.zeros(S)
    change = np.inf
    while change > eps:
        v = following
        order = np.argsort(-v)
        p = phat[..., order]
        before = np.cumsum(p, axis=-1) - p
        taken = np.clip(budget - before, 0.0, p)
        Q = costs + (p - taken) @ v[order]
        following = Q.min(axis=1)
        change = np.abs(following - v).max()
    policy = Q.argmin(axis=1)
    transitions = np.empty((S, S))
    transitions[:, order] = (p - taken)[np.arange(S), policy]
    weight = transitions.sum(axis=1)
    horizon = 2
    while weight.max() > gamma:
        weight = transitions @ weight
        horizon += 1
    return policy, horizon
