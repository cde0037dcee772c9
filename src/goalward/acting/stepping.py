"""The stepping loop: plans are followed step by step, in environments and in tasks with continuous states.

A plan has exactly the same meaning as in `goalward.acting.model_world`. An environment gives exactly the same
trajectory as a model if the environment draws one uniform number for each step from the generator of its seed and
chooses the successor like `draw_successor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from goalward.acting.contract import Chunk, PlanT, Policy, Stage, Step, Steps
from goalward.acting.model_world import BLOCK, Uniforms
from goalward.acting.stop_conditions import NEVER, Ended, Stop
from goalward.seeds import streams
from goalward.signals import received

# Plain integers: arithmetic on flags is slow.
EPISODES, DEAD_END = int(Ended.EPISODES), int(Ended.DEAD_END)
X = TypeVar("X")


class Simulator(Protocol[X]):
    """A simulated world; `state` is the agent's state, and `stuck` is True if this state has no available action."""

    state: X
    stuck: bool

    def check(self, action: int) -> None:
        """Raise PolicyError if `action` is not available."""

    def step(self, action: int) -> Step[X]:
        """Play an action; if the step ends the episode, `reset` is called before the next step."""

    def reset(self) -> None:
        """Start the next episode."""


class SteppingStage(Stage[PlanT], Generic[X, PlanT]):
    """A stage that follows plans in a simulator.

    `simulate` returns a simulator for an integer seed, which determines all random draws of the simulator. `read`
    returns the policy and the stop conditions of a plan.
    """

    def __init__(
        self, simulate: Callable[[int], Simulator[X]], read: Callable[[PlanT], tuple[Policy[X], Stop[X]]], seed: int
    ):
        environment, _, acting = streams(seed)
        self.simulator, self.read, self.choices = simulate(environment), read, Uniforms(acting)
        self.plan: PlanT | None = None
        self.over = False  # whether an episode has ended; the reset waits until somebody needs the next state
        self.columns: tuple[list[Any], ...] = ([], [], [], [], [])  # columns of the steps so far
        self.epochs: tuple[list[int], list[int]] = ([], [])  # after how many steps epochs ended, and why

    @property
    def state(self) -> X:
        if self.over:
            self.over = False
            self.simulator.reset()
        return self.simulator.state

    def follow(self, plan: PlanT, episodes: int, steps: int = NEVER) -> Chunk:
        states, actions, costs, next_states, reached = self.columns = [], [], [], [], []
        epoch_ends, epoch_flags = self.epochs = [], []
        if plan is None or plan is not self.plan:
            self.plan, (self.policy, self.stop) = plan, self.read(plan)
        policy, stop, simulator, draw = self.policy, self.stop, self.simulator, self.choices.draw
        ended = 0
        self.truncated = False
        room = min(steps, BLOCK)
        while not ended and not self.truncated and len(actions) < room:
            state = self.state if self.over else simulator.state
            if simulator.stuck:
                ended = DEAD_END
                break
            action = policy.act(state, draw)
            simulator.check(action)
            ended = stop.before(state, action)
            if ended:
                break
            step = simulator.step(action)
            self.over, self.truncated = step.reached or step.truncated, step.truncated
            states.append(state)
            actions.append(action)
            costs.append(step.cost)
            next_states.append(step.next_state)
            reached.append(step.reached)
            ended = stop.after(step)
            epoch_ended = policy.learn(step)
            if step.reached:
                episodes -= 1
                ended += EPISODES if episodes == 0 else 0
            if epoch_ended:
                epoch_ends.append(len(actions))
                epoch_flags.append(epoch_ended + ended)
            if received():  # a stop was requested, and the next steps may take long
                break
        if ended:
            self.plan = None  # the agent may return the same plan again
        return self.unfinished(ended)

    def unfinished(self, ended: int = 0) -> Chunk:
        complete = len(self.columns[-1])  # an interrupt may leave the last step incomplete
        one = np.asarray(self.simulator.state)
        types: tuple[Any, ...] = (one.dtype, np.int64, np.float64, one.dtype, np.bool_)
        columns = [np.array(column[:complete], dtype=kind) for column, kind in zip(self.columns, types, strict=True)]
        columns[0], columns[3] = (columns[i].reshape(-1, *one.shape) for i in (0, 3))
        return Chunk(Steps._make(columns), ended, *self.epochs)
