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

__all__ = ["TIE", "break_ties", "checked_order", "least", "pick", "pick_all", "shares"]

TIE = 1e-9
"""Actions whose values differ by no more than this, relative to the smallest, are tied: rounding decides nothing."""


def checked_order(given: Sequence[int] | None, actions: int) -> Int64s:
    """Return the declared order of the actions; that of their numbers if none is declared."""
    if given is None:
        return np.arange(actions)
    try:
        order = np.asarray(given)
    except ValueError:  # lists of different lengths inside
        order = np.empty(0)
    if order.ndim != 1 or order.dtype.kind not in "iu" or sorted(order.tolist()) != list(range(actions)):
        raise SettingError(
            f"action_order is {given!r}; it must name each of the actions 0..{actions - 1} once, the preferred first"
        )
    return np.array(order, dtype=np.int64)


def shares(Q: Floats) -> Floats:
    """Return the policy ``[S, A]`` that plays the best actions of every state with equal probability."""
    best = Q.min(axis=1, keepdims=True)
    tied = best + TIE * np.abs(best) >= Q
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def break_ties(tied: Bools, order: Int64s, chances: Floats | None = None) -> Int64s:
    """Return one of the tied actions, on the last axis, for each entry of `chances`; the first in order without."""
    ordered = tied[..., order]
    if chances is None:
        return np.asarray(order[ordered.argmax(axis=-1)])
    rank = np.cumsum(ordered, axis=-1)
    chosen = np.floor(chances * rank[..., -1]).astype(np.int64) + 1
    return np.asarray(order[(rank >= chosen[..., np.newaxis]).argmax(axis=-1)])


@kernel
def least(Q: Floats, state: int) -> float:
    """Return the smallest value in a state, with the margin in which others tie with it."""
    best = np.inf
    for action in range(Q.shape[1]):
        best = min(best, Q[state, action])
    return best + TIE * abs(best)


@kernel
def pick(Q: Floats, state: int, order: Int64s, chance: float) -> int:
    """Return one of the best actions: with uniform numbers in [0, 1) each equally often, with 0 the first in order."""
    margin = least(Q, state)
    tied = 0
    for place in range(order.size):
        if Q[state, order[place]] <= margin:
            tied += 1
    left = int(chance * tied)
    chosen = -1
    for place in range(order.size):
        if Q[state, order[place]] <= margin:
            if left == 0:
                chosen = order[place]
            left -= 1
    return chosen


@kernel
def pick_all(Q: Floats, order: Int64s, chances: Floats, policy: Int64s) -> None:
    """Write one of the best actions of every state, with a number for each."""
    for state in range(policy.size):
        policy[state] = pick(Q, state, order, chances[state])
