"""One run of a results folder carried out again and held against what is stored."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from goalward.errors import SettingError
from goalward.learning.learn import learn
from goalward.learning.run import Run
from goalward.results.export import ListedRun, list_runs
from goalward.studies.factory import make_agent, make_world
from goalward.studies.run_file import StoredRun, recorded
from goalward.studies.store import Store

__all__ = ["Repeated", "repeat"]


@dataclass(frozen=True, eq=False)
class Repeated:
    """A run that was carried out again.

    `same` says whether the stored run has the same episodes bit for bit; None if none is stored.
    """

    key: str
    label: str
    world: str
    run: Run
    seconds: float
    same: bool | None

    @property
    def verdict(self) -> str:
        """What the comparison has found, in words."""
        if self.same is None:
            return "no such run is stored; goalward run stores it"
        return "same as the stored run" if self.same else "mismatch with the stored run: versions or machines differ"


def repeat(store: Store, key: str) -> Repeated:
    """Carry out the run whose key begins like this; if its agent is in a user's file, this executes the file."""
    listed = find(store, key)
    spec = listed.design.spec(listed.cell, listed.run)
    attachments = store.attachments
    world = make_world(spec.world, attachments)
    agent = make_agent(spec.agent, world, spec.episodes, attachments)
    began = time.perf_counter()
    run = learn(agent, world, spec.episodes, spec.seed, max_steps=spec.max_steps)
    seconds = time.perf_counter() - began
    label = f"{listed.cell.agent.label} in {listed.cell.world.label}, run {listed.run} of {listed.design.name}"
    same = equal(listed.found, run) if isinstance(listed.found, StoredRun) else None
    return Repeated(listed.key, label, listed.cell.world.label, run, seconds, same)


def find(store: Store, key: str) -> ListedRun:
    """Return the run whose key begins like this."""
    wanted = key.strip().lower()
    designs = [reference for name in store.studies() for reference in store.designs(name)]
    runs = (run for reference in designs for run in list_runs(store, reference))
    found = {run.key: run for run in runs if wanted and run.key.startswith(wanted)}
    if not found:
        raise SettingError(
            f"no run of {store.folder} has a key that begins with {key!r}; goalward export --all lists them"
        )
    if len(found) > 1:
        raise SettingError(f"{len(found)} runs have keys that begin with {key}; give more digits")
    return next(iter(found.values()))


def equal(stored: StoredRun, run: Run) -> bool:
    kept = recorded(len(run.costs))
    made = (run.costs[kept], run.steps[kept], run.gap_regret[kept])
    return all(
        np.array_equal(was, now) for was, now in zip(stored.columns("cost", "steps", "gap_regret"), made, strict=True)
    )
