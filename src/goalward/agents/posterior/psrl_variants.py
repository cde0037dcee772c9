"""Posterior sampling with other epochs, for comparison with PSRL-SSP.

All have the belief and the planner of `PSRL`. The first four differ from it only in what ends an epoch:

TSDE
    Ouyang, Gagrani, Nayyar, Jain: Learning Unknown Markov Decision Processes, a Thompson sampling approach (2017), for
    average cost; recalled from the text. Epoch l ends at the first t with t > t_l + T_{l-1}, where T_{l-1} is the
    length of the previous epoch and T_0 = t_1 - t_0 = 1, or when the visits of a pair have doubled.
EpisodePSRL
    It draws a model only at the start of every episode, as posterior sampling with a finite horizon does. If the policy
    cannot reach the goal, the episode never ends, so call `learn` with ``max_steps``.
DoublingPSRL
    An epoch ends when the goal has been reached twice as often as in the previous epoch, at least once, or when the
    visits of a pair have doubled. The first rule causes O(log K) draws, that of PSRL-SSP O(sqrt(K)). Draws are samples
    of the posterior, so the lemma holds, but the paper's bound on the number of epochs does not apply.
StepPSRL
    It draws a model before every step.
PosteriorMean
    It has the epochs of PSRL-SSP, but plans in the mean of the posterior instead of a draw, so it does not explore.
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
