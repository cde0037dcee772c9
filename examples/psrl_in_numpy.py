"""PSRL-SSP in plain NumPy: the algorithm, a world to learn in and the regret, in one file to read beside the paper.

    python psrl_in_numpy.py --episodes 1000 --runs 5

Comments name the lines of Algorithm 1 in "Online Learning for Stochastic Shortest Path Model via Posterior Sampling".
The paper does not number them; the three assignments to l, t_l and k_{t_l} are counted as line 8. States are 0 to S - 1
and the goal is S. ``P[s, a]`` has the probabilities of the S + 1 successors. `goalward.agents.PSRL` is a faster version
of the same algorithm; a test compares the distributions of their regret.
"""

import argparse

import numpy as np


def psrl_ssp(P, costs, start, episodes, seed, concentration=0.1):
    """Learn in the world P and return the cost of each episode. Only line 10 uses P, which the agent does not know."""
    rng = np.random.default_rng(seed)
    S, A = costs.shape
    alpha = np.full((S, A, S + 1), concentration)  # line 1: mu_1 has an independent Dirichlet for each pair (s, a)
    n = np.zeros((S, A))  # n_t(s, a), the visits before step t
    n_epoch = n.copy()  # n_{t_l}(s, a), the visits before epoch l
    K_before, k_epoch = 0, 0  # line 2: K_{l-1}, and k_{t_l}, the episode in which epoch l began
    policy = np.zeros(S, dtype=int)
    paid = np.zeros(episodes)
    for k in range(1, episodes + 1):  # line 3
        s = start  # line 4
        while s != S:  # line 5
            if k - k_epoch > K_before or (n > 2 * n_epoch).any():  # line 6: a new epoch begins
                K_before = k - k_epoch  # line 7
                k_epoch, n_epoch = k, n.copy()  # line 8
                theta = sample_model(rng, alpha)  # line 9: theta_l from the posterior, and its optimal policy
                policy = optimal_policy(theta, costs, policy)
            a = policy[s]
            successor = rng.choice(S + 1, p=P[s, a])  # line 10: observe the successor
            paid[k - 1] += costs[s, a]
            n[s, a] += 1
            alpha[s, a, successor] += 1  # line 11: Bayes' rule for a Dirichlet
            s = successor  # line 12
    return paid


def sample_model(rng, alpha):
    """Draw the transition probabilities of every state–action pair from their Dirichlet posterior."""
    gammas = rng.standard_gamma(alpha) + 1e-300  # normalised gammas are a Dirichlet sample; none may be 0
    return gammas / gammas.sum(axis=2, keepdims=True)


def optimal_policy(P, costs, policy):
    """Return an optimal policy of a model by policy iteration, starting from another policy.

    Every policy is proper here, because every probability of a sampled model is positive.
    """
    states = np.arange(len(costs))
    while True:
        V = np.linalg.solve(np.eye(len(costs)) - P[states, policy, :-1], costs[states, policy])
        Q = costs + P[:, :, :-1] @ V
        better = Q.min(axis=1) < Q[states, policy] * (1 - 1e-9)  # ignore differences due to rounding
        if not better.any():
            return policy
        policy = np.where(better, Q.argmin(axis=1), policy)


def grid_world(rows=3, columns=4, success=0.85):
    """Return P and the costs of the paper's GridWorld. The start is the top left cell, the goal the bottom right cell.

    The actions are left, right, up, down, and each step costs 1. A step goes in each wrong direction with probability
    (1 - success) / 3. A step off the grid has no effect.
    """
    goal = rows * columns - 1
    P = np.zeros((goal, 4, goal + 1))
    moves = [(0, -1), (0, 1), (-1, 0), (1, 0)]
    for s in range(goal):
        for a in range(4):
            for direction, (down, right) in enumerate(moves):
                row, column = s // columns + down, s % columns + right
                inside = 0 <= row < rows and 0 <= column < columns
                successor = row * columns + column if inside else s
                P[s, a, successor] += success if direction == a else (1 - success) / 3
    return P, np.ones((goal, 4))


def main():
    """Print the regret of some runs: the total cost of K episodes, minus K times the cost of an optimal policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    P, costs = grid_world()
    states = np.arange(len(costs))
    best = optimal_policy(P, costs, np.zeros(len(costs), dtype=int))
    optimum = np.linalg.solve(np.eye(len(costs)) - P[states, best, :-1], costs[states, best])[0]
    for seed in range(arguments.runs):
        paid = psrl_ssp(P, costs, 0, arguments.episodes, seed)
        regret = np.sum(paid - optimum)
        print(f"run {seed}: regret {regret:,.0f} after {arguments.episodes:,} episodes, V* = {optimum:.4f}")


if __name__ == "__main__":
    main()
