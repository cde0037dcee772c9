"""The rivals read off their pseudo-code line by line: dense arrays, one step at a time, apart from the package.

Each plays in the world with the luck of a seed and returns the pairs it played. Ties go to the first action in order;
values within 1e-9 of the smallest, relative to it, are tied, as on the agents' pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from goalward import SSP, seeds, solve
from sample_environments import ModelEnvironment

Pairs = list[tuple[int, int]]


class World:
    """A model to act in, with the counts of what happened."""

    def __init__(self, ssp: SSP, seed: int):
        self.S, self.A, self.goal, self.c = ssp.states, ssp.actions, ssp.goal, ssp.costs
        self.environment = ModelEnvironment(ssp)
        self.s = self.environment.reset(seed=seeds.streams(seed).environment)[0]
        self.N = np.zeros((self.S, self.A))
        self.N3 = np.zeros((self.S, self.A, self.S + 1))
        self.pairs: Pairs = []

    def play(self, a: int) -> tuple[int, int, int]:
        s = self.s
        reached = self.environment.step(a)[0]
        self.pairs.append((s, a))
        self.N[s, a] += 1
        self.N3[s, a, reached] += 1
        self.s = reached
        return s, a, reached

    def next_episode(self) -> None:
        self.s = self.environment.reset()[0]


def argmin(Q: np.ndarray, order: list[int]) -> int:
    return next(a for a in order if Q[a] <= Q.min() * (1 + 1e-9))


def plus(N: np.ndarray) -> np.ndarray:
    return np.maximum(N, 1)


def uc_ssp(ssp: SSP, K: int, seed: int, delta: float, scale: float, order: list[int]) -> Pairs:
    w = World(ssp, seed)
    t, G_prev = 1, 0
    for k in range(1, K + 1):
        j = 0
        while True:
            t0, G = t, G_prev + j
            pi, H = evi_ssp(w, k, j, t0, G, delta, scale, order)
            for _ in range(H):
                w.play(pi[w.s])
                t += 1
                if w.s == w.goal:
                    break
            if w.s == w.goal:
                break
            j += 1
        G_prev = G
        w.next_episode()
    return w.pairs


def evi_ssp(w: World, k: int, j: int, t0: int, G: int, delta: float, scale: float, order: list[int]):
    if j == 0 and w.c.min() > 0:
        eps, gamma, cost = w.c.min() / (2 * t0), 1 / math.sqrt(k), w.c
    elif j == 0:
        eps, gamma, cost = w.c.max() / t0, 1 / math.sqrt(k), w.c + k ** (-1 / 3)
    else:
        eps, gamma, cost = 1 / (2 * t0), 1 / math.sqrt(G), np.ones_like(w.c)
    beta = scale * np.sqrt(8 * w.S * np.log(2 * w.A * plus(w.N) / delta) / plus(w.N))
    P = w.N3 / plus(w.N)[..., None]
    v = np.zeros(w.S)
    while True:
        inner = np.zeros((w.S, w.A, w.S + 1))
        for s in range(w.S):
            for a in range(w.A):
                inner[s, a] = inner_minimum(P[s, a], beta[s, a], v) if w.N[s, a] else np.eye(w.S + 1)[-1]
        Q = cost + inner[..., :-1] @ v
        following = Q.min(axis=1)
        if np.abs(following - v).max() <= eps:
            break
        v = following
    pi = [argmin(Q[s], order) for s in range(w.S)]
    transitions = inner[np.arange(w.S), pi, :-1]
    n = 2
    while np.abs(np.linalg.matrix_power(transitions, n - 1)).sum(axis=1).max() > gamma:
        n += 1
    return pi, n


def inner_minimum(p: np.ndarray, beta: float, v: np.ndarray) -> np.ndarray:
    p = p.copy()
    p[-1] = min(1.0, p[-1] + beta / 2)
    for worst in np.argsort(-v, kind="stable"):
        p[worst] = max(0.0, p[worst] - max(0.0, p.sum() - 1.0))
    return p


def bernstein_ssp(ssp: SSP, K: int, seed: int, delta: float, scale: float, order: list[int]) -> Pairs:
    w = World(ssp, seed)
    N, N3 = np.zeros_like(w.N), np.zeros_like(w.N3)
    costs = w.c if w.c.min() > 0 else np.maximum(w.c, w.S**2 * w.A / K)
    pi = None
    for _ in range(K):
        while w.s != w.goal:
            # Before each action: is the pair to be played about to double?
            if pi is None or (w.N - N)[w.s, pi[w.s]] >= N[w.s, pi[w.s]]:
                N, N3 = w.N.copy(), w.N3.copy()
                P = N3 / plus(N)[..., None]
                A = (np.log(w.S * w.A * plus(N) / delta) / plus(N))[..., None]
                lower = np.maximum(P - scale * (28 * A + 4 * np.sqrt(P * A)), 0)
                lower[..., -1] = 1 - lower[..., :-1].sum(axis=-1)
                J = solve(SSP.from_dense(lower, costs), 1e-10).values
                pi = [argmin((costs + lower[..., :-1] @ J)[s], order) for s in range(w.S)]
            w.play(pi[w.s])
        w.next_episode()
    return w.pairs


def eb_ssp(ssp: SSP, K: int, seed: int, delta: float, scale: float, order: list[int], B: float, known: bool) -> Pairs:
    w = World(ssp, seed)
    eta = 0.0 if w.c.min() > 0 else K**-2.0
    Q, n, j = np.zeros((w.S, w.A)), np.zeros((w.S, w.A)), 0
    P, theta = np.zeros_like(w.N3), np.zeros_like(w.c)
    c_hat = np.maximum(w.c, eta) if known else np.zeros_like(w.c)
    for _ in range(K):
        while w.s != w.goal:
            s, a, _ = w.play(argmin(Q[w.s], order))
            theta[s, a] += max(w.c[s, a], eta)
            if math.log2(w.N[s, a]).is_integer():
                j += 1
                if not known:
                    c_hat[s, a] = theta[s, a] if w.N[s, a] == 1 else 2 * theta[s, a] / w.N[s, a]
                theta[s, a] = 0
                P[s, a] = w.N3[s, a] / w.N[s, a]
                n[s, a] = w.N[s, a]
                Q = visgo(P, n, c_hat, max(2.0**-j, 1e-10), delta, scale, B, known)
        w.next_episode()
    return w.pairs


def visgo(P, n, c_hat, eps: float, delta: float, scale: float, B: float, known: bool) -> np.ndarray:
    S, A = n.shape
    iota = np.log(12 * S * A * (S + 1) * plus(n) ** 2 / delta)
    skewed = (n / (n + 1))[..., None] * P
    skewed[..., -1] += 1 / (n + 1)
    V = np.zeros(S + 1)
    while True:
        var = np.maximum(skewed @ V**2 - (skewed @ V) ** 2, 0)
        b = np.maximum(6 * np.sqrt(var * iota / plus(n)), 36 * B * iota / plus(n))
        b += 2 * math.sqrt(2) * B * np.sqrt((S + 1) * iota) / plus(n)
        if not known:
            b += 2 * math.sqrt(2) * np.sqrt(c_hat * iota / plus(n))
        Q = np.maximum(c_hat + skewed @ V - scale * b, 0)
        following = np.append(Q.min(axis=1), 0)
        if np.abs(following - V).max() <= eps:
            return Q
        V = following


def ulcvi(ssp: SSP, K: int, seed: int, delta: float, scale: float, order: list[int], B_star, T_star) -> Pairs:
    w = World(ssp, seed)
    H = math.ceil(8 * T_star * math.log(8 * K))
    B, c_f, delta, m = 9 * B_star, 8 * B_star, delta / 4, 0
    for _ in range(K):
        while w.s != w.goal:
            m += 1
            P, n = w.N3 / plus(w.N)[..., None], plus(w.N)
            L = 3 * math.log(3 * (w.S + 1) * w.A * H * m / delta)
            lo = up = np.append(np.full(w.S, c_f), 0)
            pi = {}
            for h in range(H, 0, -1):
                var = np.maximum(P @ lo**2 - (P @ lo) ** 2, 0)
                b = np.sqrt(2 * var * L / n) + 62 * H**3 * (w.S + 1) * L / (B * n) + B / (16 * H**2) * (P @ (up - lo))
                Q_lo = np.maximum(w.c - scale * b + P @ lo, 0)
                Q_up = np.minimum(w.c + scale * b + P @ up, H + c_f)
                pi[h] = [argmin(Q_lo[s], order) for s in range(w.S)]
                tied = Q_lo <= Q_lo.min(axis=1, keepdims=True) * (1 + 1e-9)
                lo = np.append(Q_lo.min(axis=1), 0)
                up = np.append(np.where(tied, Q_up, 0).max(axis=1), 0)
            for h in range(1, H + 1):
                w.play(pi[h][w.s])
                if w.s == w.goal:
                    break
        w.next_episode()
    return w.pairs


ALGORITHMS: dict[str, Callable[..., Pairs]] = {
    "uc-ssp": uc_ssp,
    "bernstein-ssp": bernstein_ssp,
    "eb-ssp": eb_ssp,
    "ulcvi": ulcvi,
}
