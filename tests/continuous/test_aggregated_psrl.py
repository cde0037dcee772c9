"""PSRL-SSP on the cells of a box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalward import SSP, ContinuousTask, Dirichlet, agents, continuous, learn
from goalward.agents import PSRL, AggregatedPSRL
from goalward.errors import SettingError


def steps_of_cells(cells: int) -> ContinuousTask:
    """A task that is Markov on cells: from the middle of one to the middle of the next, or to the goal at the end."""
    width = 1.0 / (cells + 1)
    return ContinuousTask(
        [0.0], [1.0], 2, lambda x, a, rng: [max(x[0] + (width if a else -width), width / 2.0)],
        goal=lambda x: x[:, 0] >= 1.0 - width, start=[width / 2.0],
    )  # fmt: skip


def test_where_cells_are_markov_it_is_psrl() -> None:
    """On a line of five cells and the goal it pays what PSRL-SSP pays in the model of the line, on average.

    The means of 30 runs differ by less than four standard errors (error probability below 1e-4).
    """
    cells = 5
    rows = [[s - 1 if s else 0, s + 1] for s in range(cells)]
    line = SSP.from_rows(np.arange(2 * cells + 1), np.ravel(rows), np.ones(2 * cells), np.ones((cells, 2)))
    task = steps_of_cells(cells)
    # The sixth cell is in the goal set and never seen; the prior of the model does not have it.
    one = np.array([learn(AggregatedPSRL(cells=cells + 1), task, 8, seed).total_steps for seed in range(30)])
    other = np.array([learn(PSRL(Dirichlet()), line, 8, 100 + seed).total_steps for seed in range(30)])
    error = np.sqrt(one.var(ddof=1) / 30 + other.var(ddof=1) / 30)
    assert abs(one.mean() - other.mean()) < 4.0 * error
    assert learn(AggregatedPSRL(cells=cells + 1), task, 20, 0).steps[-1] == cells


def test_a_saved_agent_goes_on(tmp_path: Path) -> None:
    task = continuous.make("navigation")
    run = learn(AggregatedPSRL(cells=4), task, 2, seed=1, max_steps=100)
    agents.save(run.agent, tmp_path / "agent.npz")
    loaded: Any = agents.load(tmp_path / "agent.npz")
    np.testing.assert_array_equal(loaded.table.visits, run.agent.table.visits)  # type: ignore[attr-defined]
    assert learn(loaded, task, 1, seed=2, resume=True, max_steps=50).total_steps > 0


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (0, "cells is 0; it must be an integer of at least 1"),
        ([3, 3], "the box has 1 dimensions: pass 1 numbers, or one for all"),
        (200_000, "at most 100,000 are allowed"),
    ],
)
def test_bad_settings(cells: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        learn(AggregatedPSRL(cells=cells), steps_of_cells(3), 1)
