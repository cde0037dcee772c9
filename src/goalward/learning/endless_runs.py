"""Reject runs that might never end, before their first step.

An episode ends at the goal. From a dead end, no policy reaches the goal almost surely, so an agent may pay costs
forever. A loop of zero costs may hold an agent forever, because staying costs nothing. `learn` raises EndlessRunError
if a dead end or a zero-cost loop can be reached from the start, except in three cases:

* The agent may give up (``give_up_cost``, see `goalward.ssp.model`), so there are no dead ends.
* The run has a limit (``max_steps``). The run is then marked as truncated and also ends in states without actions.
* There are no dead ends, and the agent leaves zero-cost loops almost surely (`Learner.leaves_free_loops`).
"""

from __future__ import annotations

import numpy as np

from goalward.agents.base import Learner
from goalward.arrays import Bools, Int64s
from goalward.errors import EndlessRunError, UnreachableGoalError
from goalward.ssp.graph import can_reach_goal, reached_from, state_graph, sure_states, zero_cost_components
from goalward.ssp.layout import state_label
from goalward.ssp.model import SSP

GIVE_UP = "let the agent give up and return to the start at a cost: give_up_cost=20, or --give-up-cost 20"
LIMIT = "end the run after some steps: max_steps=100_000, or --max-steps 100000"


def check_end(ssp: SSP, agent: Learner, limited: bool) -> None:
    """Raise EndlessRunError if a run might never end, and UnreachableGoalError if the start is a dead end."""
    distance, _, _ = sure_states(ssp, ssp.available)
    dead = distance < 0
    if dead[ssp.initial_state]:
        start = named(ssp, np.array([ssp.initial_state]))
        if can_reach_goal(ssp)[ssp.initial_state]:
            raise UnreachableGoalError(f"no policy reaches the goal almost surely from the start, {start}; {GIVE_UP}")
        raise UnreachableGoalError(
            f"no path leads from the start, {start}, to the goal; see goalward.structure(ssp), or choose another"
            " start with ssp.with_initial_state"
        )
    if limited:
        return
    if dead.any():
        check_dead_ends(ssp, dead)
    if not agent.leaves_free_loops:
        check_free_loops(ssp, agent.name)


def check_dead_ends(ssp: SSP, dead: Bools) -> None:
    reached = np.flatnonzero(dead & reached_from(state_graph(ssp), ssp.initial_state))
    if len(reached):
        # In a state without actions, the run would end at the first visit, so a limit does not help.
        limit = f", or {LIMIT}" if ssp.available[reached].any(axis=1).all() else ""
        raise EndlessRunError(
            f"the run might never end: the agent can get to {named(ssp, reached)}, from which no policy reaches the"
            f" goal almost surely; {GIVE_UP}{limit}"
        )


def check_free_loops(ssp: SSP, agent: str) -> None:
    component, count = zero_cost_components(ssp, ssp.available)
    if not count:
        return
    inside = np.flatnonzero((component >= 0) & reached_from(state_graph(ssp), ssp.initial_state))
    if len(inside):
        loop = np.flatnonzero(component == component[inside[0]])
        raise EndlessRunError(
            f"the run might never end: {agent} may stay in {named(ssp, loop)} forever at no cost; use an agent that"
            f" plans with costs above zero, such as psrl with perturb_costs=True or uc-ssp, or {LIMIT}"
        )


def named(ssp: SSP, states: Int64s) -> str:
    on_grid = ssp.state_names is None and ssp.layout is not None
    names = ("; " if on_grid else ", ").join(state_label(ssp, int(state)) for state in states[:3])
    more = f" and {len(states) - 3:,} more" if len(states) > 3 else ""
    return f"{'' if on_grid else 'states ' if len(states) > 1 else 'state '}{names}{more}"
