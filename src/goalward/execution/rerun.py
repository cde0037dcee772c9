"""Running one run of a study again, for what is not stored: its plans, its steps, where its regret comes from.

A run is a pure function of its spec, so this is the run that was stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError
from goalward.learning.loop import learn
from goalward.learning.regret import optimum
from goalward.learning.rollout import Ended
from goalward.learning.run import Run
from goalward.model.ssp import SSP
from goalward.studies.design import Cell, Design
from goalward.studies.factory import Attachments, make_agent, make_world

__all__ = ["Final", "final_plan", "regret_by_cause", "rerun", "visits"]


@dataclass(frozen=True, eq=False)
class Final:
    """What an agent believes at the end of a run: the policy of its last plan, and the values it expects."""

    policy: Int64s
    values: Floats | None


def rerun(design: Design, cell: Cell, run: int = 0, attachments: Attachments | None = None) -> tuple[SSP, Run]:
    """Return the world and the run with its plans and steps; the agent must be one of the registry."""
    if not 0 <= run < design.runs:
        raise SettingError(f"run is {run}; the study has the runs 0 to {design.runs - 1}")
    spec = design.spec(cell, run)
    needed = attachments or Attachments()
    world = make_world(spec.world, needed)
    agent = make_agent(spec.agent, world, spec.episodes, needed)
    return world, learn(
        agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps, keep_plans=True, keep_steps=True
    )


def final_plan(run: Run) -> Final | None:
    """Return what the last plan of a run says; None for agents that have no plans."""
    if not run.plans:
        return None
    last = run.plans[-1]
    policy = np.asarray(last.policy)
    if policy.dtype.kind == "f":
        policy = policy.argmax(axis=1)
    elif policy.ndim == 2:
        policy = policy[0]
    return Final(policy.astype(np.int64), last.values)


def visits(world: SSP, run: Run) -> Int64s:
    """Return how often each pair was played, ``[S, A]``."""
    assert run.trajectory is not None
    pairs = run.trajectory.states * world.actions + run.trajectory.actions
    return np.bincount(pairs, minlength=world.costs.size).reshape(world.costs.shape)


def regret_by_cause(world: SSP, run: Run) -> dict[str, float]:
    """Return the gap regret of a run by what ended the epoch in which it was paid."""
    assert run.trajectory is not None
    gaps = optimum(world).gaps[run.trajectory.states, run.trajectory.actions]
    epochs = run.epochs
    paid = np.add.reduceat(gaps, epochs.start_step) if len(gaps) else np.zeros(len(epochs))
    causes: dict[str, float] = {}
    for name, part in zip(map(cause_name, epochs.ended.tolist()), paid.tolist(), strict=True):
        causes[name] = causes.get(name, 0.0) + part
    return causes


def cause_name(ended: int) -> str:
    """Return the name of what ended an epoch; where several conditions held at once, they are joined."""
    flags = [flag for flag in Ended if ended & flag]
    inner = [flag for flag in flags if flag <= Ended.STEPS]
    return " and ".join(CAUSES[flag] for flag in (inner or flags))


CAUSES = {
    Ended.AFTER_VISITS: "visits of a pair",
    Ended.BEFORE_VISITS: "visits of the pair to be played",
    Ended.GOALS: "goals reached",
    Ended.STEPS: "number of steps",
    Ended.EPISODES: "end of the run",
    Ended.MAX_STEPS: "step limit of the run",
    Ended.STOPPED: "stopped",
    Ended.DEAD_END: "dead end",
}
