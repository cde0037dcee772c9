"""ULCVI: its constants by hand, its intervals and its step-indexed policies."""

from __future__ import annotations

import numpy as np
import pytest

from goalward import learn, worlds
from goalward.acting.stop_conditions import Ended
from goalward.agents import ULCVI, Task
from goalward.agents.optimistic.attempts import DISTINCT, TAKEN
from goalward.agents.optimistic.ulcvi import horizon, log_term
from goalward.errors import SettingError

GRID = worlds.grid_world()


def test_constants() -> None:
    """S' = 4, A = 2, H = 100, m = 5, n = 10, B = 9 B* = 18, delta = 4 * 0.1: L = 3 ln(120000)."""
    assert log_term(3, 2, 100, 5, 0.1) == pytest.approx(35.0857411)
    agent = ULCVI(B_star=2.0, T_star=100.0 / (8.0 * np.log(80.0)) - 1e-9, delta=0.4)
    agent.begin(Task(np.ones((3, 2)), 0, 10), np.random.default_rng(0))
    agent.counts.visits[:] = 10
    agent.m[0] = 4
    agent.act(0, lambda: 0.0)
    assert len(agent._Q) == 100
    assert agent._bonus.spread == pytest.approx(7.0171482)
    assert agent._bonus.extra == pytest.approx(48340354.36)
    assert agent._bonus.blend == pytest.approx(0.0001125)
    assert agent._bonus.cap == 116.0


def test_the_horizon_of_grid_world() -> None:
    """8 * 6.0365 * ln(80000) = 545.2."""
    assert horizon(6.0365, 10_000) == 546


def test_intervals_end_at_the_goal_or_the_horizon() -> None:
    agent = ULCVI.from_world(GRID, episodes=20, T_star=0.4)
    run = learn(agent, GRID, 20, seed=2)
    H = horizon(0.4, 20)
    assert run.notes["horizon"] == H
    assert run.epochs.steps.max() == H
    assert (run.epochs.ended_by(Ended.GOALS) | (run.epochs.steps == H)).all()


def test_the_last_steps_differ() -> None:
    """With little time left the goal is out of reach and other actions win: the policy depends on the step."""
    run = learn(ULCVI.from_world(GRID, episodes=300, scale=1e-11), GRID, 300, seed=2)
    assert isinstance(run.agent, ULCVI)
    best = run.agent._Q[-run.agent._attempt[DISTINCT] :].argmin(axis=2)
    assert len(best) < 60
    assert (best != best[0]).any()


def test_ties_are_drawn_evenly_at_every_step() -> None:
    """Two of four actions tie at all early steps, all at the last, and the numbers are spread evenly."""
    agent = ULCVI.from_world(GRID, episodes=100)
    agent.begin(Task.of(GRID, 100), np.random.default_rng(3))
    agent.act(0, lambda: 0.0)
    agent._Q[:] = 1.0
    agent._Q[:-1, :, :2] = 0.5
    agent._attempt[DISTINCT] = 2
    H = len(agent._Q)
    for taken, shares in ((0, [200, 200, 0, 0]), (H - 2, [200, 200, 0, 0]), (H - 1, [100] * 4)):
        agent._attempt[TAKEN] = taken
        actions = [agent.act(3, iter([(i + 0.5) / 400]).__next__) for i in range(400)]
        assert np.bincount(actions, minlength=4).tolist() == shares


def test_facts_that_are_none() -> None:
    with pytest.raises(SettingError, match="T_star is None; it must be a positive number"):
        ULCVI(B_star=1.0, T_star=None)  # type: ignore[arg-type]


def test_a_horizon_beyond_memory() -> None:
    with pytest.raises(SettingError, match="do not fit into memory; use a smaller T_star"):
        learn(ULCVI(B_star=1.0, T_star=1e9), GRID, 3)
