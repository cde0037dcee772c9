"""States in a line: against a current, past a cheap loop, through a combination lock."""

from __future__ import annotations

import numpy as np

from goalward.settings import Count, Share, Size, between, check
from goalward.ssp.model import SSP
from goalward.worlds.base import empty_kernel, register


@register("river-swim-v0")
def river_swim(states: Size = 6, forward: Share = 0.35, back: Share = 0.05, drift_cost: Share = 0.2) -> SSP:
    """RiverSwim: upstream against the current, while drifting back is cheap and sure.

    The swimmer of Strehl and Littman (2008) as a shortest path problem: the reward at the source is the goal, the small
    reward at the mouth is a cheaper action. A swimmer learns little from a step, because most steps stay.

    :States: `states` places from the mouth, 0, to the last one before the source.
    :Actions: drift, swim, available everywhere.
    :Transitions: drift always goes one place back. swim goes one place on with probability `forward`, one back with
        probability `back`, and stays otherwise. At the mouth, what would go back stays.
    :Costs: 1 for swim, `drift_cost` for drift.
    :Start and goal: The start is the mouth. The goal is one place beyond the last state.
    :Known values: Always swimming is optimal. It takes t(0) = 1/f steps from the mouth to the next place and
        t(i) = (1 + b t(i-1))/f from place i; V*(start) is their sum, 19.4444 with the default settings.
    """
    return line(("drift", "swim"), states, forward, check("back", back, between(0.0, 1.0 - forward)), drift_cost)


@register("cheap-loop-chain-v0")
def cheap_loop_chain(states: Size = 10, forward: Share = 0.6, loop_cost: Share = 0.1) -> SSP:
    """CheapLoopChain: a chain on which the way back costs next to nothing.

    A random walk with a drift towards the goal. The values of a plan that loops at the start rise by `loop_cost` a
    sweep only, so planners that stop value iteration early take the loop for the best policy.

    :States: `states` places in a line, the first one 0.
    :Actions: left, right, available everywhere.
    :Transitions: left always goes one place back. right goes one place on with probability `forward` and one back
        otherwise. At place 0, what would go back stays.
    :Costs: 1 for right, `loop_cost` for left.
    :Start and goal: The start is place 0. The goal is one place beyond the last state.
    :Known values: Always right is optimal, with V*(start) as in RiverSwim for b = 1 - f: 40.1734 with the default
        settings.
    """
    return line(("left", "right"), states, forward, 1.0 - forward, loop_cost)


def line(actions: tuple[str, str], states: int, forward: float, back: float, cost: float) -> SSP:
    """Return a line of places: the first action always goes back, the second may advance at cost 1."""
    P = empty_kernel(states, 2)
    for state in range(states):
        before = max(state - 1, 0)
        P[state, 0, before] = 1.0
        for successor, share in ((before, back), (state, 1.0 - forward - back), (state + 1, forward)):
            P[state, 1, successor] += share
    return SSP.from_dense(P, np.tile([cost, 1.0], (states, 1)), action_names=actions)


@register("combination-lock-v0")
def combination_lock(length: Size = 8, actions: Size = 4, success: Share = 0.9, seed: Count = 0) -> SSP:
    """CombinationLock: one action advances, all others lead back to the start.

    Each place has one right action, which has to be found by trying. A wrong one loses the way already made.

    :States: `length` places in a line.
    :Actions: `actions` of them, available everywhere.
    :Transitions: The right action of a place, drawn uniformly from ``numpy.random.default_rng(seed)``, goes one place
        on with probability `success` and stays otherwise. The others go to the start.
    :Costs: 1 for every action.
    :Start and goal: The start is the first place. The goal is one place beyond the last.
    :Known values: V*(start) = length / success, 8.8889 with the default settings.
    """
    S, A = length, actions
    right = np.random.default_rng(seed).integers(0, A, S)
    P = empty_kernel(S, A)
    P[:, :, 0] = 1.0
    for state in range(S):
        P[state, right[state]] = 0.0
        P[state, right[state], state] = 1.0 - success
        P[state, right[state], state + 1] = success
    return SSP.from_dense(P, np.ones((S, A)))
