"""Repeated runs, for what is not stored: steps, replays, and where the regret comes from.

A run is a pure function of its specification, so the repeated run is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from goalward import continuous
from goalward.errors import SettingError
from goalward.learning.learn import learn
from goalward.learning.regret import optimum
from goalward.learning.replay import Replay
from goalward.learning.run import Run
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.factory import make_agent, make_world
from goalward.studies.run_spec import RunSpec

__all__ = ["kept_run", "regret_by_cause", "replay_of", "rerun"]


def rerun(spec: RunSpec, attachments: Attachments | None = None, *, keep_replay: bool = False) -> tuple[SSP, Run]:
    """Repeat a run and return its world and the run with its steps, and with its replay if `keep_replay`.

    The attachments of a results folder, `Store.attachments`, have what its runs need. If the agent is in a user's file,
    this executes the file.
    """
    needed = attachments or Attachments()
    world = make_world(spec.world, needed)
    agent = make_agent(spec.agent, world, spec.episodes, needed)
    return world, learn(
        agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps, keep_steps=True, keep_replay=keep_replay
    )


def replay_of(run: Run) -> Replay:
    """Return the replay of a run: the one that was kept, or that of the run carried out again."""
    if run.replay is not None:
        return run.replay
    if run.world is None:
        raise SettingError(
            "the run cannot be carried out again: its true model is not known, or it went on from an earlier run;"
            " record it with learn(..., keep_replay=True)"
        )
    again = learn(run.agent, run.world, run.episodes, run.seed, max_steps=max(run.total_steps, 1), keep_replay=True)
    if again.replay is None or not np.array_equal(again.costs, run.costs):
        raise SettingError(
            "the run came out differently when it was carried out again; record it with learn(..., keep_replay=True)"
        )
    return again.replay


def kept_run(run: Run) -> Run:
    """Return a run in a goal task with its plans and steps: the run itself, or the run carried out again."""
    if run.plans is not None and run.trajectory is not None:
        return run
    task: Any = run.agent.task
    if task.origin is None:
        raise SettingError(
            "the run cannot be carried out again: its task is not a world of the registry; record it with"
            " learn(..., keep_replay=True)"
        )
    world = continuous.make(task.origin["id"], **task.origin["settings"])
    again = learn(run.agent, world, run.episodes, run.seed, max_steps=max(run.total_steps, 1), keep_replay=True)
    if not np.array_equal(again.costs, run.costs):
        raise SettingError(
            "the run came out differently when it was carried out again; record it with learn(..., keep_replay=True)"
        )
    return again


def regret_by_cause(world: SSP, run: Run) -> dict[int, float]:
    """Return the gap regret of a run by what ended the epoch in which it was paid, a sum of `Ended` flags."""
    assert run.trajectory is not None
    gaps = optimum(world).gaps[run.trajectory.states, run.trajectory.actions]
    epochs = run.epochs
    paid = np.add.reduceat(gaps, epochs.start_step) if len(gaps) else np.zeros(len(epochs))
    causes: dict[int, float] = {}
    for ended, part in zip(epochs.ended.tolist(), paid.tolist(), strict=True):
        causes[ended] = causes.get(ended, 0.0) + part
    return causes
