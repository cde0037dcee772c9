import numpy as np
import pytest

import goalward as gw
from goalward.errors import SettingError
from goalward.worlds import four_rooms, grid_map, grid_world, maze, sand_grid, windy_grid


def test_four_rooms_are_the_map_one_expects():
    drawn = grid_map(
        """
        S..#...
        .......
        ...#...
        #.###.#
        ...#...
        .......
        ...#..G
        """,
        success=0.9,
    )
    assert four_rooms(side=3, success=0.9) == drawn


@pytest.mark.parametrize("seed", range(5))
def test_a_maze_is_a_tree_until_walls_are_opened(seed):
    for openings in (0, 4):
        world = maze(rows=4, columns=6, openings=openings, success=1.0, seed=seed)
        edges = {(s, t) for s in range(world.states) for a in range(4) for t in world.row(s, a)[0].tolist() if s != t}
        joined = {frozenset(edge) for edge in edges}
        assert world.states + 1 == 2 * 24 - 1 + openings
        assert len(joined) == world.states + 2 * openings - openings
        assert np.isfinite(gw.solve(world).values).all()


def test_seeds_make_different_mazes():
    assert maze(seed=1) == maze(seed=1)
    assert maze(seed=1) != maze(seed=2)


def test_sand_costs_the_same_in_all_directions():
    world = sand_grid(rows=9, columns=9, cost_min=1e-3, seed=4)
    exponents = np.random.default_rng(4).random(80)
    np.testing.assert_allclose(world.costs, np.repeat(1e-3**exponents, 4).reshape(80, 4))
    assert world.with_costs(np.ones((80, 4))) == grid_world(9, 9)
    assert world.layout == grid_world(9, 9).layout


def test_the_wind_carries_upwards():
    world = windy_grid()
    state = {tuple(divmod(cell, 10)): s for s, cell in enumerate(world.layout.cells.tolist())}
    assert world.initial_state == state[3, 0]

    def outcome(row, column, action):
        successors, chances = world.row(state[row, column], action)
        places = [(3, 7) if s == world.goal else divmod(int(world.layout.cells[s]), 10) for s in successors]
        return {tuple(place): float(chance) for place, chance in zip(places, chances, strict=True)}

    assert outcome(3, 0, 1) == {(3, 1): 1.0}
    assert outcome(5, 6, 1) == {(3, 7): 1.0}
    assert outcome(0, 8, 3) == {(0, 8): 1.0}
    assert gw.solve(world).values[state[3, 0]] == 15.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: four_rooms(side=0), "side is 0"),
        (lambda: maze(columns=1), "columns is 1"),
        (lambda: maze(openings=100), r"openings is 100; it must be an integer in 0\.\.9"),
        (lambda: sand_grid(cost_min=0.0), "cost_min is 0.0"),
    ],
)
def test_settings_that_make_no_world(build, message):
    with pytest.raises(SettingError, match=message):
        build()
