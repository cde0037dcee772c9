"""One run as a figure, and what an agent has learnt on a grid: only what it has is drawn."""

import dataclasses

import numpy as np
import pytest
from matplotlib.quiver import Quiver

import goalward as gw
from goalward import agents, learn, worlds
from goalward.cli import main
from goalward.figures.grid import plan_figure, run_figure
from goalward.planning.solve import solve_all


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
    figure = plan_figure(world, down, np.arange(1.0, 6.0), counts, "a title")
    left, right = figure.axes[:2]
    assert texts(left) == ["1.000", "2.000", "3.000", "4.000", "5.000"]
    assert arrows(left) == [(x, y + 0.2, 0, -1) for x, y in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0))]
    assert texts(right) == ["100", "20", "3", "0", "12,345"]
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
    run = learn(agents.make(agent), world, 5, 0, keep_replay=True)
    return run, run_figure(world, run, "a title")


def test_an_agent_without_values_gets_none(world, optimum):
    """The uniform agent knows nothing: the optimum must not be shown as what it has learnt."""
    _, figure = drawn("uniform", world)
    left = figure.axes[0]
    assert texts(left) == []
    assert left.get_title() == "the last plan: action\n(the agent estimates no costs)"
    # All four directions in all three states; the only colour bar is that of the visits.
    assert len(set(arrows(left))) == 12
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == ["visits"]
    figure.canvas.draw()


def test_a_step_agent_is_shown_with_its_own_values(world, optimum):
    """After five episodes UC-SSP is as optimistic as it began: every action may reach the goal at once."""
    run, figure = drawn("uc-ssp", world)
    left = figure.axes[0]
    assert run.agent.values().tolist() == [1.0] * 3
    assert texts(left) == ["1.000"] * 3 != optimum
    figure.canvas.draw()


def test_ties_are_drawn_as_ties(world):
    shares = np.array([[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    figure = plan_figure(world, shares, None, np.ones((3, 4), dtype=np.int64))
    assert arrows(figure.axes[0]) == [(0, 0.2, 0, -1), (0, 0.2, 1, 0), (1, 0.2, 0, -1)]


GRID = gw.worlds.grid_world()


def learnt(name, world=GRID, episodes=30):
    agent = agents.find(name).from_settings({}, world, episodes)
    return gw.learn(agent, world, episodes, 0, keep_replay=True, keep_plans=True, keep_steps=True)


def test_a_grid_shows_the_last_plan_and_all_visits():
    run = learnt("psrl")
    left, right = run_figure(GRID, run, "title").axes[:2]
    assert left.get_title() == "the last plan: expected cost and action"
    assert texts(left) == [f"{value:#.4g}" for value in run.plans[-1].values]
    steps = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1)}
    policy = [steps[GRID.action_name(action)] for action in run.plans[-1].policy]
    cells = GRID.layout.cells
    assert arrows(left) == sorted((cell % 4, cell // 4 + 0.2, *step) for cell, step in zip(cells, policy, strict=True))
    visits = np.bincount(run.trajectory.states, minlength=GRID.states)
    assert texts(right) == [f"{count:,}" for count in visits]


def test_optimists_are_drawn_with_their_ties():
    """After a few episodes all actions look alike to EB-SSP with the widths of the theory, and it plays any of them."""
    assert len(arrows(run_figure(GRID, learnt("eb-ssp", episodes=3), "title").axes[0])) == 4 * GRID.states


def test_other_worlds_show_the_regret():
    river = gw.worlds.make("river-swim")
    run = learnt("psrl", river)
    axes = run_figure(river, run, "title").axes[0]
    assert [line.get_ydata()[-1] for line in axes.lines] == [run.regret[-1], run.gap_regret[-1]]


def test_the_axes_of_a_curve_start_at_zero():
    """Also where the first episode cost far more than the others."""
    run = dataclasses.replace(learnt("psrl", gw.worlds.make("river-swim")), gaps=np.r_[500.0, np.ones(29)])
    run = dataclasses.replace(run, costs=run.optimal_value + run.gaps)
    axes = run_figure(run.world, run, "title").axes[0]
    assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("world", "name", "magic"), [("grid-world", "run.pdf", b"%PDF"), ("navigation", "run.png", b"\x89PNG")]
)
def test_the_verb_draws(tmp_path, capsys, monkeypatch, world, name, magic):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as done:
        main(["learn", world, "--episodes", "5", "--png", name])
    assert done.value.code == 0
    assert capsys.readouterr().out.endswith(f"written: {name}\n")
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_the_verb_refuses_other_formats_before_the_run(capsys):
    for arguments, message in (
        (["learn", "grid-world", "--png", "x.bmp"], "figures are not written as .bmp"),
        (["watch", "mountain-car", "--live"], "mountain-car has no model; --live needs one"),
    ):
        with pytest.raises(SystemExit) as done:
            main(arguments)
        assert done.value.code == 2
        assert message in capsys.readouterr().err
