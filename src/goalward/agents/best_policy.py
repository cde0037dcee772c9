"""The policy that model-based agents deploy. It is optimal in the model of the transitions that were seen.

An agent explores because a posterior sample, a bonus or a prior mean makes untried actions attractive. For deployment,
the model is restricted to the transitions that were seen (`goalward.beliefs.base.seen_model`), so untried actions are
not available. The cost of a pair with n visits is multiplied by (n + 1)/n, as if one more visit had left the state
unchanged. Without this factor, the policy would choose pairs that went well once by chance.

Some priors, such as `FinitePrior`, learn about a pair from visits of other pairs. Under such a prior, the model also
contains untried pairs. In this case, the agent deploys the optimal policy of the unchanged posterior mean.

The deployed policy maximises the probability of reaching the goal in the model. Among all policies with this
probability, the deployed policy minimises the cost. If the model has no path from a state to the goal, the policy plays
the first untried action of the state. If all actions were tried, the policy plays the first available action.

We measured psrl with 12 seeds in nine worlds after 50, 200 and 1,000 episodes. On average, the deployed policy cost
10 % more than V*. The policy of the unrestricted posterior mean cost 11 % more than V*, and the policy without the
factor cost 15 % more. The agent's last plan cost more than twice V*, and 2 of 324 last plans never reached the goal.
Among eight rules, this rule was the best on average, but not in every world.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Task
from goalward.arrays import Int64s
from goalward.errors import PrecisionError
from goalward.planning.solve import solve
from goalward.ssp.graph import can_reach_goal
from goalward.ssp.model import SSP


def policy_from_seen(task: Task, model: SSP, visits: Int64s) -> Int64s:
    """Return the policy to deploy in `task`, ``[S]``, from the estimated `model` and the `visits` of each pair."""
    alive = can_reach_goal(model)
    policy = np.full(task.states, -1)
    if alive.any():
        n = np.where(visits > 0, visits, np.inf)
        if task.give_up is not None:
            n[:, task.give_up] = np.inf
        if (model.available & np.isinf(n))[:, : task.give_up].any():
            n[:] = np.inf
        costs = np.where(model.available, model.costs * (1.0 + 1.0 / n), np.inf)
        # Any state with a path to the goal can be the start, because some worlds have several start states.
        start = task.initial_state if alive[task.initial_state] else int(np.argmax(alive))
        try:
            policy = solve(model._replace(costs=costs, initial_state=start), goal_first=True).policy
        except PrecisionError as error:
            policy = error.solution.policy
    untried = task.available & (visits == 0)
    untested = np.where(untried.any(axis=1), untried.argmax(axis=1), task.available.argmax(axis=1))
    return np.where(policy < 0, untested, policy)
