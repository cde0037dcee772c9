"""Grids and random models for the planner benchmark, and the format of all its models: canonical compressed rows.

`gN` is an N x N grid with states numbered row by row and the goal in the last corner. Each of four actions moves as
intended with probability 0.85, and in each other direction with probability 0.05. A move into a wall has no effect.
Every step costs 1. `g300s` is `g300` with its states renumbered at random, so that no solver profits from their order.

`rS` has S states and four actions. Each row leads to the goal with probability U(0, 0.02), and otherwise to one of five
random states, by normalised uniforms. Costs are U(0.5, 1.5). `r1e5h` is harder: its goal probability is U(0, 0.002).

A model is a dict of the arrays `indptr`, `successors`, `probabilities`, `costs[S, A]` and `initial_state`. State s and
action a have row s * A + a, successors increase within a row, and the goal has number S. The module imports only
NumPy, so that the processes of all tools can load the files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

Model = dict[str, np.ndarray]

SUCCESS, SLIP = 0.85, 0.05
ACTIONS = 4


def grid(side: int) -> Model:
    """Return a square grid, built some lines at a time, so that it needs little more memory than its arrays."""
    states = side * side - 1
    indptr = np.zeros(states * ACTIONS + 1, dtype=np.int64)
    successors = np.empty(states * ACTIONS * 4, dtype=np.int32)  # at most 4: states that may stay lack a neighbour
    probabilities = np.empty(len(successors))
    lines = max(1, 20_000 // side)
    used = 0
    for top in range(0, side, lines):
        lengths, targets, shares = _grid_rows(side, top, min(top + lines, side))
        row = top * side * ACTIONS
        indptr[row + 1 : row + 1 + len(lengths)] = lengths
        successors[used : used + len(targets)] = targets
        probabilities[used : used + len(targets)] = shares
        used += len(targets)
    np.cumsum(indptr, out=indptr)
    return _model(indptr, successors[:used], probabilities[:used], np.ones((states, ACTIONS)))


def _grid_rows(side: int, top: int, bottom: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lengths, successors and probabilities of the model's rows for the grid lines `top` to `bottom` - 1."""
    cell = np.arange(top * side, min(bottom * side, side * side - 1))
    line, column = np.divmod(cell, side)
    inside = np.stack([line > 0, column > 0, column < side - 1, line < side - 1], axis=1)
    target = cell[:, None] + np.array([-side, -1, 0, 1, side])
    share = np.zeros((len(cell), ACTIONS, 5))  # up, left, stay, right, down: increasing successors
    slots = np.array([0, 1, 3, 4])
    chance = np.full((ACTIONS, 4), SLIP) + (SUCCESS - SLIP) * np.eye(ACTIONS)
    share[:, :, slots] = np.where(inside[:, None, :], chance, 0.0)
    share[:, :, 2] = np.where(inside[:, None, :], 0.0, chance).sum(axis=2)
    used = share > 0
    successors = np.broadcast_to(target[:, None, :], share.shape)[used]
    return used.sum(axis=2).ravel(), successors.astype(np.int32), share[used]


def shuffled(model: Model, seed: int) -> Model:
    """Return the model with its states renumbered at random; the goal keeps its number."""
    states = len(model["costs"])
    old = np.random.default_rng(seed).permutation(states)
    new = np.empty(states + 1, dtype=np.int64)
    new[old] = np.arange(states)
    new[states] = states
    rows = (old[:, None] * ACTIONS + np.arange(ACTIONS)).ravel()
    lengths = np.diff(model["indptr"])[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(model["indptr"][rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    successors = new[model["successors"][entries]]
    order = np.lexsort((successors, np.repeat(np.arange(len(rows)), lengths)))
    start = int(new[model["initial_state"]])
    return _model(indptr, successors[order], model["probabilities"][entries][order], model["costs"][old], start)


def random_sparse(states: int, goal_probability: float, seed: int) -> Model:
    """Return a random model; equal successors of a row are merged."""
    rng = np.random.default_rng(seed)
    rows = states * ACTIONS
    to_goal = rng.uniform(0, goal_probability, rows)
    weights = rng.random((rows, 5))
    weights *= ((1 - to_goal) / weights.sum(axis=1))[:, None]
    successors = np.concatenate([rng.integers(states, size=(rows, 5)), np.full((rows, 1), states)], axis=1)
    probabilities = np.concatenate([weights, to_goal[:, None]], axis=1)
    order = np.argsort(successors, axis=1)
    successors = np.take_along_axis(successors, order, axis=1)
    probabilities = np.take_along_axis(probabilities, order, axis=1)
    first = np.ones(successors.shape, dtype=bool)
    first[:, 1:] = successors[:, 1:] != successors[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(first.sum(axis=1))])
    merged = np.add.reduceat(probabilities.ravel(), np.flatnonzero(first))
    return _model(indptr, successors[first], merged, rng.uniform(0.5, 1.5, (states, ACTIONS)))


def dense(states: int, seed: int) -> np.ndarray:
    """Return ``P[S, A, S + 1]`` with rows drawn from Dirichlet(1, ..., 1), like a posterior sample of a learner."""
    return np.random.default_rng(seed).dirichlet(np.ones(states + 1), size=(states, ACTIONS))


def from_entries(
    rows: np.ndarray, successors: np.ndarray, probabilities: np.ndarray, costs: np.ndarray, start: int = 0
) -> Model:
    """Return a model from entries in any order; entries of one row and successor are added, and zeros are dropped."""
    states, actions = costs.shape
    place = rows.astype(np.int64) * (states + 1) + successors
    order = np.argsort(place, kind="stable")
    order = order[probabilities[order] > 0.0]
    place = place[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    merged = np.add.reduceat(probabilities[order], first)
    row, successor = np.divmod(place[first], states + 1)
    indptr = np.zeros(states * actions + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=states * actions), out=indptr[1:])
    return _model(indptr, successor, merged, costs, start)


def _model(
    indptr: np.ndarray, successors: np.ndarray, probabilities: np.ndarray, costs: np.ndarray, start: int = 0
) -> Model:
    return {
        "indptr": indptr.astype(np.int64, copy=False),
        "successors": successors.astype(np.int32, copy=False),
        "probabilities": probabilities,
        "costs": costs,
        "initial_state": np.array(start),
    }


def save(model: Model, path: Path) -> None:
    np.savez(path, **model)


def load(path: Path) -> Model:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}
