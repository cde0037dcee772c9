"""Posterior sampling with other epochs, for comparison with PSRL-SSP.

All of them keep PSRL's belief, draw and solve as it does, and differ in what ends an epoch only:

TSDE
    Ouyang, Gagrani, Nayyar, Jain: Learning Unknown Markov Decision Processes, a Thompson sampling approach (2017), for
    average cost; recalled from the text. Epoch l ends at the first t with t > t_l + T_{l-1}, T_{l-1} being the length
    of the previous epoch, or when a pair's visits have doubled. From T_0 = t_1 - t_0 = 1.
EpisodePSRL
    Draws at every start of an episode and nowhere else, as posterior sampling does in finite horizon. If the policy
    cannot reach the goal, it never ends: give `learn` a step limit.
DoublingPSRL
    Epoch l ends when the goal has been reached twice as often as in the epoch before, at least once, or when a pair's
    visits have doubled. It draws O(log K) times where PSRL-SSP draws O(sqrt(K)) times for the first reason. Draws are
    samples of the posterior, so the lemma holds; the paper's bound on the number of epochs is for PSRL-SSP's rule.
StepPSRL
    Draws before every step.
PosteriorMean
    PSRL-SSP's epochs with the mean of the posterior in place of a draw: no exploration.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Plan, Steps, Task
from goalward.agents.base import register
from goalward.agents.posterior.psrl import PSRL


@register("tsde")
class TSDE(PSRL):
    """Posterior sampling with epochs that may grow by one step."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.t, self.t_start = 1, 0

    def plan(self, state: int) -> Plan:
        T_previous = self.t - self.t_start
        self.t_start = self.t
        return self.draw()._replace(stop_after_visits=self.visits + 1, stop_after_steps=T_previous + 1)

    def observe(self, steps: Steps) -> None:
        super().observe(steps)
        self.t += len(steps.states)


@register("psrl-doubling")
class DoublingPSRL(PSRL):
    """Posterior sampling with epochs that may reach the goal twice as often as the one before."""

    def plan(self, state: int) -> Plan:
        K_previous = self.k - self.k_start
        plan = super().plan(state)
        return plan._replace(stop_after_goals=max(1, 2 * K_previous))


@register("psrl-episode")
class EpisodePSRL(PSRL):
    """Posterior sampling at the start of every episode."""

    def plan(self, state: int) -> Plan:
        return self.draw()._replace(stop_after_goals=1, stop_when_truncated=True)


@register("psrl-step")
class StepPSRL(PSRL):
    """Posterior sampling at every step."""

    def plan(self, state: int) -> Plan:
        return self.draw()._replace(stop_after_steps=1)


@register("posterior-mean")
class PosteriorMean(PSRL):
    """The optimal policy of the posterior mean, with the epochs of PSRL-SSP."""

    samples_posterior = False

    def draw(self) -> Plan:
        mean = self.belief.mean()
        planned = self.solve(mean)
        return Plan(planned.policy, model=mean, values=planned.values)
