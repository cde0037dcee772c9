"""Which action is played where several look equally good.

Optimism of the size that theory asks for makes all actions look alike for thousands of episodes, so this rule decides
what an experiment shows. It is a setting: ``"random"`` draws uniformly among the tied actions, ``"first"`` takes the
first of them in a declared order of the actions. Actions tie when their values differ by no more than 1e-9 relative to
the smallest: far above rounding, far below anything learnt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import SettingError
from goalward.jit import kernel

__all__ = ["TIE", "best_actions", "break_ties", "checked_order", "pick", "shares"]

TIE = 1e-9
"""Actions whose values differ by no more than this, relative to the smallest, are tied: rounding decides nothing."""


def checked_order(order: Sequence[int] | None, actions: int) -> Int64s:
    """Return the declared order of the actions; by default that of their numbers."""
    if order is None:
        return np.arange(actions)
    try:
        declared = np.asarray(order)
    except ValueError:  # lists of different lengths inside
        declared = np.empty(0)
    if declared.dtype.kind not in "iu" or declared.ndim != 1 or sorted(declared.tolist()) != list(range(actions)):
        raise SettingError(
            f"action_order is {order!r}; it must name each of the actions 0..{actions - 1} once, the preferred first"
        )
    return declared.astype(np.int64)


def best_actions(Q: Floats) -> Bools:
    """Return which actions, on the last axis, tie with the best one."""
    best = Q.min(axis=-1, keepdims=True)
    return np.asarray(best + TIE * np.abs(best) >= Q)


def shares(Q: Floats) -> Floats:
    """Return the policy ``[S, A]`` that plays the best actions of every state with equal probability."""
    best = best_actions(Q)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def break_ties(Q: Floats, order: Int64s, chances: Floats | None = None) -> Int64s:
    """Return one of the best actions, on the last axis, for each uniform number; without them the first in order."""
    rank = np.cumsum(best_actions(Q)[..., order], axis=-1)
    chosen = 1 if chances is None else np.floor(chances * rank[..., -1]).astype(np.int64)[..., np.newaxis] + 1
    return np.asarray(order[(rank >= chosen).argmax(axis=-1)])


@kernel
def pick(Q: Floats, state: int, order: Int64s, chance: float) -> int:
    """Return one of the best actions: with uniform numbers in [0, 1) each equally often, with 0 the first in order."""
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
