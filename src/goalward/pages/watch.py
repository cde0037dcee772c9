"""Runs to be watched: a page on which they are replayed epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goalward.errors import SettingError
from goalward.learning.run import Run
from goalward.pages.page import Page
from goalward.pages.page_data import Block
from goalward.pages.planes import plane_document
from goalward.pages.replay_data import watch_document
from goalward.ssp.model import SSP
from goalward.studies.rerun import kept_run, replay_of

__all__ = ["run_labels", "watch"]


def watch(*runs: Run, labels: Sequence[str] | None = None, world: str = "") -> Page:
    """Return a page on which one run is replayed, or two side by side; a notebook shows it inline.

    A run that was learnt from scratch on a known model, or in a goal task of the registry, is carried out again for its
    plans. Any other is recorded with ``learn(..., keep_replay=True)``. The replay of a goal task with continuous states
    goes episode by episode, over two of the coordinates.

    Parameters
    ----------
    runs
        One run, or two in the same world.
    labels
        What to call their agents; the names of the algorithms by default.
    world
        What to call the world.

    Examples
    --------
    >>> import goalward as gw
    >>> grid = gw.worlds.grid_world()
    >>> page = gw.watch(gw.learn(gw.agents.PSRL(), grid, 20), gw.learn(gw.agents.Uniform(), grid, 20))
    >>> page
    Page('psrl and uniform in a world of 11 states'; save(path) writes it, open(path) shows it)
    """
    if not 1 <= len(runs) <= 2 or not all(isinstance(run, Run) for run in runs):
        raise SettingError(f"watch takes one run or two, as gw.learn returns them; these are {list(runs)!r}")
    first = runs[0]
    if not all(same_world(run, first) for run in runs[1:]):
        raise SettingError("the two runs are in different worlds; only runs in the same world can be compared")
    names = run_labels([run.agent.name for run in runs]) if labels is None else list(labels)
    if len(set(names)) != len(runs):
        raise SettingError(f"labels is {labels!r}; it must be one text for each of the {len(runs)} runs, all different")
    block = Block()
    if first.agent.continuous:
        kept = dict(zip(names, map(kept_run, runs), strict=True))
        document = plane_document(block, world or "a task with continuous states", kept)
        return Page("planes", document["title"], document, block)
    replays = dict(zip(names, map(replay_of, runs), strict=True))
    name = world or f"a world of {first.agent.task.states:,} states"
    truth: SSP | None = first.world
    truncations = {label: run.truncation for label, run in zip(names, runs, strict=True)}
    document = watch_document(block, truth, name, replays, first.seed, first.episodes, truncations)
    return Page("watch", document["title"], document, block)


def same_world(run: Run, other: Run) -> bool:
    one: Any = run.agent.task
    two: Any = other.agent.task
    if run.agent.continuous or other.agent.continuous:
        return bool(one.is_like(two)) and one.origin == two.origin
    return np.array_equal(one.costs, two.costs) and run.world == other.world


def run_labels(names: Sequence[str]) -> list[str]:
    """Return different labels for agents of these names.

    >>> run_labels(["psrl", "psrl"])
    ['psrl', 'psrl (2)']
    """
    return [f"{name} ({place + 1})" if name in names[:place] else name for place, name in enumerate(names)]
