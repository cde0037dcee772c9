"""Worlds in which the best action is hard to find: Traps and Needle."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from goalward.settings import Count, NotNegative, Share, Size, between, check
from goalward.ssp.model import SSP
from goalward.worlds.base import empty_kernel, register


@register("traps-v0")
def traps(
    length: Size = 9, detour: Size = 12, stride: Size = 3, good: Share = 0.03, bad: Share = 0.35, seed: Count = 0
) -> SSP:
    """Traps: walk or leap through a corridor; a failed leap leads to a long detour.

    The agent has to learn in which positions a leap is worth the risk. Each mistake is expensive.

    :States: The `length` positions of the corridor, followed by the `detour` positions of the detour.
    :Actions: walk and leap, both available everywhere.
    :Transitions: walk moves one position forward with probability 0.9 and otherwise has no effect. leap moves `stride`
        positions forward, or fails and leads to the first position of the detour. For each position, the probability of
        failure is `good` or `bad` with equal chances, drawn with ``numpy.random.default_rng(seed)``. In the detour,
        both actions move one position forward. At the end of the detour, both actions lead to the start.
    :Costs: 1 for every action.
    :Start and goal: The start is the first position of the corridor. The goal is one position after the corridor.
    :Known values: V*(start) = 6.3902 with the default settings.
    """
    n, S = length, length + detour
    risk = np.random.default_rng(seed).choice((good, bad), n)
    P = empty_kernel(S, 2)
    for state in range(n):
        on, far = (state + step if state + step < n else S for step in (1, stride))
        P[state, 0, state], P[state, 0, on] = 0.1, 0.9
        P[state, 1, n], P[state, 1, far] = risk[state], 1.0 - risk[state]
    for state in range(n, S):
        P[state, :, state + 1 if state + 1 < S else 0] = 1.0
    return SSP.from_dense(P, np.ones((S, 2)), action_names=("walk", "leap"))


@register("needle-v0")
def needle(
    states: Size = 6,
    actions: Size = 4,
    steps: Annotated[float, Ge(1.0), Le(1e9)] = 10.0,
    advantage: NotNegative = 0.5,
    seed: Count = 0,
) -> SSP:
    """Needle: in every state one action reaches the goal a little more often than the others.

    Rosenberg et al. (ICML 2020) use this family of worlds to prove lower bounds on regret. The best action of a state
    has only a slightly higher probability of reaching the goal. Experience in one state does not help in others.

    :States: The start and `states` other states.
    :Actions: `actions` actions, all available everywhere.
    :Transitions: From the start, every action leads to each other state with equal probability. In the other states, an
        action reaches the goal with probability ``1 / steps``; otherwise, the state does not change. In each state, one
        best action reaches the goal with probability ``(1 + advantage) / steps`` instead. The best actions are drawn
        with ``numpy.random.default_rng(seed)``.
    :Costs: 1 for every action.
    :Start and goal: The start is state 0.
    :Known values: V*(start) = 1 + steps / (1 + advantage), which is 7.6667 with the default settings.
    """
    S, A, base = states, actions, 1.0 / steps
    best = base * (1.0 + check("advantage", advantage, between(0.0, 1.0 / base - 1.0)))
    chosen = np.random.default_rng(seed).integers(0, A, S)
    P = empty_kernel(S + 1, A)
    P[0, :, 1 : S + 1] = 1.0 / S
    for state in range(1, S + 1):
        P[state, :, -1] = base
        P[state, chosen[state - 1], -1] = best
        P[state, :, state] = 1.0 - P[state, :, -1]
    return SSP.from_dense(P, np.ones((S + 1, A)))
