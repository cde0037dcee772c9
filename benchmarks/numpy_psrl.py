"""PSRL-SSP in plain NumPy: the yardstick of `learning.py`.

The same algorithm as `goalward.agents.posterior.psrl`, written the way one writes it for a paper: dense arrays, the
pseudo-code as a Python loop, cumulative sums and searchsorted for the successors, policy iteration with a dense
solve for the plans. With ``narrow=True`` the test for doubled visits looks at the pair just played only: that is
enough, but it is not how the pseudo-code reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What each episode cost, and the numbers of steps and epochs."""

    costs: np.ndarray
    steps: int
    epochs: int


def psrl(
    P: np.ndarray,
    costs: np.ndarray,
    initial_state: int,
    episodes: int,
    seed: int,
    concentration: float = 0.1,
    narrow: bool = False,
) -> Outcome:
    """Run PSRL-SSP on ``P[S, A, S + 1]`` for so many episodes."""
    rng = np.random.default_rng(seed)
    S, A = costs.shape
    cumulative = np.cumsum(P, axis=2)
    cumulative /= cumulative[:, :, -1:]
    alpha = np.full((S, A, S + 1), concentration)
    n = np.zeros((S, A), dtype=np.int64)
    n_start = n.copy()
    paid = np.zeros(episodes)
    K_previous, k_start, epochs, steps = 0, -1, 0, 0
    policy = np.zeros(S, dtype=np.int64)
    doubled = False
    for k in range(episodes):
        state = initial_state
        while state != S:
            if k - k_start > K_previous or (doubled if narrow else (n > 2 * n_start).any()):
                K_previous, k_start = k - k_start, k
                n_start = n.copy()
                epochs += 1
                policy = optimal_policy(sample(rng, alpha), costs, policy)
            action = policy[state]
            successor = int(np.searchsorted(cumulative[state, action], rng.random(), side="right"))
            paid[k] += costs[state, action]
            n[state, action] += 1
            alpha[state, action, successor] += 1.0
            doubled = bool(n[state, action] > 2 * n_start[state, action])
            steps += 1
            state = successor
    return Outcome(paid, steps, epochs)


def sample(rng: np.random.Generator, alpha: np.ndarray) -> np.ndarray:
    """Draw all rows."""
    gammas = rng.standard_gamma(alpha) + 1e-300
    return np.asarray(gammas / gammas.sum(axis=2, keepdims=True))


def optimal_policy(P: np.ndarray, costs: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """Iterate policies from the given one; a policy is kept where no other action is better by more than rounding."""
    states = np.arange(len(costs))
    for _ in range(100):
        kernel = P[states, policy, :-1]
        values = np.linalg.solve(np.eye(len(costs)) - kernel, costs[states, policy])
        Q = costs + P[:, :, :-1] @ values
        better = Q.min(axis=1) < Q[states, policy] * (1.0 - 1e-9)
        if not better.any():
            break
        policy = np.where(better, Q.argmin(axis=1), policy)
    return policy
