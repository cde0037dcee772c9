"""The regret of one run as a figure."""

import dataclasses

import numpy as np

import goalward as gw


def learnt(episodes=30):
    river = gw.worlds.make("river-swim")
    return gw.learn(gw.agents.PSRL(), river, episodes, 0)


def test_both_regrets_are_drawn():
    run = learnt()
    axes = gw.plot(run).axes[0]
    assert [line.get_ydata()[-1] for line in axes.lines] == [run.regret[-1], run.gap_regret[-1]]


def test_the_axes_of_a_curve_start_at_zero():
    """Also where the first episode cost far more than the others."""
    run = dataclasses.replace(learnt(), gaps=np.r_[500.0, np.ones(29)])
    run = dataclasses.replace(run, costs=run.optimal_value + run.gaps)
    axes = gw.plot(run).axes[0]
    assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0.0, 0.0)
