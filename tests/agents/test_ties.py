"""Ties: the rule decides, exactly and evenly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goalward import agents, worlds
from goalward.agents import OnlineAgent, Task
from goalward.agents.optimistic.common import Optimist
from goalward.agents.ties import checked_order, pick, pick_all, shares
from goalward.errors import SettingError

Q = np.array([[1.0, 1.0 + 1e-12, 2.0, 1.0], [0.0, 1e-12, 0.0, 5.0], [3.0, 2.0, 1.0, np.inf]])
GRID = worlds.grid_world()
RIVALS = ("bernstein-ssp", "eb-ssp", "uc-ssp", "ulcvi")


def begun(name: str, **settings: object) -> Optimist:
    agent = agents.find(name).from_world(GRID, episodes=100, **settings)
    agent.begin(Task.of(GRID, 100), np.random.default_rng(7))
    assert isinstance(agent, Optimist)
    return agent


def policy_of(agent: Optimist) -> np.ndarray:
    """Return the policy of a new plan."""
    if not isinstance(agent, OnlineAgent):
        return np.asarray(agent.plan(0).policy)
    agent.restart()
    agent.act(0, lambda: 0.0)
    plan = agent.current_plan()
    assert plan is not None
    return np.asarray(plan.policy)


def test_shares() -> None:
    expected = [[1 / 3, 1 / 3, 0, 1 / 3], [1 / 2, 0, 1 / 2, 0], [0, 0, 1, 0]]
    assert shares(Q).tolist() == expected


@pytest.mark.parametrize(
    ("order", "expected"), [([0, 1, 2, 3], [0, 0, 2]), ([3, 2, 1, 0], [3, 2, 2]), ([1, 2, 0, 3], [1, 2, 2])]
)
def test_first_in_order(order: list[int], expected: list[int]) -> None:
    policy = np.zeros(3, dtype=np.int64)
    pick_all(Q, checked_order(order, 4), np.zeros(3), policy)
    assert policy.tolist() == expected


def test_the_margin_is_for_rounding_only() -> None:
    nearly = np.array([[2.0, 2.0 * (1.0 + 0.9e-9), 3.0], [0.0, 1e-300, 3.0], [2.0, 2.0 * (1.0 + 1.1e-9), 3.0]])
    assert shares(nearly).tolist() == [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert [pick(nearly, state, np.arange(3), 0.99) for state in range(3)] == [1, 0, 0]


def test_chances_are_cut_into_equal_parts() -> None:
    order = np.arange(4)
    for chance, action in ((0.0, 0), (0.33, 0), (0.34, 1), (0.66, 1), (0.67, 3), (1.0 - 2.0**-53, 3)):
        assert pick(Q, 0, order, chance) == action


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4], ["a", "b", "c", "d"]])
def test_wrong_orders(order: list[object]) -> None:
    with pytest.raises(SettingError, match=r"action_order is .*; list each of the actions 0\.\.3 once"):
        checked_order(order, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["eb-ssp", "ulcvi"])
def test_all_zero_values_are_played_exactly_evenly(name: str) -> None:
    policy = policy_of(begun(name))
    assert policy.shape == GRID.costs.shape
    assert (policy == 0.25).all()


@pytest.mark.parametrize("name", ["bernstein-ssp", "uc-ssp"])
def test_equal_values_are_drawn_evenly_for_every_plan(name: str) -> None:
    """4,000 plans; a fair draw fails the chi-squared test of a state with probability 1e-6, eleven states in all."""
    agent = begun(name)
    plans = np.array([policy_of(agent) for _ in range(4000)])
    for state in range(GRID.states):
        counts = np.bincount(plans[:, state], minlength=4)
        assert stats.chisquare(counts).pvalue > 1e-6
    assert len({tuple(plan) for plan in plans.tolist()}) > 3900


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("order", [None, (2, 0, 1, 3)])
def test_first_is_the_declared_one(name: str, order: tuple[int, ...] | None) -> None:
    policy = policy_of(begun(name, ties="first", action_order=order))
    assert policy.tolist() == [order[0] if order else 0] * GRID.states
