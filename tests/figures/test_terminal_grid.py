import numpy as np
import pytest

from goalward import SSP, GridLayout
from goalward.errors import ShapeError
from goalward.figures.styles import action_marks
from goalward.figures.terminal_grid import grid_text, ground_text
from goalward.ssp.layout import state_label
from goalward.worlds import grid_map, grid_world, random_mdp, windy_grid

WALLED = grid_map("S.#.\n..#.\n.G##")
VALUES = np.array([3.5, 2.66, np.inf, 2.4, 12.0, np.inf, 1.25])
POLICY = np.array([3, 0, -1, 1, 2, -1, 1])


def test_boxes_show_value_action_start_wall_goal_and_infinity():
    expected = """\
┌──────────┬──────────┬──────────┬──────────┐
│ ●3.500 ↓ │  2.660 ← │ ████████ │      ∞   │
├──────────┼──────────┼──────────┼──────────┤
│  2.400 → │  12.00 ↑ │ ████████ │      ∞   │
├──────────┼──────────┼──────────┼──────────┤
│  1.250 → │   goal   │ ████████ │ ████████ │
└──────────┴──────────┴──────────┴──────────┘
● start   █ wall   ∞ no sure way to the goal"""
    assert grid_text(WALLED, VALUES, POLICY, width=45) == expected


def test_boxes_close_up_before_they_are_given_up():
    expected = """\
┌────────┬────────┬────────┬────────┐
│●3.500 ↓│ 2.660 ←│████████│     ∞  │
├────────┼────────┼────────┼────────┤
│ 2.400 →│ 12.00 ↑│████████│     ∞  │
├────────┼────────┼────────┼────────┤
│ 1.250 →│  goal  │████████│████████│
└────────┴────────┴────────┴────────┘
● start   █ wall   ∞ no sure way to the goal"""
    assert grid_text(WALLED, VALUES, POLICY, width=44) == expected
    assert grid_text(WALLED, VALUES, POLICY, width=37) == expected


def test_bare_arrows_where_boxes_do_not_fit():
    legend = "S start   G goal   █ wall   x no sure way to the goal"
    assert grid_text(WALLED, VALUES, POLICY, width=36) == f"S ← █ x\n→ ↑ █ x\n→ G █ █\n{legend}"
    assert grid_text(WALLED, VALUES, POLICY, width=6) == f"S←█x\n→↑█x\n→G██\n{legend}"


@pytest.mark.parametrize(("rows", "columns", "width"), [(2, 81, 80), (101, 2, 80)])
def test_nothing_where_nothing_fits(rows, columns, width):
    world = grid_world(rows, columns)
    assert grid_text(world, np.ones(world.states), np.zeros(world.states, dtype=np.int64), width=width) is None


@pytest.mark.parametrize("width", [120, 40])
def test_the_wind_of_the_columns_is_below(width):
    world = windy_grid()
    picture = grid_text(world, np.ones(world.states), np.zeros(world.states, dtype=np.int64), width=width)
    assert picture.splitlines()[-1] == "wind of the columns, in cells upwards: 0 0 0 1 1 1 2 2 1 0"


def test_every_line_fits_the_width():
    for columns in (3, 8, 12, 30):
        world = grid_world(4, columns)
        for width in (35, 79, 200):
            picture = grid_text(world, np.full(world.states, 123.4), np.ones(world.states, dtype=np.int64), width=width)
            assert all(len(line) <= width for line in picture.splitlines()[:-1])


def test_a_model_without_layout_is_refused():
    with pytest.raises(ShapeError, match="no grid layout"):
        grid_text(random_mdp(states=8, seed=5, rows="uniform"), np.ones(8), np.zeros(8, dtype=np.int64))
    floors = tiny(layout=GridLayout(2, 1, [0], [1], floors=["up", "down"]))
    with pytest.raises(ShapeError, match="several floors"):
        grid_text(floors, np.ones(1), np.zeros(1, dtype=np.int64))


def tiny(action_names=None, state_names=None, layout=None, actions=2):
    P = np.zeros((1, actions, 2))
    P[:, :, 1] = 1.0
    costs = np.ones((1, actions))
    return SSP.from_dense(P, costs, action_names=action_names, state_names=state_names, layout=layout)


def test_actions_are_marked_by_arrow_initial_or_digit():
    assert action_marks(tiny(["Left", "down"])) == ["←", "↓"]
    assert action_marks(tiny(["walk", "bus"])) == ["w", "b"]
    assert action_marks(tiny(["walk", "wait"])) == ["0", "1"]
    assert action_marks(tiny(["walk", "-"])) == ["0", "1"]
    many = action_marks(tiny(actions=70))
    assert many[9:12] == ["9", "a", "b"]
    assert many[-1] == "?"
    assert all(len(mark) == 1 for mark in many)


def test_states_are_called_by_name_place_or_number():
    layout = GridLayout(2, 3, [4], [0])
    assert state_label(tiny(state_names=["home"], layout=layout), 0) == "home"
    assert state_label(tiny(layout=layout), 0) == "row 1, column 1"
    assert state_label(tiny(), 0) == "0"
    assert state_label(tiny(layout=layout), 1) == "goal"


def test_the_price_of_giving_up_is_not_that_of_a_step():
    world = grid_map("~ = 5\n\nS~G\n.O.")
    assert ground_text(world.with_give_up(20.0)) == ground_text(world)
    assert {"~ a step costs 5", "O pit"} <= set(ground_text(world).splitlines())


def test_the_legend_explains_giving_up():
    world = grid_map("S.G\n.O.", success=1.0).with_give_up(20.0)
    values, giving_up = np.ones(world.states), np.full(world.states, world.give_up)
    for width in (100, 6):
        assert "↺ give up" in grid_text(world, values, giving_up, width=width)
        assert "give up" not in grid_text(world, values, np.zeros(world.states, dtype=int), width=width)
