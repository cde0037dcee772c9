"""Continuous PSRL-SSP: what it learns, its epochs, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from goalward import ContinuousTask, agents, continuous, learn, worlds
from goalward.acting.stop_conditions import Ended
from goalward.agents import AggregatedPSRL, ContinuousPSRL
from goalward.errors import GoalwardError, SettingError, StateError

SMALL = {"nodes": 41, "features": 24}


def line(**changes: Any) -> ContinuousTask:
    settings: dict[str, Any] = {
        "low": [0.0],
        "high": [1.0],
        "actions": 2,
        "step": lambda x, a, rng: x + (0.1 if a else -0.1) + rng.normal(0.0, 0.01),
        "goal": lambda x: x[:, 0] >= 0.95,
        "start": [0.1],
    }
    return ContinuousTask(**(settings | changes))


def test_the_car_of_gymnasium_is_learnt_within_ten_episodes() -> None:
    """A random policy needs thousands of steps; the best one about 98."""
    car = ContinuousTask.from_gymnasium(gymnasium.make("MountainCar-v0", max_episode_steps=None))
    run = learn(ContinuousPSRL(), car, episodes=8, seed=0)
    assert not run.truncated
    assert np.median(run.steps[4:]) <= 115
    # The compiled twin sees the same states, but for the rounding of observations.
    twin = learn(ContinuousPSRL(), continuous.make("mountain-car"), episodes=2, seed=0)
    assert twin.steps[0] == pytest.approx(run.steps[0], rel=0.5)


def test_a_noisy_line_is_learnt() -> None:
    run = learn(ContinuousPSRL(), line(), episodes=12, seed=1)
    assert np.median(run.steps[4:]) <= 10
    assert run.agent.belief.sample(np.random.default_rng(0)).noise == pytest.approx([0.01], rel=0.5)  # type: ignore[attr-defined]


def test_same_seed_same_bits_and_other_seeds_others() -> None:
    one, other, third = (learn(ContinuousPSRL(**SMALL), line(), 6, seed, keep_steps=True) for seed in (2, 2, 3))
    for column, same in zip(one.trajectory, other.trajectory, strict=True):
        np.testing.assert_array_equal(column, same)
    assert not np.array_equal(one.trajectory.states, third.trajectory.states)


def test_the_run_has_what_a_replay_needs() -> None:
    run = learn(ContinuousPSRL(**SMALL), line(), 5, seed=4, keep_plans=True, keep_steps=True)
    path = run.trajectory
    assert path.states.shape == path.next_states.shape == (run.total_steps, 1)
    assert np.count_nonzero(path.reached) == 5
    going_on = ~path.reached[:-1]
    np.testing.assert_array_equal(path.next_states[:-1][going_on], path.states[1:][going_on])
    assert len(run.plans) == len(run.epochs)
    assert run.plans[-1].points.shape == (len(run.plans[-1].values), 1)
    assert np.isnan(run.optimal_value)
    with pytest.raises(SettingError, match=r"V\* is not known, so use run\.costs and run\.steps"):
        run.regret  # noqa: B018
    assert "regret" not in repr(run)


def test_epochs_follow_the_pseudo_code() -> None:
    """Every epoch but the last ends by its goals, one more than the epoch before had episodes, or by information."""
    run = learn(ContinuousPSRL(**SMALL), line(), 25, seed=5)
    episodes = np.diff(run.epochs.start_episode, prepend=-1)
    allowed = np.concatenate([[2], episodes[1:] + 1])
    goals = run.epochs.ended_by(Ended.GOALS)
    assert (run.epochs.goals <= allowed).all()
    assert (run.epochs.goals[goals] == allowed[goals]).all()
    assert (goals | run.epochs.ended_by(Ended.INFORMATION))[:-1].all()


def test_information_is_the_logarithm_of_the_determinant() -> None:
    run = learn(ContinuousPSRL(**SMALL), line(), 6, seed=6, keep_steps=True)
    belief: Any = run.agent.belief  # type: ignore[attr-defined]
    for action in range(2):
        phi = belief.features(belief.states[belief.actions == action])
        expected = np.linalg.inv(np.eye(belief.size) + phi.T @ phi)
        np.testing.assert_allclose(belief.inverses[action], expected, atol=1e-8)


def test_noise_becomes_points_of_the_same_mean_and_variance() -> None:
    agent = ContinuousPSRL(nodes=[201, 201])
    flat = ContinuousTask([0.0, 0.0], [1.0, 1.0], 1, lambda x, a, rng: x, lambda x: x[:, 0] > 0.9, start=[0.1, 0.1])
    agent.begin(flat.task(1), np.random.default_rng(0))
    dynamics = agent.belief.sample(np.random.default_rng(0))
    shifts = agent.shifts(dynamics._replace(noise=np.array([0.02, 0.05])))
    np.testing.assert_allclose(shifts.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose((shifts**2).mean(axis=0), [0.02**2, 0.05**2])
    assert len(agent.shifts(dynamics._replace(noise=np.array([1e-4, 1e-4])))) == 1


def test_a_goal_out_of_reach_makes_giving_up_dearer_and_the_run_ends_by_its_limit() -> None:
    """The world never moves, so every honest model gives up; the agent goes on drawing and says so."""
    stuck = line(step=lambda x, a, rng: x)
    run = learn(ContinuousPSRL(**SMALL), stuck, 1, seed=7, max_steps=300)
    assert run.truncated
    assert run.notes["rejected_draws"] > 0
    assert run.notes["give_up"] > 41.0
    assert np.isfinite(run.notes["give_up"])


def test_a_saved_agent_goes_on(tmp_path: Path) -> None:
    task = continuous.make("mountain-car")
    agent = ContinuousPSRL(nodes=21, features=16)
    run = learn(agent, task, 2, seed=8, max_steps=300)
    agents.save(run.agent, tmp_path / "agent.npz")
    loaded = agents.load(tmp_path / "agent.npz")
    assert loaded.settings() == run.agent.settings()
    assert loaded.belief.steps == run.agent.belief.steps  # type: ignore[attr-defined]
    assert not hasattr(agent, "belief")
    assert learn(loaded, task, 2, seed=9, resume=True, max_steps=200).total_steps > 0
    with pytest.raises(SettingError, match="has learnt in another world"):
        learn(loaded, continuous.make("navigation"), 2, resume=True)


def test_a_saved_task_never_executes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("raise SystemExit('executed')\ndef task(): ...")
    state = ContinuousPSRL.task_to_state(continuous.make("navigation").task(1))
    for name in ("own.py:task", "MountainCar-v0"):
        with pytest.raises(ValueError, match="goalward runs only files that you name"):
            ContinuousPSRL.task_from_state(state | {"world": {"id": name, "settings": {}}})


@pytest.mark.parametrize("agent", [ContinuousPSRL(**SMALL), AggregatedPSRL(cells=10)])
def test_an_agent_of_a_task_made_of_functions_goes_on(agent: Any, tmp_path: Path) -> None:
    """A run resumed from the file is the run resumed in the process, bit for bit."""
    run = learn(agent, line(), 6, seed=1)
    agents.save(run.agent, tmp_path / "agent.npz")
    loaded = agents.load(tmp_path / "agent.npz")
    agents.save(loaded, tmp_path / "again.npz")
    with pytest.raises(SettingError, match="pass the task again"):
        loaded.task.goal(np.zeros((1, 1)))
    here = learn(run.agent, line(), 6, seed=2, resume=True, keep_steps=True)
    for path in ("agent.npz", "again.npz"):
        there = learn(agents.load(tmp_path / path), line(), 6, seed=2, resume=True, keep_steps=True)
        np.testing.assert_array_equal(here.trajectory.states, there.trajectory.states)
    assert np.median(here.steps) <= 10 < run.steps[0]
    for other in ({"high": [2.0]}, {"actions": ["down", "up"]}, {"coordinates": ["height"]}, {"periodic": True}):
        with pytest.raises(SettingError, match="has learnt in another world"):
            learn(loaded, line(**other), 1, resume=True)


def test_what_was_learnt_serves_another_goal_and_other_costs() -> None:
    run = learn(ContinuousPSRL(**SMALL), line(), 6, seed=1)
    back = line(goal=lambda x: x[:, 0] <= 0.05, start=[0.8], cost=7.0)
    again = learn(run.agent, back, 2, seed=2, resume=True)
    assert again.steps.max() <= 12
    assert again.costs[0] == 7.0 * again.steps[0]


@pytest.mark.parametrize(
    ("agent", "task", "message"),
    [
        (
            ContinuousPSRL(nodes=4),
            line(goal=lambda x: np.abs(x[:, 0] - 0.5) < 0.01),
            "the lattice of 4 nodes has no node in the goal set",
        ),
        (ContinuousPSRL(nodes=[21, 21]), line(), r"nodes is \[21, 21\]; the box has 1 dimensions"),
        (ContinuousPSRL(nodes=2_000_000), line(), "at most 1,000,000 are allowed"),
        (
            ContinuousPSRL(),
            ContinuousTask([0.0] * 5, [1.0] * 5, 2, lambda x, a, rng: x, lambda x: x[:, 0] > 0.9, start=[0.5] * 5),
            "the task has 5 dimensions, but continuous-psrl allows at most 4. Pass a function",
        ),
        (ContinuousPSRL(), worlds.grid_world(), "continuous-psrl needs a goal task with continuous states"),
        (agents.make("psrl"), line(), "psrl needs finitely many states"),
        (
            ContinuousPSRL(),
            line(cost=lambda x: np.where(np.abs(x[:, :1] - 0.3) < 0.1, np.inf, 1.0) * np.ones((1, 2))),
            "costs must be known, positive and finite",
        ),
    ],
)
def test_what_is_refused_before_the_first_step(agent: Any, task: Any, message: str) -> None:
    with pytest.raises(GoalwardError, match=message):
        learn(agent, task, 3)


def test_an_observation_that_is_not_a_number_is_refused_before_the_first_step() -> None:
    with pytest.raises(StateError, match="it must be 1 finite numbers"):
        learn(ContinuousPSRL(**SMALL), line(start=lambda rng: [np.nan]), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features": 0}, "features is 0; it must be an integer in 1..4096"),
        ({"nodes": 2}, "nodes is 2; it must be an integer of at least 3"),
        ({"nodes": [5, "x"]}, r"nodes is \[5, 'x'\]"),
        ({"draws": 0}, "draws is 0"),
        ({"tolerance": 1.0}, "tolerance is 1.0"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ContinuousPSRL(**settings)
