"""VI-SSP: its constants by hand, and the compiled way of acting against the plain one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goalward import SSP, learn, worlds
from goalward.acting.model_world import ModelStage
from goalward.agents import VISSP, Task
from goalward.agents.optimistic.vi_ssp import C1, C2, iota

GRID = worlds.grid_world()


def test_constants() -> None:
    """ln(44 / 0.1) + ln ln(200), and without the second term while B n is below e."""
    logarithm = math.log(44 / 0.1)
    assert iota(logarithm, 2.0, 100.0) == pytest.approx(7.7541640)
    assert iota(logarithm, 1.0, 1.0) == iota(logarithm, 1.0, 2.0) == logarithm == pytest.approx(6.0867747)
    assert 2.0 * C1**2 <= C2


def test_one_step_by_hand() -> None:
    """A pair that always goes to the goal at cost 1, scale 0.01: Q = max(1 - 0.72 iota / n, 0)."""
    world = SSP.from_rows([0, 1], [1], [1.0], [[1.0]])
    logarithm = math.log(1 / 0.1)
    for n in (1, 3, 10, 100):
        run = learn(VISSP(scale=0.01), world, n)
        agent = run.agent
        assert isinstance(agent, VISSP)
        log_term = logarithm + math.log(max(math.log(n) if n > 1 else 0.0, 1.0))
        assert agent.Q[0, 0] == pytest.approx(max(1.0 - 0.72 * log_term / n, 0.0), abs=1e-12)
        assert agent.V.tolist() == [agent.Q[0, 0], 0.0]


def test_values_never_fall_and_stay_below_the_bound() -> None:
    agent = VISSP(scale=0.002)
    agent.begin(Task.of(GRID, 10**6), np.random.default_rng(0))
    stage, plan, earlier = ModelStage(GRID, 2), agent.plan(0), agent.Q.copy()
    for _ in range(20):
        stage.follow(plan, 10**6, 500)
        assert (earlier <= agent.Q).all()
        assert agent.Q.max() <= agent.B[0]
        earlier = agent.Q.copy()
    assert agent.B[0] >= 4.0
    assert agent.notes()["B"] == agent.B[0]


def test_an_agent_read_from_a_file_has_room_for_all_its_successors() -> None:
    """A fresh agent's rows are narrower than those of one that has seen more successors of a pair."""
    world = worlds.random_mdp(states=8, seed=5, rows="uniform")
    run = learn(VISSP(), world, 25, max_steps=5000)
    assert isinstance(run.agent, VISSP)
    taken_up = VISSP()
    taken_up.begin(Task.of(world, 25), np.random.default_rng(0))
    narrow = taken_up.counts.width
    taken_up.restore(run.agent.to_state())
    assert taken_up.counts.width > narrow
    assert learn(taken_up, world, 25, max_steps=5000, resume=True).total_steps > 0
