"""Repeat stored runs to get data that is not stored (steps, replays), or to verify results bit by bit.

A run depends only on its specification, so the repeated run equals the stored run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalward import continuous
from goalward.environments.by_name import closing
from goalward.errors import SettingError
from goalward.learning.learn import run_agent
from goalward.learning.replay import Replay
from goalward.learning.run import Run
from goalward.ssp.model import SSP
from goalward.studies.attachments import Attachments
from goalward.studies.design import Cell, Design
from goalward.studies.run_file import StoredRun, recorded
from goalward.studies.run_spec import RunSpec
from goalward.studies.store import Store

CHANGED = "the repeated run differs from the original run; record the replay with learn(..., keep_replay=True)"


def rerun(
    spec: RunSpec, attachments: Attachments | None = None, *, keep_steps: bool = True, keep_plans: bool = False
) -> tuple[SSP, Run]:
    """Repeat a run; return its world and the new run. `keep_steps` and `keep_plans` add the steps and plans.

    For a run of a results folder, pass its `Store.attachments`, which hold the files that the run needs. The user's
    Python files among these attachments are executed.
    """
    world, agent = spec.build(attachments or Attachments())
    with closing(world):
        kept: dict[str, Any] = {"keep_steps": keep_steps, "keep_plans": keep_plans}
        return world, run_agent(agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps, **kept)


def replay_of(run: Run) -> Replay:
    """Return the replay of a run. A run without a recorded replay is repeated."""
    if run.replay is not None:
        return run.replay
    if run.world is None or run.agent.task.costs_unknown:
        raise SettingError(
            "the run cannot be carried out again: its true model or costs are not known, or it resumed an earlier run;"
            " record the replay with learn(..., keep_replay=True)"
        )
    again = learn_again(run, run.world)
    if again.replay is None:
        raise SettingError(CHANGED)
    return again.replay


def kept_run(run: Run) -> Run:
    """Return a run with its plans and steps. A run without recorded plans and steps is repeated."""
    if run.plans is not None and run.trajectory is not None:
        return run
    task: Any = run.agent.task
    if task.origin is None:
        raise SettingError(
            "the run cannot be carried out again: its task is not a world of the registry; record the replay with"
            " learn(..., keep_replay=True)"
        )
    return learn_again(run, continuous.make(task.origin["id"], **task.origin["settings"]))


def learn_again(run: Run, world: Any) -> Run:
    again = run_agent(run.agent, world, run.episodes, run.seed, max_steps=max(run.total_steps, 1), keep_replay=True)
    if not np.array_equal(again.costs, run.costs):
        raise SettingError(CHANGED)
    return again


@dataclass(frozen=True, eq=False)
class Repeated:
    """A run that was repeated.

    `same` says whether the stored run has exactly the same episodes. It is None if the run is not stored.
    """

    key: str
    label: str
    world: str
    run: Run
    seconds: float
    same: bool | None

    @property
    def verdict(self) -> str:
        """The result of the comparison in words."""
        if self.same is None:
            return "the run is not stored yet; goalward run stores it"
        return "same as the stored run" if self.same else "mismatch with the stored run: versions or machines differ"


def repeat(store: Store, key: str) -> Repeated:
    """Repeat the run whose key begins with `key`, and compare it with the stored run. Users' files are executed."""
    design, cell, number, spec = find_run(store, key)
    began = time.perf_counter()
    _, run = rerun(spec, store.attachments, keep_steps=False)
    seconds = time.perf_counter() - began
    label = f"{cell.agent.label} in {cell.world.label}, run {number} of {design.name}"
    stored = store.find(spec.key)
    same = same_episodes(stored, run) if isinstance(stored, StoredRun) else None
    return Repeated(spec.key, label, cell.world.label, run, seconds, same)


def find_run(store: Store, key: str) -> tuple[Design, Cell, int, RunSpec]:
    """Return the design, cell, number and specification of the run whose key begins with `key`."""
    wanted = key.strip().lower()
    matching = {
        spec.key: (design, cell, number, spec)
        for design in store.all_designs()
        for cell in design.cells
        for number, spec in enumerate(design.specs(cell))
        if wanted and spec.key.startswith(wanted)
    }
    if not matching:
        raise SettingError(
            f"no run of {store.folder} has a key that begins with {key!r}; goalward export --all lists all keys"
        )
    if len(matching) > 1:
        raise SettingError(f"{len(matching)} runs have keys that begin with {key}; give more digits of the key")
    return next(iter(matching.values()))


def same_episodes(stored: StoredRun, run: Run) -> bool:
    """Return whether a stored run and a repeated `run` have exactly the same episodes."""
    kept = recorded(len(run.costs))
    repeated = (run.costs[kept], run.steps[kept], run.gaps.cumsum()[kept])
    columns = stored.columns("cost", "steps", "gap_regret")
    return all(np.array_equal(was, now, equal_nan=True) for was, now in zip(columns, repeated, strict=True))
