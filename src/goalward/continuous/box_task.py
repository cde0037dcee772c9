"""What an agent may know of a goal task with continuous states.

States are the points of a box in R^m; coordinates such as angles may wrap around. There are A actions. An action a in a
state x costs c(x, a) > 0, which is known. An episode ends in the goal set, which is known too. Functions of states are
vectorised: they take points ``[n, m]`` and return one entry for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Bools, Floats
from goalward.errors import CostError, SettingError, ShapeError, StateError
from goalward.settings import checked_integer

__all__ = ["BoxTask", "CostFunction", "GoalSet", "box_task", "check_costs"]

GoalSet = Callable[[Floats], Bools]
CostFunction = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class BoxTask:
    """What an agent is told of a goal task: all but the dynamics.

    Attributes
    ----------
    low, high
        The bounds of the box, ``[m]``.
    periodic
        Which coordinates wrap around from `high` to `low`, ``[m]``.
    actions
        A, the number of actions.
    goal
        Returns which of some points, ``[n, m]``, lie in the goal set.
    cost
        Returns the costs ``[n, A]`` of all actions at some points.
    episodes
        How many episodes the run asks for, K.
    origin
        The id and the settings of a world of the registry; None for a task from elsewhere.
    coordinates, action_names
        What to call the coordinates and the actions.
    """

    low: Floats
    high: Floats
    periodic: Bools
    actions: int
    goal: GoalSet
    cost: CostFunction
    episodes: int = 1
    origin: Mapping[str, Any] | None = field(default=None, repr=False)
    coordinates: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()

    @property
    def dimensions(self) -> int:
        """m, the number of coordinates."""
        return len(self.low)

    def is_like(self, other: object) -> bool:
        """Return whether another task has the same box and as many actions; functions cannot be compared."""
        return (
            isinstance(other, BoxTask)
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
            and np.array_equal(self.periodic, other.periodic)
            and self.actions == other.actions
        )

    def folded(self, points: Floats) -> Floats:
        """Return points with periodic coordinates brought into the box; others may lie outside."""
        if not self.periodic.any():
            return points
        span = self.high - self.low
        return np.where(self.periodic, self.low + np.mod(points - self.low, span), points)

    def checked_state(self, given: ArrayLike) -> Floats:
        """Return one state as an array; raises StateError if it is not m finite numbers."""
        try:
            state = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            state = np.empty(0)
        if state.shape != self.low.shape:
            raise StateError(f"the task gave the state {given!r}; it must be {self.dimensions} numbers")
        if not np.isfinite(state).all():
            place = int(np.argmin(np.isfinite(state)))
            raise StateError(
                f"the task gave the state {state.tolist()}; coordinate {place} is {state[place]}, it must be a finite"
                " number: an observation that is not a number cannot be learnt from"
            )
        return self.folded(state)


def box_task(
    low: ArrayLike,
    high: ArrayLike,
    actions: int | Sequence[str],
    goal: GoalSet,
    cost: float | ArrayLike | CostFunction,
    periodic: ArrayLike,
    coordinates: Sequence[str] | None = None,
) -> BoxTask:
    """Return what is known of a task, checked."""
    lower, upper = checked_box(low, high)
    names = (
        [str(action) for action in range(checked_integer("actions", actions, 1))]
        if isinstance(actions, int)
        else actions
    )
    number = len(names)
    if number < 1:
        raise SettingError("actions is empty; a task needs at least one action")
    called = [f"x{place}" for place in range(len(lower))] if coordinates is None else list(coordinates)
    if len(called) != len(lower) or not all(isinstance(name, str) for name in called):
        raise SettingError(f"coordinates is {coordinates!r}; it must be {len(lower)} names, one for each coordinate")
    try:
        wraps = np.broadcast_to(np.asarray(periodic, dtype=np.bool_), lower.shape).copy()
    except ValueError:
        raise ShapeError(f"periodic is {periodic!r}; it must be one of {len(lower)} entries, or one for all") from None
    probes = np.stack([lower, 0.5 * (lower + upper), upper])
    check_goal(goal, probes)
    function = cost_function(cost, number)
    check_costs(function(probes), probes, number)
    return BoxTask(
        lower, upper, wraps, number, goal, function, coordinates=tuple(called), action_names=tuple(map(str, names))
    )


def checked_box(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return the bounds of a box; raises ShapeError or SettingError that names the coordinate."""
    lower, upper = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if lower.ndim != 1 or not len(lower) or lower.shape != upper.shape:
        raise ShapeError(f"low has shape {lower.shape}, high {upper.shape}; both must be one list of the same length")
    for place, (least, most) in enumerate(zip(lower, upper, strict=True)):
        if not (np.isfinite(least) and np.isfinite(most)) or max(-least, most) > 1e30:
            raise SettingError(
                f"coordinate {place} goes from {least:g} to {most:g}; a box must be bounded: pass low and high that"
                " hold all states that matter"
            )
        if not least < most:
            raise SettingError(f"coordinate {place} goes from {least:g} to {most:g}; low must be below high")
    lower.flags.writeable = upper.flags.writeable = False
    return lower, upper


def check_goal(goal: GoalSet, probes: Floats) -> None:
    if not callable(goal):
        raise SettingError(f"goal is {goal!r}; it must be a function of points [n, m] that returns n truth values")
    found = np.asarray(goal(probes))
    if found.shape != (len(probes),) or found.dtype != np.bool_:
        raise ShapeError(
            f"goal returned shape {found.shape} and dtype {found.dtype} for {len(probes)} points; it must return one"
            " truth value for each: write it for arrays [n, m], such as lambda x: x[:, 0] >= 0.5"
        )


def cost_function(cost: float | ArrayLike | CostFunction, actions: int) -> CostFunction:
    """Return the costs of all actions as a function of points."""
    if callable(cost):
        return cost
    try:
        row = np.broadcast_to(np.asarray(cost, dtype=np.float64), (actions,))
    except (TypeError, ValueError):
        raise CostError(
            f"cost is {cost!r}; it must be a number, one for each of the {actions} actions, or a function of points"
            " [n, m] that returns [n, A]: the costs of a goal task are known"
        ) from None
    return lambda points: np.broadcast_to(row, (len(points), actions))


def check_costs(costs: Any, points: Floats, actions: int) -> Floats:
    """Return the costs at some points; raises CostError if one is not a positive number."""
    table = np.ascontiguousarray(costs, dtype=np.float64)  # kernels have one specialisation, for this layout
    if table.shape != (len(points), actions):
        raise CostError(
            f"cost returned shape {table.shape} for {len(points)} points; it must return {(len(points), actions)}"
        )
    if not ((table > 0.0) & np.isfinite(table)).all():
        place, action = np.argwhere(~((table > 0.0) & np.isfinite(table)))[0]
        raise CostError(
            f"action {action} costs {table[place, action]} at {points[place].tolist()}; costs must be known, positive"
            " and finite"
        )
    return table
