"""The SSP of a lattice, against interpolation by SciPy and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from goalward import SSP
from goalward.continuous.lattice import Lattice
from goalward.continuous.task import TaskSpec, task_spec
from goalward.errors import SettingError, StateError
from goalward.planning.solve import solve_all


def square(periodic: object = False, radius: float = 0.3) -> TaskSpec:
    return task_spec([0.0, -1.0], [1.0, 1.0], 2, lambda x: np.hypot(x[:, 0] - 1.0, x[:, 1]) <= radius, 1.0, periodic)


def test_interpolation_is_that_of_scipy() -> None:
    lattice = Lattice(square(), [5, 7])
    rng = np.random.default_rng(0)
    values = rng.random(len(lattice.points))
    axes = [np.linspace(0.0, 1.0, 5), np.linspace(-1.0, 1.0, 7)]
    table = np.append(values, 0.0)[lattice.state_of].reshape(5, 7)
    points = rng.uniform([0.0, -1.0], [1.0, 1.0], (200, 2))
    expected = RegularGridInterpolator(axes, table)(points)
    expected[lattice.task.goal(points)] = 0.0
    np.testing.assert_allclose(lattice.interpolate(points, values), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_model_that_leads_nowhere_is_refused(wrong: float) -> None:
    lattice = Lattice(square(periodic=[True, False]), [5, 7])
    successors = np.zeros((len(lattice.points), 2, 1, 2))
    successors[3, 1, 0, 0] = wrong
    with pytest.raises(StateError, match="not finite"):
        lattice.model(successors, np.ones((len(lattice.points), 2)), 10.0)


def test_corners_of_next_to_no_weight_are_left_out() -> None:
    """Shares of 4e-160 and 3e-160 have a product that is subnormal."""
    square = task_spec([0.0, 0.0], [1.0, 1.0], 1, lambda x: x[:, 0] >= 1.0, 1.0, False)
    lattice = Lattice(square, [5, 5])
    ssp = lattice.model(np.full((len(lattice.points), 1, 1, 2), 1e-160), np.ones((len(lattice.points), 1)), 10.0)
    assert SSP.from_rows(ssp.indptr, ssp.successors, ssp.probabilities, ssp.costs) == ssp
    assert ssp.row(0, 0)[0].tolist() == [0, 1, 5]


def test_points_outside_the_box_are_moved_to_its_surface() -> None:
    lattice = Lattice(square(), [5, 7])
    values = np.random.default_rng(1).random(len(lattice.points))
    outside = np.array([[-0.4, 0.1], [0.2, 1.7], [0.2, -3.0]])
    inside = np.clip(outside, [0.0, -1.0], [1.0, 1.0])
    np.testing.assert_array_equal(lattice.interpolate(outside, values), lattice.interpolate(inside, values))


def test_periodic_axes_wrap_around() -> None:
    lattice = Lattice(square(periodic=[False, True]), [4, 8])
    values = np.random.default_rng(2).random(len(lattice.points))
    points = np.random.default_rng(3).uniform([0.0, -1.0], [1.0, 1.0], (50, 2))
    turned = points + np.array([0.0, 2.0])
    np.testing.assert_allclose(lattice.interpolate(points, values), lattice.interpolate(turned, values), atol=1e-12)
    # Half way between the last node and the first one, which is its neighbour.
    last, first = (lattice.interpolate(np.array([[0.0, y]]), values)[0] for y in (0.75, -1.0))
    assert lattice.interpolate(np.array([[0.0, 0.875]]), values)[0] == pytest.approx((last + first) / 2.0)


@pytest.mark.parametrize("periodic", [False, [False, True]])
@pytest.mark.parametrize("q", [1, 3])
def test_rows_are_canonical_and_have_the_weights_of_interpolation(periodic: object, q: int) -> None:
    """The checked way into an SSP accepts them as they are; a row times values is the mean of interpolated ones."""
    lattice = Lattice(square(periodic), [6, 5])
    rng = np.random.default_rng(4)
    moved = rng.uniform([-0.2, -1.4], [1.2, 1.4], (len(lattice.points), 2, q, 2))
    model = lattice.model(moved, np.ones((len(lattice.points), 2)), 9.0)
    checked = SSP.from_rows(model.indptr, model.successors, model.probabilities, model.costs)
    for name in ("indptr", "successors", "probabilities", "costs"):
        np.testing.assert_array_equal(getattr(model, name), getattr(checked, name))
    values = rng.random(len(lattice.points))
    expected = lattice.interpolate(moved.reshape(-1, 2), values).reshape(-1, 2, q).mean(axis=2)
    rows = np.add.reduceat(model.probabilities * np.append(values, 0.0)[model.successors], model.indptr[:-1])
    np.testing.assert_allclose(rows.reshape(-1, 3)[:, :2], expected, atol=1e-12)
    np.testing.assert_array_equal(rows.reshape(-1, 3)[:, 2], 0.0)
    np.testing.assert_array_equal(model.costs[:, 2], 9.0)


def test_a_line_takes_as_many_steps_as_it_is_long() -> None:
    task = task_spec([0.0], [1.0], 1, lambda x: x[:, 0] >= 1.0 - 1e-9, 1.0, False)
    lattice = Lattice(task, [11])
    model = lattice.model(lattice.points[:, np.newaxis, np.newaxis] + 0.1, np.ones((10, 1)), 100.0)
    np.testing.assert_allclose(solve_all(model, 1e-9).values, 10.0 - np.arange(10), rtol=1e-6)


def test_giving_up_bounds_the_values_where_the_goal_is_out_of_reach() -> None:
    task = task_spec([0.0], [1.0], 1, lambda x: x[:, 0] >= 1.0 - 1e-9, 1.0, False)
    lattice = Lattice(task, [11])
    back = lattice.model(lattice.points[:, np.newaxis, np.newaxis] - 0.1, np.ones((10, 1)), 7.5)
    solution = solve_all(back, 1e-9)
    np.testing.assert_allclose(solution.values, 7.5)
    assert (solution.policy == 1).all()


def test_goals_that_the_lattice_cannot_see_are_refused() -> None:
    with pytest.raises(SettingError, match=r"the lattice of 3 x 4 nodes has no node in the goal set; .*more nodes"):
        Lattice(square(radius=0.2), [3, 4])
    with pytest.raises(SettingError, match="every node of the lattice lies in the goal set"):
        Lattice(square(radius=9.0), [3, 4])
