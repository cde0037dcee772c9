"""Variants of PSRL-SSP with other epochs, for comparison.

All variants use the belief and the planner of `PSRL`. In the first four variants, only the end of an epoch differs.

TSDE
    Ouyang, Gagrani, Nayyar, Jain: Learning Unknown Markov Decision Processes, a Thompson sampling approach (2017).
    The paper is about average cost, and the rule was written from memory. An epoch ends when it is one step longer than
    the previous epoch, or when the visits of a pair have doubled. In the first epoch, the previous length is 1.
EpisodePSRL
    Every episode is one epoch, as in posterior sampling with a finite horizon. If the policy cannot reach the goal, the
    episode never ends, so call `learn` with ``max_steps``.
DoublingPSRL
    An epoch ends when the goal has been reached twice as often as in the previous epoch (but at least once), or when
    the visits of a pair have doubled. The first rule causes O(log K) draws. The first rule of PSRL-SSP causes
    O(sqrt(K)) draws. The bound of the PSRL-SSP paper on the number of epochs does not apply to this variant.
StepPSRL
    Every step is one epoch.
PosteriorMean
    The epochs are those of PSRL-SSP. The agent plans in the posterior mean instead of a sample, and does not explore.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Plan, Steps, Task
from goalward.agents.base import register
from goalward.agents.posterior.psrl import PSRL


@register("tsde")
class TSDE(PSRL):
    """Posterior sampling in which an epoch is at most one step longer than the previous epoch."""

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
    """Posterior sampling in which an epoch may reach the goal twice as often as the previous epoch."""

    def plan(self, state: int) -> Plan:
        K_previous = self.k - self.k_start
        plan = super().plan(state)
        return plan._replace(stop_after_goals=max(1, 2 * K_previous))


@register("psrl-episode")
class EpisodePSRL(PSRL):
    """Posterior sampling with a new model at the start of every episode."""

    def plan(self, state: int) -> Plan:
        return self.draw()._replace(stop_after_goals=1, stop_when_truncated=True)


@register("psrl-step")
class StepPSRL(PSRL):
    """Posterior sampling with a new model at every step."""

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
