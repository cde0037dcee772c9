"""UC-SSP: its constants by hand, its two phases and its horizons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalward import agents, learn, worlds
from goalward.acting.stop_conditions import Ended
from goalward.agents import UCSSP, Plan, Step, Task
from goalward.agents.optimistic import uc_ssp
from goalward.agents.optimistic.attempts import HORIZON, IN_PROGRESS
from goalward.agents.optimistic.uc_ssp import EPISODE, FAILED, radius
from sample_environments import ModelEnvironment

GRID = worlds.grid_world()


def test_radius() -> None:
    """S = A = 2, delta = 0.1: at 50 visits sqrt(16 ln(2000) / 50), at none and one sqrt(16 ln(40)) > 2."""
    assert radius(50, 2, 2, 0.1) == pytest.approx(1.5595797)
    assert radius(0, 2, 2, 0.1) == radius(1, 2, 2, 0.1) == pytest.approx(7.6825823)


def planned(agent: UCSSP) -> Plan:
    """Let an agent act; return the plan that it follows."""
    agent.act(0, lambda: 0.0)
    return agent.current_plan()


def one_step(agent: UCSSP, reached: bool) -> None:
    """Carry out an attempt of one step."""
    agent._attempt[HORIZON] = 1
    assert agent.learn(Step(0, 0, 1.0, GRID.goal if reached else 1, reached))


def test_where_a_cost_is_zero_phase_one_adds_an_offset() -> None:
    """In episode k of UC-SSP-L_eta it is k^(-1/3)."""
    agent = UCSSP()
    free = GRID.with_costs(np.where(np.arange(4) == 2, 0.0, 1.0) * np.ones((11, 1)))
    agent.begin(Task.of(free, 10), np.random.default_rng(0))
    agent.act(0, lambda: 0.0)
    assert agent.Q[0].tolist() == [2.0, 2.0, 1.0, 2.0], "nothing is known, so every action leads to the goal"
    agent.progress[EPISODE] = 7
    agent.restart()
    agent.act(0, lambda: 0.0)
    assert agent.Q[0] == pytest.approx([1.5, 1.5, 0.5, 1.5])


def test_nothing_known_means_the_goal_at_once_and_two_steps() -> None:
    """In episode 1 gamma is 1, so H = 2 whatever the policy; all rows lead to the goal, so v = c."""
    agent = UCSSP()
    agent.begin(Task.of(GRID, 10), np.random.default_rng(0))
    plan = planned(agent)
    assert (plan.stop_after_goals, plan.stop_after_steps) == (1, 2)
    assert plan.values is not None
    assert (plan.values == 1.0).all()


def test_phases() -> None:
    """An attempt that misses the goal is followed by phase 2, one that reaches it by the next episode."""
    agent = UCSSP()
    agent.begin(Task.of(GRID, 10), np.random.default_rng(0))
    seen = []
    for reached in (False, False, True, True, False, True):
        agent.act(0, lambda: 0.0)
        seen.append(tuple(agent.progress[[EPISODE, FAILED]].tolist()))
        one_step(agent, reached)
    assert seen == [(1, 0), (1, 1), (1, 2), (2, 2), (3, 2), (3, 3)]


@pytest.mark.parametrize("from_file", [False, True])
def test_a_run_that_goes_on_begins_an_episode(from_file: bool, tmp_path: Path) -> None:
    """The first run is cut off on its way; the next one starts at s_init, in phase 1."""
    cut = learn(UCSSP(), GRID, 10, seed=2, max_steps=1).agent
    assert isinstance(cut, UCSSP)
    assert cut._attempt[IN_PROGRESS] == 1
    assert cut.progress[[EPISODE, FAILED]].tolist() == [1, 0]
    if from_file:
        agents.save(cut, tmp_path / "agent.npz")
        cut = agents.load(tmp_path / "agent.npz")
    for steps, expected in ((1, (2, 0)), (3, (2, 1))):
        went_on = learn(cut, GRID, 10, seed=2, max_steps=steps, resume=True).agent
        assert isinstance(went_on, UCSSP)
        assert tuple(went_on.progress[[EPISODE, FAILED]].tolist()) == expected


def test_an_episode_that_is_cut_off_is_followed_by_phase_1() -> None:
    """Every episode is cut off after one step, before any attempt can fail: there is no phase 2."""
    run = learn(UCSSP(), ModelEnvironment(GRID, limit=1), 10, seed=2)
    assert isinstance(run.agent, UCSSP)
    assert not run.reached.any()
    assert run.agent.progress[[EPISODE, FAILED]].tolist() == [10, 0]
    assert run.epochs.ended_by(Ended.TRUNCATED).all()
    assert run.epochs.steps.tolist() == [1] * 10


def test_attempts_end_at_the_goal_or_the_horizon() -> None:
    run = learn(UCSSP(), GRID, 50, seed=2)
    goals, steps = run.epochs.ended_by(Ended.GOALS), run.epochs.ended_by(Ended.STEPS)
    assert (goals | steps).all()
    assert goals.sum() == 50
    assert run.notes["phase_2_attempts"] == len(run.epochs) - 50
    assert run.notes["capped_horizons"] == 0
    assert run.epochs.steps.max() <= run.notes["largest_horizon"]


def test_horizons_are_capped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uc_ssp, "MAX_HORIZON", 2)
    run = learn(UCSSP(), GRID, 20, seed=2)
    assert run.epochs.steps.max() == 2
    assert run.notes["capped_horizons"] == len(run.epochs)


def test_phase_two_forgets_the_costs() -> None:
    """Costs that make one action dear: phase 1 avoids it, phase 2 does not look at it."""
    world = GRID.with_costs(np.where(np.arange(4) == 2, 0.5, 1.0) * np.ones((11, 1)))
    agent = UCSSP()
    agent.begin(Task.of(world, 10), np.random.default_rng(0))
    assert (planned(agent).policy == 2).all()
    one_step(agent, reached=False)
    assert (planned(agent).policy != 2).any()


def test_optimism() -> None:
    """The optimistic value of the start lies below the true one in every plan; it may fail with probability 0.1."""
    run = learn(UCSSP(), GRID, 100, seed=4, keep_replay=True)
    assert run.replay is not None
    values = [frame.values for frame in run.replay.frames]
    assert len(values) > 100
    assert all(vector is not None and vector[0] <= run.optimal_value for vector in values)


def test_an_agent_read_from_a_file_has_room_for_all_its_successors() -> None:
    """A fresh agent's rows are narrower than those of one that has seen more successors of a pair."""
    world = worlds.random_mdp(states=8, seed=5, rows="uniform")
    run = learn(UCSSP(), world, 25, max_steps=5000)
    assert isinstance(run.agent, UCSSP)
    restored = UCSSP()
    restored.begin(Task.of(world, 25), np.random.default_rng(0))
    narrow = restored.counts.width
    restored.restore(run.agent.to_state())
    assert restored.counts.width > narrow
    assert learn(restored, world, 25, max_steps=5000, resume=True).total_steps > 0
