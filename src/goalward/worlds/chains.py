"""Worlds whose states form a line: RiverSwim, CheapLoopChain and CombinationLock."""

from __future__ import annotations

import numpy as np

from goalward.settings import Count, Share, Size, between, check
from goalward.ssp.model import SSP
from goalward.worlds.base import empty_kernel, register


@register("river-swim-v0")
def river_swim(states: Size = 6, forward: Share = 0.35, back: Share = 0.05, drift_cost: Share = 0.2) -> SSP:
    """RiverSwim: swim upstream against the current; drifting back is cheap and always succeeds.

    This is the swimmer of Strehl and Littman (2008) as a shortest path problem. The goal replaces the reward at the
    source, and a cheap action replaces the small reward at the mouth. Most steps do not change the state.

    :States: `states` positions in a line. Position 0 is the mouth, and the last position is next to the source.
    :Actions: drift and swim, both available everywhere.
    :Transitions: drift moves one position back. swim moves one position forward with probability `forward` and one back
        with probability `back`; otherwise, it has no effect. At the mouth, moves back have no effect.
    :Costs: 1 for swim, `drift_cost` for drift.
    :Start and goal: The start is the mouth. The goal is one position after the last state.
    :Known values: Always swimming is optimal. Let t(i) be the expected number of steps from position i to position i +
        1. With f = `forward` and b = `back`, t(0) = 1/f and t(i) = (1 + b t(i-1))/f. V*(start) is the sum of all t(i),
        which is 19.4444 with the default settings.
    """
    return line(("drift", "swim"), states, forward, check("back", back, between(0.0, 1.0 - forward)), drift_cost)


@register("cheap-loop-chain-v0")
def cheap_loop_chain(states: Size = 10, forward: Share = 0.6, loop_cost: Share = 0.1) -> SSP:
    """CheapLoopChain: a chain on which moving back costs very little.

    In value iteration, the value of looping at the start rises by only `loop_cost` in each sweep. So planners that stop
    value iteration early believe that the loop is optimal.

    :States: `states` positions in a line, numbered from 0.
    :Actions: left and right, both available everywhere.
    :Transitions: left moves one position back. right moves one position forward with probability `forward`; otherwise,
        it moves one position back. At position 0, moves back have no effect.
    :Costs: 1 for right, `loop_cost` for left.
    :Start and goal: The start is position 0. The goal is one position after the last state.
    :Known values: Always playing right is optimal. With b = 1 - f, the formula of RiverSwim gives V*(start) = 40.1734
        for the default settings.
    """
    return line(("left", "right"), states, forward, 1.0 - forward, loop_cost)


def line(actions: tuple[str, str], states: int, forward: float, back: float, cost: float) -> SSP:
    """Return a line of states. The first action moves back at cost `cost`, and the second may advance at cost 1."""
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

    The agent must find the right action of each position by trying. Any other action loses all progress.

    :States: `length` positions in a line.
    :Actions: `actions` actions, all available everywhere.
    :Transitions: Each position has one right action, drawn with ``numpy.random.default_rng(seed)``. With probability
        `success`, this action moves one position forward; otherwise, it has no effect. Other actions lead to the start.
    :Costs: 1 for every action.
    :Start and goal: The start is the first position. The goal is one position after the last state.
    :Known values: V*(start) = length / success, which is 8.8889 with the default settings.
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
