"""What an agent has learnt on a grid: only what it has is drawn."""

import numpy as np
import pytest
from matplotlib.quiver import Quiver

from goalward import agents, learn, worlds
from goalward.figures.grid import plan_figure
from goalward.planning.solve import solve_all
from goalward.studies.rerun import Final, final_plan, visits


def texts(axes):
    return [text.get_text() for text in axes.texts]


def arrows(axes):
    """Return the place and the direction of every arrow."""
    quivers = [each for each in axes.collections if isinstance(each, Quiver)]
    return sorted(
        (int(x), round(float(y), 6), int(np.sign(u)), int(np.sign(v)))
        for each in quivers
        for x, y, u, v in zip(each.X, each.Y, each.U, each.V, strict=True)
    )


def named(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_plan_and_visits_stand_in_their_cells():
    world = worlds.grid_world(2, 3)
    counts = np.zeros((5, 4), dtype=np.int64)
    counts[:, 1] = [100, 20, 3, 0, 12_345]
    down = np.zeros((5, 4))
    down[:, 3] = 1.0
    figure = plan_figure(world, Final(down, np.arange(1.0, 6.0)), counts, "a title")
    left, right = figure.axes[:2]
    assert texts(left) == ["1.000", "2.000", "3.000", "4.000", "5.000"]
    assert arrows(left) == [(x, y + 0.2, 0, -1) for x, y in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0))]
    assert texts(right) == ["100", "20", "3", "0", "12k"]
    # Nothing was played in the fourth state.
    assert arrows(right) == [(x, y + 0.2, 1, 0) for x, y in ((0, 0), (1, 0), (1, 1), (2, 0))]
    assert figure.get_suptitle() == "a title"
    assert left.get_title() == "the last plan: expected cost and action"
    assert named(figure) == ["start", "goal"]


@pytest.fixture(scope="module")
def world():
    return worlds.grid_world(2, 2)


@pytest.fixture(scope="module")
def optimum(world):
    return [f"{value:#.4g}" for value in solve_all(world).values]


def drawn(agent, world):
    run = learn(agents.make(agent), world, 5, 0, keep_plans=True, keep_steps=True)
    return run, plan_figure(world, final_plan(run), visits(world, run))


def test_an_agent_without_values_gets_none(world, optimum):
    """The uniform agent knows nothing: the optimum must not be shown as what it has learnt."""
    _, figure = drawn("uniform", world)
    left = figure.axes[0]
    assert texts(left) == []
    assert left.get_title() == "the last plan: action\n(the agent estimates no costs)"
    # All four directions in all three states; the only colour bar is that of the visits.
    assert len(set(arrows(left))) == 12
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == ["visits"]
    assert "one of these actions at random" in named(figure)
    figure.canvas.draw()


def test_a_step_agent_is_shown_with_its_own_values(world, optimum):
    """After five episodes VI-SSP is as optimistic as it began: all values are 0, and all actions tie."""
    run, figure = drawn("vi-ssp", world)
    left = figure.axes[0]
    assert run.agent.V.tolist() == [0.0] * 4
    assert texts(left) == ["0", "0", "0"] != optimum
    assert len(set(arrows(left))) == 12
    figure.canvas.draw()


def test_ties_are_drawn_as_ties(world):
    shares = np.array([[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    figure = plan_figure(world, Final(shares, None), np.ones((3, 4), dtype=np.int64))
    assert arrows(figure.axes[0]) == [(0, 0.2, 0, -1), (0, 0.2, 1, 0), (1, 0.2, 0, -1)]


def test_no_plan_at_all_is_said(world):
    figure = plan_figure(world, None, np.zeros((3, 4), dtype=np.int64))
    assert figure.axes[0].get_title() == "the agent made no plan"
    assert texts(figure.axes[0]) == arrows(figure.axes[0]) == []
    figure.canvas.draw()
