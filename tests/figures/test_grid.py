"""Figures are checked by what they are made of; how they look was judged by eye."""

import numpy as np
import pytest
from matplotlib.quiver import Quiver

from goalward import SSP
from goalward.errors import ShapeError
from goalward.figures.grid import grid_figure, ticks
from goalward.worlds import grid_map, grid_world, random_mdp, windy_grid


def draw(world, value=2.0, action=1):
    return grid_figure(world, np.full(world.states, value), np.full(world.states, action, dtype=np.int64), "a title")


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def arrows(figure):
    return [each for each in figure.axes[0].collections if isinstance(each, Quiver)]


def test_small_grids_show_values_and_arrows():
    world = grid_world()
    values = np.arange(1.0, 12.0)
    policy = np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2])
    figure = grid_figure(world, values, policy)
    assert texts(figure) == [f"{value:#.4g}" for value in values]
    (quiver,) = arrows(figure)
    # Rows are counted downwards, so on the axes "up" is towards smaller y; quiver's own angles count upwards.
    assert np.sign(np.column_stack([quiver.U, quiver.V]))[:4].tolist() == [[-1, 0], [1, 0], [0, 1], [0, -1]]
    assert quiver.X.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]


@pytest.mark.parametrize(("longest", "written"), [(40, True), (41, False)])
def test_large_grids_have_only_colours(longest, written):
    figure = draw(grid_world(2, longest))
    assert bool(texts(figure)) is bool(arrows(figure)) is written


def test_cells_are_square_and_of_one_size():
    for world in (grid_world(1, 7), grid_world(9, 1), grid_world(12, 12), grid_world(3, 50)):
        figure = draw(world)
        figure.canvas.draw()
        box = figure.axes[0].get_position()
        width, height = figure.get_size_inches()
        assert box.width * width / world.layout.columns == pytest.approx(box.height * height / world.layout.rows)


def test_dead_ends_walls_and_goals_are_in_the_legend():
    world = grid_map("S.#.\n.G##")
    values = np.array([1.0, 2.0, np.inf, 1.0])
    figure = grid_figure(world, values, np.array([1, 3, -1, 1]))
    assert texts(figure)[2] == "∞"
    assert len(arrows(figure)[0].X) == 3
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["start", "goal", "wall", "no sure way to the goal"]
    plain = [text.get_text() for text in draw(grid_world()).legends[0].get_texts()]
    assert plain == ["start", "goal"]


def test_ground_with_a_price_of_its_own_is_marked():
    world = grid_map("~ = 5\n* = 0.5\n\nS~*\n.~G")
    figure = draw(world)
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["start", "goal", "*  a step costs 0.5", "~  a step costs 5"]
    marks = [text for text in figure.axes[0].texts if text.get_text() in "~*"]
    placed = sorted((mark.get_text(), *np.rint(mark.get_position()).astype(int).tolist()) for mark in marks)
    assert placed == [("*", 2, 0), ("~", 1, 0), ("~", 1, 1)]


def test_the_wind_stands_beside_the_number_of_its_column():
    labels = [label.get_text() for label in draw(windy_grid()).axes[0].get_xticklabels()]
    assert labels == ["0", "1", "2", "3 ↑1", "4 ↑1", "5 ↑1", "6 ↑2", "7 ↑2", "8 ↑1", "9"]
    falling = draw(grid_map("wind = -1 0\nS.\n.G"))
    assert falling.axes[0].get_xticklabels()[0].get_text() == "0 ↓1"


def test_actions_that_are_no_directions_are_written():
    grid = grid_world(2, 2)
    rows = (grid.indptr, grid.successors, grid.probabilities, grid.costs)
    world = SSP.from_rows(*rows, action_names=["a", "b", "c", "d"], layout=grid.layout)
    assert texts(grid_figure(world, np.ones(3), np.array([0, 3, 2])))[3:] == ["a", "d", "c"]


def test_ink_stands_out():
    world = grid_world(2, 3)
    values = np.array([0.0, 1.0, 2.0, 3.0, np.inf])
    figure = grid_figure(world, values, np.zeros(5, dtype=np.int64))
    inks = [text.get_color() for text in figure.axes[0].texts]
    assert inks == ["#111111", "#111111", "#ffffff", "#ffffff", "#111111"]


def test_ticks_are_few_and_round():
    for count in (1, 12, 13, 24, 25, 60, 61, 300, 1000):
        steps = np.diff(ticks(count)).tolist()
        assert len(steps) < 12
        assert len(set(steps)) <= 1
        assert all(step == 1 or str(step).rstrip("0") in "125" for step in steps)


def test_a_model_without_layout_is_refused():
    with pytest.raises(ShapeError, match="no grid layout"):
        draw(random_mdp(states=8, seed=5, rows="uniform"))
