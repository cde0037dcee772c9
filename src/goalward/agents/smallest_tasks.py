"""The smallest tasks, on which agents compile their kernels."""

from __future__ import annotations

import numpy as np

from goalward.acting.compiled_stretches import SelfActing, Stretch
from goalward.acting.next_state import dynamics
from goalward.acting.task import Steps, Task
from goalward.agents.base import Agent, StepAgent
from goalward.beliefs.counts import Counts
from goalward.ssp.model import SSP

__all__ = ["act_and_learn", "act_and_plan", "counts_of_one_pair", "observe_and_plan"]


def one_pair() -> SSP:
    """Return the model of one state with one action, which leads to the goal or back."""
    return SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]])


def three_steps() -> Steps:
    zeros = np.zeros(3, dtype=np.int64)
    return Steps(zeros, zeros, np.ones(3), np.array([0, 1, 1]))


def counts_of_one_pair() -> Counts:
    """Return the counts of a pair that was played three times."""
    counts = Counts(Task(np.ones((1, 1)), 0, 1))
    counts.add(three_steps())
    return counts


def act_and_learn(agent: StepAgent) -> None:
    """Act once, learn once and choose once."""
    ssp = one_pair()
    agent.begin(Task.of(ssp, 1), np.random.default_rng(0))
    steps = Steps.empty(1)
    agent.advance(dynamics(ssp), 0, 1, np.zeros(1), np.zeros(1), steps)
    agent.observe(steps)
    agent.choose(0, 0.5)


def act_and_plan(agent: SelfActing) -> None:
    """Act once, and plan once."""
    ssp = one_pair()
    agent.begin(Task.of(ssp, 1), np.random.default_rng(0))
    room = [np.zeros(1, dtype=np.int64) for _ in range(2)]
    agent.advance(dynamics(ssp), Stretch.begin(0, 1, np.zeros(1), np.zeros(1), Steps.empty(1), *room))
    agent.plan(0)


def observe_and_plan(agent: Agent) -> None:
    """Plan once, on a pair that was played three times."""
    agent.begin(Task(np.ones((1, 1)), 0, 1), np.random.default_rng(0))
    agent.observe(three_steps())
    agent.plan(0)
