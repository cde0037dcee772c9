"""Models without a map: random graphs, chains, queues, layers, clusters and samples of a posterior."""

from __future__ import annotations

import numpy as np

from models import ACTIONS, Model, from_entries, grid, random_sparse

__all__ = [
    "chain",
    "clusters",
    "components",
    "half_free",
    "layers",
    "posterior_sample",
    "power_law",
    "queue",
    "wide_costs",
]


def spread(
    inner: np.ndarray, last: np.ndarray, share: np.ndarray | float, rng: np.random.Generator, costs: np.ndarray
) -> Model:
    """Return a model in which row r leads to `last[r]` with probability `share[r]`, and otherwise to `inner[r, :]`.

    The probabilities of `inner[r, :]` are normalised uniforms.
    """
    rows, width = inner.shape
    taken = np.broadcast_to(share, rows)
    weights = rng.random((rows, width))
    weights *= ((1.0 - taken) / weights.sum(axis=1))[:, None]
    every = np.arange(rows)
    return from_entries(
        np.concatenate([np.repeat(every, width), every]),
        np.concatenate([inner.ravel(), last]),
        np.concatenate([weights.ravel(), taken]),
        costs,
    )


def log_uniform(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), shape))


def components(count: int, size: int, seed: int) -> Model:
    """Return random strongly connected components in a line; each row leads to the next one with probability 0.01."""
    rng = np.random.default_rng(seed)
    states = count * size
    own = np.repeat(np.arange(count), size * ACTIONS)
    inner = own[:, None] * size + rng.integers(0, size, (len(own), 5))
    onward = np.where(own + 1 < count, (own + 1) * size + rng.integers(0, size, len(own)), states)
    return spread(inner, onward, 0.01, rng, rng.uniform(0.5, 1.5, (states, ACTIONS)))


def clusters(count: int, size: int, bridge: float, seed: int) -> Model:
    """Return random clusters in a line, with costs from 1e-4 to 1; the goal follows the last cluster.

    Each row leads to a neighbouring cluster with probability `bridge`.
    """
    rng = np.random.default_rng(seed)
    states = count * size
    own = np.repeat(np.arange(count), size * ACTIONS)
    inner = own[:, None] * size + rng.integers(0, size, (len(own), 5))
    neighbour = np.maximum(own + rng.choice([-1, 1], len(own)), 0)
    onward = np.minimum(neighbour * size + rng.integers(0, size, len(own)), states)
    return spread(inner, onward, bridge, rng, log_uniform(rng, 1e-4, 1.0, (states, ACTIONS)))


def power_law(states: int, seed: int) -> Model:
    """Return a random graph in which few states have most predecessors; a row has one to a hundred successors."""
    rng = np.random.default_rng(seed)
    rows_in_all = states * ACTIONS
    lengths = np.minimum(rng.zipf(2.0, rows_in_all), 100)
    rows = np.repeat(np.arange(rows_in_all), lengths)
    targets = (states * rng.random(len(rows)) ** 3).astype(np.int64)
    weights = rng.random(len(rows))
    sums = np.bincount(rows, weights)
    at_goal = np.flatnonzero(rng.random(rows_in_all) < 0.002)  # a few rows lead to the goal
    share = np.zeros(rows_in_all)
    share[at_goal] = rng.uniform(0.0, 0.5, len(at_goal))
    return from_entries(
        np.concatenate([rows, at_goal]),
        np.concatenate([targets, np.full(len(at_goal), states)]),
        np.concatenate([weights / sums[rows] * (1.0 - share[rows]), share[at_goal]]),
        rng.uniform(0.5, 1.5, (states, ACTIONS)),
    )


def chain(states: int, seed: int) -> Model:
    """Return a random walk without drift on a line that ends at the goal; the walk from the far end takes S^2 steps.

    Two actions: walk, or walk at half the pace for about half the cost.
    """
    rng = np.random.default_rng(seed)
    state = np.arange(states)
    left, right = np.maximum(state - 1, 0), state + 1
    return from_entries(
        np.concatenate([2 * state, 2 * state, 2 * state + 1, 2 * state + 1, 2 * state + 1]),
        np.concatenate([left, right, left, state, right]),
        np.repeat([0.5, 0.5, 0.25, 0.5, 0.25], states),
        np.stack([rng.uniform(0.5, 1.5, states), rng.uniform(0.25, 0.75, states)], axis=1),
    )


def queue(states: int) -> Model:
    """Return the model of a queue that must be emptied; customers arrive almost as fast as they are served.

    Each waiting customer costs a little. There are three speeds of service; a faster speed costs more. The fastest
    speed serves 2 % more customers than arrive.
    """
    state = np.arange(states)  # state i has i + 1 customers; the goal is the empty queue
    arrival = 0.49
    speeds, prices = np.array([0.45, 0.49, 0.50]), np.array([0.5, 1.0, 1.5])
    rows, targets, shares = [], [], []
    fewer = np.where(state > 0, state - 1, states)
    more = np.minimum(state + 1, states - 1)
    for action, speed in enumerate(speeds):
        for target, share in ((fewer, speed), (more, arrival), (state, 1.0 - speed - arrival)):
            rows.append(3 * state + action)
            targets.append(target)
            shares.append(np.full(states, share))
    costs = prices + (state[:, None] + 1) / states
    return from_entries(np.concatenate(rows), np.concatenate(targets), np.concatenate(shares), costs, states // 2)


def layers(depth: int, width: int, seed: int) -> Model:
    """Return layers of states; a row leads to the next layer, and sometimes stays or moves within its own layer."""
    rng = np.random.default_rng(seed)
    states = depth * width
    own = np.repeat(np.arange(states), ACTIONS)
    layer = own // width
    onward = np.minimum((layer[:, None] + 1) * width + rng.integers(0, width, (len(own), 4)), states)
    back = np.where(rng.random(len(own)) < 0.1, layer * width + (own + 1) % width, own)
    return spread(onward, back, rng.uniform(0.0, 0.5, len(own)), rng, rng.uniform(0.5, 1.5, (states, ACTIONS)))


def half_free(states: int, seed: int) -> Model:
    """Return a random model in which each action costs nothing with probability one half."""
    rng = np.random.default_rng(seed)
    model = random_sparse(states, 0.02, seed)
    return model | {"costs": np.where(rng.random(model["costs"].shape) < 0.5, 0.0, model["costs"])}


def wide_costs(model: Model, seed: int) -> Model:
    """Return the model with new costs, log-uniform between 1e-4 and 1."""
    rng = np.random.default_rng(seed)
    return model | {"costs": log_uniform(rng, 1e-4, 1.0, model["costs"].shape)}


def posterior_sample(side: int, visits: int, seed: int) -> Model:
    """Return a dense sample of a grid's Dirichlet(0.1) posterior after `visits` visits to each row."""
    rng = np.random.default_rng(seed)
    true = grid(side)
    states, actions = true["costs"].shape
    shape = np.full((states * actions, states + 1), 0.1)
    for row in range(states * actions):
        mine = slice(true["indptr"][row], true["indptr"][row + 1])
        shape[row, true["successors"][mine]] += rng.multinomial(visits, true["probabilities"][mine])
    variates = rng.standard_gamma(shape)
    variates /= variates.sum(axis=1, keepdims=True)
    row, successor = np.nonzero(variates)
    return from_entries(row, successor, variates[row, successor], true["costs"])
