"""A run carried out again, for what is not stored: its plans, its steps, and where its regret comes from.

A run is a pure function of its spec, so it is the same run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward import worlds
from goalward.agents.base import OnlineAgent
from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError
from goalward.learning.learn import learn
from goalward.learning.regret import optimum
from goalward.learning.replay import Replay, choices_of, chosen_now
from goalward.learning.run import Run
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.factory import make_agent, make_world
from goalward.studies.run_spec import RunSpec

__all__ = ["Final", "final_plan", "kept_run", "regret_by_cause", "replay_of", "rerun", "visits"]

CHANCES = 60
"""How many random numbers show which actions a step agent chooses among; enough for ties of up to six actions."""


@dataclass(frozen=True, eq=False)
class Final:
    """What an agent would do at the end of a run, and what it expects.

    Attributes
    ----------
    shares
        ``shares[s, a]``: the probability of playing a in s; a state without any action has zeros.
    values
        The cost that the agent expects from each state; None if it has no such estimate.
    """

    shares: Floats
    values: Floats | None


def rerun(spec: RunSpec, attachments: Attachments | None = None) -> tuple[SSP, Run]:
    """Return the world and the run with its plans and steps; if the agent is in a user's file, this executes the file.

    The attachments of a results folder, `Store.attachments`, have what its runs need.
    """
    needed = attachments or Attachments()
    world = make_world(spec.world, needed)
    agent = make_agent(spec.agent, world, spec.episodes, needed)
    return world, learn(
        agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps, keep_plans=True, keep_steps=True
    )


def final_plan(run: Run) -> Final | None:
    """Return what the agent would do after the run: its last plan, or what an online agent chooses now.

    None if the run kept no plan.
    """
    agent = run.agent
    plan = agent.current_plan() if isinstance(agent, OnlineAgent) else run.plans[-1] if run.plans else None
    if plan is None and isinstance(agent, OnlineAgent):
        return Final(chosen_now(agent, CHANCES), agent.values())
    if plan is None:
        return None
    _, tied, shares = choices_of(agent, plan)
    if shares is None:
        # The agent draws one of the actions that look equally good.
        shares = tied / np.maximum(tied.sum(axis=1, keepdims=True), 1)
    return Final(np.asarray(shares), plan.values)


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
    world = worlds.make(task.origin["id"], **task.origin["settings"])
    again = learn(run.agent, world, run.episodes, run.seed, max_steps=max(run.total_steps, 1), keep_replay=True)
    if not np.array_equal(again.costs, run.costs):
        raise SettingError(
            "the run came out differently when it was carried out again; record it with learn(..., keep_replay=True)"
        )
    return again


def visits(world: SSP, run: Run) -> Int64s:
    """Return how often each pair was played, ``[S, A]``."""
    assert run.trajectory is not None
    pairs = run.trajectory.states * world.actions + run.trajectory.actions
    return np.bincount(pairs, minlength=world.costs.size).reshape(world.costs.shape)


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
