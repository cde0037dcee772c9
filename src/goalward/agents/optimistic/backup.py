"""The optimistic backup that EB-SSP and ULCVI share.

Let p^ be the estimate of a row, and V the values of the states. Both algorithms subtract a bonus b from each backup::

    b <- max { sqrt(spread Var(p^, V)), floor } + extra + blend p^ (U - V)
    Q <- max { c + p^ V - scale b, 0 }

Only ULCVI has upper values U, with Q_up <- min { c + p^ U + scale b, cap }. The two algorithms use different
coefficients (`Bonus`). EB-SSP iterates to a fixed point, and ULCVI iterates backwards from the end of a horizon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from goalward.agents.ties import TIE
from goalward.arrays import Floats, Int32s, Int64s
from goalward.jit import kernel


class Estimates(NamedTuple):
    """The rows p^, in the format of `Counts.estimates`. The probability `rest` of each row is added to the goal."""

    size: Int64s
    successors: Int32s
    mass: Floats
    rest: Floats


class Bonus(NamedTuple):
    """The coefficients of the bonus b. The arrays `spread`, `floor` and `extra` have one entry per row."""

    spread: Floats
    floor: Floats
    extra: Floats
    scale: float
    blend: float = 0.0
    cap: float = np.inf


@kernel
def back_up(
    rows: Estimates, costs: Floats, bonus: Bonus, V: Floats, U: Floats,
    Q: Floats, Q_up: Floats, V_new: Floats, U_new: Floats,
) -> float:  # fmt: skip
    """Compute `Q` from `V`, and `V_new` as the smallest Q of each state. Return the largest change of a value.

    The last entry of `V` belongs to the goal. `Q_up` and `U_new` are written only if ``bonus.blend`` is positive.
    `U_new` is the largest Q_up among the tied actions of a state, so ties can be broken in any way.
    """
    size, successors, mass, rest = rows.size, rows.successors, rows.mass, rows.rest
    spread, floor, extra, scale, blend, cap = bonus
    S, A = costs.shape
    change = 0.0
    for state in range(S):
        best = np.inf
        for action in range(A):
            row = state * A + action
            m = 0.0
            for entry in range(size[row]):
                m += mass[row, entry] * V[successors[row, entry]]
            v = rest[row] * m * m
            for entry in range(size[row]):
                away = V[successors[row, entry]] - m
                v += mass[row, entry] * away * away
            b = max(np.sqrt(spread[row] * v), floor[row]) + extra[row]
            if blend > 0.0:
                m_up = 0.0
                for entry in range(size[row]):
                    m_up += mass[row, entry] * U[successors[row, entry]]
                b += blend * (m_up - m)
                Q_up[state, action] = min(costs[state, action] + m_up + scale * b, cap)
            Q[state, action] = max(costs[state, action] + m - scale * b, 0.0)
            best = min(best, Q[state, action])
        V_new[state] = best
        change = max(change, abs(best - V[state]))
        if blend > 0.0:
            largest = 0.0
            for action in range(A):
                if Q[state, action] <= best + TIE * abs(best):
                    largest = max(largest, Q_up[state, action])
            U_new[state] = largest
            change = max(change, abs(largest - U[state]))
    return change


@kernel
def fixed_point(
    rows: Estimates, costs: Floats, bonus: Bonus, accuracy: float, max_sweeps: int, limit: float,
    V: Floats, V_new: Floats, Q: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Iterate from zero until no value changes by more than `accuracy`, or until some value exceeds `limit`.

    Returns the number of sweeps (at most `max_sweeps`) and the last change. At the end, `V` and `V_new` hold the last
    two iterates, and `Q` holds the backup of `V`.
    """
    for state in range(V.size):
        V_new[state] = 0.0
    change = np.inf
    largest = 0.0
    sweeps = 0
    while change > accuracy and largest <= limit and sweeps < max_sweeps:
        sweeps += 1
        for state in range(V.size):
            V[state] = V_new[state]
        change = back_up(rows, costs, bonus, V, V, Q, Q, V_new, V_new)
        for state in range(V.size):
            largest = max(largest, V_new[state])
    return sweeps, change


@kernel
def back_up_horizon(
    rows: Estimates, costs: Floats, bonus: Bonus, V: Floats, U: Floats,
    Q: Floats, Q_up: Floats, V_new: Floats, U_new: Floats,
) -> int:  # fmt: skip
    """Iterate backwards from the terminal values `V` and `U` until a backup changes no value.

    Returns the number n of backups. Only the last n entries of `Q` along the first axis are written. At the
    first of these entries, the values stop changing, so all earlier steps have the same Q. At the end, `V_new` and
    `U_new` hold the values of the first step.
    """
    H = len(Q)
    for n in range(1, H + 1):
        if back_up(rows, costs, bonus, V, U, Q[H - n], Q_up, V_new, U_new) == 0.0:
            return n
        for state in range(V.size - 1):
            V[state] = V_new[state]
            U[state] = U_new[state]
    return H
