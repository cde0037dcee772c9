"""Small models solved with nothing but NumPy and SciPy's linear programming, to hold the package's answers against."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

MOST = 1e4


def policy_cost(P, costs, policy):
    """Expected cost to the goal of a policy given as probabilities [S, A] or actions [S]."""
    S, A = costs.shape
    policy = np.asarray(policy)
    chances = np.eye(A)[policy] if policy.ndim == 1 else policy
    chain = np.einsum("sa,sat->st", chances, P[:, :, :S])
    return np.linalg.solve(np.eye(S) - chain, (chances * costs).sum(axis=1))


def best_policy(P, costs):
    """Policy iteration from the uniformly random policy, which must be proper."""
    S, A = costs.shape
    values = policy_cost(P, costs, np.full((S, A), 1.0 / A))
    for _ in range(1000):
        policy = (costs + P[:, :, :S] @ values).argmin(axis=1)
        better = policy_cost(P, costs, policy)
        if np.allclose(better, values, rtol=1e-13, atol=0.0):
            return policy, better
        values = better
    raise AssertionError("policy iteration did not settle")


def best_values(P, costs):
    """The largest V with V(s) <= c(s, a) + sum p V: the linear program of the SSP. Dead ends get `MOST`."""
    S, A = costs.shape
    limits = csr_array(np.repeat(np.eye(S), A, axis=0) - P[:, :, :S].reshape(S * A, S))
    there = np.isfinite(costs.ravel())
    answer = linprog(-np.ones(S), A_ub=limits[there], b_ub=costs.ravel()[there], bounds=(None, MOST), method="highs")
    assert answer.status == 0, answer.message
    return answer.x
