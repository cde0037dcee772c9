"""The loop: an agent plans, the stage carries the plan out, the agent learns.

It ends when all episodes are over, when `max_steps` are done, when `watch` returns False, or in a dead end. Whatever
the reason, the Run says it. An episode that did not end at the goal is marked, and never learnt as one that did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goalward.acting.contract import Chunk, Stage, Steps
from goalward.acting.stop import Ended
from goalward.agents.base import Learner
from goalward.learning.ledger import Ledger
from goalward.learning.regret import Optimum
from goalward.learning.replay import Observer, Recorder
from goalward.learning.run import Run
from goalward.progress import phase
from goalward.ssp.model import SSP

__all__ = ["Loop", "Watch"]

Watch = Callable[[int, int], object]
# Plain integers: arithmetic on flags is slow, and this is done for every plan.
EPISODES, MAX_STEPS, STOPPED = int(Ended.EPISODES), int(Ended.MAX_STEPS), int(Ended.STOPPED)
RUN_OVER = EPISODES | MAX_STEPS | STOPPED | int(Ended.DEAD_END)


def join(pieces: list[Steps[Any]]) -> Steps[Any]:
    """Return pieces of a trajectory as one, copied."""
    return Steps(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


class Loop:
    """One run in progress."""

    def __init__(
        self,
        agent: Learner,
        stage: Stage[Any],
        ledger: Ledger,
        max_steps: int,
        keep_plans: bool,
        keep_steps: bool,
        watch: Watch | None,
        observer: Observer | None,
    ):
        self.agent, self.stage, self.ledger = agent, stage, ledger
        self.max_steps, self.watch, self.observer = max_steps, watch, observer
        self.plans: list[Any] | None = [] if keep_plans else None
        self.pieces: list[Steps[Any]] | None = [] if keep_steps else None

    def go(self) -> Ended:
        """Learn until the run is over; return why."""
        ended = 0
        with phase(f"{self.agent.name} learns", len(self.ledger.costs), "episodes", "steps") as self.progress:
            while not ended & RUN_OVER:
                ended = self.epoch()
        return Ended(ended & RUN_OVER)

    def epoch(self) -> int:
        """Make a plan, follow it to its end and learn; return what ended it."""
        agent, stage, ledger, observer = self.agent, self.stage, self.ledger, self.observer
        plan = agent.plan(stage.state)
        if self.plans is not None:
            self.plans.append(plan)
        if observer is not None:
            observer.plan(plan, stage.state)
        ended = 0
        while not ended:
            episodes = len(ledger.costs) - ledger.episodes_over
            room = self.max_steps - ledger.total_steps
            chunk = stage.follow(plan, episodes, room if observer is None else min(room, observer.room()))
            self.enter(chunk)
            ended = chunk.ended | self.outside()
        ledger.close_epoch(ended)
        if observer is not None:
            observer.close(ended, stage.state)
        return ended

    def enter(self, chunk: Chunk) -> None:
        """Enter what happened, and let the agent learn from it."""
        self.ledger.enter(chunk)
        if self.pieces is not None:
            self.pieces.append(join([chunk.steps]))
        if self.observer is not None:
            self.observer.enter(chunk, self.stage.state)
        if len(chunk.steps.actions):
            self.agent.observe(chunk.steps)

    def outside(self) -> int:
        """Return what ends the run for a reason outside the plan."""
        ledger = self.ledger
        self.progress.advance(ledger.episodes_over, ledger.total_steps)
        if self.stage.truncated:
            ledger.break_off()
            self.agent.restart()
        over = 0
        if ledger.episodes_over == len(ledger.costs):
            over |= EPISODES
        elif ledger.total_steps >= self.max_steps:
            over |= MAX_STEPS
        if self.watch is not None and self.watch(ledger.episodes_over, ledger.total_steps) is False:
            over |= STOPPED
        return over

    def run(self, seed: int, best: Optimum, ended: Ended, world: SSP | None) -> Run:
        """Close the books."""
        ledger = self.ledger
        count = ledger.started
        return Run(
            agent=self.agent,
            seed=seed,
            episodes=len(ledger.costs),
            costs=ledger.costs[:count],
            steps=ledger.steps[:count],
            gaps=ledger.gaps[:count],
            reached=ledger.reached[:count],
            epochs=ledger.columns(),
            optimal_value=best.value,
            ended=ended,
            plans=None if self.plans is None else tuple(self.plans),
            trajectory=None if self.pieces is None else join(self.pieces),
            world=world,
            replay=self.observer.replay() if isinstance(self.observer, Recorder) else None,
        )
