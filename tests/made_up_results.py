"""Results of studies that were never run, for tests of what is made of results."""

from __future__ import annotations

from collections import Counter

import numpy as np

from goalward.results.measures import MEASURES
from goalward.results.results import CellResults, Results
from goalward.studies.design import Cell, Design
from goalward.studies.spec import AgentSpec, WorldSpec


def cell_results(world, agent, slope, *, swept=None, cut=None, runs=4, caveat=""):
    """Return made-up results: run r has the regret (slope + r) k after k of 100 episodes."""
    points = np.arange(1, 101)
    curves = np.outer(slope + np.arange(runs, dtype=float), points)
    done = np.full(runs, 100)
    if cut is not None:
        done[-1] = cut
        curves[-1, cut:] = np.nan
    cell = Cell(WorldSpec(world=world, label=world, swept=swept or {}), AgentSpec(agent=agent, label=agent), 100)
    both = {"regret": curves, "gap_regret": curves}
    steps = np.where(np.isnan(curves), np.nan, 3.0)
    return CellResults(
        cell, np.arange(runs), done < 100, done,
        {measure.name: np.ones(runs) for measure in MEASURES}
        | {name: curve[np.arange(runs), done - 1] for name, curve in both.items()}
        | {"steps": done * 3, "cost": slope + np.arange(runs)},
        points, both | {"steps": steps, "cost": steps}, Counter(), caveat=caveat,
    )  # fmt: skip


def study(*cells):
    """Return a study that has these results."""
    return Results(Design("made-up", "", 0, 4, None, tuple(each.cell for each in cells)), list(cells))
