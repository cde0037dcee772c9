"""Random models: the dense RandomMDP of the published figure, few successors, layers, clusters."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from goalward.arrays import Floats
from goalward.settings import Count, Share, Size, check_memory
from goalward.ssp.model import SSP
from goalward.worlds.base import check_dense, empty_kernel, register


@register("random-mdp-v1")
def random_mdp(
    states: Size = 7,
    actions: Size = 2,
    seed: Count = 26_959,
    rows: Literal["dirichlet", "uniform"] = "dirichlet",
    cost_min: Share = 0.0,
) -> SSP:
    """RandomMDP: a dense model whose kernel and costs are drawn uniformly at random.

    The small random problem of the PSRL-SSP paper, which does not give its instance. The default seed was chosen by
    what it reproduces: of all searched seeds it is the one on which the five algorithms come closest to their published
    curves. ``benchmarks/published_instance.py`` is the search, and docs/results/reproduction.md has its table.

    :States: `states` non-goal states. The paper has 8 states and does not say whether they include the goal; here they
        do.
    :Actions: `actions` of them, available everywhere.
    :Transitions: Every row is a distribution over all states and the goal, drawn from
        ``numpy.random.default_rng(seed)`` before the costs. ``rows="dirichlet"``: independent standard exponentials,
        divided by their sum, which is Dirichlet(1, ..., 1), the uniform distribution on the simplex.
        ``rows="uniform"``: independent uniforms on [0, 1), divided by their sum.
    :Costs: Independent and uniform on [cost_min, 1): ``cost_min + (1 - cost_min) * u``. The floor holds for every draw;
        the smallest cost of an instance lies above it.
    :Start and goal: The start is state 0. Every pair leads to the goal in one step with positive probability.
    :Known values: Default instance: smallest cost 0.0423, V*(start) = 1.8366, B* = 2.3211; the uniformly random policy
        costs 3.2868.
    """
    return SSP.from_dense(*draw_rows_and_costs(states, actions, seed, rows, cost_min))


def draw_rows_and_costs(states: int, actions: int, seed: int, rows: str, cost_min: float) -> tuple[Floats, Floats]:
    """Return the kernel ``P[S, A, S + 1]`` and the costs ``[S, A]`` of one seed."""
    S, A, rng = states, actions, np.random.default_rng(seed)
    check_dense(S, A)
    P = rng.random((S, A, S + 1)) if rows == "uniform" else rng.standard_exponential((S, A, S + 1))
    P /= P.sum(axis=2, keepdims=True)
    costs = cost_min + (1.0 - cost_min) * rng.random((S, A))
    return P, costs


@register("sparse-mdp-v0")
def sparse_mdp(
    states: Size = 100, actions: Size = 4, successors: Size = 3, seed: Count = 0, cost_min: Share = 0.0
) -> SSP:
    """SparseMDP: a random model of any size in which every pair has few successors.

    The counterpart of RandomMDP for many states: memory and time go with the number of transitions.

    :States: `states` non-goal states.
    :Actions: `actions` of them, available everywhere.
    :Transitions: From ``numpy.random.default_rng(seed)``: the states are put in random order, and the first action of
        each can lead to an earlier one or to the goal. The other successors of each pair are drawn uniformly from all
        states and the goal. Probabilities are drawn from Dirichlet(1, ..., 1), and equal successors are merged
        afterwards.
    :Costs: Independent and uniform on [cost_min, 1), drawn last.
    :Start and goal: The start is state 0. The goal can be reached from every state by first actions.
    :Known values: Default settings: V*(start) = 1.9331.
    """
    S, A, b = states, actions, successors
    check_memory(f"a model of {S} states, {A} actions and {b} successors each", 100.0 * S * A * b)
    rng = np.random.default_rng(seed)
    order = rng.permutation(S)
    earlier = np.append(S, order)
    targets = rng.integers(0, S + 1, (S, A, b))
    targets[order, 0, 0] = earlier[(rng.random(S) * np.arange(1, S + 1)).astype(np.int64)]
    weights = rng.standard_exponential((S, A, b))
    costs = cost_min + (1.0 - cost_min) * rng.random((S, A))
    targets, weights = targets.reshape(S * A, b), (weights / weights.sum(axis=2, keepdims=True)).reshape(S * A, b)
    keys = (np.arange(S * A)[:, np.newaxis] * (S + 1) + targets).ravel()
    unique, inverse = np.unique(keys, return_inverse=True)
    mass = np.bincount(inverse, weights.ravel())
    indptr = np.searchsorted(unique, np.arange(S * A + 1) * (S + 1))
    return SSP.from_rows(indptr, unique % (S + 1), mass, costs)


@register("layers-v0")
def layers(
    depth: Size = 6,
    width: Size = 5,
    actions: Size = 3,
    slip: Annotated[float, Ge(0.0), Le(0.99)] = 0.1,
    seed: Count = 0,
) -> SSP:
    """Layers: a random walk from layer to layer, now and then back to the start.

    Like a problem with a finite horizon: every layer is left after one step, and no state is seen twice on the way.

    :States: `depth` layers of `width` states each, layer by layer.
    :Actions: `actions` of them, available everywhere.
    :Transitions: From ``numpy.random.default_rng(seed)``: every pair has two successors in the next layer, drawn
        uniformly, with probabilities from Dirichlet(1, 1) times ``1 - slip``. With probability `slip` it goes to the
        start. From the last layer, the goal takes the place of the next one.
    :Costs: Independent and uniform on [0.1, 1), drawn last.
    :Start and goal: The start is the first state of the first layer.
    :Known values: Default settings: V*(start) = 2.6308.
    """
    W, A, S = width, actions, depth * width
    rng = np.random.default_rng(seed)
    P = empty_kernel(S, A)
    for state in range(S):
        for action in range(A):
            following = np.minimum((state // W + 1) * W + rng.integers(0, W, 2), S)
            np.add.at(P[state, action], following, (1.0 - slip) * shares(rng, 2))
            P[state, action, 0] += slip
    return SSP.from_dense(P, 0.1 + 0.9 * rng.random((S, A)))


@register("clusters-v0")
def clusters(
    blocks: Size = 4,
    size: Size = 8,
    actions: Size = 3,
    bridge: Annotated[float, Ge(1e-9), Le(0.5)] = 0.1,
    seed: Count = 0,
) -> SSP:
    """Clusters: groups of states that lead to each other, and rare ways from one group to the next.

    Inside a group the world is dense and says little about the way; what counts are the few states and actions that
    leave it.

    :States: `blocks` groups of `size` states each, group by group.
    :Actions: `actions` of them, available everywhere.
    :Transitions: From ``numpy.random.default_rng(seed)``: a pair goes to the states of its group with probabilities
        from Dirichlet(1, ..., 1). A fourth of the pairs has a bridge: with a probability uniform on [0, 2 bridge) they
        go to one state of the next group instead, from the last group to the goal. The first pair of every group has
        one.
    :Costs: Independent and uniform on [0.1, 1), drawn last.
    :Start and goal: The start is the first state of the first group.
    :Known values: Default settings: V*(start) = 28.9078.
    """
    n, A, S = size, actions, blocks * size
    rng = np.random.default_rng(seed)
    P = empty_kernel(S, A)
    for state in range(S):
        block = state // n
        for action in range(A):
            P[state, action, block * n : (block + 1) * n] = shares(rng, n)
            crosses, chance, there = rng.random() < 0.25, 2.0 * bridge * rng.random(), int(rng.integers(n))
            if crosses or (state % n == 0 and action == 0):
                P[state, action] *= 1.0 - chance
                P[state, action, min((block + 1) * n + there, S)] += chance
    return SSP.from_dense(P, 0.1 + 0.9 * rng.random((S, A)))


def shares(rng: np.random.Generator, count: int) -> Floats:
    """Draw from Dirichlet(1, ..., 1)."""
    weights = rng.standard_exponential(count)
    return np.asarray(weights / weights.sum())
