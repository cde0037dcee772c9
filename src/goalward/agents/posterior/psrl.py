"""PSRL-SSP: posterior sampling for stochastic shortest paths.

Reference
    Jafarnia-Jahromi, Chen, Jain, Luo: Online Learning for Stochastic Shortest Path Model via Posterior Sampling.
    Algorithm 1.

Pseudo-code
     1  Input: prior mu_1
     2  t <- 1, l <- 0, K_{-1} <- 0, t_0 <- 0, k_{t_0} <- 0
     3  for episodes k = 1, ..., K:
     4      s_t <- s_init
     5      while s_t is not the goal:
     6          if k - k_{t_l} > K_{l-1} or n_t(s, a) > 2 n_{t_l}(s, a) for some (s, a):
     7              K_l <- k - k_{t_l}
     8              l <- l + 1, t_l <- t, k_{t_l} <- k
     9              draw theta_l from mu_{t_l}; pi_l <- the optimal policy of theta_l
    10          play a_t = pi_l(s_t), observe s'_t
    11          update mu by Bayes' rule
    12          s_{t+1} <- s'_t, t <- t + 1

Implementation
    The loop tests line 6 before every action. If line 6 holds, the loop calls `plan`, which executes lines 7 to 9. The
    method `observe` executes line 11 and counts visits. The first condition of line 6 becomes true when the goal has
    been reached K_{l-1} + 1 times in the epoch, because then k - k_{t_l} = K_{l-1} + 1. The second condition becomes
    true right after a pair has been played n_{t_l}(s, a) + 1 times in the epoch. Before the very first step, line 6
    holds with l = 0, and line 7 sets K_0 = 1 - 0 = 1. So the first epoch may reach the goal twice.

With a `sharpness` above 1, line 9 draws the probabilities as if every step had been seen `sharpness` times. Such draws
vary less and often lower the regret, but the theorems of the paper do not cover this case.

The planner proves that the policy of an epoch is optimal for the sampled model up to a relative tolerance. In worlds of
at most 128 states, and always with `value_limit`, the tolerance is 1e-6. In larger worlds, the tolerance in episode k
is 0.01 / sqrt(k). Over K episodes, this larger tolerance adds at most 0.02 sqrt(K) times the largest value to the
regret. The bound of the theorem has the same order in K, but is far larger. Sometimes double precision cannot prove
the tolerance, for example if a sample makes the goal practically unreachable. Then the best policy found is played, and
the second condition of line 6 soon ends the epoch.

If costs are unknown, line 9 also draws costs (`goalward.beliefs.costs`). The paper assumes known costs.

Up to 50 states, the default prior is Dirichlet(0.1), as in the paper's experiments. For more states, the default is
Neighbourhoods(). Over 300 episodes on a grid of 48 states, Neighbourhoods() had a third of the regret in the same CPU
time. With 99 states, it had a seventh of the regret in half the CPU time. In dense random worlds of 25 to 200 states,
its regret was between 7 % lower and 14 % higher. In larger worlds, Dirichlet(0.1) learns hardly anything in a minute.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from goalward.acting.contract import Plan, Steps, Task
from goalward.agents.base import Agent, register
from goalward.arrays import Int64s
from goalward.beliefs.base import Prior, Sharpness
from goalward.beliefs.dirichlet import Dirichlet
from goalward.errors import SettingError
from goalward.planning.replan import TOLERANCE, Planned, Replanner
from goalward.planning.solve import DENSE_STATES
from goalward.settings import Count, NotNegative, Positive
from goalward.ssp.model import SSP

LOOSE = 0.01  # the tolerance of planning in the first episode of a large world
DIRICHLET_STATES = 50  # up to this number of states, the default prior is Dirichlet(0.1)


class BeliefAgent(Agent):
    """An agent that stores the visits n_t(s, a), the current episode k, and a belief about the kernel."""

    def believe(self, prior: Prior) -> None:
        """Create a belief from `prior`, and set the visits to 0 and the episode to 1."""
        self.belief = prior.belief(self.task)
        self.visits: Int64s = np.zeros(self.task.costs.shape, dtype=np.int64)
        self.k = 1

    def observe(self, steps: Steps) -> None:
        """Update the belief, the visits n_t and the episode k from `steps`."""
        self.belief.update(steps)
        pairs = steps.states * self.visits.shape[1] + steps.actions
        self.visits += np.bincount(pairs, minlength=self.visits.size).reshape(self.visits.shape)
        self.k += int(np.count_nonzero(steps.reached))

    def mean_model(self) -> SSP:
        """Return the posterior mean on the transitions that were seen. `best_policy` solves this model."""
        return self.belief.seen_mean()


@register("psrl")
class PSRL(BeliefAgent):
    """PSRL-SSP: posterior sampling with the epochs of the paper. The prior is the only input."""

    prior: Prior | None = None
    """The prior mu_1. The default is Dirichlet(0.1) up to 50 states, and Neighbourhoods() for more states."""

    perturb_costs: bool | NotNegative = False
    """The lowest cost in plans, for worlds with zero costs. True means the epsilon of Theorem 2."""

    value_limit: Positive | None = None
    """The upper bound B on optimal values. A sample with a larger value is rejected and drawn again."""

    max_rejections: Count = 10_000
    """The limit on the number of consecutive samples that are rejected because of `value_limit`."""

    sharpness: Sharpness = 1.0
    """A factor of the counts in draws of probabilities. Above 1, draws are not posterior samples."""

    bound = "O~(B S sqrt(A K)), Bayesian"
    samples_posterior = True
    assumes = "the world is drawn from the prior; B bounds the values of its worlds; c >= c_min > 0"
    recommended: ClassVar[str] = "a theorem"

    @property
    def leaves_free_loops(self) -> bool:
        """Whether all costs in plans are positive, because the agent raises zero costs."""
        return float(self.perturb_costs) > 0.0

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` (lines 1 and 2 of the algorithm)."""
        super().begin(task, rng)
        self.believe(self.prior_in(task))
        self.k_start = 0  # k_{t_l}, the episode in which the current epoch began
        floor = cost_floor(task) if self.perturb_costs is True else float(self.perturb_costs)
        self._cost_floor = floor
        self._planner = Replanner()
        self.rejections = 0

    def prior_in(self, task: Task) -> Prior:
        """Return the setting `prior`, or the default prior for the number of states of `task`."""
        if self.prior is not None:
            return self.prior
        if task.states <= DIRICHLET_STATES:
            return Dirichlet(0.1)
        from goalward.beliefs.neighbourhoods import Neighbourhoods

        return Neighbourhoods()

    def plan(self, state: int) -> Plan:
        """Start an epoch and return its plan (lines 7 to 9 of the algorithm)."""
        K_previous = self.k - self.k_start
        self.k_start = self.k
        return self.draw()._replace(stop_after_visits=self.visits + 1, stop_after_goals=K_previous + 1)

    def draw(self) -> Plan:
        """Draw a model from the posterior and return its optimal plan. Draw again if a value is above `value_limit`."""
        for _ in range(self.max_rejections + 1):
            theta = self.belief.sample(self.rng, self.sharpness)
            planned = self.solve(theta)
            if self.value_limit is None or planned.values.max() <= self.value_limit:
                return Plan(planned.policy, model=theta, values=planned.values)
            self.rejections += 1
        raise SettingError(
            f"{self.max_rejections + 1} consecutive samples had a value above value_limit={self.value_limit:g};"
            " increase value_limit or max_rejections"
        )

    def solve(self, theta: SSP) -> Planned:
        """Return the optimal policy and values of `theta`, after costs have been raised to the cost floor."""
        theta = self.with_floor(theta)
        exact = self.value_limit is not None or self.task.states <= DENSE_STATES
        return self._planner.solve(theta, TOLERANCE if exact else LOOSE / math.sqrt(self.k))

    def with_floor(self, theta: SSP) -> SSP:
        """Return `theta` with all costs below the cost floor raised to the cost floor."""
        low = (theta.costs < self._cost_floor).any()
        return theta._replace(costs=np.maximum(theta.costs, self._cost_floor)) if low else theta

    def notes(self) -> dict[str, int | float | str]:
        """Return notes for the record of a run: the default prior, rejected samples, the cost floor and caveats."""
        notes = super().notes()
        if self.prior is None:
            notes["prior"] = repr(self.prior_in(self.task))
        if self.value_limit is not None:
            notes["rejections"] = self.rejections
        if self.perturb_costs:
            notes["cost_floor"] = self._cost_floor
        return notes

    def caveats(self) -> list[str]:
        """Return the reasons why no theorem covers the run, and a warning if the cost floor is above all costs."""
        caveats = super().caveats()
        if self.sharpness != 1.0:
            caveats.append(f"sharpness {self.sharpness:g}: samples are not from the posterior, so no theorem applies")
        floor, task = self._cost_floor, self.task
        if self.perturb_costs is True and floor > 1.0:
            enough = task.states**2 * task.actions
            caveats.append(f"cost floor {floor:.3g}: Theorem 2 needs at least S² A = {enough} episodes")
        elif not task.costs_unknown and floor > task.costs[task.available].max(initial=0.0):
            caveats.append(f"cost floor {floor:.3g} is above every cost: plans minimise the steps, not the cost")
        return caveats


def cost_floor(task: Task) -> float:
    """Return epsilon = (S² A / K)^(2/3), the cost floor of Theorem 2."""
    return float((task.states**2 * task.actions / task.episodes) ** (2.0 / 3.0))
