"""One run as a figure and as an animation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import goalward as gw
from goalward import agents
from goalward.cli import main
from goalward.figures.grid import frame_plan, run_figure, visits_of
from goalward.studies.rerun import final_plan

GRID = gw.worlds.grid_world()


def learnt(name, world=GRID, episodes=30):
    agent = agents.find(name).from_settings({}, world, episodes)
    return gw.learn(agent, world, episodes, 0, keep_replay=True, keep_plans=True, keep_steps=True)


def test_a_grid_shows_the_last_plan_and_all_visits():
    run = learnt("psrl")
    plan = frame_plan(run.replay.frames[-1])
    assert np.array_equal(plan.shares.argmax(axis=1), run.plans[-1].policy)
    assert np.array_equal(plan.values, run.plans[-1].values)
    expected = np.zeros(GRID.costs.shape, dtype=int)
    np.add.at(expected, (run.trajectory.states, run.trajectory.actions), 1)
    assert np.array_equal(visits_of(run.replay), expected)
    figure = run_figure(GRID, run, run.replay, "title")
    assert figure.axes[0].get_title() == "the last plan: expected cost and action"


@pytest.mark.parametrize("name", ["bernstein-ssp", "uc-ssp", "eb-ssp"])
def test_ties_are_drawn_as_ties(name):
    """After a few episodes all actions look alike to optimists with the widths of the theory."""
    run = learnt(name, episodes=3)
    for plan in (frame_plan(run.replay.frames[-1]), final_plan(run)):
        assert np.allclose(plan.shares, 0.25)


def test_other_worlds_show_the_regret():
    river = gw.worlds.make("river-swim")
    run = learnt("psrl", river)
    axes = run_figure(river, run, run.replay, "title").axes[0]
    assert [line.get_ydata()[-1] for line in axes.lines] == [run.regret[-1], run.gap_regret[-1]]


def test_the_axes_of_a_curve_start_at_zero():
    """Also where the first episode cost far more than the others."""
    run = dataclasses.replace(learnt("psrl", gw.worlds.make("river-swim")), gaps=np.r_[500.0, np.ones(29)])
    run = dataclasses.replace(run, costs=run.optimal_value + run.gaps)
    axes = run_figure(run.world, run, run.replay, "title").axes[0]
    assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0.0, 0.0)


@pytest.mark.parametrize(("name", "magic"), [("run.pdf", b"%PDF"), ("run.png", b"\x89PNG")])
def test_the_verb_draws(tmp_path, capsys, monkeypatch, name, magic):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as done:
        main(["learn", "grid-world", "--episodes", "5", "--png", name])
    assert done.value.code == 0
    assert capsys.readouterr().out.endswith(f"written: {name}\n")
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_the_verb_refuses_other_formats_before_the_run(capsys):
    for arguments, message in (
        (["learn", "grid-world", "--png", "x.bmp"], "figures are not written as .bmp"),
        (["watch", "mountain-car", "--live"], "--live is for worlds with finitely many"),
        (["learn", "mountain-car", "--png", "x.png"], "only worlds with finitely many states are drawn"),
    ):
        with pytest.raises(SystemExit) as done:
            main(arguments)
        assert done.value.code == 2
        assert message in capsys.readouterr().err
