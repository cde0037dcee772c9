"""The smallest tasks, on which agents compile their kernels."""

from __future__ import annotations

import numpy as np

from goalward.acting.contract import Step, Steps, Task
from goalward.acting.rollout import ModelStage
from goalward.agents.base import Agent, OnlineAgent
from goalward.beliefs.counts import Counts
from goalward.ssp.model import SSP

__all__ = ["act_and_learn", "counts_of_one_pair", "observe_and_plan"]


def three_steps() -> Steps:
    zeros = np.zeros(3, dtype=np.int64)
    return Steps.in_table(zeros, zeros, np.ones(3), np.array([0, 1, 1]), 1)


def counts_of_one_pair() -> Counts:
    """Return the counts of a pair that was played three times."""
    counts = Counts(Task(np.ones((1, 1)), 0, 1))
    counts.add(three_steps())
    return counts


def act_and_learn(agent: OnlineAgent) -> None:
    """Act and learn once in compiled code and once step by step."""
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])
    agent.begin(Task.of(ssp, 1), np.random.default_rng(0))
    ModelStage(ssp, 0).follow(agent.plan(0), 1, 1)
    agent.act(0, lambda: 0.5)
    agent.learn(Step(0, 0, 1.0, 1, True))


def observe_and_plan(agent: Agent) -> None:
    """Plan once, on a pair that was played three times."""
    agent.begin(Task(np.ones((1, 1)), 0, 1), np.random.default_rng(0))
    agent.observe(three_steps())
    agent.plan(0)
