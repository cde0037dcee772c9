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

How it maps
    `plan` is lines 7 to 9, called when line 6 holds; `observe` is line 11 and the counts; the loop does the rest.
    The test of line 6 comes before every action. Its first part turns true when the goal has been reached K_{l-1} + 1
    times since the epoch began: then k - k_{t_l} = K_{l-1} + 1. Its second turns true right after a pair has been
    played n_{t_l}(s, a) + 1 times in the epoch. On the very first step line 6 holds with l = 0, and line 7 makes
    K_0 = 1 - 0 = 1, so the first epoch may reach the goal twice.

`sharpness` above 1 draws the probabilities of line 9 as if every step had been seen that many times. Samples then vary
less than the posterior. It often lowers the regret, but neither the lemma nor the theorem of the paper covers it, and
the notes of the run say so.

The policy of an epoch is optimal for the sampled model to a relative tolerance that the planner proves: 1e-6, and in
worlds of more than 128 states 0.01 / sqrt(k) in episode k. Over K episodes the latter adds at most 0.02 sqrt(K) times
the largest value to the regret, which is of the order of the theorem's bound and far below it; what was measured is
some hundred times less. `value_limit` keeps 1e-6. Where double precision proves less, as in samples that make the goal
practically unreachable, the best policy found is played: the second part of line 6 soon ends it.

Where costs are unknown, theta_l has sampled costs too (`goalward.beliefs.costs`). The paper assumes known costs.

The default prior is Dirichlet(0.1), that of the paper's experiments, up to 50 states, and Neighbourhoods() beyond.
Measured over 300 episodes, Neighbourhoods() has 3 times less regret on a grid of 48 states for the same CPU time, and 7
times less for half of it with 99 states. In dense random worlds of 25 to 200 states it is between 7 % better and 14 %
worse. From some 200 states on, Dirichlet(0.1) learns next to nothing in a minute.
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
DIRICHLET_STATES = 50  # up to this many states, the default prior is the paper's


class BeliefAgent(Agent):
    """An agent with a belief about the kernel, the visits n_t(s, a) and the current episode k."""

    def believe(self, prior: Prior) -> None:
        """Start from a prior."""
        self.belief = prior.belief(self.task)
        self.visits: Int64s = np.zeros(self.task.costs.shape, dtype=np.int64)
        self.k = 1

    def observe(self, steps: Steps) -> None:
        """Update the belief by Bayes' rule, and advance n_t and k."""
        self.belief.update(steps)
        pairs = steps.states * self.visits.shape[1] + steps.actions
        self.visits += np.bincount(pairs, minlength=self.visits.size).reshape(self.visits.shape)
        self.k += int(np.count_nonzero(steps.reached))

    def mean_model(self) -> SSP:
        """Return the mean of the posterior, on the transitions that were seen; its optimal policy is deployed."""
        return self.belief.seen_mean()


@register("psrl")
class PSRL(BeliefAgent):
    """Posterior sampling with the epochs of the paper. It needs only the prior."""

    prior: Prior | None = None
    """mu_1, believed before anything is seen; None: Dirichlet(0.1) up to 50 states, Neighbourhoods() beyond."""

    perturb_costs: bool | NotNegative = False
    """Plan with max(c, x), for worlds with zero costs: x itself, or True for the epsilon of Theorem 2."""

    value_limit: Positive | None = None
    """Draw again while the sampled model has a state of optimal value above this: a prior supported on max V <= B."""

    max_rejections: Count = 10_000
    """How many samples in a row may be rejected for `value_limit`."""

    sharpness: Sharpness = 1.0
    """The factor of counts when probabilities are drawn; above 1 the draws are not samples of the posterior."""

    bound = "O~(B S sqrt(A K)), Bayesian"
    samples_posterior = True
    assumes = "the world is drawn from the prior, whose worlds have values up to B; c >= c_min > 0"
    recommended: ClassVar[str] = "a theorem"

    @property
    def leaves_free_loops(self) -> bool:
        """Whether it plans with costs above zero."""
        return float(self.perturb_costs) > 0.0

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Lines 1 and 2."""
        super().begin(task, rng)
        self.believe(self.prior_in(task))
        self.k_start = 0  # k_{t_l}, the episode in which the current epoch began
        floor = cost_floor(task) if self.perturb_costs is True else float(self.perturb_costs)
        self._cost_floor = floor
        self._planner = Replanner()
        self.rejections = 0

    def prior_in(self, task: Task) -> Prior:
        """Return mu_1, chosen by the number of states if it is not set."""
        if self.prior is not None:
            return self.prior
        if task.states <= DIRICHLET_STATES:
            return Dirichlet(0.1)
        from goalward.beliefs.neighbourhoods import Neighbourhoods

        return Neighbourhoods()

    def plan(self, state: int) -> Plan:
        """Lines 7 to 9."""
        K_previous = self.k - self.k_start
        self.k_start = self.k
        return self.draw()._replace(stop_after_visits=self.visits + 1, stop_after_goals=K_previous + 1)

    def draw(self) -> Plan:
        """Line 9: draw theta from the posterior and solve it; draw again if it is outside the prior's support."""
        for _ in range(self.max_rejections + 1):
            theta = self.belief.sample(self.rng, self.sharpness)
            planned = self.solve(theta)
            if self.value_limit is None or planned.values.max() <= self.value_limit:
                return Plan(planned.policy, model=theta, values=planned.values)
            self.rejections += 1
        raise SettingError(
            f"{self.max_rejections + 1} samples in a row had a value above value_limit={self.value_limit:g};"
            " the posterior has hardly any weight there: raise value_limit or max_rejections"
        )

    def solve(self, theta: SSP) -> Planned:
        """Compute the optimal policy of a model, with raised costs if there is a cost floor."""
        theta = self.with_floor(theta)
        exact = self.value_limit is not None or self.task.states <= DENSE_STATES
        return self._planner.solve(theta, TOLERANCE if exact else LOOSE / math.sqrt(self.k))

    def with_floor(self, theta: SSP) -> SSP:
        """Return a model with its costs raised to the floor."""
        low = (theta.costs < self._cost_floor).any()
        return theta._replace(costs=np.maximum(theta.costs, self._cost_floor)) if low else theta

    def notes(self) -> dict[str, int | float | str]:
        """Return the prior if the agent chose it, and any rejected samples, cost floor and caveats."""
        notes = super().notes()
        if self.prior is None:
            notes["prior"] = repr(self.prior_in(self.task))
        if self.value_limit is not None:
            notes["rejections"] = self.rejections
        if self.perturb_costs:
            notes["cost_floor"] = self._cost_floor
        return notes

    def caveats(self) -> list[str]:
        """Return the reasons why no theorem covers the run, and a warning if the cost floor hides all costs."""
        caveats = super().caveats()
        if self.sharpness != 1.0:
            caveats.append(f"sharpness {self.sharpness:g}: not samples of the posterior, the theorem does not cover it")
        floor, task = self._cost_floor, self.task
        if self.perturb_costs is True and floor > 1.0:
            enough = task.states**2 * task.actions
            caveats.append(f"cost floor {floor:.3g}: Theorem 2 needs at least S² A = {enough} episodes")
        elif not task.costs_unknown and floor > task.costs[task.available].max(initial=0.0):
            caveats.append(f"cost floor {floor:.3g}, above every cost: plans minimise the steps, not the cost")
        return caveats


def cost_floor(task: Task) -> float:
    """Return the epsilon of Theorem 2, (S² A / K)^(2/3)."""
    return float((task.states**2 * task.actions / task.episodes) ** (2.0 / 3.0))
