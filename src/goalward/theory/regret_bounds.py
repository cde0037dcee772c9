"""The regret bounds of Theorems 1 and 2, and of the lemma on the third term of the decomposition.

Theorem 1. With c_min > 0, S, A >= 2, K >= S² A, L = log(B S A K / c_min), the Bayesian regret of PSRL-SSP is of order

    B S sqrt(K A) L²  +  S² A sqrt(B³ / c_min) L².

Theorem 2. For planning with max(c, eps), eps = (S² A / K)^(2/3), and with L = log(K B T* S A), the regret is of order

    B S sqrt(K A) L²  +  (S² A)^(2/3) K^(1/3) (B^(3/2) L² + T*)  +  S² A T*^(3/2) L².

Both hold up to a constant that the paper does not give, so compare the growth of the numbers and not their size. The
lemma on the third term of the decomposition (`decomposition.py`) has constants. With M intervals, L epochs and T steps,

    R3 <= 288 B S sqrt(M A log²(S A T / delta)) + 1632 B S² A log²(S A T / delta) + 4 S B delta L,

in expectation. The lemma on the rates, sum_t A_l(s_t, a_t) <= 6 S A log²(S A T / delta), holds on every path with
T >= 3.
"""

from __future__ import annotations

from math import log, sqrt

from goalward.errors import TheoryError


def check_sizes(S: int, A: int, K: int, theorem: str) -> None:
    """Raise TheoryError if a theorem does not cover S states, A actions and K episodes."""
    if min(S, A) < 2:
        raise TheoryError(f"S={S} and A={A}: {theorem} needs at least two states and two actions")
    if K < S * S * A:
        raise TheoryError(f"K={K} episodes are too few: {theorem} needs K >= S² A = {S * S * A}")


def theorem_1(S: int, A: int, K: int, B: float, c_min: float) -> float:
    """Return the bound of Theorem 1 for S states, A actions, K episodes and costs of at least `c_min`.

    B is the largest optimal value of any model of the prior.
    """
    check_sizes(S, A, K, "Theorem 1")
    if not c_min > 0.0:
        raise TheoryError(
            f"c_min={c_min:g}: Theorem 1 needs positive costs; theorem_2 covers agents that raise costs (perturb_costs)"
        )
    L = log(B * S * A * K / c_min)
    return B * S * sqrt(K * A) * L**2 + S * S * A * sqrt(B**3 / c_min) * L**2


def theorem_2(S: int, A: int, K: int, B: float, T_star: float) -> float:
    """Return the bound of Theorem 2; S, A, K and B are as in `theorem_1`.

    T_star bounds the expected number of steps of the optimal policies.
    """
    check_sizes(S, A, K, "Theorem 2")
    L = log(K * B * T_star * S * A)
    middle = (S * S * A) ** (2 / 3) * K ** (1 / 3) * (B**1.5 * L**2 + T_star)
    return float(B * S * sqrt(K * A) * L**2 + middle + S * S * A * T_star**1.5 * L**2)


def third_term_bound(S: int, A: int, B: float, M: int, T: int, L: int, delta: float) -> float:
    """Return the bound of the lemma on R3, for M intervals, T steps and L epochs."""
    root = log(S * A * T / delta)
    return 288.0 * B * S * sqrt(M * A) * root + 1632.0 * B * S * S * A * root**2 + 4.0 * S * B * delta * L
