"""What a task says about costs that the agent does not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from goalward import worlds
from goalward.acting.contract import Task
from goalward.agents.base import Agent
from goalward.errors import CostError, ShapeError

COSTS = np.array([[1.0, np.nan], [np.inf, np.nan]])


def test_unknown_costs_are_available() -> None:
    task = Task(COSTS, 0, 5)
    assert task.available.tolist() == [[True, True], [False, True]]
    assert task.costs_unknown
    assert not Task.of(worlds.grid_world(), 5).costs_unknown


def test_tasks_with_the_same_unknown_costs_are_alike() -> None:
    task = Task(COSTS, 0, 5, cost_range=(0.0, 2.0))
    assert task.is_like(Task(COSTS.copy(), 0, 7, cost_range=(0, 2), encoding="rooms"))
    assert not task.is_like(replace(task, cost_range=None))
    assert not task.is_like(Task(np.nan_to_num(COSTS, nan=1.0, posinf=np.inf), 0, 5, cost_range=(0.0, 2.0)))


def test_the_range_is_checked() -> None:
    for cost_range in ((1.0, 0.5), (-1.0, 1.0), (0.0, np.inf), (0.0, np.nan), 1.0, (1.0, 2.0, 3.0)):
        with pytest.raises(CostError, match="0 <= least <= largest"):
            Task(COSTS, 0, 5, cost_range=cost_range)  # type: ignore[arg-type]


@pytest.mark.parametrize("cost_range", [None, (0.5, 2.0)])
def test_a_task_is_saved_with_unknown_costs(cost_range: tuple[float, float] | None) -> None:
    task = Task(COSTS, 0, 5, cost_range=cost_range)
    restored = Agent.task_from_state(Agent.task_to_state(task))
    assert task.is_like(restored)
    assert restored.episodes == 5


def test_a_wrong_task_is_refused() -> None:
    with pytest.raises(ShapeError, match="the last action, 1, whose costs must be known"):
        Task(COSTS, 0, 5, give_up=1).checked()
    with pytest.raises(CostError, match="not negative"):
        Task(-np.ones((1, 1)), 0, 5).checked()
