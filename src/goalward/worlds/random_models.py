"""Random models: the dense RandomMDP of the PSRL-SSP paper, sparse models, layers and clusters."""

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

    This is the small random problem of the PSRL-SSP paper, which does not say which instance it used. Of all seeds that
    we tried, the default seed brings the five algorithms closest to their published curves.
    ``benchmarks/published_instance.py`` tries the seeds, and docs/results/reproduction.md has the results.

    :States: `states` states without the goal. The paper has 8 states; the default assumes that one of them is the goal.
    :Actions: `actions` actions, all available everywhere.
    :Transitions: ``numpy.random.default_rng(seed)`` draws a distribution over all states and the goal for every
        state–action pair. With ``rows="dirichlet"``, the distribution is Dirichlet(1, ..., 1), which is uniform on the
        simplex. With ``rows="uniform"``, independent uniform numbers from [0, 1) are divided by their sum.
    :Costs: Costs are independent and uniform on [cost_min, 1). They are drawn after the transitions. The smallest cost
        of an instance is usually above `cost_min`.
    :Start and goal: The start is state 0. Every action in every state reaches the goal with positive probability.
    :Known values: With the default settings, V*(start) = 1.8366, B* = 2.3211, and the smallest cost is 0.0423. The
        uniformly random policy costs 3.2868.
    """
    return SSP.from_dense(*draw_rows_and_costs(states, actions, seed, rows, cost_min))


def draw_rows_and_costs(states: int, actions: int, seed: int, rows: str, cost_min: float) -> tuple[Floats, Floats]:
    """Return the kernel ``P[S, A, S + 1]`` and the costs ``[S, A]`` of RandomMDP for a seed."""
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
    """SparseMDP: a random model of any size in which every state–action pair has few successors.

    Use SparseMDP instead of RandomMDP for many states: memory and time grow with the number of transitions.

    :States: `states` states without the goal.
    :Actions: `actions` actions, all available everywhere.
    :Transitions: ``numpy.random.default_rng(seed)`` first puts the states in a random order. One successor of each
        state's first action is the goal or an earlier state in this order. All other successors are uniform over all
        states and the goal. The probabilities are drawn from Dirichlet(1, ..., 1), and equal successors are merged.
    :Costs: Costs are independent and uniform on [cost_min, 1). They are drawn after the transitions.
    :Start and goal: The start is state 0. Always playing the first action reaches the goal from every state.
    :Known values: V*(start) = 1.9331 with the default settings.
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
    """Layers: each step leads to a random state of the next layer, or sometimes back to the start.

    This resembles a problem with a finite horizon: unless a step slips back to the start, it leads to the next layer.

    :States: `depth` layers with `width` states each. States are numbered layer by layer.
    :Actions: `actions` actions, all available everywhere.
    :Transitions: With probability `slip`, a step leads to the start. Otherwise, it leads to one of two states in the
        next layer. For each state–action pair, ``numpy.random.default_rng(seed)`` draws the two states uniformly, and
        their probabilities from Dirichlet(1, 1). After the last layer comes the goal.
    :Costs: Costs are independent and uniform on [0.1, 1). They are drawn after the transitions.
    :Start and goal: The start is the first state of the first layer.
    :Known values: V*(start) = 2.6308 with the default settings.
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
    """Clusters: groups of densely connected states, with rare transitions between the groups.

    Inside a group, all transitions are possible. Only the few state–action pairs that leave the group matter.

    :States: `blocks` groups with `size` states each. States are numbered group by group.
    :Actions: `actions` actions, all available everywhere.
    :Transitions: A state–action pair leads to the states of its group with probabilities from Dirichlet(1, ..., 1).
        About a fourth of the pairs, including the first pair of every group, also have a bridge to one state of the
        next group. From the last group, bridges lead to the goal. The probability of taking a bridge is drawn uniformly
        from [0, 2 bridge). All draws use ``numpy.random.default_rng(seed)``.
    :Costs: Costs are independent and uniform on [0.1, 1). They are drawn after the transitions.
    :Start and goal: The start is the first state of the first group.
    :Known values: V*(start) = 28.9078 with the default settings.
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
    """Return `count` probabilities drawn from Dirichlet(1, ..., 1)."""
    weights = rng.standard_exponential(count)
    return np.asarray(weights / weights.sum())
