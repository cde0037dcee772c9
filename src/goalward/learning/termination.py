"""Runs that might never end, refused before the first step.

An episode ends at the goal. From a dead end no policy reaches it surely, so a learner that gets there may pay for ever.
In a loop that costs nothing a learner may stay because nothing tells it to leave. `learn` refuses both where they can
be reached from the start, unless

* the agent may give up (``give_up_cost``, see `goalward.ssp.model`), which leaves no dead ends;
* the run has a limit (``max_steps``), and says that it was truncated; it ends earlier where no action is available;
* the loop is free, and the agent surely leaves such loops (`Learner.leaves_free_loops`).
"""

from __future__ import annotations

import numpy as np

from goalward.agents.base import Learner
from goalward.arrays import Bools, Int64s
from goalward.errors import EndlessRunError, UnreachableGoalError
from goalward.ssp.graph import can_reach_goal, reached_from, state_graph, sure_states, zero_cost_components
from goalward.ssp.layout import state_label
from goalward.ssp.model import SSP

__all__ = ["check_end"]

LET_IT_GIVE_UP = "let the agent give up and start again at a cost: give_up_cost=20, or --give-up-cost 20"
LIMIT_IT = "end the run after some steps: max_steps=100_000, or --max-steps 100000"


def check_end(ssp: SSP, agent: Learner, limited: bool) -> None:
    """Raise EndlessRunError if a run might never end, UnreachableGoalError if none can end well."""
    distance, _, _ = sure_states(ssp, ssp.available)
    dead = distance < 0
    if dead[ssp.initial_state]:
        raise hopeless(ssp)
    if limited:
        return
    if dead.any():
        check_dead_ends(ssp, dead)
    if not agent.leaves_free_loops:
        check_free_loops(ssp, agent.name)


def check_dead_ends(ssp: SSP, dead: Bools) -> None:
    reached = np.flatnonzero(dead & reached_from(state_graph(ssp), ssp.initial_state))
    if len(reached):
        # Without actions the run would end on the first visit, however many steps are allowed.
        limit = f", or {LIMIT_IT}" if ssp.available[reached].any(axis=1).all() else ""
        raise EndlessRunError(
            f"the run might never end: from the start one can get to {named(ssp, reached)}, from which no policy"
            f" reaches the goal surely; {LET_IT_GIVE_UP}{limit}"
        )


def check_free_loops(ssp: SSP, agent: str) -> None:
    component, count, _ = zero_cost_components(ssp, ssp.available)
    if not count:
        return
    inside = np.flatnonzero((component >= 0) & reached_from(state_graph(ssp), ssp.initial_state))
    if len(inside):
        loop = np.flatnonzero(component == component[inside[0]])
        raise EndlessRunError(
            f"the run might never end: one can stay in {named(ssp, loop)} for ever at no cost, and {agent} may do so;"
            " take an agent that plans with costs above zero, such as psrl with perturb_costs=True or uc-ssp, or"
            f" {LIMIT_IT}"
        )


def hopeless(ssp: SSP) -> UnreachableGoalError:
    """Return the error for a start from which no policy reaches the goal surely."""
    start = named(ssp, np.array([ssp.initial_state]))
    if can_reach_goal(ssp)[ssp.initial_state]:
        return UnreachableGoalError(f"no policy reaches the goal surely from the start, {start}; {LET_IT_GIVE_UP}")
    return UnreachableGoalError(
        f"no path leads from the start, {start}, to the goal; see goalward.structure(ssp), or choose another"
        " start with ssp.with_initial_state"
    )


def named(ssp: SSP, states: Int64s) -> str:
    """Return some states in words."""
    between = ", "
    kind = f"state{'s' * (len(states) > 1)} "
    if ssp.state_names is None and ssp.layout is not None:
        kind, between = "", "; "
    names = between.join(state_label(ssp, int(state)) for state in states[:3])
    more = f" and {len(states) - 3:,} more" if len(states) > 3 else ""
    return f"{kind}{names}{more}"
