"""Worlds with numbers that can be checked by hand or are printed somewhere."""

from __future__ import annotations

import numpy as np
import pytest

import goalward as gw
from goalward.errors import EndlessRunError
from goalward.worlds import make


@pytest.mark.parametrize(("cost", "printed"), [(0.5, 2.66), (0.1, 0.55), (0.01, 0.07), (0.001, 0.02)])
def test_the_sand_pit_has_the_printed_values(cost: float, printed: float) -> None:
    assert round(gw.solve(make("sand-pit", cost=cost)).values[0], 2) == printed


def test_the_grids_of_the_paper_are_the_grid_with_other_costs() -> None:
    grid = make("grid-world", success=0.95)
    sand, corner = np.full((11, 4), 0.1), np.full((11, 4), 0.4)
    sand[5], corner[[0, 1, 4, 5]] = 1.0, 0.0
    assert make("sand-pit") == grid.with_costs(sand)
    assert make("free-corner") == grid.with_costs(corner)


def test_the_cheapest_way_of_a_self_loop_is_out() -> None:
    solution = gw.solve(make("self-loop", stay_cost=0.001, exit_cost=7.0))
    assert (solution.values.tolist(), solution.policy.tolist()) == ([7.0], [1])
    with pytest.raises(EndlessRunError):
        gw.learn(gw.agents.PSRL(), make("self-loop", stay_cost=0.0), 10)


class TestTireworld:
    def test_the_smallest_triangle_by_hand(self) -> None:
        world = make("triangle-tireworld", size=1)
        assert gw.solve(world).values[0] == 6.25
        assert world.state_name(0) == "1-1"

    def test_the_direct_road_is_the_cheapest_where_tyres_hold(self) -> None:
        assert gw.solve(make("triangle-tireworld", size=3, flat=0.0)).values[0] == 6.0

    def test_the_direct_road_gets_there_with_the_chance_of_no_flat_tyre(self) -> None:
        world = make("triangle-tireworld", size=2)
        right, wait = world.action_names.index("right"), world.action_names.index("wait")
        direct = np.where(world.available[:, right], right, np.where(world.available[:, wait], wait, -1))
        found = gw.evaluate(world, direct, goal_first=True)
        assert found.goal_probability[0] == 0.5**3
        assert gw.structure(world).reaches_goal
        assert len(gw.structure(world).never) > 0

    def test_roads_of_the_second_problem(self) -> None:
        """The roads of the competition's problem 2, as pairs of places."""
        roads = (
            "11-12 12-13 11-21 21-31 12-22 21-12 31-22 22-13 13-14 14-15 13-23 23-33 14-24 23-14 33-24 24-15 31-32"
            " 32-33 31-41 41-51 32-42 41-32 51-42 42-33"
        )
        world = make("triangle-tireworld", size=2)
        found = set()
        for state, action in np.argwhere(world.available).tolist():
            for successor in world.row(state, action)[0].tolist():
                end = "15" if successor == world.goal else world.state_name(successor)[:3].replace("-", "")
                begin = world.state_name(state)[:3].replace("-", "")
                found |= {f"{begin}-{end}"} if begin != end else set()
        assert found == set(roads.split())
