"""Tie-breaking: which action an agent plays if several have equal values.

With confidence widths as large as the theory requires, all actions look alike for thousands of episodes, so the rule
for ties decides the result of an experiment. It is a setting: ``"random"`` draws uniformly among the tied actions, and
``"first"`` takes the first of them in `action_order`. Actions tie if their values are within 1e-9 of the smallest
value, relatively. This is far above rounding errors and far below differences that are learnt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError
from goalward.jit import kernel

TIE = 1e-9
"""The largest relative distance of an action's value from the smallest value at which the action is tied for best."""


def checked_order(order: Sequence[int] | None, actions: int) -> Int64s:
    """Return the order of the actions as an array; by default 0, 1, 2, ..."""
    if order is None:
        return np.arange(actions)
    if sorted(order) != list(range(actions)):
        raise SettingError(
            f"action_order is {order!r}; it must list each of the actions 0..{actions - 1} once, preferred ones first"
        )
    return np.array(order, dtype=np.int64)


def shares(Q: Floats) -> Floats:
    """Return the policy ``[S, A]`` that plays the actions of smallest Q in every state with equal probability."""
    best = Q.min(axis=1, keepdims=True)
    tied = best + TIE * np.abs(best) >= Q
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def best_tried(Q: Floats, visits: Int64s) -> Floats:
    """Return the policy ``[S, A]`` of smallest Q among the tried actions, or among all actions if none was tried.

    Values start at zero, so without this restriction untried actions would always be chosen.
    """
    tried = visits > 0
    return shares(np.where(tried | ~tried.any(axis=1, keepdims=True), Q, np.inf))


@kernel
def pick(Q: Floats, state: int, order: Int64s, chance: float) -> int:
    """Return an action of smallest Q; a uniform `chance` in [0, 1) breaks ties at random, and 0 takes the first."""
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
    """Write an action of smallest Q for every state to `policy`; ``chances[state]`` breaks ties as in `pick`."""
    for state in range(policy.size):
        policy[state] = pick(Q, state, order, chances[state])
