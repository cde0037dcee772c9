"""Build an explicit model of one protocol: `.venv-peers/bin/python benchmarks/explicit.py NAME MODEL.npz`.

Storm explores the states that can be reached from the initial state. All goal states become one, and states that can be
reached only through them are removed. A state has one row for each choice of the program; its other rows in the
rectangular table are empty.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import stormpy
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

import models
from protocols import PROGRAMS


def explicit(text: str) -> models.Model:
    """Return the explicit model of a PRISM program."""
    with tempfile.NamedTemporaryFile("w", suffix=".prism") as file:
        file.write(text)
        file.flush()
        program = stormpy.parse_prism_program(file.name)
    mdp = stormpy.build_model(program)
    matrix, rewards = mdp.transition_matrix, mdp.reward_models["cost"]
    first = np.array([matrix.get_row_group_start(state) for state in range(mdp.nr_states)] + [matrix.nr_rows])
    entries = [(row, e.column, e.value) for row in range(matrix.nr_rows) for e in matrix.get_row(row)]
    rows, columns, shares = (np.array(part) for part in zip(*entries, strict=True))
    costs = np.zeros(matrix.nr_rows)
    if rewards.has_state_rewards:
        costs += np.repeat(np.array(rewards.state_rewards), np.diff(first))
    if rewards.has_state_action_rewards:
        costs += np.array(rewards.state_action_rewards)
    goal = np.zeros(mdp.nr_states, dtype=bool)
    goal[list(mdp.labeling.get_states("goal"))] = True
    return rectangular(first, rows, columns, shares, costs, goal, mdp.initial_states[0])


def rectangular(
    first: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    shares: np.ndarray,
    costs: np.ndarray,
    goal: np.ndarray,
    start: int,
) -> models.Model:
    """Return a model with all goals merged and unreachable states removed; state s has rows from `first[s]` on."""
    owner = np.repeat(np.arange(len(goal)), np.diff(first))
    kept = reached(owner[rows], columns, goal, start)
    states, actions = int(kept.sum()), int(np.diff(first).max())
    number = np.where(goal, states, np.cumsum(kept) - 1)
    inside = kept[owner[rows]]
    place = number[owner] * actions + np.arange(len(owner)) - first[owner]
    table = np.zeros((states, actions))
    table.ravel()[place[kept[owner]]] = costs[kept[owner]]
    return models.from_entries(place[rows[inside]], number[columns[inside]], shares[inside], table, int(number[start]))


def reached(source: np.ndarray, target: np.ndarray, goal: np.ndarray, start: int) -> np.ndarray:
    """Return a mask of the non-goal states that can be reached without passing through a goal."""
    inner = ~goal[source]
    graph = csr_array((np.ones(inner.sum(), dtype=np.int8), (source[inner], target[inner])), shape=(len(goal),) * 2)
    kept = np.zeros(len(goal), dtype=bool)
    kept[breadth_first_order(graph, start, return_predecessors=False)] = True
    return kept & ~goal


if __name__ == "__main__":
    models.save(explicit(PROGRAMS[sys.argv[1]]()), Path(sys.argv[2]))
