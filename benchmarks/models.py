"""The models of the planner benchmark, as canonical compressed rows.

`gN`: an N x N grid, states row by row, goal in the last corner; four actions, each moving as intended with probability
0.85 and in each other direction with 0.05; a move into a wall stays; every step costs 1. `g300s` is `g300` with its
states renumbered at random, so that no solver profits from the order it is given.

`rS`: S states, four actions; each row goes to the goal with probability U(0, 0.02) and shares the rest among five
states drawn at random, by normalised uniforms; costs U(0.5, 1.5). `r1e5h` is hard: goal probability U(0, 0.002).

A model is a dict of arrays `indptr`, `successors`, `probabilities`, `costs[S, A]`, `initial_state`; row s * A + a,
successors increasing within a row, the goal is S. Only NumPy is needed, so every tool's process can read the files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

Model = dict[str, np.ndarray]

SUCCESS, SLIP = 0.85, 0.05
ACTIONS = 4


def grid(side: int) -> Model:
    """Make the grid some lines at a time, so that the largest one needs little more memory than its own arrays."""
    states = side * side - 1
    indptr = np.zeros(states * ACTIONS + 1, dtype=np.int64)
    successors = np.empty(states * ACTIONS * 4, dtype=np.int32)  # no row is longer: whoever may stay lacks a neighbour
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
    """Return lengths, successors and probabilities of the rows of some lines of the grid; the goal has none."""
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
    """Renumber the states at random; the goal keeps its number."""
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
    """Make a random model; equal successors of a row are added up."""
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
    """Sample P[S, A, S + 1] with rows from Dirichlet(1, ..., 1), as a learner's belief would."""
    return np.random.default_rng(seed).dirichlet(np.ones(states + 1), size=(states, ACTIONS))


def from_entries(
    rows: np.ndarray, successors: np.ndarray, probabilities: np.ndarray, costs: np.ndarray, start: int = 0
) -> Model:
    """Make a model of entries in any order; those of one row and successor are added up, zeros are left out."""
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
