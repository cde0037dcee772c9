import tracemalloc

import numpy as np
import pytest
from dense_oracle import best_policy, best_values, policy_cost
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from goalward import SSP, GridLayout
from goalward.errors import ProbabilityError, SettingError
from goalward.worlds import grid_map, grid_world

MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}


def map_by_hand(lines, success):
    """The model of a map, cell by cell through SSP.from_dense, walls taken out."""
    cells = [(r, c) for r, line in enumerate(lines) for c, cell in enumerate(line) if cell not in "#G"]
    index = {cell: number for number, cell in enumerate(cells)}
    start = next(index[r, c] for r, c in cells if lines[r][c] == "S")
    P = np.zeros((len(cells), 4, len(cells) + 1))
    goals = {(r, c): len(cells) for r, line in enumerate(lines) for c, cell in enumerate(line) if cell == "G"}
    for (r, c), number in index.items():
        for action in range(4):
            for direction, (down, right) in enumerate(MOVES.values()):
                end = (index | goals).get((r + down, c + right), number)
                P[number, action, end] += success if direction == action else (1.0 - success) / 3.0
    return SSP.from_dense(P, np.ones((len(cells), 4)), start)


def plain_lines(rows, columns):
    lines = [["."] * columns for _ in range(rows)]
    lines[0][0], lines[-1][-1] = "S", "G"
    return ["".join(line) for line in lines]


@pytest.mark.parametrize("success", [0.85, 1.0, 0.0, 0.25])
@pytest.mark.parametrize("size", [(1, 2), (2, 1), (2, 2), (3, 4), (1, 7), (6, 5)])
def test_equals_the_model_built_cell_by_cell(size, success):
    world = grid_world(*size, success)
    expected = map_by_hand(plain_lines(*size), success)
    assert world == expected
    assert world.digest == expected.digest
    assert world.successors.dtype == expected.successors.dtype
    assert world.indptr.dtype == expected.indptr.dtype


maps = st.integers(1, 6).flatmap(
    lambda columns: st.lists(st.text(alphabet=".#G", min_size=columns, max_size=columns), min_size=1, max_size=6)
)


@settings(max_examples=200, deadline=None)
@given(maps, st.data(), st.sampled_from([0.85, 1.0, 0.4, 0.0]))
def test_maps_equal_the_model_built_cell_by_cell(lines, data, success):
    cells = st.tuples(st.integers(0, len(lines) - 1), st.integers(0, len(lines[0]) - 1))
    for mark in "GS":
        row, column = data.draw(cells)
        lines[row] = lines[row][:column] + mark + lines[row][column + 1 :]
    assume(any("G" in line for line in lines))
    world = grid_map("\n".join(lines), success)
    expected = map_by_hand(lines, success)
    # Several goals beside one cell are added in another order there, hence the last bits.
    np.testing.assert_array_equal(world.indptr, expected.indptr)
    np.testing.assert_array_equal(world.successors, expected.successors)
    np.testing.assert_allclose(world.probabilities, expected.probabilities, rtol=1e-15)
    assert world.initial_state == expected.initial_state


def test_pieces_join_seamlessly(monkeypatch):
    whole = grid_world(7, 9)
    monkeypatch.setattr("goalward.worlds.grid.PIECE", 5)
    assert grid_world(7, 9) == whole


def test_arrays_are_owned_and_read_only():
    world = grid_world(5, 6)
    for array in (world.indptr, world.successors, world.probabilities, world.costs):
        assert array.flags.owndata
        assert not array.flags.writeable
        assert array.flags.c_contiguous


def test_building_takes_little_more_memory_than_the_model():
    grid_world()
    tracemalloc.start()
    try:
        world = grid_world(400, 400)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    model = sum(array.nbytes for array in (world.indptr, world.successors, world.probabilities, world.costs))
    pieces = (1 << 15) * 16 * 40
    assert peak < 1.25 * model + pieces


def test_names_and_layout():
    world = grid_world(2, 3)
    assert world.action_names == ("left", "right", "up", "down")
    assert world.state_names is None
    assert world.layout == GridLayout(2, 3, [0, 1, 2, 3, 4], [5])
    assert world.initial_state == 0
    walled = grid_map("G.#\n#SG")
    assert walled.layout == GridLayout(2, 3, [1, 4], [0, 5])
    assert walled.initial_state == 1


def test_published_values():
    world = grid_world()
    P, costs = world.to_dense(), world.costs
    table = [[6.036, 4.922, 3.745, 2.569], [4.985, 3.811, 2.569, 1.323], [3.886, 2.645, 1.327, 0.0]]
    values = best_values(P, costs)
    np.testing.assert_allclose(np.append(values, 0.0).reshape(3, 4), table, atol=5.1e-4)
    assert values[0] == pytest.approx(6.0365, abs=5e-5)
    assert values.max() == values[0]
    policy, by_policy_iteration = best_policy(P, costs)
    np.testing.assert_allclose(by_policy_iteration, values, rtol=1e-9)
    # With unit costs the hitting time of the optimal policy is its cost, so T* = B*.
    assert policy_cost(P, np.ones_like(costs), policy).max() == pytest.approx(6.0365, abs=5e-5)


@pytest.mark.parametrize(
    ("policy", "cost", "within"),
    [
        (np.full((11, 4), 0.25), 42.087, 5e-4),
        (np.full(11, 1), 60.317, 5e-4),
        (np.full(11, 3), 120.29, 5e-3),
        (np.full(11, 2), 1544.4, 5e-2),
        (np.full(11, 0), 18469, 0.5),
    ],
    ids=["uniform", "right", "down", "up", "left"],
)
def test_published_costs_of_policies(policy, cost, within):
    world = grid_world()
    assert policy_cost(world.to_dense(), world.costs, policy)[0] == pytest.approx(cost, abs=within)


def test_published_value_of_the_drier_grid():
    world = grid_world(success=0.95)
    assert best_values(world.to_dense(), world.costs)[0] == pytest.approx(5.3014, abs=5e-5)


def test_known_values_of_the_default_map():
    world = grid_map()
    P, costs = world.to_dense(), world.costs
    values = best_values(P, costs)
    assert values[0] == values.max() == pytest.approx(13.7880, abs=5e-5)
    uniform = policy_cost(P, costs, np.full((world.states, 4), 0.25))
    assert uniform[0] == pytest.approx(325.57, abs=5e-3)


def test_maps_may_be_indented_and_framed_by_empty_lines():
    assert grid_map("""

        S.#
        ..G


        """) == grid_map("S.#\n..G")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grid_world(0), "rows is 0; it must be an integer of at least 1"),
        (lambda: grid_world(2.5), "rows is 2.5"),
        (lambda: grid_world(True), "rows is True"),
        (lambda: grid_world("3"), "rows is '3'"),
        (lambda: grid_world(1, 1), "a grid needs at least two cells"),
        (lambda: grid_world(100_000, 100_000), "10000000000 cells"),
        (lambda: grid_world(success=1.5), "success is 1.5; it must be a number from 0 to 1"),
        (lambda: grid_world(success=float("nan")), "success is nan"),
        (lambda: grid_world(success="0.5"), "success is '0.5'"),
        (lambda: grid_world(success=None), "success is None"),
        (lambda: grid_map("S..\n..G", success=-1), "success is -1"),
        (lambda: grid_map("S..\n.G"), "row 1 of the map has 2 cells, but row 0 has 3"),
        (lambda: grid_map("S.x\n..G"), "row 0, column 2 of the map is 'x'"),
        (lambda: grid_map("...\n..G"), "the map has 0 starts; mark exactly one"),
        (lambda: grid_map("S.S\n..G"), "has 2 starts"),
        (lambda: grid_map("S..\n..."), "has no goal"),
        (lambda: grid_map(" \n \n"), "the map is empty"),
        (lambda: grid_map(3), "text is 3; it must be a text"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(SettingError, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: grid_world(success=1e-310), lambda: grid_map("S..\n..G", success=1e-310)])
def test_a_subnormal_success_is_refused(make):
    with pytest.raises(ProbabilityError, match="has probability 1e-310, below"):
        make()
