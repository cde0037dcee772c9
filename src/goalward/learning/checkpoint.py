"""Checkpoints: files that save a run in progress as plain data (see `goalward.archive`).

In a model, a resumed run gives exactly the same results as an uninterrupted run. The file holds everything that
determines the next step: the learnt data, caches and generator of the agent, the number of random numbers used from
each stream, the plan in progress and the record so far. In an environment, the old state cannot be restored. A resumed
run then begins a new episode with new random numbers, and the interrupted episode counts as truncated. The learnt data
of the agent and the numbering of observations are restored.
"""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalward import archive
from goalward.acting.stop_conditions import Ended
from goalward.agents import agent_file
from goalward.agents.base import Learner
from goalward.errors import FileError, GoalwardError, SettingError
from goalward.seeds import generator
from goalward.settings import NotNegative, check
from goalward.ssp.model import SSP

if TYPE_CHECKING:
    from goalward.learning.learn import Loop

FORMAT, VERSION = "goalward-checkpoint", 1
WRONG = (GoalwardError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


class Checkpoint:
    """The checkpoint file of one run, with a description of this run and the time of the next save.

    `saved` is the content of the file when it was opened, or None. `before_plan` is a copy of the agent's state from
    before planning, which is saved if planning is interrupted.
    """

    def __init__(self, path: str | Path, every: float, run: dict[str, Any]):
        self.path, self.every = Path(path), check("every", every, NotNegative)
        self.run = run
        self.next_time = time.monotonic() + self.every
        self.before_plan: dict[str, Any] | None = None
        agent_file.check_place(self.path)
        self.saved = archive.read(self.path, FORMAT, VERSION) if self.path.exists() else None
        if self.saved is not None:
            for name, value in run.items():
                if self.saved["run"].get(name) != value:
                    raise SettingError(
                        f"{self.path} is the checkpoint of a run with another {name}; use another file, or remove this"
                        " file to start from scratch"
                    )

    def agent(self, agent: Learner) -> Learner:
        """Return a copy of `agent` with the saved task and the saved learnt data."""
        assert self.saved is not None
        try:
            learner = copy.deepcopy(agent)
            learner.begin(agent.task_from_state(self.saved["task"]), generator(0))
            learner.restore(self.saved["agent"]["learnt"])
        except WRONG as error:
            raise self.unusable(error) from None
        return learner

    def restore(self, loop: Loop) -> None:
        """Restore the saved run in `loop`, which must not have made a step; without saved data, do nothing."""
        saved = self.saved
        if saved is None:
            return
        try:
            loop.ledger.restore(saved["ledger"])
            loop.plan_ended = int(saved["plan_ended"])
            if saved["position"] is None:  # continue with a new episode
                if loop.ledger.has_open_episode:
                    loop.ledger.truncate_episode()
                if loop.ledger.episodes_over == len(loop.ledger.costs):
                    loop.plan_ended |= int(Ended.EPISODES)
                if not loop.plan_ended:
                    loop.ledger.break_off(int(Ended.STOPPED))
            else:
                if not loop.agent.task_from_state(saved["task"]).is_like(loop.agent.task):
                    raise ValueError("the agent has learnt in another world, or with other known costs")
                agent_file.restore_progress(loop.agent, saved["agent"])
                loop.plan = loop.stage.restore(saved["position"], loop.agent)  # type: ignore[arg-type]
        except WRONG as error:
            raise self.unusable(error) from None

    def unusable(self, error: Exception) -> FileError:
        return FileError(f"{self.path}: the run cannot be resumed ({error}); remove the file to start from scratch")

    def save(self, loop: Loop, plan_ended: int) -> None:
        """Save the run in `loop`; call this only between two chunks of steps."""
        agent: Learner = loop.agent
        tree = {
            "run": self.run,
            "task": agent.task_to_state(agent.task),
            "agent": self.before_plan or agent_file.progress(agent),
            "ledger": loop.ledger.to_state(),
            "position": loop.stage.position(),
            "plan_ended": plan_ended,
        }
        archive.write(self.path, FORMAT, VERSION, tree)
        self.next_time = time.monotonic() + self.every


def run_of(agent: Learner, model: SSP | None, episodes: int, seed: int, resumes: bool) -> dict[str, Any]:
    """Return the data that identify a run; if `resumes`, add a hash of the agent's state before the run."""
    return {
        "agent": agent.name,
        "settings": json.dumps(agent.settings(), sort_keys=True, default=str),
        "world": None if model is None else model.digest,
        "episodes": episodes,
        "seed": seed,
        "agent to resume": archive.digest(agent.to_state()) if resumes else None,
    }
