"""Runs made again for what is not stored."""

from dataclasses import replace

import numpy as np
import pytest

from goalward import agents, learn, worlds
from goalward.agents import VISSP, Plan
from goalward.errors import FileError, SettingError
from goalward.execution.rerun import final_plan, regret_by_cause, rerun, visits
from goalward.learning.regret import optimum
from goalward.studies.study import load


@pytest.mark.parametrize("agent", ["uniform", "psrl", "ulcvi", "bernstein-ssp", "vi-ssp"])
def test_it_is_the_run_that_was_stored(write_study, run_here, agent):
    study = write_study(agent)
    _, store = run_here(study)
    cell = study.design.cells[0]
    world, run = rerun(study.design, cell, 1)
    stored = store.read(study.design.keys(cell)[1])
    assert np.array_equal(stored.regret(), run.regret)
    assert visits(world, run).sum() == run.total_steps
    by_cause = regret_by_cause(world, run)
    assert sum(by_cause.values()) == pytest.approx(run.gap_regret[-1])
    gaps = optimum(world).gaps
    assert (visits(world, run) * gaps).sum() == pytest.approx(run.gap_regret[-1])
    final = final_plan(run)
    assert final.shares.shape == world.costs.shape
    assert final.shares.sum(axis=1) == pytest.approx(np.ones(world.states))
    assert (final.values is None) == (agent == "uniform")


def test_a_step_agent_is_asked_what_it_would_choose(folder):
    """Its ties come out with equal probabilities, its values are its own."""
    run = learn(VISSP(), worlds.grid_world(2, 2), 20, 0)
    run.agent.Q[:] = [[1.0, 2.0, 1.0, 1.0], [3.0, 0.5, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]]
    final = final_plan(run)
    assert final.shares.tolist() == pytest.approx(np.array([[1, 0, 1, 1], [0, 3, 0, 0], [0.75] * 4]) / 3)
    assert final.values.tolist() == run.agent.V[:-1].tolist()


def test_the_first_step_of_a_plan_in_steps_is_shown():
    run = learn(agents.make("uniform"), worlds.grid_world(2, 2), 1, 0, keep_plans=True)
    stepwise = replace(run, plans=(Plan(np.array([[1, 3, 1], [0, 0, 0]])),))
    assert final_plan(stepwise).shares.argmax(axis=1).tolist() == [1, 3, 1]
    assert final_plan(replace(run, plans=None)) is None


def test_regret_is_split_at_the_epochs(folder):
    study = load(folder / "small.toml")
    cell = next(cell for cell in study.design.cells if cell.agent.label == "psrl")
    world, run = rerun(study.design, cell)
    gaps = optimum(world).gaps
    expected = {}
    for epoch in run.epochs:
        part = slice(epoch.start_step, epoch.start_step + epoch.steps)
        paid = gaps[run.trajectory.states[part], run.trajectory.actions[part]].sum()
        expected[int(epoch.ended) & 15] = expected.get(int(epoch.ended) & 15, 0.0) + paid
    found = regret_by_cause(world, run)
    assert found["visits of a pair"] == pytest.approx(expected[1])
    assert found["goals reached"] == pytest.approx(expected[4])


def test_what_cannot_be_run_again(write_study, folder):
    study = write_study("agents.py:Plain")
    with pytest.raises(FileError, match="Plain is a class in a user's file"):
        rerun(study.design, study.design.cells[0])
    assert rerun(study.design, study.design.cells[0], 0, study.attachments)
    with pytest.raises(SettingError, match="run is 2; the study has the runs 0 to 1"):
        rerun(study.design, study.design.cells[0], 2)
