"""The regret bounds of Theorems 1 and 2, and the bound on the third term of the decomposition.

Theorem 1. Let c_min > 0, S, A >= 2, K >= S² A and L = log(B S A K / c_min). The Bayesian regret of PSRL-SSP has order

    B S sqrt(K A) L²  +  S² A sqrt(B³ / c_min) L².

Theorem 2. Let eps = (S² A / K)^(2/3) and L = log(K B T* S A). With planning costs max(c, eps), the regret has order

    B S sqrt(K A) L²  +  (S² A)^(2/3) K^(1/3) (B^(3/2) L² + T*)  +  S² A T*^(3/2) L².

Both bounds hold up to a constant that the paper does not give. So compare only how fast regret and bound grow. The
bound on the third term has constants. If a run has M intervals, L epochs and T steps, then in expectation

    R3 <= 288 B S sqrt(M A log²(S A T / delta)) + 1632 B S² A log²(S A T / delta) + 4 S B delta L.

On every path with T >= 3, the rates satisfy sum_t A_l(s_t, a_t) <= 6 S A log²(S A T / delta).
"""

from __future__ import annotations

from math import log, sqrt

from goalward.errors import TheoryError


def check_sizes(S: int, A: int, K: int, theorem: str) -> None:
    """Raise TheoryError if a theorem does not cover S states, A actions and K episodes."""
    if min(S, A) < 2:
        raise TheoryError(f"S={S} and A={A} are too small: {theorem} needs at least two states and two actions")
    if K < S * S * A:
        raise TheoryError(f"K={K} episodes are too few: {theorem} needs K >= S² A = {S * S * A}")


def theorem_1(S: int, A: int, K: int, B: float, c_min: float) -> float:
    """Return the bound of Theorem 1 for S states, A actions, K episodes and costs of at least `c_min`.

    B is the largest optimal value of any model of the prior.
    """
    check_sizes(S, A, K, "Theorem 1")
    if not c_min > 0.0:
        raise TheoryError(
            f"c_min is {c_min:g}, but Theorem 1 needs positive costs; for agents that raise costs (perturb_costs), use"
            " theorem_2"
        )
    L = log(B * S * A * K / c_min)
    return B * S * sqrt(K * A) * L**2 + S * S * A * sqrt(B**3 / c_min) * L**2


def theorem_2(S: int, A: int, K: int, B: float, T_star: float) -> float:
    """Return the bound of Theorem 2; S, A, K and B are as in `theorem_1`.

    T_star is an upper bound on the expected number of steps of the optimal policies.
    """
    check_sizes(S, A, K, "Theorem 2")
    L = log(K * B * T_star * S * A)
    middle = (S * S * A) ** (2 / 3) * K ** (1 / 3) * (B**1.5 * L**2 + T_star)
    return float(B * S * sqrt(K * A) * L**2 + middle + S * S * A * T_star**1.5 * L**2)


def third_term_bound(S: int, A: int, B: float, M: int, T: int, L: int, delta: float) -> float:
    """Return the bound on R3, the third term of the regret, for M intervals, T steps and L epochs."""
    root = log(S * A * T / delta)
    return 288.0 * B * S * sqrt(M * A) * root + 1632.0 * B * S * S * A * root**2 + 4.0 * S * B * delta * L
