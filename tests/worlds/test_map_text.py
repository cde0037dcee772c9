"""Maps with pits, sand and wind, against models built cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goalward as gw
from goalward import SSP
from goalward.errors import SettingError
from goalward.figures.terminal_grid import ground_text
from goalward.worlds import grid_map

MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
PRICES = {".": 1.0, "S": 1.0, "~": 2.5, ",": 0.0}
HEADER = "~ = 2.5\n, = 0\n"


Steps = dict[tuple[str, str, str], tuple[float, float]]


def by_hand(lines: list[str], success: float, wind: list[int]) -> Steps:
    """Build the steps of a map one at a time: from where by what to where, with probability and cost."""
    ground = {(r, c): mark for r, line in enumerate(lines) for c, mark in enumerate(line)}
    steps: Steps = {}
    for (r, c), mark in ground.items():
        for action in MOVES if mark not in "#GO" else ():
            for direction, (down, right) in MOVES.items():
                there = (r, c + right) if ground.get((r, c + right), "#") != "#" else (r, c)
                fall = down - wind[c]
                for _ in range(abs(fall)):
                    below = (there[0] + (1 if fall > 0 else -1), there[1])
                    there = below if ground.get(below, "#") != "#" else there
                chance = success if direction == action else (1.0 - success) / 3.0
                key = (str((r, c)), action, "goal" if ground[there] == "G" else str(there))
                steps[key] = (steps.get(key, (0.0, 0.0))[0] + chance, PRICES[mark])
    return {key: numbers for key, numbers in steps.items() if numbers[0] > 0.0}


def by_name(ssp: SSP) -> Steps:
    found: Steps = {}
    for state, action in np.argwhere(ssp.available).tolist():
        for successor, chance in zip(*ssp.row(state, action), strict=True):
            key = (place(ssp, state), ssp.action_name(action), place(ssp, int(successor)))
            found[key] = (float(chance), float(ssp.costs[state, action]))
    return found


def place(ssp: SSP, state: int) -> str:
    if ssp.layout is None or state == ssp.goal:
        return ssp.state_name(state)
    row, column = divmod(int(ssp.layout.cells[state]), ssp.layout.columns)
    return str((row, column))


@st.composite
def drawings(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    marks = draw(st.lists(st.sampled_from(".~,#OG"), min_size=rows * columns, max_size=rows * columns))
    start, goal = draw(st.permutations(range(rows * columns)))[:2]
    marks[start], marks[goal] = "S", "G"
    lines = ["".join(marks[first : first + columns]) for first in range(0, rows * columns, columns)]
    return lines, draw(st.lists(st.integers(-2, 2), min_size=columns, max_size=columns))


@given(drawings(), st.sampled_from([0.7, 1.0]))
@settings(max_examples=150)
def test_maps_are_the_models_built_cell_by_cell(drawn: tuple[list[str], list[int]], success: float) -> None:
    lines, wind = drawn
    text = f"{HEADER}wind = {' '.join(map(str, wind))}\n\n" + "\n".join(lines)
    world = grid_map(text, success)
    found, expected = by_name(world), by_hand(lines, success, wind)
    assert found.keys() == expected.keys()
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers, abs=1e-12)
    assert place(world, world.initial_state) == str(
        next((r, row.index("S")) for r, row in enumerate(lines) if "S" in row)
    )
    # What is drawn is what was read.
    assert world.layout is not None
    drawn_text = ground_text(world)
    if drawn_text is not None:
        assert drawn_text.splitlines()[: len(lines)] == lines
    else:
        assert world.layout.ground is None
    assert SSP.from_rows(*world.arrays, world.initial_state) == world


def test_show_says_what_the_characters_mean(tmp_path) -> None:
    world = grid_map("~ = 5\nwind = 0 0 1\nS~.\n.OG")
    assert ground_text(world) == "S~.\n.OG\n. a step costs 1\nO pit\nS a step costs 1\n~ a step costs 5"
    other = world.with_costs(np.arange(20.0).reshape(5, 4)).with_initial_state(2)
    assert ground_text(other).splitlines()[:2] == [".~S", ".OG"]
    assert "~ a step costs 4 to 7" in ground_text(other)
    # The price of giving up is not that of a step, and a pit stays one.
    assert ground_text(world.with_give_up(20.0)) == ground_text(world)
    world.save(tmp_path / "map.json")
    assert SSP.load(tmp_path / "map.json").layout == world.layout
    assert ground_text(gw.worlds.grid_world()) is None


def test_pits_are_dead_ends_in_which_nothing_can_be_done() -> None:
    world = grid_map("S.G\nOO.", success=0.85)
    found = gw.structure(world)
    assert found.never.tolist() == [2, 3]
    assert not world.available[2:4].any()
    assert gw.solve(world, goal_first=True).goal_probability[0] == pytest.approx(0.9375, abs=0.05)
    assert not gw.learn(gw.agents.PSRL(), world.with_give_up(5.0), 20).truncated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("~ = -1\nS~G", "~ = -1 before the map is not valid; .* at least 0, such as"),
        ("~ = much\nS~G", "~ = much before the map is not valid"),
        ("~ = inf\nS~G", "~ = inf before the map is not valid"),
        ("# = 1\nS.G", "# = 1 before the map is not valid; .* cannot have a cost"),
        ("sand = 5\nS.G", "sand = 5 before the map is not valid; set the wind"),
        ("wind = 1 2\nS.G", "wind has 2 numbers for 3 columns"),
        ("wind = 1 x 2\nS.G", "wind is 1 x 2; it must be one integer per column"),
        ("S\t.G", r"row 0, column 1 of the map is a blank or a tab; write S start.* such as ~ = 5"),
        ("S~G", r"row 0, column 1 of the map is '~'; write S start.* such as ~ = 5"),
        ("~ = 5", "the map is empty"),
        ("~ = 5\n~~G", "the map has 0 starts"),
        ("S.G\n~ = 5", "row 1 of the map has 5 cells"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        grid_map(text)


def test_a_storm_carries_to_the_edge_at_once() -> None:
    assert grid_map("wind = 0 1000000000 0\n...\n...\nS.G") == grid_map("wind = 0 3 0\n...\n...\nS.G")
