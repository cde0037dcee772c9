"""Episodes of a policy in a known model, by the compiled rollout of `goalward.learn`.

A seed gives the random numbers that it gives a run: step t takes the t-th number of the environment's stream, and an
action that the policy leaves to chance takes the next number of the acting stream. So simulating the optimal policy
gives the costs of a run of the agent that plays it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from goalward.acting.contract import Plan
from goalward.acting.model_world import ModelStage
from goalward.acting.stop_conditions import Ended
from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import PolicyError
from goalward.planning.evaluate import markov_chain, policy_weights
from goalward.planning.solve import Solution
from goalward.settings import Size, check
from goalward.ssp.graph import sure_states
from goalward.ssp.model import SSP, check_model


@dataclass(frozen=True, eq=False)
class Simulation:
    """The `costs` and `steps` of each episode, and whether it `reached` the goal or was cut off."""

    costs: Floats
    steps: Int64s
    reached: Bools

    @property
    def mean_cost(self) -> float:
        """The mean cost of an episode."""
        return float(self.costs.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean cost; infinite for one episode."""
        return float(self.costs.std(ddof=1) / np.sqrt(len(self.costs))) if len(self.costs) > 1 else np.inf

    def __repr__(self) -> str:
        cut = np.count_nonzero(~self.reached)
        return (
            f"Simulation(episodes={len(self.costs)}, mean_cost={self.mean_cost:.6g} ± {self.standard_error:.2g},"
            f" mean_steps={self.steps.mean():.6g}" + (f", cut_off={cut})" if cut else ")")
        )


def simulate(
    ssp: SSP, policy: Solution | ArrayLike, episodes: int, seed: int = 0, *, max_steps: int | None = None
) -> Simulation:
    """Play a policy.

    Parameters
    ----------
    ssp
        The model.
    policy
        A solution, an action per state ``[S]``, or probabilities of actions ``[S, A]``.
    episodes
        How many episodes to play, each from the initial state.
    seed
        Of the random numbers.
    max_steps
        Cut an episode off after this many steps. Needed if the policy may never reach the goal.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> gw.simulate(world, gw.solve(world), 1000)
    Simulation(episodes=1000, mean_cost=6.086 ± 0.049, mean_steps=6.086)
    """
    check_model(ssp)
    check("episodes", episodes, Size)
    if max_steps is not None:
        check("max_steps", max_steps, Size)
    weights = policy_weights(ssp, policy.policy if isinstance(policy, Solution) else policy)
    chain = markov_chain(ssp, weights)
    if max_steps is None and sure_states(chain, chain.available)[0][ssp.initial_state] < 0:
        raise PolicyError(
            "the policy does not reach the goal almost surely from the start, state"
            f" {ssp.state_name(ssp.initial_state)}; pass max_steps to cut episodes off"
        )
    plays = np.asarray(weights.any(axis=1))
    if (weights > 0.0).sum(axis=1).max(initial=0) <= 1:
        table = np.where(plays, weights.argmax(axis=1), -1)
    else:
        table = np.where(plays[:, np.newaxis], weights, 1.0 / ssp.actions)
    stage = Episodes(ssp, seed)
    # With a limit, one plan is one episode.
    plan = Plan(table, stop_after_goals=max_steps and 1, stop_after_steps=max_steps)
    costs, steps = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
    reached = np.zeros(episodes, dtype=np.bool_)
    done = 0
    while done < episodes:
        chunk, ended, *_ = stage.follow(plan, episodes - done)
        episode = done + np.cumsum(chunk.reached) - chunk.reached  # of each step
        np.add.at(costs, episode, chunk.costs)
        np.add.at(steps, episode, 1)
        reached[episode[chunk.reached]] = True
        done += int(np.count_nonzero(chunk.reached))
        if ended & (Ended.STEPS | Ended.DEAD_END) and not ended & Ended.GOALS:
            stage.restart()
            done += 1
    return Simulation(costs, steps, reached)


class Episodes(ModelStage):
    """A model in which an episode also ends where the policy has no action."""

    def without_action(self) -> int:
        """Return that the episode ends."""
        return int(Ended.DEAD_END)
