"""The worlds of the UC-SSP paper (Tarbouriech et al., ICML 2020): a sand pit, a free corner, a loop beside the exit."""

from __future__ import annotations

import numpy as np

from goalward.settings import checked_number
from goalward.ssp.model import SSP
from goalward.worlds.base import register
from goalward.worlds.grid import grid_map

__all__ = ["free_corner", "sand_pit", "self_loop"]


@register("sand-pit-v0")
def sand_pit(cost: float = 0.1, success: float = 0.95) -> SSP:
    """SandPit: a small slippery grid on which one cell costs more than all others.

    Description
    -----------
    The grid of the UC-SSP paper with sand in its middle. The smaller `cost` is, the longer is the way round that pays,
    and the harder is the world by c_min.

    States
    ------
    As in GridWorld, with 3 rows and 4 columns.

    Actions
    -------
    As in GridWorld.

    Transitions
    -----------
    As in GridWorld.

    Costs
    -----
    1 for every action in the cell in row 1, column 1; `cost` in all others.

    Start and goal
    --------------
    As in GridWorld.

    Known values
    ------------
    V*(start) = 0.5470 with the default settings. The paper prints 2.66, 0.55, 0.07 and 0.02 for a cost of 0.5, 0.1,
    0.01 and 0.001.

    Version history
    ---------------
    v0: first version.
    """
    least = checked_number("cost", cost, 0.0, 1.0)
    return grid_map(f". = {least!r}\nS = {least!r}\n~ = 1\nS...\n.~..\n...G", success)


@register("free-corner-v0")
def free_corner(cost: float = 0.4, success: float = 0.95) -> SSP:
    """FreeCorner: a small slippery grid on which the first four cells cost nothing.

    Description
    -----------
    The grid of the UC-SSP paper with zero costs: algorithms that divide by the smallest cost have to do something else
    here. No loop is free: every policy slips out of the corner sooner or later.

    States
    ------
    As in GridWorld, with 3 rows and 4 columns.

    Actions
    -------
    As in GridWorld.

    Transitions
    -----------
    As in GridWorld.

    Costs
    -----
    0 in rows 0 and 1 of columns 0 and 1, `cost` elsewhere.

    Start and goal
    --------------
    As in GridWorld.

    Known values
    ------------
    V*(start) = 0.8642 with the default settings.

    Version history
    ---------------
    v0: first version.
    """
    price = checked_number("cost", cost, 0.0, 1.0)
    return grid_map(f". = {price!r}\nS = 0\n, = 0\nS,..\n,,..\n...G", success)


@register("self-loop-v0")
def self_loop(stay_cost: float = 0.1, exit_cost: float = 1.0) -> SSP:
    """SelfLoop: stay where you are for little, or pay once and be done.

    Description
    -----------
    The smallest world in which the cheapest policy on average never arrives: methods for average costs stay for ever.
    The first figure of the UC-SSP paper has it, with the goal as the second of its two states.

    States
    ------
    One, the start.

    Actions
    -------
    stay, exit.

    Transitions
    -----------
    stay stays and exit reaches the goal, surely.

    Costs
    -----
    `stay_cost` for stay, `exit_cost` for exit.

    Start and goal
    --------------
    The start is the only state.

    Known values
    ------------
    V*(start) = exit_cost, 1.0000 with the default settings.

    Version history
    ---------------
    v0: first version.
    """
    costs = [checked_number("stay_cost", stay_cost), checked_number("exit_cost", exit_cost)]
    return SSP.from_dense(np.array([[[1.0, 0.0], [0.0, 1.0]]]), [costs], action_names=("stay", "exit"))
