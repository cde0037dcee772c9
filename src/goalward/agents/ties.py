"""Ties: which action is played if several look equally good.

Optimism of the size that theory asks for makes all actions look alike for thousands of episodes, so this rule decides
what an experiment shows. It is a setting: ``"random"`` draws uniformly among the tied actions, ``"first"`` takes the
first of them in a declared order of the actions. Actions tie when their values differ by no more than 1e-9 relative to
the smallest: far above rounding, far below anything learnt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError
from goalward.jit import kernel

TIE = 1e-9
"""Actions whose values differ by no more than this, relative to the smallest, are tied: rounding decides nothing."""


def checked_order(order: Sequence[int] | None, actions: int) -> Int64s:
    """Return the declared order of the actions; by default that of their numbers."""
    if order is None:
        return np.arange(actions)
    if sorted(order) != list(range(actions)):
        raise SettingError(
            f"action_order is {order!r}; it must name each of the actions 0..{actions - 1} once, the preferred first"
        )
    return np.array(order, dtype=np.int64)


def shares(Q: Floats) -> Floats:
    """Return the policy ``[S, A]`` that plays the best actions of every state with equal probability."""
    best = Q.min(axis=1, keepdims=True)
    tied = best + TIE * np.abs(best) >= Q
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def best_tried(Q: Floats, visits: Int64s) -> Floats:
    """Return the policy ``[S, A]`` of smallest Q among the actions that were tried, or among all if none was.

    Values start at zero, so actions that were never tried would always win.
    """
    tried = visits > 0
    return shares(np.where(tried | ~tried.any(axis=1, keepdims=True), Q, np.inf))


@kernel
def pick(Q: Floats, state: int, order: Int64s, chance: float) -> int:
    """Return one of the best actions: each is equally likely for a uniform `chance`; 0 selects the first in `order`."""
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
    """Write one of the best actions of every state, selected by ``chances[state]``."""
    for state in range(policy.size):
        policy[state] = pick(Q, state, order, chances[state])
