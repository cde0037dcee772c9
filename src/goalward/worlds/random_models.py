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

    The small random problem of the PSRL-SSP paper, which does not state its instance. With the default seed, the five
    algorithms come closest to their published curves among all searched seeds. ``benchmarks/published_instance.py`` is
    the search, and docs/results/reproduction.md has its results.

    :States: `states` non-goal states. The paper has 8 states and does not say whether they include the goal; the
        default assumes that they do.
    :Actions: `actions` of them, available everywhere.
    :Transitions: Every row is a distribution over all states and the goal, drawn from
        ``numpy.random.default_rng(seed)`` before the costs. With ``rows="dirichlet"``, a row is independent standard
        exponentials divided by their sum, which is Dirichlet(1, ..., 1), the uniform distribution on the simplex. With
        ``rows="uniform"``, it is independent uniforms on [0, 1) divided by their sum.
    :Costs: Independent and uniform on [cost_min, 1): ``cost_min + (1 - cost_min) * u``. The smallest cost of an
        instance is usually above `cost_min`.
    :Start and goal: The start is state 0. Every pair leads to the goal in one step with positive probability.
    :Known values: Default instance: smallest cost 0.0423, V*(start) = 1.8366, B* = 2.3211; the uniformly random policy
        costs 3.2868.
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
    """SparseMDP: a random model of any size in which every pair has few successors.

    The counterpart of RandomMDP for many states: memory and time are proportional to the number of transitions.

    :States: `states` non-goal states.
    :Actions: `actions` of them, available everywhere.
    :Transitions: Drawn with ``numpy.random.default_rng(seed)``. The states are put in a random order, and one successor
        of the first action of each state is the goal or a state earlier in this order. All other successors are drawn
        uniformly from all states and the goal. Probabilities are drawn from Dirichlet(1, ..., 1), and equal successors
        are merged afterwards.
    :Costs: Independent and uniform on [cost_min, 1), drawn last.
    :Start and goal: The start is state 0. Always playing the first action reaches the goal from every state.
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
    """Layers: each step leads to a random state of the next layer, or sometimes back to the start.

    Similar to a problem with a finite horizon: every step leaves its layer, and no state is seen twice on the way.

    :States: `depth` layers of `width` states each, layer by layer.
    :Actions: `actions` of them, available everywhere.
    :Transitions: Drawn with ``numpy.random.default_rng(seed)``. Every pair has two successors in the next layer, drawn
        uniformly, with probabilities from Dirichlet(1, 1) times ``1 - slip``. With probability `slip` it leads to the
        start. After the last layer comes the goal.
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
    """Clusters: groups of states that lead to each other, with rare transitions between groups.

    Inside a group all transitions are possible; only the few state-action pairs that leave the group matter.

    :States: `blocks` groups of `size` states each, group by group.
    :Actions: `actions` of them, available everywhere.
    :Transitions: Drawn with ``numpy.random.default_rng(seed)``. A pair leads to the states of its group with
        probabilities from Dirichlet(1, ..., 1). About a fourth of the pairs have a bridge, the first pair of every
        group among them. With a probability drawn uniformly from [0, 2 bridge), a pair with a bridge leads to one state
        of the next group instead; from the last group, to the goal.
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
    """Return `count` probabilities drawn from Dirichlet(1, ..., 1)."""
    weights = rng.standard_exponential(count)
    return np.asarray(weights / weights.sum())
