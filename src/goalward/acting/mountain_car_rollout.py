"""Acting with the mountain car, compiled: the roll-out of a model, with another way of moving.

An episode takes one number of the environment's stream, for its start; nothing else is random. So the trajectory is
that of the same car stepped through Gymnasium with the same seed.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.rollout import BLOCK, STATE, Ended, Rollout
from goalward.agents.base import StepAgent, Steps
from goalward.worlds.ssp_mountain_car import SSPMountainCar, drive, place

__all__ = ["CarRollout"]


class CarRollout(Rollout):
    """A car that plans drive; `state` is the cell in which it is."""

    def __init__(self, car: SSPMountainCar, environment: int, acting: int):
        super().__init__(car.placeholder(), environment, acting)
        self.car = (np.zeros(2), *car.cuts)
        self.cursor[STATE] = self.start()

    def start(self) -> int:
        """Put the car at the start of an episode; return its cell."""
        self.environment.refill()
        self.environment.used += 1
        return int(place(self.car[0], self.environment.block[self.environment.used - 1], *self.car[1:]))

    def advance_with(self, agent: StepAgent, episodes: int, steps: int) -> tuple[Steps, int]:
        """Let an agent choose and learn step by step for a while."""
        written = 0
        while episodes and written < min(steps, BLOCK):
            state = self.state
            self.acting.refill()
            action = agent.choose(state, float(self.acting.block[self.acting.used]))
            self.acting.used += 1
            successor = int(drive(self.car[0], action, *self.car[1:]))
            self.record.states[written], self.record.actions[written] = state, action
            self.record.costs[written], self.record.next_states[written] = 1.0, successor
            agent.observe(self.record.part(written, written + 1))
            written += 1
            self.cursor[STATE] = self.start() if successor == self.S else successor
            episodes -= successor == self.S
        return self.record.part(0, written), 0 if episodes else int(Ended.EPISODES)
