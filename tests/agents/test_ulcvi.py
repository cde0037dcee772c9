"""ULCVI: its constants by hand, its intervals and its step-indexed policies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goalward import learn, worlds
from goalward.acting.stop import Ended
from goalward.agents import ULCVI, Task
from goalward.agents.optimistic.backup import (
    blend,
    constant_factor,
    horizon,
    log_term,
    terminal_cost,
    value_bound,
    write_factors,
)
from goalward.errors import SettingError

GRID = worlds.grid_world()


def test_constants() -> None:
    """S' = 4, A = 2, H = 100, m = 5, delta = 0.1, n = 10, B = 18: L = 3 ln(120000)."""
    L = log_term(3, 2, 100, 5, 0.1)
    assert pytest.approx(35.0857411) == L
    spread, constant = np.zeros((2, 6))
    write_factors(np.full(6, 10), L, 18.0, constant_factor(3, 100), spread, constant)
    assert spread == pytest.approx(7.0171482)
    assert constant == pytest.approx(48340354.36)
    assert blend(100, 18.0) == pytest.approx(0.0001125)


def test_the_horizon_of_grid_world() -> None:
    """8 * 6.0365 * ln(80000) = 545.2."""
    assert horizon(6.0365, 10_000) == 546
    assert terminal_cost(6.0365) == pytest.approx(48.292)
    assert value_bound(6.0365) == pytest.approx(54.3285)


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
    policy = np.asarray(run.agent.current_plan().policy)
    assert policy.shape == (horizon(6.0365, 300), GRID.states)
    assert (policy[:-60] == policy[0]).all()
    assert (policy != policy[0]).any()


def learnt(**settings: object) -> ULCVI:
    agent = ULCVI.from_world(GRID, episodes=100, **settings)
    agent.begin(Task.of(GRID, 100), np.random.default_rng(3))
    return agent


def test_ties_at_every_step_are_drawn_evenly() -> None:
    """Two of four actions tie at all early steps, all at the last; false alarm with probability 1e-6 each."""
    agent = learnt()
    tied = np.ones((2, GRID.states, 4), dtype=np.bool_)
    tied[0, :, 2:] = False
    policy = agent.decide(tied, True)
    assert policy.shape == (agent.H, GRID.states)
    early = np.bincount(policy[:-1].ravel(), minlength=4)
    assert early[2:].tolist() == [0, 0]
    assert stats.binomtest(int(early[0]), int(early.sum())).pvalue > 1e-6
    last = np.bincount([agent.decide(tied, True)[-1, 0] for _ in range(400)], minlength=4)
    assert stats.chisquare(last).pvalue > 1e-6


def test_without_ties_nothing_is_drawn() -> None:
    agent = learnt()
    before = agent.rng.bit_generator.state
    tied = np.zeros((3, GRID.states, 4), dtype=np.bool_)
    tied[:2, :, 1] = tied[2, :, 3] = True
    policy = agent.decide(tied, False)
    assert (policy[:-1] == 1).all()
    assert (policy[-1] == 3).all()
    assert agent.rng.bit_generator.state == before


def test_facts_that_are_none() -> None:
    with pytest.raises(SettingError, match="T_star is None; it must be a positive number: see"):
        ULCVI(B_star=1.0, T_star=None)  # type: ignore[arg-type]


def test_a_horizon_beyond_memory() -> None:
    with pytest.raises(SettingError, match="do not fit into memory: a smaller T_star is needed"):
        learn(ULCVI(B_star=1.0, T_star=1e9), GRID, 3)
