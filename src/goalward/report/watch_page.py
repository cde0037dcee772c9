"""Runs to be watched: a page on which they are replayed epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalward.errors import SettingError
from goalward.execution.rerun import replay_of
from goalward.learning.run import Run
from goalward.model.ssp import SSP
from goalward.report.page import Page
from goalward.report.page_data import Block
from goalward.report.replay_data import watch_document

__all__ = ["run_labels", "watch"]


def watch(*runs: Run, labels: Sequence[str] | None = None, world: str = "") -> Page:
    """Return a page on which one run is replayed, or two side by side; a notebook shows it inline.

    A run that was learnt from scratch on a known model is carried out again for its plans. Any other is recorded with
    ``learn(..., keep_replay=True)``.

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
    for run in runs[1:]:
        if not np.array_equal(run.agent.task.costs, first.agent.task.costs) or run.world != first.world:
            raise SettingError("the two runs are in different worlds; only runs in the same world can be compared")
    names = run_labels([run.agent.name for run in runs]) if labels is None else list(labels)
    if len(set(names)) != len(runs):
        raise SettingError(f"labels is {labels!r}; it must be one text for each of the {len(runs)} runs, all different")
    replays = dict(zip(names, map(replay_of, runs), strict=True))
    block = Block()
    name = world or f"a world of {first.agent.task.states:,} states"
    truth: SSP | None = first.world
    truncations = {label: run.truncation for label, run in zip(names, runs, strict=True)}
    document = watch_document(block, truth, name, replays, first.seed, first.episodes, truncations)
    return Page("watch", document["title"], document, block)


def run_labels(names: Sequence[str]) -> list[str]:
    """Return different labels for agents of these names.

    >>> run_labels(["psrl", "psrl"])
    ['psrl', 'psrl (2)']
    """
    return [f"{name} ({place + 1})" if name in names[:place] else name for place, name in enumerate(names)]
