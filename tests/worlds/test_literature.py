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
