"""Tie-breaking: the choice between actions of equal value.

The confidence widths of the theory are so large that all actions look alike for thousands of episodes. So the
tie-breaking rule decides the result of an experiment, and it is a setting. ``"random"`` draws uniformly among the tied
actions, and ``"first"`` plays the first tied action in `action_order`. An action is tied for best if its value is at
most 1 + 1e-9 times the smallest value. Rounding errors are far smaller, and learnt differences are far larger.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError
from goalward.jit import kernel

TIE = 1e-9
"""An action is tied for best if its value exceeds the smallest value by at most this relative margin."""


def checked_order(order: Sequence[int] | None, actions: int) -> Int64s:
    """Check `order` and return it as an array. If `order` is None, return 0, 1, ..., `actions` - 1."""
    if order is None:
        return np.arange(actions)
    if sorted(order) != list(range(actions)):
        raise SettingError(
            f"action_order is {order!r}; list each of the actions 0..{actions - 1} once, in order of preference"
        )
    return np.array(order, dtype=np.int64)


def shares(Q: Floats) -> Floats:
    """Return the policy ``[S, A]`` that plays all actions of smallest `Q` with equal probability."""
    best = Q.min(axis=1, keepdims=True)
    tied = best + TIE * np.abs(best) >= Q
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def best_tried(Q: Floats, visits: Int64s) -> Floats:
    """Return the policy ``[S, A]`` that plays the tried actions of smallest `Q` with equal probability.

    In a state without `visits`, all actions count as tried. Untried actions are excluded, because their `Q` is 0.
    """
    tried = visits > 0
    return shares(np.where(tried | ~tried.any(axis=1, keepdims=True), Q, np.inf))


@kernel
def pick(Q: Floats, state: int, order: Int64s, chance: float) -> int:
    """Return an action of smallest `Q`. A uniform `chance` in [0, 1) breaks ties at random, and 0 selects the first."""
    best = np.inf
    for action in range(order.size):
        best = min(best, Q[state, action])
    margin = best + TIE * abs(best)
    tied = 0
    for action in range(order.size):
        if Q[state, action] <= margin:
            tied += 1
    skip = int(chance * tied)
    chosen = -1
    for position in range(order.size):
        if Q[state, order[position]] <= margin:
            if skip == 0:
                chosen = order[position]
            skip -= 1
    return chosen


@kernel
def pick_all(Q: Floats, order: Int64s, chances: Floats, policy: Int64s) -> None:
    """Write an action of smallest `Q` in every state to `policy`. ``chances[state]`` breaks ties as in `pick`."""
    for state in range(policy.size):
        policy[state] = pick(Q, state, order, chances[state])
