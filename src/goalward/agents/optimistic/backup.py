"""Upper and lower confident values over a finite horizon, with their bonuses: the optimism of ULCVI.

Going back from the terminal cost c_f at step H + 1, with L, n⁺ and p^ of `ulcvi.py`::

    b <- sqrt(2 Var(p^, J_lo) L/n⁺) + 62 H³ S' L/(B n⁺) + B/(16 H²) p^ (J_up - J_lo)
    Q_lo <- max { c - b + p^ J_lo, 0 }; Q_up <- min { c + b + p^ J_up, H + 8 B* }
    J_lo(s), J_up(s) <- Q_lo, Q_up of the actions that minimise Q_lo

The stopping rule is exact: once a step changes nothing, no earlier step changes anything.
"""

from __future__ import annotations

import math

import numpy as np

from goalward.agents.ties import least
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.beliefs.counts import variance
from goalward.jit import kernel

__all__ = [
    "blend", "constant_factor", "horizon", "log_term", "terminal_cost", "upper_lower", "value_bound", "write_factors",
]  # fmt: skip


def horizon(T_star: float, episodes: int) -> int:
    """Return H = ceil(8 T* ln(8 K)); the form is checked, the two eights are recalled."""
    return math.ceil(8.0 * T_star * math.log(8.0 * episodes))


def terminal_cost(B_star: float) -> float:
    """Return c_f = 8 B*, charged inside the plan where it ends away from the goal; the eight is recalled."""
    return 8.0 * B_star


def value_bound(B_star: float) -> float:
    """Return B = 9 B*, the bound on values that the bonuses use; the nine is recalled."""
    return 9.0 * B_star


@kernel
def log_term(S: int, A: int, H: int, m: int, delta: float) -> float:
    """Return L = 3 log(3 S' A H m / delta) in interval m; recalled."""
    return 3.0 * math.log(3.0 * (S + 1) * A * H * m / delta)


@kernel
def write_factors(visits: Int64s, L: float, B: float, fixed: float, spread: Floats, constant: Floats) -> None:
    """Write 2 L / n⁺, the factor of the variance, and 62 H³ S' L / (B n⁺), for each row.

    `fixed` is 62 H³ S'. The forms are recalled, the 62 with less confidence.
    """
    for row in range(visits.size):
        n = float(max(visits[row], 1))
        spread[row] = 2.0 * L / n
        constant[row] = fixed * L / (B * n)


def constant_factor(S: int, H: int) -> float:
    """Return 62 H³ S', the part of the constant that never changes."""
    return 62.0 * float(H) ** 3 * (S + 1)


def blend(H: int, B: float) -> float:
    """Return B / (16 H²), the factor of the distance between the upper and the lower values; recalled."""
    return B / (16.0 * H * H)


@kernel
def upper_lower(
    size: Int64s, successors: Int32s, mass: Floats, rest: Floats, costs: Floats,
    spread: Floats, constant: Floats, blend: float, scale: float, cap: float,
    lower: Floats, upper: Floats, next_lower: Floats, next_upper: Floats, Q: Floats, tied: Bools,
) -> tuple[int, bool]:  # fmt: skip
    """Go back from the terminal values in `next_lower` and `next_upper` until nothing changes.

    Returns the number of steps this took and whether actions tie anywhere. ``tied[h, s, a]`` is filled from the last
    step on: whether a minimises Q_lo at step h. All steps before the last one filled are equal to it. Where several
    actions tie, J_up is the largest of theirs, which holds however ties are broken. `lower` and `upper` are left as
    those of the first step. The goal is at the end of all four.
    """
    H, S, A = tied.shape
    several = False
    for depth in range(H):
        h = H - 1 - depth
        still = True
        for state in range(S):
            for action in range(A):
                row = state * A + action
                m = 0.0
                above = 0.0
                for entry in range(size[row]):
                    m += mass[row, entry] * next_lower[successors[row, entry]]
                    above += mass[row, entry] * next_upper[successors[row, entry]]
                v = variance(row, size, successors, mass, rest[row], next_lower, m)
                bonus = np.sqrt(spread[row] * v) + constant[row] + blend * (above - m)
                Q[0, state, action] = max(costs[state, action] + m - scale * bonus, 0.0)
                Q[1, state, action] = min(costs[state, action] + above + scale * bonus, cap)
            margin = least(Q[0], state)
            lower[state] = np.inf
            upper[state] = 0.0
            best = 0
            for action in range(A):
                tied[h, state, action] = Q[0, state, action] <= margin and costs[state, action] < np.inf
                if tied[h, state, action]:
                    best += 1
                    lower[state] = min(lower[state], Q[0, state, action])
                    upper[state] = max(upper[state], Q[1, state, action])
            several = several or best > 1
            if lower[state] != next_lower[state] or upper[state] != next_upper[state]:
                still = False
        if still:
            return depth + 1, several
        for state in range(S):
            next_lower[state] = lower[state]
            next_upper[state] = upper[state]
    return H, several
