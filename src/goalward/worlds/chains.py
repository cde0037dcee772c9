"""Worlds whose states form a line: RiverSwim, CheapLoopChain and CombinationLock."""

from __future__ import annotations

import numpy as np

from goalward.settings import Count, Share, Size, between, check
from goalward.ssp.model import SSP
from goalward.worlds.base import empty_kernel, register


@register("river-swim-v0")
def river_swim(states: Size = 6, forward: Share = 0.35, back: Share = 0.05, drift_cost: Share = 0.2) -> SSP:
    """RiverSwim: swim upstream against the current; drifting back is cheap and always succeeds.

    The swimmer of Strehl and Littman (2008) as a shortest path problem: the goal replaces the reward at the source, and
    a cheaper action replaces the small reward at the mouth. An agent learns little per step, because most steps stay.

    :States: `states` positions, from 0 at the mouth to the last position before the source.
    :Actions: drift, swim, available everywhere.
    :Transitions: drift always moves one position back. swim moves one position forward with probability `forward`, one
        back with probability `back`, and otherwise stays. At the mouth, moves back have no effect.
    :Costs: 1 for swim, `drift_cost` for drift.
    :Start and goal: The start is the mouth. The goal is one position beyond the last state.
    :Known values: Always swimming is optimal. With f = `forward` and b = `back`, it takes t(0) = 1/f steps from the
        mouth to position 1 and t(i) = (1 + b t(i-1))/f from position i on. V*(start) is their sum: 19.4444 by default.
    """
    return line(("drift", "swim"), states, forward, check("back", back, between(0.0, 1.0 - forward)), drift_cost)


@register("cheap-loop-chain-v0")
def cheap_loop_chain(states: Size = 10, forward: Share = 0.6, loop_cost: Share = 0.1) -> SSP:
    """CheapLoopChain: a chain on which moving back costs very little.

    A random walk with a drift towards the goal. The values of a plan that loops at the start rise by only `loop_cost`
    per sweep, so planners that stop value iteration early consider the loop optimal.

    :States: `states` positions in a line, numbered from 0.
    :Actions: left, right, available everywhere.
    :Transitions: left always moves one position back. right moves one position forward with probability `forward` and
        one back otherwise. At position 0, moves back have no effect.
    :Costs: 1 for right, `loop_cost` for left.
    :Start and goal: The start is position 0. The goal is one position beyond the last state.
    :Known values: Always right is optimal, with V*(start) as in RiverSwim for b = 1 - f: 40.1734 with the default
        settings.
    """
    return line(("left", "right"), states, forward, 1.0 - forward, loop_cost)


def line(actions: tuple[str, str], states: int, forward: float, back: float, cost: float) -> SSP:
    """Return a line in which the first action always moves back at `cost`, and the second may advance at cost 1."""
    P = empty_kernel(states, 2)
    for state in range(states):
        before = max(state - 1, 0)
        P[state, 0, before] = 1.0
        for successor, share in ((before, back), (state, 1.0 - forward - back), (state + 1, forward)):
            P[state, 1, successor] += share
    return SSP.from_dense(P, np.tile([cost, 1.0], (states, 1)), action_names=actions)


@register("combination-lock-v0")
def combination_lock(length: Size = 8, actions: Size = 4, success: Share = 0.9, seed: Count = 0) -> SSP:
    """CombinationLock: in each state one action advances, and all others lead back to the start.

    Each position has one right action, which has to be found by trying. Any other action loses all progress.

    :States: `length` positions in a line.
    :Actions: `actions` of them, available everywhere.
    :Transitions: Each position has a right action, drawn with ``numpy.random.default_rng(seed)``. It moves one
        position forward with probability `success` and otherwise stays. All other actions lead to the start.
    :Costs: 1 for every action.
    :Start and goal: The start is the first position. The goal is one position beyond the last state.
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
