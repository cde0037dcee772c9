"""The replay of a run: complete counts, the plans as they were, and a run that does not notice it."""

from __future__ import annotations

import numpy as np
import pytest

import goalward as gw
from epoch_rows import epoch_rows
from goalward import agents
from goalward.acting.contract import Plan
from goalward.acting.stop_conditions import Ended
from goalward.agents.base import Agent
from goalward.errors import SettingError
from goalward.learning import replay as module
from goalward.learning.replay import Recorder
from goalward.studies.rerun import replay_of

GRID = gw.worlds.grid_world()
EPISODES = 60


def record(name, world=GRID, episodes=EPISODES, **options):
    agent = agents.find(name).from_settings({}, world, episodes)
    options = {"keep_plans": True, "keep_steps": True} | options
    return gw.learn(agent, world, episodes, 3, keep_replay=True, **options)


def counts_at(replay, frame):
    """Return n(s, a, s') before a frame."""
    S, A = replay.task.costs.shape
    counts = np.zeros(S * A * (S + 1), dtype=np.int64)
    for each in replay.frames[:frame]:
        np.add.at(counts, each.seen, each.times)
    return counts.reshape(S, A, S + 1)


def counted(trajectory, steps, shape):
    S, A = shape
    counts = np.zeros((S, A, S + 1), dtype=np.int64)
    np.add.at(counts, (trajectory.states[:steps], trajectory.actions[:steps], trajectory.next_states[:steps]), 1)
    return counts


@pytest.mark.parametrize("name", ["psrl", "bernstein-ssp", "uc-ssp", "eb-ssp", "psrl-step", "q-learning", "uniform"])
def test_a_recorded_run_is_the_same_run(name):
    agent = agents.find(name).from_settings({}, GRID, EPISODES)
    alone = gw.learn(agent, GRID, EPISODES, 3)
    run = record(name)
    assert np.array_equal(run.costs, alone.costs)
    assert np.allclose(run.replay.regret, run.regret, rtol=0, atol=1e-9)
    assert np.allclose(run.replay.gaps, run.gap_regret, rtol=1e-12)
    for place, frame in enumerate(run.replay.frames):
        expected = counted(run.trajectory, frame.start_step, GRID.costs.shape)
        assert np.array_equal(counts_at(run.replay, place), expected)
        assert frame.start_episode == np.count_nonzero(run.trajectory.next_states[: frame.start_step] == GRID.goal)


@pytest.mark.parametrize("name", ["psrl", "q-learning", "uniform"])
def test_frames_hold_their_first_steps(name, monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS_OF_FRAME", 7)
    run = record(name)
    walked, goal = run.trajectory, GRID.states + 1
    transitions = (walked.states * GRID.actions + walked.actions) * goal + walked.next_states
    for frame in run.replay.frames:
        first = transitions[frame.start_step : frame.start_step + min(frame.steps, 7)]
        assert np.array_equal(frame.path, first)
    assert max(frame.steps for frame in run.replay.frames) > 7
    assert np.array_equal(run.replay.ends, np.cumsum(run.steps))
    assert run.replay.has_plans == (name == "psrl")


def test_frames_hold_the_plans_and_what_ended_them():
    run = record("psrl")
    frames = run.replay.frames
    assert len(frames) == len(run.epochs) + 1
    for frame, plan, epoch in zip(frames, run.plans, epoch_rows(run.epochs), strict=False):
        assert np.array_equal(frame.played.argmax(axis=1), plan.policy)
        assert np.array_equal(frame.values, plan.values)
        assert frame.model is plan.model
        assert (frame.start_step, frame.steps, frame.goals, frame.ended) == (
            epoch.start_step, epoch.steps, epoch.goals, epoch.ended,
        )  # fmt: skip
        if epoch.ended & Ended.AFTER_VISITS:
            last = epoch.start_step + epoch.steps - 1
            state, action = run.trajectory.states[last], run.trajectory.actions[last]
            assert frame.pair == state * GRID.actions + action
            before = counts_at(run.replay, frame.epoch)[state, action].sum()
            after = counts_at(run.replay, frame.epoch + 1)[state, action].sum()
            assert after == 2 * before + 1
        else:
            assert frame.pair == -1


def test_the_pair_that_would_be_played_next_ends_an_epoch():
    run = record("bernstein-ssp")
    for frame, plan in zip(run.replay.frames, run.plans, strict=False):
        if frame.ended == Ended.BEFORE_VISITS:
            state, action = divmod(frame.pair, GRID.actions)
            assert plan.policy[state] == action
            inside = frame.times[frame.seen // (GRID.states + 1) == frame.pair].sum()
            assert inside >= plan.stop_before_visits[state, action]


def test_a_plan_plays_one_action_or_all_that_tie():
    """At the scale of the theory all actions look alike to optimists at first; some draw one for the whole plan."""
    assert (record("bernstein-ssp").replay.frames[0].played.sum(axis=1) == 1).all()
    assert record("eb-ssp").replay.frames[0].played.all()


def test_unequal_chances_are_kept():
    class Biased(Agent):
        name = "biased"

        def plan(self, state):
            return Plan(np.tile([0.4, 0.3, 0.2, 0.1], (GRID.states, 1)), stop_after_goals=1)

        def observe(self, steps):
            pass

    replay = gw.learn(Biased(), GRID, 3, 0, keep_replay=True).replay
    assert np.allclose(replay.frames[0].shares, [0.4, 0.3, 0.2, 0.1])
    assert replay.frames[0].played.all()


def test_long_runs_are_thinned_and_lose_no_counts(monkeypatch):
    monkeypatch.setattr(module, "MOST_FRAMES", 40)
    run = record("psrl-step")
    replay = run.replay
    assert replay.epochs == len(run.epochs) > 400
    assert len(replay.frames) <= 41
    kept = [frame.epoch for frame in replay.frames]
    assert kept[:10] == list(range(10))
    first = int(np.argmax(run.epochs.goals > 0))
    assert first in kept
    for place, frame in enumerate(replay.frames):
        expected = counted(run.trajectory, frame.start_step, GRID.costs.shape)
        assert np.array_equal(counts_at(replay, place), expected)


def test_nothing_is_kept_unless_asked_for():
    run = gw.learn(agents.PSRL(), GRID, 5)
    assert run.replay is None
    assert run.world is GRID


def test_a_run_can_be_carried_out_again_for_its_replay():
    run = gw.learn(agents.PSRL(), GRID, 30, 7, max_steps=100)
    replay = replay_of(run)
    assert replay.frames[-1].start_step == run.total_steps == 100
    assert np.array_equal(replay.costs, np.cumsum(run.costs)[run.reached])


def test_a_run_that_went_on_cannot():
    first = gw.learn(agents.PSRL(), GRID, 5)
    run = gw.learn(first.agent, GRID, 5, 1, resume=True)
    with pytest.raises(SettingError, match=r"an earlier run; record the replay with learn\(..., keep_replay=True"):
        replay_of(run)
    kept = gw.learn(first.agent, GRID, 5, 1, resume=True, keep_replay=True)
    assert replay_of(kept) is kept.replay
    assert kept.replay.belief is None  # its counts are not all of this run


def test_a_replay_can_be_taken_while_the_run_goes_on():
    recorder = Recorder()
    seen = []
    gw.learn(agents.PSRL(), GRID, 20, keep_replay=recorder, watch=lambda *_: seen.append(len(recorder.replay().frames)))
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_runs_that_see_much_are_thinned_too(monkeypatch):
    monkeypatch.setattr(module, "MOST_SEEN", 1000)
    run = record("psrl", episodes=300)
    assert sum(len(frame.seen) for frame in run.replay.frames) < 2000
    assert sum(frame.times.sum() for frame in run.replay.frames) == run.total_steps
